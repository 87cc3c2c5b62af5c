"""Progress and tables, for people."""
