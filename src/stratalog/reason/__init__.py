"""The papers' algorithms, one file each; none of them knows where facts live."""
