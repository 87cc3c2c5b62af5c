"""The knowledge base: the only part that knows language, engines, readers and the store."""
