"""How a checked program will be evaluated: strata, delta rules, join orders."""
