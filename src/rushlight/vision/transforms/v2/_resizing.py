"""Sizes: Resize and its random forms, and crops that are resized."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....operators.random.draws import randint
from .. import _batch, _fixed, _random_geometry
from .._batch import PlannedTransform, Stage
from .._draw import rand
from .._random_geometry import drawn_window
from . import functional as F
from ._query import query_size
from ._transform import Transform, two_sizes
from .functional._options import resized

if TYPE_CHECKING:
    from .._modes import InterpolationMode

    pass


class _Resizing(Transform):
    """A transform that draws a size."""

    _functional, _given = F.resize, ("interpolation", "antialias")

    interpolation: Any
    antialias: bool | None


class Resize(Transform):
    """As `vision.transforms.Resize`, of every part of a sample that it concerns."""

    _v1_transform_cls = _fixed.Resize
    _functional, _given = F.resize, ("size", "interpolation", "max_size", "antialias")

    def __init__(
        self,
        size: int | Sequence[int] | None,
        interpolation: InterpolationMode | str | int = "bilinear",
        max_size: int | None = None,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        if size is None:
            if not isinstance(max_size, int):
                raise ValueError(f"max_size must be an integer when size is None, but got {max_size} instead.")
        elif not (isinstance(size, int) or (isinstance(size, Sequence) and len(size) in (1, 2))):
            raise ValueError(
                f"size can be an integer, a sequence of one or two integers, or None, but got {size} instead."
            )
        self.size = [size] if isinstance(size, int) else size if size is None else list(size)
        self.interpolation = interpolation
        self.max_size = max_size
        self.antialias = antialias

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        unchanged = resized(stage.shape[1:], self.size, self.max_size) == stage.shape[1:]
        return _batch.same(stage) if unchanged else None


class RandomResize(_Resizing):
    """The shorter edge gets a random length.

    Args:
        min_size, max_size: the limits; `max_size` is not reached.
        interpolation: an `InterpolationMode`, or its name.
        antialias: average over the pixels that become one.

    Example:
        >>> v2.RandomResize(8, 9)(torch.zeros(3, 16, 32)).shape
        torch.Size([3, 8, 16])
    """

    def __init__(
        self,
        min_size: int,
        max_size: int,
        interpolation: InterpolationMode | str | int = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.min_size, self.max_size = min_size, max_size
        self.interpolation, self.antialias = interpolation, antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The length."""
        return {"size": [int(randint(self.min_size, self.max_size, ()).item())]}


class RandomShortestSize(_Resizing):
    """The shorter edge gets one of some lengths.

    Args:
        min_size: one length, or several.
        max_size: the longer edge gets no longer.
        interpolation: an `InterpolationMode`, or its name.
        antialias: average over the pixels that become one.

    Example:
        >>> v2.RandomShortestSize([8], max_size=12)(torch.zeros(3, 16, 32)).shape
        torch.Size([3, 6, 12])
    """

    def __init__(
        self,
        min_size: int | Sequence[int],
        max_size: int | None = None,
        interpolation: InterpolationMode | str | int = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.min_size = [min_size] if isinstance(min_size, int) else list(min_size)
        self.max_size = max_size
        self.interpolation, self.antialias = interpolation, antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The new size."""
        height, width = query_size(flat_inputs)
        shorter = self.min_size[int(randint(len(self.min_size), ()).item())]
        ratio = shorter / min(height, width)
        if self.max_size is not None:
            ratio = min(ratio, self.max_size / max(height, width))
        return {"size": (int(height * ratio), int(width * ratio))}


class ScaleJitter(_Resizing):
    """As large as fits into a size, times a random factor.

    Args:
        target_size: (height, width).
        scale_range: limits of the factor.
        interpolation: an `InterpolationMode`, or its name.
        antialias: average over the pixels that become one.

    Example:
        >>> v2.ScaleJitter((8, 8), scale_range=(1.0, 1.0))(torch.zeros(3, 16, 32)).shape
        torch.Size([3, 4, 8])
    """

    def __init__(
        self,
        target_size: tuple[int, int],
        scale_range: tuple[float, float] = (0.1, 2.0),
        interpolation: InterpolationMode | str | int = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.target_size, self.scale_range = target_size, scale_range
        self.interpolation, self.antialias = interpolation, antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The new size."""
        height, width = query_size(flat_inputs)
        low, high = self.scale_range
        fits = min(self.target_size[1] / height, self.target_size[0] / width)
        ratio = (low + rand() * (high - low)) * fits  # in float32, as it is drawn
        return {"size": (int((height * ratio).item()), int((width * ratio).item()))}


class RandomResizedCrop(Transform):
    """A random window, resized."""

    _v1_transform_cls = _random_geometry.RandomResizedCrop
    _functional, _given = F.resized_crop, ("size", "interpolation", "antialias")

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: InterpolationMode | str | int = "bilinear",
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = two_sizes(size)
        for name, given in (("Scale", scale), ("Ratio", ratio)):
            if not isinstance(given, Sequence) or len(given) != 2:
                raise TypeError(f"{name} should be a sequence of two floats.")
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            warnings.warn("Scale and ratio should be of kind (min, max)")
        self.scale, self.ratio = scale, ratio
        self.interpolation = interpolation
        self.antialias = antialias

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The window; the middle of the picture where none was found in ten trials."""
        found = drawn_window(*query_size(flat_inputs), self.scale, self.ratio)
        return dict(zip(("top", "left", "height", "width"), found))
