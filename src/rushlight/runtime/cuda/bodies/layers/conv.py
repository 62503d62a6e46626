"""Convolutions on the GPU: our own kernels for few channels and for a window of each channel, cuDNN for the rest."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import cupy

from .....base.arrays import DeviceArray
from .....base.bounded import Bounded
from .....base.config import settings
from .....base.shapes import window_count
from ....door import kernel_for
from ...code.sources import NUMBERS, blocks_for, device, load
from ...library.cublaslt import is_capturing
from ...library.cudnn_conv import Convolution, plan_for, tune
from ...library.cudnn_graph import CudnnPlan
from ...library.measuring import are_measured
from ...small import conv as small
from ...small.conv_costs import forward_pays, weight_pays
from ..fills import copied, row_major
from ..pointwise import compute
from ..reduce import reduce
from . import depthwise

_MISSING = object()
_calls: dict[tuple, Any] = Bounded(4096)


def _found(
    kind: str, a: DeviceArray, b: DeviceArray, how: dict[str, Any], choose: Callable[..., Any], *rest: Any
) -> Any:
    """What computes a convolution of arrays like these, chosen when it is new; None where nothing of ours does."""
    key = (
        kind, a.shape, a._c_contiguous or a.strides, b.shape, b._c_contiguous or b.strides,
        a.dtype.char, settings.cudnn_enabled, are_measured(), settings.cudnn_deterministic or settings.deterministic,
        settings.cudnn_allow_tf32, device(), how["stride"], how["padding"], how["dilation"], how["groups"], *rest,
    )  # fmt: skip
    call = _calls.get(key, _MISSING)
    if call is _MISSING:
        call = _calls[key] = choose(a, b, how, *rest) if _usable(a, b) else None
    return call


def _usable(a: DeviceArray, b: DeviceArray) -> bool:
    return a.dtype.char in NUMBERS and a.dtype == b.dtype and a.size > 0 and b.size > 0


# -- memory orders --------------------------------------------------------------------------------


def _channels_last(a: DeviceArray) -> bool:
    if a._c_contiguous:
        return False
    order = (0, *range(2, a.ndim), 1)
    return bool(a.transpose(order)._c_contiguous)


def _takes_small(a: DeviceArray, b: DeviceArray, w_shape: tuple, attrs: dict[str, Any]) -> bool:
    """Whether our own kernels may compute it: they read and write row-major arrays."""
    if _channels_last(a) or _channels_last(b):
        return False
    return bool(small.takes(a, w_shape, attrs["dilation"], attrs["groups"]))


def _strides(shape: tuple, last: bool) -> tuple:
    """Strides in elements of a dense array, its channels innermost or not."""
    order = [*range(len(shape))] if not last else [0, *range(2, len(shape)), 1]
    steps = [0] * len(shape)
    step = 1
    for axis in reversed(order):
        steps[axis] = step
        step *= shape[axis]
    return tuple(steps)


def _ordered(a: DeviceArray, last: bool) -> Any:
    """`a` dense in the wanted order and aligned for wide reads, copied where it is not."""
    if a.data.ptr & 15:
        a = copied(a, "K")
    if not last:
        return row_major(a)
    order = (0, *range(2, a.ndim), 1)
    turned = a.transpose(order)
    if turned._c_contiguous:
        return a
    back = (0, a.ndim - 1, *range(1, a.ndim - 1))
    return copied(turned).transpose(back)


# -- cuDNN ----------------------------------------------------------------------------------------


class _Library:
    """One convolution of cuDNN: brings its arrays into order and runs the plan."""

    def __init__(
        self, kind: str, a: DeviceArray, b: DeviceArray, out_shape: tuple, attrs: dict[str, Any],
        bias: bool = False, relu: bool = False,
    ) -> None:  # fmt: skip
        self.last = _channels_last(a) or _channels_last(b)
        self.shape = out_shape
        # Strides are part of the key under which this object is found, so order is known here.
        self.ready = (self._is_ready(a), self._is_ready(b))
        steps = _strides(out_shape, self.last)
        self.strides = tuple([s * a.itemsize for s in steps])
        self.bytes = prod(out_shape) * a.itemsize
        self.fused, self.relu = bias, False  # what the plan does behind the convolution
        made = self._plan(kind, a, b, attrs, True, True) if bias and relu else None
        if made is not None:
            self.relu = True
        else:
            made = self._plan(kind, a, b, attrs, bias)
        if made is None and bias:
            self.fused = False
            made = self._plan(kind, a, b, attrs, False)
        self.plan: CudnnPlan | None = made
        self.relu_after = relu and not self.relu

    def _is_ready(self, a: DeviceArray) -> bool:
        """Whether an array lies as the plan expects it."""
        steps = [s * a.itemsize for s in _strides(a.shape, self.last)]
        return all(n == 1 or s == t for n, s, t in zip(a.shape, a.strides, steps))

    def _plan(
        self, kind: str, a: DeviceArray, b: DeviceArray, attrs: dict[str, Any], bias: bool, relu: bool = False
    ) -> CudnnPlan | None:
        flat = a.ndim == 3  # cuDNN has no 1-d convolution: a second dim of size 1 goes in front

        def side(shape: tuple) -> tuple[tuple, tuple]:
            steps = _strides(shape, self.last)
            if not flat:
                return tuple(shape), steps
            step = shape[2] * (shape[1] if self.last else 1)
            return (shape[0], shape[1], 1, shape[2]), (steps[0], steps[1], step, steps[2])

        one = (lambda v, fill: (fill, *v)) if flat else (lambda v, fill: tuple(v))
        return plan_for(
            Convolution(
                kind, side(a.shape), side(b.shape), side(self.shape), one(attrs["stride"], 1),
                one(attrs["padding"], 0), one(attrs["dilation"], 1), a.dtype.char,
                settings.cudnn_allow_tf32,
                settings.cudnn_deterministic or settings.deterministic, are_measured(),
                bias, relu,
            )
        )  # fmt: skip

    def __call__(self, a: DeviceArray, b: DeviceArray, bias: Any = None) -> Any:
        if not self.ready[0] or a.data.ptr & 15:
            a = _ordered(a, self.last)
        if not self.ready[1] or b.data.ptr & 15:
            b = _ordered(b, self.last)
        out = cupy.ndarray(self.shape, a.dtype, cupy.cuda.alloc(self.bytes), self.strides)
        plan = self.plan
        assert plan is not None  # `_library` gives no others out
        if self.fused:
            if bias.data.ptr & 15:
                bias = bias.copy()
            pointers: tuple[int, ...] = (a.data.ptr, b.data.ptr, bias.data.ptr, out.data.ptr)
        else:
            pointers = (a.data.ptr, b.data.ptr, out.data.ptr)
        if plan.untuned is not None and not is_capturing():
            tune(plan, pointers)
        plan(*pointers)
        if bias is not None and not self.fused:
            _add_bias(out, bias, self.last)
        return compute("relu", (out,), (), out) if self.relu_after else out


def _add_bias(out: DeviceArray, bias: DeviceArray, last: bool) -> None:
    inner = 1 if last else prod(out.shape[2:])
    load("bias.cu", "add_bias", out.dtype.char)(blocks_for(out.size), 256, out, bias, out.size, out.shape[1], inner)


def _library(
    kind: str, a: DeviceArray, b: DeviceArray, shape: tuple, attrs: dict[str, Any], bias: bool = False,
    relu: bool = False,
) -> Any:  # fmt: skip
    if not settings.cudnn_enabled:
        return None
    made = _Library(kind, a, b, shape, attrs, bias, relu)
    return made if made.plan is not None else None


# -- the three kernels ----------------------------------------------------------------------------


def _choose_forward(x: DeviceArray, w: DeviceArray, how: dict[str, Any], biased: bool) -> Any:
    stride, padding, dilation = how["stride"], how["padding"], how["dilation"]
    out = window_count(x.shape[2:], w.shape[2:], stride, padding, dilation)
    if min(out) < 1:
        return None
    if depthwise.takes(x, w, x.shape, w.shape, how["groups"]):
        return depthwise.forward(x, w, (*x.shape[:2], *out), how, biased)
    if _takes_small(x, w, w.shape, how):
        small_one = small.forward_shape(x.shape, w.shape, out, stride, padding)
        made = small.Forward(small_one, x) if forward_pays(small_one) else None
        if made is not None and made.ok:
            return made
    return _library("fprop", x, w, (x.shape[0], w.shape[0], *out), how, biased)


@kernel_for("cuda", "conv")
def conv(x: DeviceArray, w: DeviceArray, b: DeviceArray | None, **how: Any) -> Any:
    call = _found("conv", x, w, how, _choose_forward, b is not None)
    if call is None:
        return NotImplemented
    return call(x, row_major(w) if call.__class__ is small.Forward else w, row_major(b))


def _choose_relu(x: DeviceArray, w: DeviceArray, how: dict[str, Any], fits: bool) -> Any:
    out = window_count(x.shape[2:], w.shape[2:], how["stride"], how["padding"], how["dilation"])
    if min(out) < 1 or not fits:
        return None
    return _library("fprop", x, w, (x.shape[0], w.shape[0], *out), how, True, True)


@kernel_for("cuda", "conv_relu")
def conv_relu(x: DeviceArray, w: DeviceArray, b: DeviceArray | None, **how: Any) -> Any:
    """relu(convolution + bias), in one kernel where cuDNN has one; only for what cuDNN computes."""
    call = _found("relu", x, w, how, _choose_relu, b is not None and b.dtype == x.dtype)
    return NotImplemented if call is None else call(x, w, row_major(b))


def _choose_input(gy: DeviceArray, w: DeviceArray, how: dict[str, Any], x_shape: tuple[int, ...]) -> Any:
    stride, padding, dilation = how["stride"], how["padding"], how["dilation"]
    if 0 in x_shape:
        return None
    if depthwise.takes(gy, w, x_shape, w.shape, how["groups"]):
        return depthwise.grad_input(gy, w, x_shape, how)
    if _takes_small(gy, w, w.shape, how):
        shape = small.input_shape(x_shape, w.shape, gy.shape, stride, padding)
        if shape is not None and forward_pays(shape):
            made = small.Forward(shape, gy)
            if made.ok:
                return made
    if window_count(x_shape[2:], w.shape[2:], stride, padding, dilation) != gy.shape[2:]:
        return None  # an output_padding of the stride or more: cuDNN counts another size
    return _library("dgrad", gy, w, x_shape, how)


@kernel_for("cuda", "conv_grad_input")
def conv_grad_input(gy: DeviceArray, w: DeviceArray, *, x_shape: tuple, **how: Any) -> Any:
    call = _found("input", gy, w, how, _choose_input, x_shape)
    if call is None:
        return NotImplemented
    return call(gy, row_major(w), None) if call.__class__ is small.Forward else call(gy, w)


def _choose_weight(gy: DeviceArray, x: DeviceArray, how: dict[str, Any], w_shape: tuple[int, ...]) -> Any:
    stride, padding, dilation = how["stride"], how["padding"], how["dilation"]
    if 0 in w_shape:
        return None
    if depthwise.takes(gy, x, x.shape, w_shape, how["groups"]):
        return depthwise.grad_weight(gy, x, w_shape, how)
    if _takes_small(x, gy, w_shape, how):
        shape = small.forward_shape(x.shape, w_shape, gy.shape[2:], stride, padding)
        made = small.Weight(shape, gy.dtype) if weight_pays(shape) else None
        if made is not None and made.ok:
            return made
    if window_count(x.shape[2:], w_shape[2:], stride, padding, dilation) != gy.shape[2:]:
        return None
    return _library("wgrad", gy, x, w_shape, how)


@kernel_for("cuda", "conv_grad_weight")
def conv_grad_weight(gy: DeviceArray, x: DeviceArray, *, w_shape: tuple, **how: Any) -> Any:
    call = _found("weight", gy, x, how, _choose_weight, w_shape)
    if call is None:
        return NotImplemented
    return call(row_major(gy), row_major(x)) if call.__class__ is small.Weight else call(gy, x)


@kernel_for("cuda", "conv_grads")
def conv_grads(gy: DeviceArray, x: DeviceArray, *, w_shape: tuple, **how: Any) -> Any:
    """The gradients of weight and bias: one launch where the convolution is a small one."""
    call = _found("weight", gy, x, how, _choose_weight, w_shape)
    if call is None:
        return NotImplemented
    if call.__class__ is small.Weight:
        return call(row_major(gy), row_major(x), None, True)
    return call(gy, x), reduce("sum", gy, (0, *range(2, gy.ndim)), False)
