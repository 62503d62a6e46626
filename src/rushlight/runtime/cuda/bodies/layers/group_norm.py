"""Group norm on the GPU, alone and joined with SiLU, forward and backward."""

from __future__ import annotations

from math import prod
from typing import Any

from .....base.arrays import DeviceArray
from ....door import kernel_for
from ...code.launch import Result
from ...code.sources import NUMBERS, computed, load
from ..fills import one_launch
from .layer_norm import stored

_THREADS = 512


def _vector(inner: int, *arrays: DeviceArray) -> int:
    """Numbers that are read at once: 16 bytes of one channel where all of them lie so."""
    size = arrays[0].itemsize
    fits = [v for v in (8, 4, 2) if v * size <= 16 and inner % v == 0]
    low = arrays[0].data.ptr
    for a in arrays[1:]:
        low |= a.data.ptr
    return fits[0] if fits and not low % (fits[0] * size) else 1


def _kind(x: DeviceArray, *arrays: DeviceArray | None) -> str | None:
    """The type of weight and bias, x's where there are none; None where the kernels are not for these arrays."""
    given = [a for a in arrays if a is not None]
    if x.dtype.char not in NUMBERS or not x.size or not all(a._c_contiguous for a in (x, *given)):
        return None
    return stored(*given) if given else stored(x)


def _sizes(shape: tuple[int, ...], groups: int) -> tuple[int, int, int]:
    """(groups, channels of a group, places of a channel)."""
    return groups, shape[1] // groups, prod(shape[2:])


def _normalise(
    x: DeviceArray, weight: DeviceArray | None, bias: DeviceArray | None, shape: tuple, groups: int, silu: int,
    eps: float, *stats: int,
) -> Any:  # fmt: skip
    """The launch for an image of a shape; the statistics have `stats` behind images and groups."""
    kind = _kind(x, weight, bias)
    if kind is None:
        return None
    sizes, wide, each = _sizes(shape, groups), computed(x.dtype), (shape[0], groups, *stats)
    results = (Result(3, shape, x.dtype), Result(4, each, wide), Result(5, each, wide))
    how: dict[str, Any] = {"NW": kind, "VW": _vector(sizes[2], x), "SILU": silu}
    return load("group_norm.cu", "group_silu", x.dtype.char, **how).prepared(
        shape[0] * groups, _THREADS, results, *sizes, eps
    )


def _group_norm_silu(x: DeviceArray, weight: DeviceArray, bias: DeviceArray, *, eps: float, shape: tuple) -> Any:
    """The result in the images' shape, the mean and 1 / standard deviation of every group."""
    return _normalise(x, weight, bias, shape, x.shape[1], 1, eps, 1)


def _group_norm(
    x: DeviceArray, weight: DeviceArray | None, bias: DeviceArray | None, *, groups: int, eps: float
) -> Any:
    """The result, the mean and 1 / standard deviation of every group."""
    return _normalise(x, weight, bias, x.shape, groups, 0, eps)


def _differentiate(
    g: DeviceArray, x: DeviceArray, weight: DeviceArray | None, bias: DeviceArray | None, stats: tuple, shape: tuple,
    groups: int, silu: int,
) -> Any:  # fmt: skip
    """Two launches: the gradient of x with sums for each channel of an image, and these added up."""
    kind, wide = _kind(x, weight, bias), computed(x.dtype)
    if kind is None or g.dtype != x.dtype or not all(a._c_contiguous for a in (g, *stats)):
        return None
    sizes, (images, channels) = _sizes(shape, groups), shape[:2]
    how: dict[str, Any] = {"NW": kind, "VW": _vector(sizes[2], x, g), "SILU": silu}
    sums = Result(6, x.shape, x.dtype), Result(7, (images, channels, 2), wide)
    first = load("group_norm.cu", "group_silu_grad", x.dtype.char, **how).prepared(
        images * groups, _THREADS, sums, *sizes
    )
    dtype = x.dtype if weight is None else weight.dtype
    both = Result(1, (channels,), dtype), Result(2, (channels,), dtype)
    finish = load("group_norm.cu", "group_finish", x.dtype.char, NW=kind).prepared(
        -(-channels // 32), 1024 if images > 16 else 256, both, images, channels
    )

    def call(*arrays: Any) -> Any:
        gx, parts = first(*arrays)
        return gx, *finish(parts)

    return call


def _group_norm_silu_grad(
    g: DeviceArray, x: DeviceArray, weight: DeviceArray, bias: DeviceArray, mean: DeviceArray, rstd: DeviceArray,
    *, eps: float, shape: tuple,
) -> Any:  # fmt: skip
    """Gradients of x, and of weight and bias in their shapes."""
    call = _differentiate(g, x, weight, bias, (mean, rstd), shape, x.shape[1], 1)
    if call is None or weight.ndim == 1:
        return call

    def shaped(g: Any, x: Any, weight: Any, bias: Any, *stats: Any) -> Any:
        gx, gw, gb = call(g, x, weight, bias, *stats)
        return gx, gw.reshape(weight.shape), gb.reshape(bias.shape)

    return shaped


def _group_norm_grad(
    gy: DeviceArray, x: DeviceArray, weight: DeviceArray | None, mean: DeviceArray, rstd: DeviceArray, *, groups: int,
    eps: float,
) -> Any:  # fmt: skip
    """Gradients of x, and of weight and bias; without SiLU none depends on the bias."""
    call = _differentiate(gy, x, weight, None, (mean, rstd), x.shape, groups, 0)
    return call and (lambda gy, x, weight, *stats: call(gy, x, weight, None, *stats))


kernel_for("cuda", "group_norm")(one_launch(_group_norm))
kernel_for("cuda", "group_norm_silu")(one_launch(_group_norm_silu))
kernel_for("cuda", "group_norm_grad")(one_launch(_group_norm_grad))
kernel_for("cuda", "group_norm_silu_grad")(one_launch(_group_norm_silu_grad))
