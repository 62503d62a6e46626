"""`torch.distributed.algorithms`: ways for several processes to work together."""

from . import join

__all__ = ["join"]
