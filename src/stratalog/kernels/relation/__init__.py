"""Facts in arrays: found, inserted, marked, counted."""
