"""Streams: batches of a change feed that a store follows."""
