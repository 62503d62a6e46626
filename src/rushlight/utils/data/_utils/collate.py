"""`torch.utils.data._utils.collate`: batches of samples."""

from ....data.collate import _NOT_COLLATABLE, default_collate, default_convert

__all__ = ["default_collate", "default_collate_err_msg_format", "default_convert"]

default_collate_err_msg_format = _NOT_COLLATABLE
