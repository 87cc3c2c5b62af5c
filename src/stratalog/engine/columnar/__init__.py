"""Facts in NumPy columns of this process, evaluated by compiled kernels."""
