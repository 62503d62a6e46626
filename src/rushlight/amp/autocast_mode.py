"""`torch.amp.autocast_mode`: autocast under PyTorch's longer path."""

from .autocast import _cast_tree as _cast
from .autocast import autocast, custom_bwd, custom_fwd, is_autocast_available

__all__ = ["_cast", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
