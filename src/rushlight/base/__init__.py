"""The lowest layer: dtypes, shapes, names of devices, errors and configuration; it knows no arrays."""
