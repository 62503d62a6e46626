"""Options that several functionals share: modes, sizes, paddings, the numbers of a map of the plane."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._geometry import inverse_affine_matrix, perspective_coefficients
from ..._modes import InterpolationMode, as_mode

_BY_NAME = {mode.value: mode for mode in InterpolationMode}
Size = tuple[int, int]  # height, width


def mode_of(interpolation: InterpolationMode | str | int) -> InterpolationMode:
    """A mode, its name, or Pillow's number for it, as a mode."""
    if isinstance(interpolation, str):
        if interpolation not in _BY_NAME:
            raise ValueError(
                f"Invalid interpolation mode: '{interpolation}'. Supported string values are: {list(_BY_NAME)}."
            )
        return _BY_NAME[interpolation]
    if not isinstance(interpolation, (int, InterpolationMode)):
        raise ValueError(
            "Argument interpolation should be an `InterpolationMode` or a corresponding Pillow integer constant, "
            f"but got {interpolation}."
        )
    return as_mode(interpolation)


def resized(canvas: Sequence[int], size: int | Sequence[int] | None, max_size: int | None = None) -> Size:
    """(height, width) after a resize; one number is for the shorter edge, none for `max_size` alone."""
    sizes = [size] if isinstance(size, int) else size
    if max_size is not None and sizes is not None and len(sizes) != 1:
        raise ValueError(
            "max_size should only be passed if size is None or specifies the length of the smaller edge, "
            "i.e. size should be an int or a sequence of length 1 in torchscript mode."
        )
    height, width = canvas
    if sizes is not None and len(sizes) != 1:
        return sizes[0], sizes[1]
    short, long = min(height, width), max(height, width)
    if sizes is None:
        if not isinstance(max_size, int):
            raise ValueError(f"max_size must be an integer when size is None, but got {max_size} instead.")
        new_short, new_long = int(max_size * short / long), max_size
    else:
        new_short, new_long = sizes[0], int(sizes[0] * long / short)
        if max_size is not None and max_size <= new_short:
            raise ValueError(
                f"max_size = {max_size} must be strictly greater than the requested size for the "
                f"smaller edge size = {sizes}"
            )
        if max_size is not None and new_long > max_size:
            new_short, new_long = int(max_size * new_short / new_long), max_size
    return (new_long, new_short) if width <= height else (new_short, new_long)


def sides(padding: int | Sequence[int]) -> list[int]:
    """Padding in any of its spellings as [left, right, top, bottom]."""
    if isinstance(padding, int):
        return [padding] * 4
    if not isinstance(padding, (tuple, list)):
        raise TypeError(f"`padding` should be an integer or tuple or list of integers, but got {padding}")
    if len(padding) not in (1, 2, 4):
        raise ValueError(f"Padding must be an int or a 1, 2, or 4 element tuple or list. Found {len(padding)}")
    left, top, right, bottom = list(padding) * (4 // len(padding))
    return [left, right, top, bottom]


def pair_of(size: int | Sequence[int]) -> list[int]:
    """One number twice, or the numbers there are."""
    if isinstance(size, (int, float)):
        return [int(size)] * 2
    return list(size) * 2 if len(size) == 1 else list(size)


class Affine:
    """A turn, a shift, a scale and a shear that are checked."""

    def __init__(
        self,
        angle: float,
        translate: Sequence[float],
        scale: float,
        shear: Sequence[float],
        center: Sequence[float] | None,
    ) -> None:
        if not isinstance(angle, (int, float)):
            raise TypeError("Argument angle should be int or float")
        if not isinstance(translate, (list, tuple)):
            raise TypeError("Argument translate should be a sequence")
        if len(translate) != 2:
            raise ValueError("Argument translate should be a sequence of length 2")
        if scale <= 0.0:
            raise ValueError("Argument scale should be positive")
        if not isinstance(shear, (int, float, list, tuple)):
            raise TypeError("Shear should be either a single value or a sequence of two values")
        slant = [shear, 0.0] if isinstance(shear, (int, float)) else list(shear)
        slant = slant * 2 if len(slant) == 1 else slant
        if len(slant) != 2:
            raise ValueError(f"Shear should be a sequence containing two values. Got {slant}")
        if center is not None and not isinstance(center, (list, tuple)):
            raise TypeError("Argument center should be a sequence")
        self.rest = (float(angle), [float(t) for t in translate], scale, slant)
        self.center = None if center is None else [float(c) for c in center]

    def backward(self, center: Sequence[float]) -> list[float]:
        """Where a place of the result comes from."""
        return inverse_affine_matrix(center, *self.rest)

    def forward(self, canvas: Sequence[int]) -> list[float]:
        """Where a place of the picture goes to; places are counted from the top left corner."""
        height, width = canvas
        a, b, c, d, e, f = self.backward(self.center or [width * 0.5, height * 0.5])
        det = a * e - b * d
        return [e / det, -b / det, (b * f - c * e) / det, -d / det, a / det, (c * d - a * f) / det]

    def expanded(self, canvas: Sequence[int]) -> Size:
        """(height, width) of a picture that holds the whole turned one."""
        height, width = canvas
        return expanded_size(self.backward(self.center or [width * 0.5, height * 0.5]), width, height)


def expanded_size(matrix: Sequence[float], width: int, height: int) -> Size:
    """(height, width) of the box around a picture that a matrix maps, its middle at the origin."""
    half = np.array([0.5 * width, 0.5 * height], np.float32)
    corners = np.array([[-1, -1, 1], [-1, 1, 1], [1, 1, 1], [1, -1, 1]], np.float32)
    corners[:, :2] *= half
    ends = corners @ np.array(matrix, np.float32).reshape(2, 3).T
    # What rounding adds must not make the box a pixel wider: digits behind the fourth are cut off.
    high, low = (np.trunc((e + half) * np.float32(1e4)) * np.float32(1e-4) for e in (ends.max(0), ends.min(0)))
    wide, tall = np.ceil(high) - np.floor(low)
    return int(tall), int(wide)


def eight(
    startpoints: Sequence[Sequence[int]] | None,
    endpoints: Sequence[Sequence[int]] | None,
    coefficients: Sequence[float] | None,
) -> list[float]:
    """The numbers of a perspective map, given or found from points."""
    if coefficients is not None:
        if startpoints is not None and endpoints is not None:
            raise ValueError("The startpoints/endpoints and the coefficients shouldn't be defined concurrently.")
        if len(coefficients) != 8:
            raise ValueError("Argument coefficients should have 8 float values")
        return list(coefficients)
    if startpoints is None or endpoints is None:
        raise ValueError("Either the startpoints/endpoints or the coefficients must have non `None` values.")
    return perspective_coefficients(startpoints, endpoints)
