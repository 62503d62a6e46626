"""The ground floor: dtypes, shapes, devices as names, errors, configuration; no arrays."""
