"""The built-in functions of expressions."""
