"""Kernels that passes make of a small convolution and the max_pool behind it: their generic bodies."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...operators.layers.conv_kernels import conv_grad_input, conv_grads, conv_op
from ...runtime.door import Kernel
from .proof import join

NOWHERE = 255  # the place of a maximum that relu made zero: no gradient passes


def _windows(a: Array, window: tuple[int, int]) -> list[Any]:
    """The first element of every window, the second of every window, and so on."""
    (kh, kw), (oh, ow) = window, a.shape[2:]
    inside = a[:, :, : oh // kh * kh, : ow // kw * kw]
    return [inside[:, :, k // kw :: kh, k % kw :: kw] for k in range(kh * kw)]


def _conv_pool(
    xp: ArrayModule, x: Array, w: Array, b: Array | None, *, window: tuple[int, int], relu: bool, **how: Any
) -> tuple:
    """The maxima of side-by-side windows of a convolution, and their places in the windows."""
    seen = _windows(conv_op.kernel.generic(xp, x, w, b, **how), window)
    best, places = seen[0].copy(), xp.zeros(seen[0].shape, np.uint8)
    for k in range(1, len(seen)):
        better = (seen[k] > best) | (seen[k] != seen[k])
        best = xp.where(better, seen[k], best)
        places = xp.where(better, np.uint8(k), places)
    if relu:
        places = xp.where(best <= 0, np.uint8(NOWHERE), places)
        best = xp.maximum(best, best.dtype.type(0))
    return best, places


def _spread(xp: ArrayModule, g: Array, places: Array, shape: tuple, window: tuple[int, int]) -> Any:
    """The gradient of the convolution: zero but at the windows' maxima."""
    dense = xp.zeros(shape, g.dtype)
    for k, at in enumerate(_windows(dense, window)):
        at[...] = xp.where(places == k, g, g.dtype.type(0))
    return dense


def _conv_pool_grad_input(
    xp: ArrayModule, g: Array, places: Array, w: Array, *, x_shape: tuple, y_shape: tuple,
    window: tuple[int, int], **how: Any,
) -> Any:  # fmt: skip
    dense = _spread(xp, g, places, y_shape, window)
    return conv_grad_input.kernel.generic(xp, dense, w, x_shape=x_shape, **how)


def _conv_pool_grads(
    xp: ArrayModule, g: Array, places: Array, x: Array, *, w_shape: tuple, y_shape: tuple,
    window: tuple[int, int], **how: Any,
) -> tuple:  # fmt: skip
    dense = _spread(xp, g, places, y_shape, window)
    return conv_grads.kernel.generic(xp, dense, x, w_shape=w_shape, **how)


CONV_POOL = Kernel("conv_pool", _conv_pool)
CONV_POOL_GRAD_INPUT = Kernel("conv_pool_grad_input", _conv_pool_grad_input)
CONV_POOL_GRADS = Kernel("conv_pool_grads", _conv_pool_grads)  # of the weight and of the bias
JOINED_CONVS = frozenset(k.name for k in (CONV_POOL, CONV_POOL_GRAD_INPUT, CONV_POOL_GRADS))


CONV_RELU = join("conv_relu", lambda part, x, w, b, **how: part("relu", part("conv", x, w, b, **how)))
