"""Slow, obvious, plain-Python twins of the kernels, written from the papers alone."""
