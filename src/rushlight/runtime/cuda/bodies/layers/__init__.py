"""The GPU's own bodies of layers' kernels."""
