"""Below the door: raw arrays, kernels and devices; no Tensor lives here."""
