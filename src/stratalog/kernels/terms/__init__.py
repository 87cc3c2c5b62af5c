"""Constants as numbers."""
