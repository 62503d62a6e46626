"""Kernels that passes make of several, and how they are tried before use."""
