"""The compiled core's foundation: the only package that names numba."""
