"""`torch.distributed.algorithms._checkpoint`: modules whose activations are computed twice, or kept on the host."""
