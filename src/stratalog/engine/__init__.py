"""Where facts live."""
