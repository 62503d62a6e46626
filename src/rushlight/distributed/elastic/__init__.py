"""`torch.distributed.elastic`: as far as scripts touch it."""
