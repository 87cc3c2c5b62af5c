"""Measurements of Stratalog alone, each run by `python -m` in a process of its own."""
