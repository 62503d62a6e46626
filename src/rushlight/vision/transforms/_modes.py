"""InterpolationMode: the ways between pixels that resizing and turning may take."""

from __future__ import annotations

from enum import Enum


class InterpolationMode(Enum):
    """How pixels are interpolated; the last three exist for PIL images only.

    Example:
        >>> transforms.InterpolationMode.BILINEAR.value
        'bilinear'
    """

    NEAREST = "nearest"
    NEAREST_EXACT = "nearest-exact"
    BILINEAR = "bilinear"
    BICUBIC = "bicubic"
    BOX = "box"
    HAMMING = "hamming"
    LANCZOS = "lanczos"


# Pillow's numbers for them, which old programs pass.
PIL_NUMBERS = {
    InterpolationMode.NEAREST: 0,
    InterpolationMode.LANCZOS: 1,
    InterpolationMode.BILINEAR: 2,
    InterpolationMode.BICUBIC: 3,
    InterpolationMode.BOX: 4,
    InterpolationMode.HAMMING: 5,
    InterpolationMode.NEAREST_EXACT: 0,
}
_BY_NUMBER = {number: mode for mode, number in reversed(PIL_NUMBERS.items())}


def as_mode(interpolation: InterpolationMode | int) -> InterpolationMode:
    """A mode, or Pillow's number for one, as a mode."""
    if isinstance(interpolation, InterpolationMode):
        return interpolation
    if isinstance(interpolation, int) and int(interpolation) in _BY_NUMBER:
        return _BY_NUMBER[int(interpolation)]
    raise TypeError(
        "Argument interpolation should be a InterpolationMode or a corresponding Pillow integer "
        f"constant, but got {interpolation!r}"
    )
