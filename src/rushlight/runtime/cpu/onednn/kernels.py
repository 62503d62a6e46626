"""Kernels by oneDNN: convolutions with their gradients, and matrix products, of float32 and bfloat16.

A kernel takes the library first, then arrays and attributes as the NumPy body does, and answers
NotImplemented for what oneDNN does not do well. Plans are cached by shapes, layouts and attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import wraps
from math import prod
from typing import Any

import numpy as np

from ....base import dtypes
from ....base.bounded import Bounded
from . import library as dnn
from .library import OneDnn, OneDnnPlan, OneDnnRefused, dims

# Below so many multiplications a call through ctypes costs more than it gains.
_SMALLEST = 1 << 18
_MOST_PLANS = 512
# With fewer channels the native engine is quicker: oneDNN's vectors lie along the channels.
_CHANNELS = 16

FLOAT, _BFLOAT = np.dtype(np.float32), dtypes.bfloat16.np

KERNELS: dict[str, Callable[..., Any]] = {}
PRODUCTS = frozenset("mm mm_nt mm_tn bmm bmm_nt bmm_tn linear".split())


def _kernel(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Register `fn`; what oneDNN refuses is left to the body behind."""

    @wraps(fn)
    def body(lib: OneDnn, *arrays: Any, **attrs: Any) -> Any:
        kind = arrays[0].dtype
        if not lib.usable or (kind != FLOAT and not (kind == _BFLOAT and lib.has_bfloat16)):
            return NotImplemented
        for a in arrays:
            if a is not None and (a.__class__ is not np.ndarray or a.dtype != kind or not a.size):
                return NotImplemented
        try:
            return fn(lib, *arrays, **attrs)
        except OneDnnRefused:
            return NotImplemented

    KERNELS[fn.__name__] = body
    return body


# -- plans ----------------------------------------------------------------------------------------

_plans: dict[Hashable, OneDnnPlan | None] = Bounded(_MOST_PLANS)


def _plan(key: Hashable, make: Callable[[], OneDnnPlan]) -> OneDnnPlan:
    """The plan for a key; OneDnnRefused again without asking where it was refused before."""
    if key not in _plans:
        try:
            _plans[key] = make()
        except OneDnnRefused:
            _plans[key] = None
    found = _plans[key]
    if found is None:
        raise OneDnnRefused
    return found


def _address(a: np.ndarray) -> int:
    return a.__array_interface__["data"][0]


def _steps(a: np.ndarray) -> tuple[int, ...]:
    """Strides in elements; OneDnnRefused for arrays whose elements overlap or lie backwards."""
    size = a.itemsize
    steps = tuple([s // size for s in a.strides])
    if any(s % size or s < size for s, n in zip(a.strides, a.shape) if n > 1):
        raise OneDnnRefused
    return tuple([max(s, 1) for s in steps])


def _described(lib: OneDnn, a: np.ndarray) -> Any:
    """The descriptor of an array as it lies."""
    return lib.strided(a.shape, _steps(a), _kind(a))


def _kind(a: np.ndarray) -> int:
    return dnn.F32 if a.dtype == FLOAT else dnn.BF16


def _last_steps(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides of a channels-last array (N, C, *size)."""
    steps, step = [0] * len(shape), shape[1]
    steps[1] = 1
    for i in range(len(shape) - 1, 1, -1):
        steps[i] = step
        step *= shape[i]
    steps[0] = step
    return tuple(steps)


def _is_last(a: np.ndarray) -> bool:
    steps = tuple([s // a.itemsize for s in a.strides])
    return a.ndim > 3 and not a.flags.c_contiguous and steps == _last_steps(a.shape)


def _empty(lib: OneDnn, shape: tuple[int, ...], last: bool, dtype: Any) -> np.ndarray:
    """Memory for a result: what the caller lends, if it lies as it must, or new."""
    lent = lib.lent(shape, dtype)
    if lent is not None and (_is_last(lent) if last else lent.flags.c_contiguous):
        return lent
    if not last:
        return np.empty(shape, dtype)
    return np.moveaxis(np.empty((shape[0], *shape[2:], shape[1]), dtype), -1, 1)


# -- convolution ----------------------------------------------------------------------------------


class _Geometry:
    """What the three convolutions share: shapes, descriptors, and the forward description."""

    def __init__(self, lib: OneDnn, kind: int, x_shape: tuple, w_shape: tuple, y_shape: tuple, how: dict) -> None:
        self.lib = lib
        self.kind = kind
        groups = how["groups"]
        grouped = (groups, w_shape[0] // groups, *w_shape[1:]) if groups > 1 else w_shape
        # Activations are channels-last inside: with plain NCHW oneDNN falls back to gemm.
        self.x = lib.strided(x_shape, _last_steps(x_shape), kind)
        self.y = lib.strided(y_shape, _last_steps(y_shape), kind)
        self.w = lib.any_layout(grouped, kind)
        self.w_shape = grouped
        pad = dims(how["padding"])
        gaps = dims([d - 1 for d in how["dilation"]])
        self.window = (dims(how["stride"]), gaps, pad, pad)

    def weight(self, w_steps: tuple[int, ...]) -> Any:
        """The user's weight, its groups apart."""
        if len(self.w_shape) > len(w_steps):
            w_steps = (w_steps[0] * self.w_shape[1], *w_steps)
        return self.lib.strided(self.w_shape, w_steps, self.kind)

    def forward(self, bias: Any = None) -> Any:
        return self.lib.describe(
            "dnnl_convolution_forward_primitive_desc_create", self.lib.engine,
            dnn.FORWARD_TRAINING, dnn.DIRECT, self.x, self.w, bias, self.y, *self.window, None,
        )  # fmt: skip

    def backward(self, function: str, *descriptors: Any) -> Any:
        return self.lib.describe(
            function, self.lib.engine, dnn.DIRECT, *descriptors, *self.window, self.forward(), None
        )


def _out_shape(x: tuple, w: tuple, how: dict) -> tuple[int, ...]:
    size = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(x[2:], w[2:], how["stride"], how["padding"], how["dilation"])
    ]
    return (x[0], w[0], *size)


def _check_work(lib: OneDnn, like: np.ndarray, out: tuple, w_shape: tuple, how: dict, forward: bool = False) -> None:
    """Refuse convolutions that are too small, or that the native engine behind does as well."""
    if prod(out) * prod(w_shape[1:]) < _SMALLEST:
        raise OneDnnRefused
    if not lib.picky or like.dtype != FLOAT:
        return
    groups = how["groups"]
    if min(w_shape[0] // groups, w_shape[1]) < _CHANNELS:
        raise OneDnnRefused
    places = prod(out) // out[1]  # the native engine computes few without turning the weights
    if forward and places <= lib.few_places and groups == 1:
        raise OneDnnRefused
    if groups == 1 and max(w_shape[2:]) == 1 and not any(how["padding"]):
        raise OneDnnRefused  # one matrix product, which the native engine does without turning the images


def _key(name: str, arrays: tuple, how: dict) -> Hashable:
    layouts = tuple([None if a is None else (a.shape, a.strides) for a in arrays])
    return name, arrays[0].dtype, layouts, tuple(how.values())


@_kernel
def conv(lib: OneDnn, x: Any, w: Any, b: Any, **how: Any) -> Any:
    shape = _out_shape(x.shape, w.shape, how)
    _check_work(lib, x, shape, w.shape, how, forward=True)
    out = _empty(lib, shape, _is_last(x) or _is_last(w), x.dtype)

    def make() -> OneDnnPlan:
        g = _Geometry(lib, _kind(x), x.shape, w.shape, shape, how)
        bias = None if b is None else _described(lib, b)
        given = {dnn.SRC: _described(lib, x), dnn.WEIGHTS: g.weight(_steps(w)), dnn.DST: _described(lib, out)}
        if b is not None:
            given[dnn.BIAS] = bias
        return OneDnnPlan(lib, g.forward(bias), given, dnn.DST)

    plan = _plan(_key("conv", (x, w, b), how), make)
    addresses = {dnn.SRC: _address(x), dnn.WEIGHTS: _address(w), dnn.DST: _address(out)}
    if b is not None:
        if b.strides != (b.itemsize,):
            raise OneDnnRefused
        addresses[dnn.BIAS] = _address(b)
    plan.run(addresses)
    return out


@_kernel
def conv_grad_input(lib: OneDnn, gy: Any, w: Any, *, x_shape: tuple, **how: Any) -> Any:
    if _out_shape(x_shape, w.shape, how) != gy.shape or 0 in x_shape:
        raise OneDnnRefused  # a transposed convolution with more room than outputs
    _check_work(lib, gy, gy.shape, w.shape, how)
    gx = _empty(lib, x_shape, _is_last(gy), gy.dtype)

    def make() -> OneDnnPlan:
        g = _Geometry(lib, _kind(gy), x_shape, w.shape, gy.shape, how)
        function = "dnnl_convolution_backward_data_primitive_desc_create"
        given = {dnn.DIFF_DST: _described(lib, gy), dnn.WEIGHTS: g.weight(_steps(w)), dnn.DIFF_SRC: _described(lib, gx)}
        return OneDnnPlan(lib, g.backward(function, g.x, g.w, g.y), given, dnn.DIFF_SRC)

    plan = _plan(_key("conv_grad_input", (gy, w), {**how, "x_shape": x_shape}), make)
    plan.run({dnn.DIFF_DST: _address(gy), dnn.WEIGHTS: _address(w), dnn.DIFF_SRC: _address(gx)})
    return gx


@_kernel
def conv_grad_weight(lib: OneDnn, gy: Any, x: Any, *, w_shape: tuple, **how: Any) -> Any:
    if _out_shape(x.shape, w_shape, how) != gy.shape or 0 in w_shape:
        raise OneDnnRefused
    _check_work(lib, gy, gy.shape, w_shape, how)
    gw = _empty(lib, w_shape, False, gy.dtype)

    def make() -> OneDnnPlan:
        g = _Geometry(lib, _kind(x), x.shape, w_shape, gy.shape, how)
        function = "dnnl_convolution_backward_weights_primitive_desc_create"
        given = {dnn.SRC: _described(lib, x), dnn.DIFF_DST: _described(lib, gy), dnn.DIFF_WEIGHTS: g.weight(_steps(gw))}
        return OneDnnPlan(lib, g.backward(function, g.x, g.w, None, g.y), given, dnn.DIFF_WEIGHTS)

    plan = _plan(_key("conv_grad_weight", (gy, x), {**how, "w_shape": w_shape}), make)
    plan.run({dnn.SRC: _address(x), dnn.DIFF_DST: _address(gy), dnn.DIFF_WEIGHTS: _address(gw)})
    return gw


# -- matrix products ------------------------------------------------------------------------------


def _product(lib: OneDnn, x: Any, y: Any, b: Any, shape: tuple[int, ...]) -> np.ndarray:
    """x (..., m, k) times y (..., k, n) of equal leading dims, plus a row b."""
    if prod(shape) * x.shape[-1] < _SMALLEST or x.shape[:-2] != y.shape[:-2] or x.ndim > 3:
        raise OneDnnRefused
    if lib.picky and x.dtype == FLOAT:  # no quicker than the native engine's, which comes first
        raise OneDnnRefused
    if b is not None and b.strides != (b.itemsize,):
        raise OneDnnRefused
    out = _empty(lib, shape, False, x.dtype)

    def make() -> OneDnnPlan:
        given = {dnn.SRC: _described(lib, x), dnn.WEIGHTS: _described(lib, y), dnn.DST: _described(lib, out)}
        bias = None
        if b is not None:
            ones = (1,) * (len(shape) - 1)
            bias = given[dnn.BIAS] = lib.strided((*ones, b.shape[0]), (b.shape[0],) * len(ones) + (1,), _kind(b))
        made = lib.describe(
            "dnnl_matmul_primitive_desc_create", lib.engine, given[dnn.SRC], given[dnn.WEIGHTS],
            bias, given[dnn.DST], None,
        )  # fmt: skip
        return OneDnnPlan(lib, made, given, dnn.DST)

    plan = _plan(_key("product", (x, y, b), {}), make)
    addresses = {dnn.SRC: _address(x), dnn.WEIGHTS: _address(y), dnn.DST: _address(out)}
    if b is not None:
        addresses[dnn.BIAS] = _address(b)
    plan.run(addresses)
    return out


def _shape(x: Any, y: Any) -> tuple[int, ...]:
    if x.ndim != y.ndim or x.ndim < 2 or x.shape[-1] != y.shape[-2]:
        raise OneDnnRefused
    return (*x.shape[:-1], y.shape[-1])


def _products(name: str) -> None:
    def nn(lib: OneDnn, x: Any, y: Any) -> Any:
        return _product(lib, x, y, None, _shape(x, y))

    def nt(lib: OneDnn, x: Any, y: Any) -> Any:
        return nn(lib, x, y.swapaxes(-1, -2))

    def tn(lib: OneDnn, x: Any, y: Any) -> Any:
        return nn(lib, x.swapaxes(-1, -2), y)

    for fn, suffix in ((nn, ""), (nt, "_nt"), (tn, "_tn")):
        fn.__name__ = name + suffix
        _kernel(fn)


_products("mm")
_products("bmm")


@_kernel
def linear(lib: OneDnn, x: Any, w: Any, b: Any) -> Any:
    if x.ndim < 2 or (x.ndim > 2 and not x.flags.c_contiguous):
        raise OneDnnRefused
    flat = x if x.ndim == 2 else x.reshape(-1, x.shape[-1])
    out = _product(lib, flat, w.T, b, (flat.shape[0], w.shape[0]))
    return out if x.ndim == 2 else out.reshape(*x.shape[:-1], w.shape[0])
