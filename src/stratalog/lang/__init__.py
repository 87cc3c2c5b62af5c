"""Text to a checked program."""
