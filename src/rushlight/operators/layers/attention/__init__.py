"""Attention: the public functions, and the kernels they are made of."""
