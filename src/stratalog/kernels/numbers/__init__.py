"""Numbers grouped, added and written."""
