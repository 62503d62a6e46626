"""Piecewise activation functions: relu and everything else with a kink."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import finfo
from ...base.fits import computable, storable
from ...core.inplace import DIRECT, change
from ...core.op import OPS, Op
from ...core.public import into_same, publish
from ...core.tensor import Tensor
from ...runtime import devices
from ...runtime.facts import Facts
from ...runtime.point import Point
from ...runtime.thread import here
from ..made_of.guards import only_for, title
from ..made_of.pointwise import same_meta
from ..made_of.precision import in_float32
from .activation_make import activation, inplace_of, run

# -- relu ---------------------------------------------------------------------------------------

# The zero has x's type: NumPy 2.0 makes float32 of bfloat16 and a plain 0.
relu_op = Op(
    lambda xp, x: xp.maximum(x, x.dtype.type(0)),
    "relu",
    point=Point("x", all="max(x, 0)"),
    meta=same_meta,
    facts=Facts(onnx="unary Relu", sparse="values"),
)
# Not `gy * (y > 0)`: the gradient passes where y is NaN, and NaN * 0 must not become NaN.
relu_grad = Op(
    lambda xp, gy, y: xp.where(y <= 0, 0, gy),
    "relu_grad",
    point=Point("gy y", "0 if y <= 0 else gy"),
    meta=lambda gy, y: (y.shape, y.dtype),
    facts=Facts(aten="threshold_backward above_zero"),
)
relu_op.derivative(x=lambda g, out: relu_grad(g, out))
relu_grad.derivative(gy=lambda g, y: relu_grad(g, y))


def relu(input: Tensor) -> Tensor:
    """Replace negative elements by zero: max(0, x).

    Example:
        >>> torch.relu(torch.tensor([-2.0, 0.0, 2.0]))
        tensor([0., 0., 2.])
    """
    kind = input._a.dtype.kind
    if kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    if kind == "c":
        raise NotImplementedError("clamp is not supported for complex types")
    return relu_op(input)


DIRECT[relu] = True


def relu_(input: Tensor) -> Tensor:
    """In-place version of `relu`."""
    return change(input, relu)


def _f_relu(input: Tensor, inplace: bool = False) -> Tensor:
    """As `nn.ReLU`, as a function."""
    if inplace:
        return change(input, relu)
    return relu(input) if input._a.dtype.kind in "bc" else relu_op(input)


for _place in ("torch", "Tensor"):
    publish(_place, "relu", relu)
    publish(_place, "relu_", relu_)
publish("functional", "relu", _f_relu)
publish("functional", "relu_", relu_)


# -- hardtanh, relu6 ----------------------------------------------------------------------------


def _hardtanh_body(xp: ArrayModule, x: Array, *, low: float, high: float) -> Any:
    return xp.clip(x, low, high)


def _hardtanh_grad_body(xp: ArrayModule, gy: Array, x: Array, *, low: float, high: float) -> Any:
    return xp.where((x > low) & (x < high), gy, 0)


_hardtanh = activation(
    "hardtanh",
    _hardtanh_body,
    _hardtanh_grad_body,
    point=Point("x | low high", all="min(max(x, low), high)", cost="CHEAP"),
    slope=Point("gy x | low high", "gy if x > low and x < high else 0", cost="CHEAP"),
    keeps="out",
    kinds="iufV",
    facts=Facts(onnx="hardtanh"),
    grad_facts=Facts(aten="hardtanh_backward"),
)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """As `nn.Hardtanh`, as a function."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    if input._a.dtype == np.uint8 and min_val < 0:
        raise RuntimeError("cannot do hardtanh on an unsigned type with negative limits")
    kind = input._a.dtype
    whole = kind.kind in "iu"
    low, high = [storable(v, kind) if whole else float(storable(v, kind)) for v in (min_val, max_val)]
    attrs = {"low": low, "high": high}
    return change(input, _hardtanh, **attrs) if inplace else _hardtanh(input, **attrs)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """As `nn.ReLU6`, as a function."""
    return hardtanh(input, 0.0, 6.0, inplace)


# -- leaky_relu, prelu, rrelu -------------------------------------------------------------------


def _leaky_body(xp: ArrayModule, x: Array, *, slope: float) -> Any:
    return xp.where(x > 0, x, x * slope)


def _leaky_grad_body(xp: ArrayModule, gy: Array, x: Array, *, slope: float) -> Any:
    return xp.where(x > 0, gy, gy * slope)


# The result has the sign of x and is mostly kept by the next layer anyway, where the slope is not negative.
_leaky = activation(
    "leaky_relu",
    _leaky_body,
    _leaky_grad_body,
    point=Point("x | slope", "x if x > 0 else x * slope", cost="CHEAP"),
    slope=Point("gy x | slope", "gy if x > 0 else gy * slope", cost="CHEAP"),
    keeps="out",
    facts=Facts(onnx="leaky"),
    grad_facts=Facts(aten="leaky_relu_backward"),
)
_leaky_turned = Op(
    in_float32(_leaky_body), "leaky_relu_turned", rule=_leaky.rule, kernel=_leaky.kernel, grad_name="LeakyReluBackward0"
)
_leaky_turned.derivative(x=lambda g, x, slope: OPS["leaky_relu_grad"](g, x, slope=slope))


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """As `nn.LeakyReLU`, as a function."""
    slope = float(computable(negative_slope, input._a.dtype))
    if not slope >= 0:
        return run(_leaky_turned, input, inplace, slope=slope)
    return change(input, _leaky, slope=slope) if inplace else _leaky(input, slope=slope)


@only_for("fV", "prelu_cpu")
def _prelu_body(xp: ArrayModule, x: Array, weight: Array) -> Any:
    return xp.where(x > 0, x, x * weight)


_prelu_grad = Op(
    lambda xp, gy, x, weight: xp.where(x > 0, gy, gy * weight), "prelu_grad", point=Point("gy x weight", "gy if x > 0 else gy * weight"),
    broadcasts=True,
    meta=lambda gy, x, weight: (x.shape, x.dtype), facts=Facts(vmap="one_by_one"),
)  # fmt: skip
_prelu_grad.derivative(
    gy=lambda g, x, weight: _prelu_grad(g, x, weight), weight=lambda g, gy, x: (g * gy).masked_fill(x > 0, 0.0)
)
_prelu = Op(
    _prelu_body, "prelu", point=Point("x weight", "x if x > 0 else x * weight"),
    broadcasts=True, meta=lambda x, weight: (x.shape, x.dtype),
    grad_name="PreluKernelBackward0", facts=Facts(vmap="one_by_one", autocast={"cuda": "low"}, onnx="prelu"),
)  # fmt: skip
_prelu.derivative(x=lambda g, x, weight: _prelu_grad(g, x, weight), weight=lambda g, x: (g * x).masked_fill(x > 0, 0.0))


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """As `nn.PReLU`, with the slopes `weight`: one, or one for each channel."""
    if input._a.dtype != weight._a.dtype and not here.casting:
        raise RuntimeError(f"prelu: Type promoting not supported. Got {title(input.dtype)} and {title(weight.dtype)}")
    if weight._a.ndim > 1:
        raise RuntimeError(f"prelu: Expected `weight` to be a scalar or 1D tensor, but got: ndim = {weight._a.ndim}")
    count = weight._a.size
    if count != 1:
        ndim = input._a.ndim
        if ndim == 0:
            raise RuntimeError("Not allow zero-dim input tensor.")
        channels = input._a.shape[1] if ndim > 1 else 1
        if channels != count:
            raise RuntimeError(
                "Mismatch of parameter numbers and input channel size. Found parameter numbers = "
                f"{count} and channel size = {channels}."
            )
        weight = weight.reshape((1, -1) + (1,) * (ndim - 2))
    elif weight._a.ndim:
        weight = weight.reshape(())
    return _prelu(input, weight)


def _rrelu_noise_body(xp: ArrayModule, x: Array, *, lower: float, upper: float) -> Any:
    """A random slope for every element that is not positive, 1 for the others."""
    backend = devices.backend_of_type(x.__class__)
    stream = backend.stream(backend.device_of(x))
    if backend.type == "cpu":  # PyTorch draws a double for each slope it needs, in the order of dims
        slopes = np.ones(x.shape, x.dtype)
        wanted = ~(x > 0)
        slopes[wanted] = stream.uniform((int(wanted.sum()),), np.float64, lower, upper)
        return slopes
    drawn = stream.uniform(x.shape, x.dtype, lower, upper)
    return xp.where(x > 0, x.dtype.type(1), drawn)


rrelu_noise = Op(_rrelu_noise_body, "rrelu_noise", meta=same_meta)
rrelu_noise.kernel.random = True


def _rrelu(x: Tensor, lower: float, upper: float, training: bool) -> Tensor:
    if not training:
        return _leaky(x, slope=(lower + upper) / 2)
    return rrelu_noise(x.detach(), lower=lower, upper=upper) * x  # the factors lie in order, and so does the result


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """As `nn.RReLU`, as a function; slopes are drawn only if `training`."""
    if lower > upper:
        raise RuntimeError("Lower bound should be less than or equal to the upper bound")
    given = (float(lower), float(upper), bool(training))
    if not inplace:
        return _rrelu(input, *given)
    return change(input, lambda t: _rrelu(t.clone() if t.requires_grad else t, *given))


# -- shrinks -------------------------------------------------------------------------

_hardshrink = activation(
    "hardshrink",
    lambda xp, x, *, lambd: xp.where((x >= -lambd) & (x <= lambd), 0, x),
    lambda xp, gy, x, *, lambd: xp.where((x < -lambd) | (x > lambd), gy, 0),
    point=Point("x | lambd", "0 if x >= -lambd and x <= lambd else x", cost="CHEAP"),
    slope=Point("gy x | lambd", "gy if x < -lambd or x > lambd else 0", cost="CHEAP"),
    facts=Facts(onnx="shrink"),
)
_softshrink = activation(
    "softshrink",
    lambda xp, x, *, lambd: xp.where(x > lambd, x - lambd, xp.where(x < -lambd, x + lambd, x * 0)),
    lambda xp, gy, x, *, lambd: xp.where((x < -lambd) | (x > lambd), gy, 0),
    point=Point("x | lambd", "x - lambd if x > lambd else x + lambd if x < -lambd else x * 0", cost="CHEAP"),
    slope=Point("gy x | lambd", "gy if x < -lambd or x > lambd else 0", cost="CHEAP"),
    facts=Facts(onnx="shrink"),
)


def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Any = None) -> Tensor:
    """As `nn.Hardshrink`, as a function."""
    return into_same(out, _hardshrink(input, lambd=float(lambd)), input)


def softshrink(input: Tensor, lambd: float = 0.5, *, out: Any = None) -> Tensor:
    """As `nn.Softshrink`, as a function."""
    if lambd < 0:
        top = finfo(input.dtype).max
        raise RuntimeError(
            f"lambda must be in range [0, {top:g}] for input dtype {title(input.dtype)}, but found {lambd}"
        )
    return into_same(out, _softshrink(input, lambd=float(lambd)), input)


# -- hardsigmoid, hardswish ---------------------------------------------------------------------

_hardsigmoid = activation(
    "hardsigmoid",
    lambda xp, x: xp.clip(x + 3, 0, 6) / 6,
    lambda xp, gy, x: xp.where((x > -3) & (x < 3), gy / 6, 0),
    point=Point("x", "min(max(x + 3, 0), 6) / 6", cost="CHEAP"),
    slope=Point("gy x", "gy / 6 if x > -3 and x < 3 else 0", cost="CHEAP"),
    facts=Facts(onnx="hard"),
)
_hardswish = activation(
    "hardswish",
    lambda xp, x: x * xp.clip(x + 3, 0, 6) / 6,
    lambda xp, gy, x: xp.where(x <= -3, 0, xp.where(x >= 3, gy, gy * (x / 3 + 0.5))),
    lambda gy, x: gy.where(x >= 3, gy * (x / 3 + 0.5)).masked_fill(x <= -3, 0.0),
    point=Point("x", "x * min(max(x + 3, 0), 6) / 6", cost="CHEAP"),
    slope=Point("gy x", "0 if x <= -3 else gy if x >= 3 else gy * (x / 3 + 0.5)", cost="CHEAP"),
    facts=Facts(onnx="hard"),
    grad_facts=Facts(aten="hardswish_backward"),
)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """As `nn.Hardsigmoid`, as a function."""
    return run(_hardsigmoid, input, inplace)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """As `nn.Hardswish`, as a function."""
    return run(_hardswish, input, inplace)


# -- names --------------------------------------------------------------------------------------

for _fn in (hardtanh, relu6, leaky_relu, prelu, rrelu, hardshrink, softshrink, hardsigmoid, hardswish):
    publish("functional", _fn.__name__, _fn)
for _fn in (hardtanh, leaky_relu, rrelu):
    publish("functional", _fn.__name__ + "_", inplace_of(_fn))
publish("torch", "rrelu", rrelu)
publish("torch", "rrelu_", inplace_of(rrelu))
for _fn in (hardshrink, prelu):
    publish("torch", _fn.__name__, _fn)
    publish("Tensor", _fn.__name__, _fn)
