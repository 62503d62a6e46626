"""Picture files, under torchvision's names."""

from __future__ import annotations

from . import image
from .image import *  # noqa: F403 - the names of its `__all__`

__all__ = ["image"]
__all__ += image.__all__
