"""Dense layers whose products are small: kernels of our own, forward and backward.

A library call costs the host more than such a product costs the GPU, and the library has no kernel that
gives all gradients of a layer, or takes the slope of the relu in front of it along.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import cupy

from ....base.arrays import DeviceArray
from ....base.bounded import Bounded
from ..code.launch import Result
from ..code.sources import counter, device, load, partials
from .dense_sizes import head_share, is_few, is_few_back, is_head, is_head_input, is_small, is_tiled, tiles

if TYPE_CHECKING:
    import numpy as np


_calls: dict[tuple, Any] = Bounded(4096)
_linears: dict[tuple, Any] = Bounded(4096)


# -- few rows -------------------------------------------------------------------------------------


def _forward_call(m: int, n: int, k: int, dtype: np.dtype, relu: bool) -> Callable[..., Any]:
    name = "linear_4" if m <= 4 else "linear_16"
    launch = load("dense_few.cu", name, dtype.char)
    results = (Result(3, (m, n), dtype),)
    return launch.prepared(-(-n // 4), 128, results, m, n, k, int(relu))


def _backward_call(
    m: int, n: int, k: int, dtype: np.dtype, to_input: bool, to_weight: bool, to_bias: bool
) -> Callable[..., Any]:
    """A launch of g, x, w, mask and then None for what is not asked for."""
    name = "linear_backward_4" if m <= 4 else "linear_backward_16"
    first = -(-k // 32) if to_input else 0
    each = k // 4 if k % 4 == 0 else k  # four columns a thread where addresses allow
    blocks = first + (-(-n * each // 256) if to_weight else 0)
    launch = load("dense_few.cu", name, dtype.char)
    shapes = ((to_input, (m, k)), (to_weight, (n, k)), (to_bias, (n,)))
    results = tuple([Result(4 + i, shape, dtype) for i, (ask, shape) in enumerate(shapes) if ask])
    return launch.prepared(blocks, 256, results, m, n, k, first)


# -- few classes ----------------------------------------------------------------------------------


def _head_call(m: int, n: int, k: int, dtype: np.dtype, relu: bool) -> Callable[..., Any]:
    share = head_share(k)
    rows = 256 // share
    launch = load("dense_thin.cu", f"head_{share}", dtype.char)
    room = (n + rows) * k * dtype.itemsize
    results = (Result(3, (m, n), dtype),)
    grid = (-(-m // rows), 1, 1)
    return launch.prepared(grid, 256, results, m, n, k, int(relu), shared=room, aligned=(0, 1))


def _head_input(g: DeviceArray, w: DeviceArray, mask: DeviceArray | None) -> Any:
    """`g @ w` of few terms, where `mask` is positive."""
    (m, n), k = g.shape, w.shape[1]
    key = ("input", m, n, k, g.dtype, device())
    call = _calls.get(key)
    if call is None:
        launch = load("dense_thin.cu", "head_input", g.dtype.char)
        grid = (-(-k // 128), -(-m // 32), 1)
        results = (Result(3, (m, k), g.dtype),)
        call = _calls[key] = launch.prepared(grid, 256, results, m, n, k, aligned=(1, 2))
    return call(g, w, mask)


# -- tiles ----------------------------------------------------------------------------------------


def _tile_call(form: str, m: int, n: int, k: int, relu: bool) -> tuple[Callable[..., None], bool]:
    grid, depth = tiles(m, n, k)
    launch = load("dense_tile.cu", form)
    return launch.fixed(grid, 128, m, n, k, depth, int(relu)), grid[2] > 1


def tiled(
    form: str, x: DeviceArray, y: DeviceArray, m: int, n: int, k: int, bias: DeviceArray | None = None, mask: DeviceArray | None = None,
    sums: DeviceArray | None = None, relu: bool = False,
) -> Any:  # fmt: skip
    """`x y` of dense float32 matrices; form says which one is transposed, as BLAS does."""
    key = (form, m, n, k, relu, device())
    found = _calls.get(key)
    if found is None:
        found = _calls[key] = _tile_call(form, m, n, k, relu)
    go, several = found
    out = cupy.ndarray((m, n), x.dtype)
    room = (partials(), counter()) if several else (None, None)
    go(x, y, bias, mask, out, sums, *room)
    return out


# -- what layers ask for --------------------------------------------------------------------------


def linear(x: DeviceArray, w: DeviceArray, b: DeviceArray | None, relu: bool = False) -> Any:
    """`x @ w.T + b`, or None when it is not so small or not dense."""
    if not (x._c_contiguous and w._c_contiguous):
        return None
    key = (x.shape, w.shape[0], x.dtype, relu, device())
    call: Any = _linears.get(key)
    if call is None:
        (m, k), n, char = x.shape, w.shape[0], x.dtype.char
        make: Any = _forward_call if is_few(m, n, k, char) else None
        if make is None and is_head(n, k, char):
            make = _head_call
        call = _linears[key] = make(m, n, k, x.dtype, relu) if make else False
    if call:
        out = call(x, w, b)
        if out is not NotImplemented:
            return out
    (m, k), n = x.shape, w.shape[0]
    if not is_small(m, n, k, x.dtype.char):
        return None
    return tiled("nt", x, w, m, n, k, bias=b, relu=relu)


def product(form: str, x: DeviceArray, y: DeviceArray, m: int, n: int, k: int, mask: DeviceArray | None = None) -> Any:
    """`x y`, either one transposed as form says; None when it is not so small or not dense.

    The result is zero where `mask`, dense and of its shape, is not positive.
    """
    if not (x._c_contiguous and y._c_contiguous):
        return None
    char = x.dtype.char
    if form == "nt" and mask is None:
        return linear(x, y, None)
    if form == "tn" and is_few_back(k, m, n, char):
        return _backward_few(x, y, None, None, False)[1]
    if form == "nn" and is_few_back(m, k, n, char):
        return _backward_few(x, None, y, mask, False)[0]
    if form == "nn" and is_head_input(m, k, n, char):
        out = _head_input(x, y, mask)
        if out is not NotImplemented:
            return out
    if is_tiled(m, n, k, char):
        return tiled(form, x, y, m, n, k, mask=mask)
    return None


def backward(g: DeviceArray, x: DeviceArray, w: DeviceArray, mask: DeviceArray | None) -> tuple | None:
    """(gradient of x, where `mask` is positive; of w; of the bias) of few rows, in one launch."""
    m, n = g.shape
    k = x.shape[1]
    dense = all(a is None or a._c_contiguous for a in (g, x, w, mask))
    if not dense or not is_few_back(m, n, k, g.dtype.char):
        return None
    return _backward_few(g, x, w, mask, True)


def weight_and_bias(g: DeviceArray, x: DeviceArray) -> tuple | None:
    """(`g.T @ x`, the sums of g over its rows) in one launch; None when not so small or not dense."""
    (rows, n), k = g.shape, x.shape[1]
    if not (g._c_contiguous and x._c_contiguous):
        return None
    if is_few_back(rows, n, k, g.dtype.char):
        return _backward_few(g, x, None, None, True)[1:]
    if not is_tiled(n, k, rows, g.dtype.char):
        return None
    sums = cupy.ndarray((n,), g.dtype)
    return tiled("tn", g, x, n, k, rows, sums=sums), sums


def _backward_few(g: DeviceArray, x: DeviceArray | None, w: Any, mask: DeviceArray | None, bias: bool) -> tuple:
    """What is asked for of (gradient of x, of w, of the bias): by giving w, x and `bias`."""
    k = w.shape[1] if x is None else x.shape[1]
    key = (g.shape, k, g.dtype, x is None, w is None, bias, device())
    call = _calls.get(key)
    if call is None:
        m, n = g.shape
        asked = w is not None, x is not None, bias
        call = _calls[key] = _backward_call(m, n, k, g.dtype, *asked)
    if w is None:
        return (None, *call(g, x, w, mask, None)) if bias else (None, call(g, x, w, mask, None, None), None)
    if x is None:
        return call(g, x, w, mask, None, None), None, None
    return call(g, x, w, mask)
