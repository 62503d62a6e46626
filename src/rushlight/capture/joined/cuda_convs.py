"""Small convolutions joined with the max_pool behind them, on a GPU: one kernel each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy

from ...base.arrays import DeviceArray
from ...base.bounded import Bounded
from ...runtime.cuda.code.sources import device
from ...runtime.cuda.small import conv as small
from ...runtime.door import kernel_for

_MISSING = object()
_calls: dict[tuple, Any] = Bounded(1024)


def _dense(a: DeviceArray) -> Any:
    return a if a._c_contiguous else cupy.ascontiguousarray(a)


def _cut(shape: tuple, window: tuple[int, int]) -> tuple:
    """Rows and columns that lie in whole windows; the rest has no part in the result."""
    return tuple([n // k * k for n, k in zip(shape, window)])


def _remembered(key: tuple, make: Callable[[], Any]) -> Any:
    """What `make` answered for this key, None where it does not fit."""
    key = (*key, device())
    found = _calls.get(key, _MISSING)
    if found is _MISSING:
        found = make()
        _calls[key] = found = found if found is not None and found.ok else None
    return found


@kernel_for("cuda", "conv_pool")
def conv_pool(x: DeviceArray, w: DeviceArray, b: DeviceArray | None, *, window: tuple, relu: bool, stride: tuple, padding: tuple,
              dilation: tuple, groups: int) -> Any:  # fmt: skip
    def make() -> Any:
        if not small.takes(x, w.shape, dilation, groups):
            return None
        size = [(n + 2 * p - k) // s + 1 for n, p, k, s in zip(x.shape[2:], padding, w.shape[2:], stride)]
        shape = small.forward_shape(x.shape, w.shape, _cut(tuple(size), window), stride, padding)
        return small.Forward(shape, x, pool=window, relu=relu)

    key = ("pool", x.shape, x.strides, x.dtype.char, w.shape, window, relu, stride, padding)
    call = _remembered(key, make)
    if call is None:
        return NotImplemented
    return call(x, _dense(w), b if b is None else _dense(b))


@kernel_for("cuda", "conv_pool_grad_input")
def conv_pool_grad_input(
    g: DeviceArray, places: DeviceArray, w: DeviceArray, *, x_shape: tuple, y_shape: tuple, window: tuple, stride: tuple,
    padding: tuple, dilation: tuple, groups: int,
) -> Any:  # fmt: skip
    g = _dense(g)

    def make() -> Any:
        if not small.takes(g, w.shape, dilation, groups):
            return None
        seen = (*y_shape[:2], *_cut(y_shape[2:], window))
        shape = small.input_shape(x_shape, w.shape, seen, stride, padding)
        return None if shape is None else small.Forward(shape, g, spread=window)

    key = ("input", g.shape, g.dtype.char, w.shape, x_shape, window, stride, padding)
    call = _remembered(key, make)
    return NotImplemented if call is None else call(g, _dense(w), None, _dense(places))


@kernel_for("cuda", "conv_pool_grads")
def conv_pool_grads(
    g: DeviceArray, places: DeviceArray, x: DeviceArray, *, w_shape: tuple, y_shape: tuple, window: tuple, stride: tuple,
    padding: tuple, dilation: tuple, groups: int,
) -> Any:  # fmt: skip
    def make() -> Any:
        if not small.takes(g, w_shape, dilation, groups):
            return None
        shape = small.forward_shape(x.shape, w_shape, _cut(y_shape[2:], window), stride, padding)
        return small.Weight(shape, g.dtype, spread=window)

    key = ("weight", g.shape, g.dtype.char, x.shape, w_shape, window, stride, padding)
    call = _remembered(key, make)
    return NotImplemented if call is None else call(_dense(g), _dense(x), _dense(places), True)
