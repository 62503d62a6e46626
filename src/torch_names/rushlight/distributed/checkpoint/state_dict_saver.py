"""`torch.distributed.checkpoint.state_dict_saver`: saving, under its longer path."""

from .saving import async_save, save

__all__ = ["async_save", "save"]
