"""Closures of binary relations that are never spelled out, for both engines."""
