"""Everything compiled by Numba: a bottom layer without knowledge of rules or files."""
