"""Expressions and aggregates over columns of ids, for both engines."""
