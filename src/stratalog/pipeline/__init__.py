"""Facts in and out: readers, dictionary, store."""
