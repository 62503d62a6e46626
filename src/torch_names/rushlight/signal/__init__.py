"""`torch.signal`: windows for signals."""

from . import windows

__all__ = ["windows"]
