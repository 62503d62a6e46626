"""Transforms of images, under torchvision's names."""

from __future__ import annotations

from ...base.signatures import show_plainly
from . import functional, transforms
from .transforms import *  # noqa: F403 - the list of names is transforms.__all__
from .transforms import __all__ as _names

__all__ = [*_names, "functional", "transforms"]  # noqa: PLE0604

show_plainly([*vars(transforms).values(), *vars(functional).values()])
del show_plainly
