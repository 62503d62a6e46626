"""`torch.distributed.checkpoint.state_dict_loader`: loading, under its longer path."""

from .saving import load

__all__ = ["load"]
