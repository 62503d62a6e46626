"""Kernels for layers so small that a library's kernel leaves the GPU idle."""
