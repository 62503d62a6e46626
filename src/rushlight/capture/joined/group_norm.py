"""Kernels that a pass makes of a group norm and the SiLU behind it, and of their derivatives.

What stands between the norm and SiLU is never kept: the derivative finds it again from x and its statistics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...operators.made_of.precision import widen
from ...runtime.door import KERNELS
from .parts import Part, join

if TYPE_CHECKING:
    from ...base.array_module import ArrayModule
    from ...base.protocols import Array


def _affine(part: Part, x: Array, weight: Array, bias: Array, eps: float, shape: tuple) -> tuple:
    """x normalised, which has a row for every group, its statistics, and what SiLU is taken of, as images."""
    hat, *statistics = part("layer_norm", x, None, None, dims=1, eps=eps)
    images = hat.reshape(shape)
    return images, statistics, part("add", part("mul", images, weight), bias)


def _forward(part: Part, x: Array, weight: Array, bias: Array, **how: Any) -> tuple:
    _, statistics, y = _affine(part, x, weight, bias, **how)
    return (part("silu", y), *statistics)


def _backward_by(
    part: Part, g: Array, x: Array, weight: Array, bias: Array, mean: Array, rstd: Array, **how: Any
) -> tuple:
    images, _, y = _affine(part, x, weight, bias, **how)
    slope = part("silu_grad", g, y)
    gb = part("sum_to_size", slope, shape=bias.shape)
    gw = part("sum_to_size", part("mul", slope, images), shape=weight.shape)
    e = part("mul", slope, weight).reshape(x.shape)
    return part("layer_norm_grad", e, x, None, mean, rstd, dims=1, eps=how["eps"])[0], gw, gb


def _fit(part: Part, arrays: list, attrs: dict) -> list:
    """Statistics are made anew, to fit the numbers of x."""
    return [*arrays[:4], *_affine(part, *arrays[1:4], **attrs)[1]]


def _backward(
    xp: ArrayModule, g: Array, x: Array, weight: Array, bias: Array, mean: Array, rstd: Array, *, eps: float, shape: tuple
) -> tuple:  # fmt: skip
    """Gradients of x, and of weight and bias in their shapes."""
    wide = [widen(xp, a) for a in (x, g, weight, bias)]
    hat = (wide[0] - mean) * rstd
    images = hat.reshape(shape)
    slope = KERNELS["silu_grad"].generic(xp, wide[1], images * wide[2] + wide[3])
    axes = tuple([i for i, n in enumerate(weight.shape) if n == 1 and shape[i] != 1])
    gb = slope.sum(axis=axes, keepdims=True)
    gw = (slope * images).sum(axis=axes, keepdims=True)
    e = (slope * wide[2]).reshape(x.shape)
    q = (e * hat).mean(axis=-1, keepdims=True)
    gx = (e - e.mean(axis=-1, keepdims=True) - hat * q) * rstd
    return tuple([a.astype(x.dtype, copy=False) for a in (gx, gw, gb)])


GROUP_NORM_SILU = join("group_norm_silu", _forward)
GROUP_NORM_SILU_GRAD = join("group_norm_silu_grad", _backward_by, _fit, _backward)
