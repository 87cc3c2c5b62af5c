"""Updates: from a request to what it has changed."""
