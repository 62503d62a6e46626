"""Kernels that a pass makes of a group norm and the SiLU behind it, and of their derivatives.

What stands between the norm and SiLU is never kept: the derivative finds it again from x and its statistics.
"""

from __future__ import annotations

from typing import Any

from ...operators.made_of.precision import widen
from ...runtime.door import KERNELS, Kernel
from .parts import PARTS


def _forward(xp: Any, x: Any, weight: Any, bias: Any, *, eps: float, shape: tuple) -> tuple:
    """x has a row for every group; the result has the shape of the images."""
    hat, mean, rstd = KERNELS["layer_norm"].generic(xp, x, None, None, dims=1, eps=eps)
    y = hat.reshape(shape) * weight + bias
    return KERNELS["silu"].generic(xp, y).astype(x.dtype, copy=False), mean, rstd


def _backward(
    xp: Any, g: Any, x: Any, weight: Any, bias: Any, mean: Any, rstd: Any, *, eps: float, shape: tuple
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


def _forward_parts(part: Any, arrays: list, attrs: dict) -> tuple[list, Any]:
    x, weight, bias = arrays
    hat, mean, rstd = part("layer_norm", x, None, None, dims=1, eps=attrs["eps"])
    y = part("add", part("mul", hat.reshape(attrs["shape"]), weight), bias)
    return arrays, [part("silu", y), mean, rstd]


def _backward_parts(part: Any, arrays: list, attrs: dict) -> tuple[list, Any]:
    """Statistics are made anew, to fit the numbers of x."""
    g, x, weight, bias = arrays[:4]
    how = {"dims": 1, "eps": attrs["eps"]}
    hat, mean, rstd = part("layer_norm", x, None, None, **how)
    images = hat.reshape(attrs["shape"])
    slope = part("silu_grad", g, part("add", part("mul", images, weight), bias))
    gb = part("sum_to_size", slope, shape=bias.shape)
    gw = part("sum_to_size", part("mul", slope, images), shape=weight.shape)
    e = part("mul", slope, weight).reshape(x.shape)
    gx = part("layer_norm_grad", e, x, None, mean, rstd, **how)[0]
    return [g, x, weight, bias, mean, rstd], [gx, gw, gb]


GROUP_NORM_SILU = Kernel("group_norm_silu", _forward)
GROUP_NORM_SILU_GRAD = Kernel("group_norm_silu_grad", _backward)
PARTS["group_norm_silu"] = _forward_parts
PARTS["group_norm_silu_grad"] = _backward_parts
