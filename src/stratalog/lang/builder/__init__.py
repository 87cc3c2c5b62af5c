"""Syntax trees to programs."""
