"""The systems that are compared: one file each, the same few methods."""
