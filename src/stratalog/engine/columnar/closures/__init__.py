"""Closures of binary relations that are never spelled out."""
