"""`torch.distributed.checkpoint`: files that several processes write together."""

from .._one import functions

globals().update(functions("checkpoint", "async_save", "load", "save"))
