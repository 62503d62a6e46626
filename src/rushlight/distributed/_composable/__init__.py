"""`torch.distributed._composable`: FSDP by its older path."""
