"""How long it takes to keep a materialisation right: Tables 1 and 2 of 001, and whole updates."""
