"""Rules as plans: the interpreter and its steps."""
