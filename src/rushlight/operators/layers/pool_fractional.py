"""Fractional max pooling: windows of one size at pseudo-random places that cover the input."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule, Shaped
from ...core.op import Op
from ...core.public import NAMESPACES, publish
from ...core.tensor import Tensor
from .conv_kernels import Dims
from .pool_adaptive import last_of_nans
from .pool_kernels import max_pool_grad
from .window_texts import indices_text, window_text


def _starts(xp: ArrayModule, u: Array, n: int, out: int, kernel: int) -> Any:
    """Where the windows along one dim begin, (N, C, out); the last one ends with the input."""
    if out == 1:
        return xp.full((*u.shape, 1), n - kernel, np.int64)
    alpha = (n - kernel) / (out - 1)
    steps = xp.arange(out - 1)
    first = ((steps + u[..., None]) * alpha).astype(np.int64) - (u[..., None] * alpha).astype(np.int64)
    last = xp.full((*u.shape, 1), n - kernel, np.int64)
    return xp.concatenate([first, last], axis=-1)


def _fractional_max(xp: ArrayModule, x: Array, samples: Array, *, kernel: Dims, size: Dims) -> Any:
    """The maxima of the windows of x (N, C, *n) and their flat positions."""
    given, dims = x.shape[2:], len(size)
    flat = xp.zeros((*x.shape[:2], *(1,) * (2 * dims)), np.int64)
    for i in range(dims):
        # PyTorch draws the samples of two dims in the order (width, height), of three in (t, h, w).
        column = samples[..., dims - 1 - i if dims == 2 else i]
        starts = _starts(xp, column, given[i], size[i], kernel[i])
        places = starts[..., None] + xp.arange(kernel[i])
        shape = [1] * (2 * dims)
        shape[i], shape[dims + i] = size[i], kernel[i]
        flat = flat * given[i] + places.reshape(*x.shape[:2], *shape)
    flat = flat.reshape(*x.shape[:2], int(np.prod(size)), int(np.prod(kernel)))
    seen = xp.take_along_axis(x.reshape(*x.shape[:2], 1, int(np.prod(given))), flat, axis=-1)
    best = last_of_nans(xp, seen, seen.argmax(axis=-1))[..., None]
    values = xp.take_along_axis(seen, best, axis=-1).reshape(*x.shape[:2], *size)
    return values, xp.take_along_axis(flat, best, axis=-1).reshape(values.shape)


def _meta(x: Shaped, samples: Shaped, *, kernel: Dims, size: Dims) -> list:
    shape = (*x.shape[:2], *size)
    return [(shape, x.dtype), (shape, np.dtype(np.int64))]


fractional_max_op = Op(_fractional_max, "fractional_max_pool", grad_name="FractionalMaxPool2DBackward0", meta=_meta)


@fractional_max_op.backward
def _fractional_max_backward(g: Any, out1: Tensor, x_shape: Dims) -> tuple:
    if g is None:
        return None, None
    return max_pool_grad(g, out1.detach(), x_shape=x_shape, overlap=True), None


def _target(n: int, fn: str, given: Dims, output_size: Any, output_ratio: Any) -> Dims:
    if output_size is None and output_ratio is None:
        raise ValueError(f"{fn} requires specifying either an output_size or an output_ratio")
    if output_size is not None:
        return (output_size,) * n if isinstance(output_size, int) else tuple(output_size)
    ratios = (output_ratio,) * n if isinstance(output_ratio, float) else tuple(output_ratio)
    return tuple([int(s * r) for s, r in zip(given, ratios)])


def _pooled(
    n: int, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Any
) -> tuple[Tensor, Tensor]:
    fn = f"fractional_max_pool{n}d"
    alone = input._a.ndim == n + 1
    x = input.unsqueeze(0) if alone else input
    given = x._a.shape[2:]
    kernel = (kernel_size,) * n if isinstance(kernel_size, int) else tuple(kernel_size)
    size = _target(n, fn, given, output_size, output_ratio)
    for name, m, k, s in zip(("time", "height", "width")[-n:], size, kernel, given):
        if m + k - 1 > s:
            raise RuntimeError(f"{fn}(): pool {name} {k} too large relative to input {name} {s}")
    if samples is None:
        rand = NAMESPACES["torch"]["rand"]
        samples = rand(*x._a.shape[:2], n, dtype=x.dtype, device=x.device)
    else:
        samples = _checked(n, x, samples)
    out, index = fractional_max_op(x, samples.detach(), kernel=kernel, size=size)
    return (out.squeeze(0), index.squeeze(0)) if alone else (out, index)


def _checked(n: int, x: Tensor, samples: Tensor) -> Tensor:
    """The samples for each channel of the batch, of those that a caller gave."""
    count, channels = x._a.shape[:2]
    if samples.dtype is not x.dtype:
        raise RuntimeError("Expect _random_samples to have the same dtype as input")
    if samples._a.ndim != 3:
        raise RuntimeError(f"Expect _random_samples to have 3 dimensions, got {samples._a.ndim}")
    given = samples._a.shape
    if given[0] < count:
        raise RuntimeError("Expect _random_samples.size(0) no less then input batch size.")
    if given[1] != channels:
        raise RuntimeError("Expect _random_samples.size(1) equals to input channel size.")
    if given[2] != n:
        raise RuntimeError(f"Expect _random_samples.size(2) equals to {n}; got {given[2]}.")
    return samples[:count]


def _make(n: int) -> None:
    def with_indices(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        return _pooled(n, input, kernel_size, output_size, output_ratio, _random_samples)

    def pool(
        input: Tensor,
        kernel_size: Any,
        output_size: Any = None,
        output_ratio: Any = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> Any:
        pair = _pooled(n, input, kernel_size, output_size, output_ratio, _random_samples)
        return pair if return_indices else pair[0]

    fn = f"fractional_max_pool{n}d"
    pool.__doc__ = window_text("fractional_max_pool", n)
    with_indices.__doc__ = indices_text("fractional_max_pool", n)
    for name, made in ((fn, pool), (fn + "_with_indices", with_indices)):
        made.__name__ = made.__qualname__ = name
        publish("functional", name, made)


for _n in (2, 3):
    _make(_n)
