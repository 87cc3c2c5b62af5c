"""Closures in arrays: made, changed, read."""
