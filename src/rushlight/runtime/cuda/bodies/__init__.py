"""The GPU's own bodies of kernels, a file per family; the backend imports those that register themselves."""
