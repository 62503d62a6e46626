"""Group norm on the GPU, alone and joined with SiLU, forward and backward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy

from ....door import kernel_for
from ...code.sources import NUMBERS, computed, load
from ..fills import fill, row_major
from .layer_norm import stored

if TYPE_CHECKING:
    from .....base.protocols import DeviceArray

_THREADS = 512


def _sizes(x: DeviceArray, shape: tuple[int, ...]) -> tuple[int, int, int]:
    """(groups, channels of a group, places of a channel)."""
    groups = x.shape[1]
    per = shape[1] // groups
    return groups, per, x.shape[2] // per


def _vector(inner: int, *arrays: DeviceArray) -> int:
    """Numbers that are read at once: 16 bytes of one channel where all of them lie so."""
    size = arrays[0].itemsize
    fits = [v for v in (8, 4, 2) if v * size <= 16 and inner % v == 0]
    low = arrays[0].data.ptr
    for a in arrays[1:]:
        low |= a.data.ptr
    return fits[0] if fits and not low % (fits[0] * size) else 1


@kernel_for("cuda", "group_norm_silu")
def group_norm_silu(
    x: DeviceArray, weight: DeviceArray, bias: DeviceArray, *, eps: float, shape: tuple
) -> Any:
    """The result in the images' shape, the mean and 1 / standard deviation of every group."""
    return _normalise(x, weight, bias, eps, shape, 1)


def _factors(
    given: DeviceArray | None, other: DeviceArray | None, x: DeviceArray, value: int = 1
) -> Any:
    """A number for every channel: those that were given, or ones that change nothing, in the dtype of the others."""
    if given is not None:
        return given
    made = cupy.ndarray((x.shape[1],), x.dtype if other is None else other.dtype)
    fill(made, value)
    return made


@kernel_for("cuda", "group_norm")
def group_norm(
    x: DeviceArray, weight: DeviceArray | None, bias: DeviceArray | None, *, groups: int, eps: float
) -> Any:
    """The result, the mean and 1 / standard deviation of every group."""
    if not x.size:
        return NotImplemented
    weight, bias = _factors(weight, bias, x), _factors(bias, weight, x, 0)
    grouped = row_major(x).reshape(x.shape[0], groups, -1)
    made = _normalise(grouped, weight, bias, eps, x.shape, 0)
    if made is NotImplemented:
        return NotImplemented
    out, mean, rstd = made
    return out, mean.reshape(mean.shape[:2]), rstd.reshape(rstd.shape[:2])


def _normalise(
    x: DeviceArray, weight: DeviceArray, bias: DeviceArray, eps: float, shape: tuple, silu: int
) -> Any:
    char, kind = x.dtype.char, stored(weight, bias)
    if char not in NUMBERS or kind is None or not x.size:
        return NotImplemented
    x, weight, bias = row_major(x), row_major(weight), row_major(bias)
    out = cupy.ndarray(shape, x.dtype)
    mean, rstd = [cupy.ndarray((*x.shape[:2], 1), computed(x.dtype)) for _ in range(2)]
    sizes = _sizes(x, shape)
    load("group_norm.cu", "group_silu", char, NW=kind, VW=_vector(sizes[2], x), SILU=silu)(
        x.shape[0] * x.shape[1], _THREADS, x, weight, bias, out, mean, rstd, *sizes, eps
    )
    return out, mean, rstd


@kernel_for("cuda", "group_norm_silu_grad")
def group_norm_silu_grad(
    g: DeviceArray,
    x: DeviceArray,
    weight: DeviceArray,
    bias: DeviceArray,
    mean: DeviceArray,
    rstd: DeviceArray,
    *,
    eps: float,
    shape: tuple,
) -> Any:
    """Gradients of x, and of weight and bias in their shapes."""
    return _differentiate((g, x, weight, bias, mean, rstd), shape, 1)


@kernel_for("cuda", "group_norm_grad")
def group_norm_grad(
    gy: DeviceArray,
    x: DeviceArray,
    weight: DeviceArray | None,
    mean: DeviceArray,
    rstd: DeviceArray,
    *,
    groups: int,
    eps: float,
) -> Any:
    """Gradients of x, and of weight and bias."""
    if not x.size:
        return NotImplemented
    weight = _factors(weight, None, x)
    rows = (x.shape[0], groups, -1)
    grouped = [row_major(a).reshape(rows) for a in (gy, x)]
    # Without SiLU no gradient depends on the bias.
    made = _differentiate((*grouped, weight, weight, mean, rstd), x.shape, 0)
    if made is NotImplemented:
        return NotImplemented
    gx, gw, gb = made
    return gx.reshape(x.shape), gw, gb


def _differentiate(arrays: tuple, shape: tuple, silu: int) -> Any:
    g, x, weight, bias, mean, rstd = arrays
    char, kind = x.dtype.char, stored(weight, bias)
    if char not in NUMBERS or kind is None or not x.size or g.dtype != x.dtype:
        return NotImplemented
    g, x, weight, bias = row_major(g), row_major(x), row_major(weight), row_major(bias)
    mean, rstd = row_major(mean), row_major(rstd)
    gx = cupy.ndarray(x.shape, x.dtype)
    gw, gb = cupy.ndarray(weight.shape, weight.dtype), cupy.ndarray(bias.shape, bias.dtype)
    images, channels = shape[:2]
    parts = cupy.ndarray((images, channels, 2), computed(x.dtype))
    sizes = _sizes(x, shape)
    load("group_norm.cu", "group_silu_grad", char, NW=kind, VW=_vector(sizes[2], x, g), SILU=silu)(
        x.shape[0] * x.shape[1], _THREADS, g, x, weight, bias, mean, rstd, gx, parts, *sizes
    )
    load("group_norm.cu", "group_finish", char, NW=kind)(
        -(-channels // 32), 1024 if images > 16 else 256, parts, gw, gb, images, channels
    )
    return gx, gw, gb
