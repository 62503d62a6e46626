"""Functions of two real operands beyond arithmetic: extremes, angles, log-sums, common divisors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.shapes import broadcast_shapes
from ...core.op import Op
from ...core.public import into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ...runtime.point import Point
from ..made_of.guards import (
    FLOATS,
    INTEGERS,
    invalid_arguments,
    no_derivative,
    only,
    passing,
    tensors_only,
    unsupported,
)
from ..made_of.pointwise import binary, pair_meta, ufunc2
from ..made_of.precision import in_float32
from ..made_of.promotion import promote, promote_float
from .arithmetic import conj, flat

# -- the larger and the smaller -----------------------------------------------------------------


def _real_pair(name: str) -> Any:
    @passing("fViub")
    def rule(inputs: tuple) -> tuple:
        for t in inputs:
            if t._a.dtype.kind == "c":
                raise RuntimeError(f"{name} not implemented for complex tensors.")
        return promote(inputs)

    return tensors_only(name, "input", "other", then=rule)


def _shared(g: Tensor, equal: Tensor, lost: Tensor) -> Tensor:
    """All of the gradient to the winner, half of it to each side of a tie."""
    return (g * 0.5).where(equal, g).masked_fill(lost, 0)


def _nan_to_other(g: Tensor, lost: Tensor) -> Tensor:
    return g.masked_fill(lost, 0)


maximum = binary(
    "maximum", point=Point("x y", all="max(x, y)", b="x or y", cost="CHEAP"),
    dx=lambda g, x, y: _shared(g, x == y, x < y), dy=lambda g, x, y: _shared(g, x == y, y < x),
    rule=_real_pair("maximum"), inplace=False, doc="The larger of two, element by element; nan if one of them is.",
    example=("torch.tensor([1, 5]).maximum(torch.tensor([3, 2]))", "tensor([3, 5])"), facts=Facts(onnx="binary Max"),
)  # fmt: skip
minimum = binary(
    "minimum", point=Point("x y", all="min(x, y)", b="x and y", cost="CHEAP"),
    dx=lambda g, x, y: _shared(g, x == y, x > y), dy=lambda g, x, y: _shared(g, x == y, y > x),
    rule=_real_pair("minimum"), inplace=False, doc="The smaller of two, element by element; nan if one of them is.",
    example=("torch.tensor([1, 5]).minimum(torch.tensor([3, 2]))", "tensor([1, 2])"), facts=Facts(onnx="binary Min"),
)  # fmt: skip
fmax = binary(
    "fmax", point=Point("x y", "fmax(x, y)", iu="max(x, y)", b="x or y"),
    dx=lambda g, x, y: _nan_to_other(g, ~((x >= y) | y.isnan())),
    dy=lambda g, x, y: _nan_to_other(g, (x >= y) | y.isnan()),
    rule=_real_pair("fmax"), inplace=False, doc="The larger of two, element by element; where one is nan, the other.",
    example=("torch.tensor([1.0, torch.nan]).fmax(torch.tensor([3.0, 2.0]))", "tensor([3., 2.])"), facts=Facts(onnx="binary Max"),
)  # fmt: skip
fmin = binary(
    "fmin", point=Point("x y", "fmin(x, y)", iu="min(x, y)", b="x and y"),
    dx=lambda g, x, y: _nan_to_other(g, ~((x <= y) | y.isnan())),
    dy=lambda g, x, y: _nan_to_other(g, (x <= y) | y.isnan()),
    rule=_real_pair("fmin"), inplace=False, doc="The smaller of two, element by element; where one is nan, the other.",
    example=("torch.tensor([1.0, torch.nan]).fmin(torch.tensor([3.0, 2.0]))", "tensor([1., 2.])"), facts=Facts(onnx="binary Min"),
)  # fmt: skip


# -- geometry and floating point ----------------------------------------------------------------


def _floats(name: str, label: str, then: Any = promote) -> Any:
    return tensors_only(name, "input", "other", then=only(FLOATS, label, then))


def _copysign_rule(inputs: tuple) -> tuple:
    if not isinstance(inputs[0], Tensor):
        raise invalid_arguments("copysign", *inputs)
    return only(FLOATS, "copysign_cpu", promote_float)(inputs)


def _over_square(g: Tensor, x: Tensor, y: Tensor) -> Tensor:
    square = x * x + y * y
    return g * (1 / square).masked_fill(square == 0, 0)


def _copysign_dx(g: Tensor, x: Tensor, out: Tensor) -> Tensor:
    return g * (out / x).masked_fill(x == 0, 0)


hypot = binary(
    "hypot", point=Point("x y", "hypot(x, y)"),
    dx=lambda g, x, out: g * (x / out), dy=lambda g, y, out: g * (y / out),
    rule=_floats("hypot", "hypot_cpu"), doc="The length of the vector (input, other): `sqrt(input ** 2 + other ** 2)`.",
    example=("torch.tensor([3.0]).hypot(torch.tensor([4.0]))", "tensor([5.])"),
)  # fmt: skip
atan2 = binary(
    "atan2", ufunc2("arctan2"), point=Point("x y", "atan2(x, y)"),
    aliases=("arctan2",),
    dx=lambda g, x, y: _over_square(g * y, x, y), dy=lambda g, x, y: _over_square(-(g * x), x, y),
    rule=_floats("atan2", "atan2_cpu", promote_float), doc="The angle of the point (x=other, y=input) in radians, from -pi to pi.",
    example=("torch.tensor([1.0, 0.0]).atan2(torch.tensor([1.0, -1.0]))", "tensor([0.7854, 3.1416])"), facts=Facts(autocast={"cuda": "widest"}),
)  # fmt: skip
copysign = binary(
    "copysign", point=Point("x y", "copysign(x, y)"),
    dx=_copysign_dx, dy=lambda g: flat(g), rule=_copysign_rule,
    doc="The size of `input` with the sign of `other`.",
    example=("torch.tensor([1.0, 2.0]).copysign(torch.tensor([-1.0, 1.0]))", "tensor([-1.,  2.])"),
)  # fmt: skip
nextafter = binary(
    "nextafter", dx=lambda g, x, y: g.masked_fill(x == y, 0), dy=lambda g: flat(g),
    rule=_floats("nextafter", "nextafter_cpu"),
    doc="The next number that the dtype has, from `input` towards `other`.",
    example=("torch.tensor([1.0]).nextafter(torch.tensor([2.0])) - 1", "tensor([1.1921e-07])"),
)  # fmt: skip


def _ldexp_body(xp: ArrayModule, x: Array, y: Array) -> Any:
    exponents = xp.clip(y.astype(xp.int64), -20_000, 20_000)  # more makes no difference to any dtype
    return xp.ldexp(x, exponents.astype(xp.int32))


_ldexp = Op(
    in_float32(_ldexp_body), "ldexp", broadcasts=True, grad_name="LdexpBackward0",
    meta=lambda x, y: (np.broadcast_shapes(x.shape, y.shape), x.dtype), facts=Facts(vmap="pointwise"),
)  # fmt: skip
_ldexp.derivative(x=lambda g, y: _ldexp(g, y))


@public(inplace=True)
def ldexp(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """`input * 2 ** other`, element by element.

    Example:
        >>> torch.tensor([1.0, 3.0]).ldexp(torch.tensor([2, 1]))
        tensor([4., 6.])
    """
    tensors_only("ldexp", "input", "other", then=lambda pair: pair)((input, other))
    if input._a.dtype.kind not in "fV" or other._a.dtype.kind not in "iub":
        return into_same(out, input * 2.0**other, input)
    if other._a.dtype.kind == "b":
        raise unsupported("ldexp_cpu_exp", other.dtype)
    broadcast_shapes(input._a.shape, other._a.shape)  # says what does not fit
    return into_same(out, _ldexp(input, other), input)


# -- sums of exponentials -----------------------------------------------------------------------


def _logaddexp_body(xp: ArrayModule, x: Array, y: Array) -> Any:
    if x.dtype.kind != "c":
        return xp.logaddexp(x, y)
    first = (x.real >= y.real) | xp.isnan(x.real)
    top, other = xp.where(first, x, y), xp.where(first, y, x)
    made = top + xp.log1p(xp.exp(other - top))
    same = (x.real == y.real) & xp.isinf(x.real)
    return xp.where(same, xp.where(x.real < 0, other, xp.log(xp.exp(x) + xp.exp(y))), made)


logaddexp = binary(
    "logaddexp", _logaddexp_body, point=Point("x y", "logaddexp(x, y)"),
    inplace=False,
    dx=lambda g, x, y: g / conj((y - x).exp() + 1), dy=lambda g, x, y: g / conj((x - y).exp() + 1),
    rule=tensors_only("logaddexp", "input", "other", then=only("fVc", "logaddexp_cpu", promote)),
    doc="`log(exp(input) + exp(other))`, computed so that nothing overflows.",
    example=("torch.tensor([1000.0]).logaddexp(torch.tensor([1000.0]))", "tensor([1000.6932])"),
)  # fmt: skip
logaddexp2 = binary(
    "logaddexp2", point=Point("x y", "logaddexp2(x, y)"),
    inplace=False,
    dx=lambda g, x, y: g / ((y - x).exp2() + 1), dy=lambda g, x, y: g / ((x - y).exp2() + 1),
    rule=_floats("logaddexp2", "logaddexp2_cpu"), doc="`log2(2 ** input + 2 ** other)`, computed so that nothing overflows.",
    example=("torch.tensor([1000.0]).logaddexp2(torch.tensor([1000.0]))", "tensor([1001.])"),
)  # fmt: skip


def _xlogy_body(xp: ArrayModule, x: Any, y: Any) -> Any:
    return _times_log(xp, x, y, xp.log)


def _xlog1py_body(xp: ArrayModule, x: Array, y: Any) -> Any:
    return _times_log(xp, x, y, xp.log1p)


def _times_log(xp: ArrayModule, x: Any, y: Any, log: Any) -> Any:
    dtype = (x if hasattr(x, "dtype") else y).dtype
    x, y = xp.asarray(x, dtype), xp.asarray(y, dtype)
    return xp.where((x == 0) & ~xp.isnan(y), xp.zeros((), dtype), x * log(y))


def _log(y: Any, plus: float = 0.0) -> Any:
    if isinstance(y, Tensor):
        return y.log1p() if plus else y.log()
    top = y + plus
    return math.log(top) if top > 0 else -math.inf if top == 0 else math.nan


def _where_used(slope: Tensor, x: Any, y: Any, edge: float) -> Tensor:
    """0 where x is 0 and the logarithm is not finite (y at or below `edge`)."""
    unused = (x == 0) & (y <= edge)
    return slope.masked_fill(unused, 0) if isinstance(unused, Tensor) else slope * (not unused)


xlogy: Any = binary(
    "xlogy", _xlogy_body, point=Point("x y", "0 if x == 0 and y == y else x * log(y)"),
    places=("torch", "Tensor", "special"),
    dx=lambda g, x, y: _where_used(g * _log(y), x, y, 0.0), dy=lambda g, x, y: g * x / y,
    rule=only(FLOATS, "xlogy_cpu", promote_float), doc="`input * log(other)`, and 0 where `input` is 0.",
    example=("torch.tensor([0.0, 2.0]).xlogy(torch.tensor([0.0, 3.0]))", "tensor([0.0000, 2.1972])"),
)  # fmt: skip
xlog1py: Any = binary(
    "xlog1py", _xlog1py_body, point=Point("x y", "0 if x == 0 and y == y else x * log1p(y)"),
    places=("special",), inplace=False,
    dx=lambda g, x, y: _where_used(g * _log(y, 1.0), x, y, -1.0),
    dy=lambda g, x, y: g * x / (y + 1),
    rule=only(FLOATS, "xlog1py_cpu", promote_float),
    doc="`input * log(1 + other)`, and 0 where `input` is 0.",
    example=("torch.special.xlog1py(torch.tensor([0.0, 2.0]), torch.tensor([-1.0, 3.0]))", "tensor([0.0000, 2.7726])"),
)  # fmt: skip


# -- steps and divisors -------------------------------------------------------------------------


def _heaviside_rule(inputs: tuple) -> tuple:
    x, y = inputs
    if x._a.dtype.kind == "c" or y._a.dtype.kind == "c":
        raise RuntimeError("heaviside is not yet implemented for complex tensors.")
    if x._a.dtype != y._a.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    return promote(inputs)


def _heaviside_body(xp: ArrayModule, x: Array, values: Array) -> Any:
    return xp.where(x == 0, values, (x > 0).astype(x.dtype))


_heaviside = Op(
    _heaviside_body, "heaviside", point=Point("x values", all="values if x == 0 else T(x > 0)"),
    broadcasts=True, meta=lambda x, values: pair_meta(x, values),
    rule=tensors_only("heaviside", "input", "values", then=_heaviside_rule),
)  # fmt: skip
_heaviside.derivative(x=no_derivative("heaviside"), values=no_derivative("heaviside"))


@public(inplace=True)
def heaviside(input: Tensor, values: Tensor, *, out: Any = None) -> Tensor:
    """0 for negative elements, 1 for positive ones, and `values` at zero.

    Args:
        values: of the dtype of `input`; shapes broadcast.

    Example:
        >>> torch.tensor([-2.0, 0.0, 3.0]).heaviside(torch.tensor(0.5))
        tensor([0.0000, 0.5000, 1.0000])
    """
    return into_same(out, _heaviside(input, values), input, values)


def _integers(name: str) -> Any:
    return tensors_only(name, "input", "other", then=only(INTEGERS, f"{name}_cpu", promote))


gcd = binary(
    "gcd",
    point=Point("x y", iu="gcd(x, y)"),
    rule=_integers("gcd"),
    doc="The greatest common divisor of integers.",
    example=("torch.tensor([12, 9]).gcd(torch.tensor([8, 6]))", "tensor([4, 3])"),
    facts=Facts(refuses="integers"),
)
lcm = binary(
    "lcm",
    point=Point("x y", iu="lcm(x, y)"),
    rule=_integers("lcm"),
    doc="The least common multiple of integers.",
    example=("torch.tensor([4, 3]).lcm(torch.tensor([6, 5]))", "tensor([12, 15])"),
    facts=Facts(refuses="integers"),
)


ldexp.may_overlap = True  # type: ignore[attr-defined]
