"""`torch.utils.deterministic`: what uninitialised memory holds in deterministic mode."""

fill_uninitialized_memory = True
