"""Arrays that stand for one sample of a batch, and what kernels do with them: the lower half of `vmap`."""
