"""`torch.distributed.elastic`: what scripts under torchrun import of it."""
