"""Stratalog: Datalog materialisation, kept exact while facts come and go."""

__version__ = "0.1.0"
