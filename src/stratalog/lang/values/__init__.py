"""Values of constants: read, compared, written."""
