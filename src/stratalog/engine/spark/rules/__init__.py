"""Planned rules as DataFrames: one join for all rules of a shape."""
