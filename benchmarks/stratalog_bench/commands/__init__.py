"""The commands that `stratalog` finds by the entry points of this distribution."""
