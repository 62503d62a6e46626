"""Elementary functions of one operand: signs, powers, exponentials, trigonometry, squashing."""

from __future__ import annotations

import math
from typing import Any

from ...base import dtypes
from ...base.arrays import Array, ArrayModule, Shaped
from ...base.fits import storable
from ...core.op import Op
from ...core.public import into, public, publish
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ...runtime.point import Point
from ..made_of.guards import FLOATS, only, passing
from ..made_of.pointwise import bool_meta, same_meta, ufunc1, unary
from ..made_of.precision import in_float32, is_half
from ..made_of.promotion import promote_unary_float
from ..made_of.reference import by_reference
from ..memory.casting import cast_to
from .arithmetic import conj, flat

LN2, LN10 = math.log(2.0), math.log(10.0)


# -- sign and magnitude -------------------------------------------------------------------------


def _refuse_bool(message: str) -> Any:
    @passing("fVciu")
    def rule(inputs: tuple) -> tuple:
        if isinstance(inputs[0], Tensor) and inputs[0]._a.dtype.kind == "b":
            raise RuntimeError(message)
        return inputs

    return rule


def _real_meta(x: Any) -> tuple:
    return x.shape, dtypes.from_np(x.dtype).to_real().np


def _sign_body(xp: ArrayModule, x: Array) -> Any:
    if x.dtype.kind == "b":
        return x.copy()
    if x.dtype.kind in "fV":  # NumPy's sign of nan is nan, PyTorch's is 0
        above, below = xp.asarray(x > 0), xp.asarray(x < 0)
        return (above.view(xp.int8) - below.view(xp.int8)).astype(x.dtype)
    return xp.sign(x)


def _sgn_dx(g: Tensor, x: Tensor, out: Tensor) -> Tensor:
    if x._a.dtype.kind != "c":
        return flat(g)
    along = (g * out.conj()).real
    return ((g - along * out) / x.abs()).masked_fill(x == 0, 0)


neg: Any = unary(
    "neg", ufunc1("negative"), point=Point("x", fiuc="-x", cost="CHEAP"),
    dx=lambda g: neg(g), aliases=("negative",), same_out=True,
    rule=_refuse_bool("Negation, the `-` operator, on a bool tensor is not supported. If you are "
                      "trying to invert a mask, use the `~` or `logical_not()` operator instead."),
    doc="The negative of every element.",
    example=("torch.tensor([1, -2]).neg()", "tensor([-1,  2])"), facts=Facts(onnx="unary Neg", sparse="values_as_they_are"),
)  # fmt: skip
abs = unary(  # noqa: A001
    "abs", ufunc1("absolute"), point=Point("x", "abs(x)", i="magnitude(x)", ub="x", c="cabs(x)", out="real", cost="CHEAP"),
    dx=lambda g, x: g * x.sgn(), aliases=("absolute",), meta=_real_meta,
    rule=only("iufVc", "abs_cpu"), same_out=True, doc="The distance of every element from zero.",
    example=("torch.tensor([-1.5, 2.0]).abs()", "tensor([1.5000, 2.0000])"), facts=Facts(onnx="unary Abs", sparse="values"),
)  # fmt: skip
sign = unary(
    "sign", _sign_body, point=Point("x", fiu="T(x > 0) - T(x < 0)", b="x", engine="1 if x > 0 else -1 if x < 0 else 0", cost="CHEAP"),
    dx=lambda g: flat(g), same_out=True,
    rule=only("biufV", "sign", message="Unlike NumPy, torch.sign is not intended to support complex "
                                       "numbers. Please use torch.sgn instead."),
    doc="-1, 0 or 1, by the sign of every element.",
    example=("torch.tensor([-3.0, 0.0, 2.0]).sign()", "tensor([-1.,  0.,  1.])"), facts=Facts(onnx="unary Sign", sparse="values"),
)  # fmt: skip
sgn = unary(
    "sgn", _sign_body, point=Point("x", fiu="T(x > 0) - T(x < 0)", b="x", c="0 if x == 0 else cscale(x, R(1) / cabs(x))"),
    dx=_sgn_dx, floats=False, same_out=True,
    doc="As `sign`; for complex numbers the number of length 1 in the same direction.",
    example=("torch.tensor([3 + 4j]).sgn()", "tensor([0.6000+0.8000j])"), facts=Facts(onnx="unary Sign", sparse="values"),
)  # fmt: skip
signbit = unary(
    "signbit", lambda xp, x: xp.zeros(x.shape, bool) if x.dtype.kind in "bu" else
    (x < 0 if x.dtype.kind == "i" else xp.signbit(x)), point=Point("x", "signbit(x)", i="x < 0", ub="False", out="bool"),
    meta=bool_meta, inplace=False, same_out=True,
    rule=only("biufV", "signbit", message="signbit is not implemented for complex tensors."),
    doc="Whether the sign bit of every element is set, which it is for -0.0 too.",
    example=("torch.tensor([-1.0, -0.0, 1.0]).signbit()", "tensor([ True,  True, False])"), facts=Facts(sparse="values"))  # fmt: skip


@public()
def positive(input: Tensor) -> Tensor:
    """The tensor itself, as `+x` is.

    Raises:
        RuntimeError: for truth values.

    Example:
        >>> torch.tensor([1, -2]).positive()
        tensor([ 1, -2])
    """
    if input._a.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


publish("Tensor", "__neg__", lambda self: neg.op(self))
publish("Tensor", "__pos__", positive)
publish("Tensor", "__abs__", lambda self: abs.op(self))


# -- powers and roots ---------------------------------------------------------------------------


@passing("fVciu")
def _square_rule(inputs: tuple) -> tuple:
    x = inputs[0]
    if isinstance(x, Tensor) and x._a.dtype.kind == "b":
        return (cast_to(x, dtypes.int64),)
    return inputs


@in_float32
def _rsqrt_body(xp: ArrayModule, x: Array) -> Any:
    return 1 / xp.sqrt(x)


square = unary(
    "square", point=Point("x", fiuc="x * x", cost="CHEAP"),
    dx=lambda g, x: g * conj(x) * 2, rule=_square_rule, grad_name="PowBackward0",
    doc="The square of every element.",
    example=("torch.tensor([1.0, -3.0]).square()", "tensor([1., 9.])"), facts=Facts(onnx="square", sparse="values"),
)  # fmt: skip
sqrt = unary(
    "sqrt",
    point=Point("x", "sqrt(x)", c="csqrt(x)", cost="CHEAP"),
    dx=lambda g, out: g / conj(out * 2),
    doc="The square root of every element; nan for negative ones.",
    example=("torch.tensor([4.0, 9.0]).sqrt()", "tensor([2., 3.])"),
    facts=Facts(onnx="unary Sqrt", sparse="values"),
)
rsqrt = unary(
    "rsqrt",
    _rsqrt_body,
    point=Point("x", "1 / sqrt(x)", c="1 / csqrt(x)", cost="CHEAP"),
    dx=lambda g, out: g * conj(out * out * out) * -0.5,
    doc="One divided by the square root of every element.",
    example=("torch.tensor([4.0, 0.25]).rsqrt()", "tensor([0.5000, 2.0000])"),
    facts=Facts(autocast={"cuda": "float32"}, onnx="rsqrt"),
)
reciprocal = unary(
    "reciprocal",
    point=Point("x", fc="1 / x", cost="CHEAP"),
    dx=lambda g, out: -(g * conj(out * out)),
    doc="One divided by every element.",
    example=("torch.tensor([2.0, 4.0]).reciprocal()", "tensor([0.5000, 0.2500])"),
    facts=Facts(autocast={"cuda": "float32"}, onnx="unary Reciprocal"),
)


# -- exponentials and logarithms ----------------------------------------------------------------


def _exp2_body(xp: ArrayModule, x: Array) -> Any:
    return xp.exp(x * LN2) if x.dtype.kind == "c" else xp.exp2(x)


def _log2_body(xp: ArrayModule, x: Array) -> Any:
    return xp.log(x) / LN2 if x.dtype.kind == "c" else xp.log2(x)


exp = unary(
    "exp",
    point=Point("x", "exp(x)", c="cexp(x)", cost="DEAR"),
    dx=lambda g, out: g * conj(out),
    doc="e to the power of every element.",
    example=("torch.tensor([0.0, 1.0]).exp()", "tensor([1.0000, 2.7183])"),
    facts=Facts(autocast={"cuda": "float32"}, onnx="unary Exp"),
)
exp2 = unary(
    "exp2", _exp2_body, point=Point("x", "exp2(x)", c="cexp(cscale(x, R(0.69314718055994530942)))"),
    dx=lambda g, out: g * conj(out) * LN2, places=("torch", "Tensor", "special"),
    doc="2 to the power of every element.",
    example=("torch.tensor([1.0, 3.0]).exp2()", "tensor([2., 8.])"), facts=Facts(onnx="exp2"),
)  # fmt: skip
expm1 = unary(
    "expm1", point=Point("x", "expm1(x)", cost="2 * DEAR"),
    dx=lambda g, out: g * conj(out + 1), places=("torch", "Tensor", "special"),
    doc="`exp(input) - 1`, exact for numbers near zero too.",
    example=("torch.tensor([0.0, 1.0]).expm1()", "tensor([0.0000, 1.7183])"), facts=Facts(autocast={"cuda": "float32"}, onnx="expm1", sparse="values"),
)  # fmt: skip
log = unary(
    "log",
    point=Point("x", "log(x)", c="clog(x)", cost="DEAR"),
    dx=lambda g, x: g / conj(x),
    doc="The natural logarithm of every element; nan for negative ones.",
    example=("torch.tensor([1.0, 10.0]).log()", "tensor([0.0000, 2.3026])"),
    facts=Facts(autocast={"cuda": "float32"}, onnx="unary Log"),
)
log2 = unary(
    "log2",
    _log2_body,
    point=Point("x", "log2(x)", c="cscale(clog(x), R(1.44269504088896340736))"),
    dx=lambda g, x: g / conj(x * LN2),
    doc="The logarithm of every element to base 2.",
    example=("torch.tensor([1.0, 8.0]).log2()", "tensor([0., 3.])"),
    facts=Facts(autocast={"cuda": "float32"}, onnx="log_base"),
)
log10 = unary(
    "log10",
    point=Point("x", "log10(x)", c="cscale(clog(x), R(0.43429448190325182765))"),
    dx=lambda g, x: g / conj(x * LN10),
    doc="The logarithm of every element to base 10; nan for negative ones.",
    example=("torch.tensor([2.0, 5.0]).log10()", "tensor([0.3010, 0.6990])"),
    facts=Facts(autocast={"cuda": "float32"}, onnx="log_base"),
)
log1p = unary(
    "log1p", point=Point("x", "log1p(x)", cost="2 * DEAR"),
    dx=lambda g, x: g / conj(x + 1), places=("torch", "Tensor", "special"),
    doc="`log(1 + input)`, exact for numbers near zero too.",
    example=("torch.tensor([0.0, 1e-7]).log1p()", "tensor([0.0000e+00, 1.0000e-07])"), facts=Facts(autocast={"cuda": "float32"}, onnx="log1p", sparse="values"),
)  # fmt: skip


# -- trigonometry -------------------------------------------------------------------------------


def _acosh_dx(g: Tensor, x: Tensor) -> Tensor:
    if x._a.dtype.kind == "c":  # the branch cut of sqrt(x * x - 1) lies elsewhere
        return g / conj((x - 1).sqrt() * (x + 1).sqrt())
    return g * (x * x - 1).rsqrt()


@in_float32
def _sinc_body(xp: ArrayModule, x: Array) -> Any:
    angle = x * math.pi
    return xp.where(x == 0, 1, xp.sin(angle) / xp.where(x == 0, 1, angle)).astype(x.dtype)


def _sinc_dx(g: Tensor, x: Tensor) -> Tensor:
    angle = x * math.pi
    square = angle * x
    slope = g * conj((angle * angle.cos() - angle.sin()) / square)
    return slope.masked_fill(square == 0, 0)


sin = unary(
    "sin",
    point=Point("x", "sin(x)", c="csin(x)"),
    dx=lambda g, x: g * conj(x.cos()),
    doc="The sine of angles in radians.",
    example=("torch.tensor([0.0, torch.pi / 2]).sin()", "tensor([0., 1.])"),
    facts=Facts(onnx="unary Sin", sparse="values"),
)
cos = unary(
    "cos",
    point=Point("x", "cos(x)", c="ccos(x)"),
    dx=lambda g, x: -(g * conj(x.sin())),
    doc="The cosine of angles in radians.",
    example=("torch.tensor([0.0, torch.pi]).cos()", "tensor([ 1., -1.])"),
    facts=Facts(onnx="unary Cos"),
)
tan = unary(
    "tan",
    point=Point("x", "tan(x)", c="ctan(x)"),
    dx=lambda g, out: g * conj(out * out + 1),
    doc="The tangent of angles in radians.",
    example=("torch.tensor([0.0, 0.5]).tan()", "tensor([0.0000, 0.5463])"),
    facts=Facts(autocast={"cuda": "float32"}, onnx="unary Tan", sparse="values"),
)
asin = unary(
    "asin", ufunc1("arcsin"), point=Point("x", "asin(x)"),
    dx=lambda g, x: g * conj((1 - x * x).rsqrt()), aliases=("arcsin",),
    doc="The angle, in radians, whose sine every element is.",
    example=("torch.tensor([0.0, 1.0]).asin()", "tensor([0.0000, 1.5708])"), facts=Facts(autocast={"cuda": "float32"}, onnx="unary Asin", sparse="values"),
)  # fmt: skip
acos = unary(
    "acos", ufunc1("arccos"), point=Point("x", "acos(x)"),
    dx=lambda g, x: -(g * conj((1 - x * x).rsqrt())),
    aliases=("arccos",), doc="The angle, in radians, whose cosine every element is.",
    example=("torch.tensor([1.0, 0.0]).acos()", "tensor([0.0000, 1.5708])"), facts=Facts(autocast={"cuda": "float32"}, onnx="unary Acos"),
)  # fmt: skip
atan = unary(
    "atan", ufunc1("arctan"), point=Point("x", "atan(x)"),
    dx=lambda g, x: g / conj(x * x + 1), aliases=("arctan",),
    doc="The angle, in radians, whose tangent every element is.",
    example=("torch.tensor([0.0, 1.0]).atan()", "tensor([0.0000, 0.7854])"), facts=Facts(onnx="unary Atan", sparse="values"),
)  # fmt: skip
sinh = unary(
    "sinh",
    point=Point("x", "sinh(x)", c="csinh(x)"),
    dx=lambda g, x: g * conj(x.cosh()),
    doc="The hyperbolic sine.",
    example=("torch.tensor([0.0, 1.0]).sinh()", "tensor([0.0000, 1.1752])"),
    facts=Facts(autocast={"cuda": "float32"}, onnx="unary Sinh", sparse="values"),
)
cosh = unary(
    "cosh",
    point=Point("x", "cosh(x)", c="ccosh(x)"),
    dx=lambda g, x: g * conj(x.sinh()),
    doc="The hyperbolic cosine.",
    example=("torch.tensor([0.0, 1.0]).cosh()", "tensor([1.0000, 1.5431])"),
    facts=Facts(autocast={"cuda": "float32"}, onnx="unary Cosh"),
)
asinh = unary(
    "asinh", ufunc1("arcsinh"), point=Point("x", "asinh(x)"),
    dx=lambda g, x: g * conj((x * x + 1).rsqrt()),
    aliases=("arcsinh",), doc="The number whose hyperbolic sine every element is.",
    example=("torch.tensor([0.0, 1.0]).asinh()", "tensor([0.0000, 0.8814])"), facts=Facts(onnx="unary Asinh", sparse="values"),
)  # fmt: skip
acosh = unary(
    "acosh", ufunc1("arccosh"), point=Point("x", "acosh(x)"),
    dx=_acosh_dx, aliases=("arccosh",),
    doc="The number whose hyperbolic cosine every element is; nan below 1.",
    example=("torch.tensor([1.0, 2.0]).acosh()", "tensor([0.0000, 1.3170])"), facts=Facts(onnx="unary Acosh"),
)  # fmt: skip
atanh = unary(
    "atanh", ufunc1("arctanh"), point=Point("x", "atanh(x)"),
    dx=lambda g, x: g / conj(1 - x * x), aliases=("arctanh",),
    doc="The number whose hyperbolic tangent every element is; nan outside of [-1, 1].",
    example=("torch.tensor([0.0, 0.5]).atanh()", "tensor([0.0000, 0.5493])"), facts=Facts(onnx="unary Atanh", sparse="values"),
)  # fmt: skip
sinc = unary(
    "sinc", _sinc_body, point=Point("x", "sinc(x)"),
    dx=_sinc_dx, places=("torch", "Tensor", "special"),
    doc="`sin(pi * input) / (pi * input)`, which is 1 at zero.",
    example=("torch.tensor([0.0, 0.5]).sinc()", "tensor([1.0000, 0.6366])"),
)  # fmt: skip


def _scale(name: str, factor: float, doc: str, **options: Any) -> Any:
    def rule(inputs: tuple) -> tuple:
        if isinstance(inputs[0], Tensor) and inputs[0]._a.dtype.kind == "c":
            raise RuntimeError(f"{name} is not supported for complex tensors.")
        return promote_unary_float(inputs)

    return unary(name, ufunc1(name), dx=lambda g: g * factor, rule=rule, doc=doc, **options)


deg2rad = _scale(
    "deg2rad",
    math.pi / 180.0,
    "Angles in degrees as radians.",
    point=Point("x", "x * 0.01745329251994329577"),
    example=("torch.tensor([0.0, 180.0]).deg2rad()", "tensor([0.0000, 3.1416])"),
    facts=Facts(sparse="values"),
)
rad2deg = _scale(
    "rad2deg",
    180.0 / math.pi,
    "Angles in radians as degrees.",
    point=Point("x", "x * 57.2957795130823208768"),
    example=("torch.tensor([0.0, torch.pi]).rad2deg()", "tensor([  0., 180.])"),
    facts=Facts(sparse="values"),
)


# -- squashing ----------------------------------------------------------------------------------
# Their gradients are one kernel each, with its own derivative: both sit in inner loops.


@in_float32
def _sigmoid_body(xp: ArrayModule, x: Array) -> Any:
    t = xp.negative(x, out=xp.empty_like(x))
    xp.exp(t, out=t)  # overflows to inf for very negative x, whose reciprocal is the right 0
    t += 1
    return xp.reciprocal(t, out=t)


@in_float32
def _sigmoid_slope(xp: ArrayModule, dy: Array, y: Array) -> Any:
    t = xp.subtract(1, y, out=xp.empty_like(y))
    t *= y
    t *= dy
    return t


@in_float32
def _tanh_slope(xp: ArrayModule, dy: Array, y: Array) -> Any:
    t = xp.multiply(y, y, out=xp.empty_like(y))
    xp.subtract(1, t, out=t)
    t *= dy
    return t


def _slope_meta(dy: Shaped, y: Shaped) -> tuple:
    return y.shape, y.dtype


sigmoid_backward = Op(
    _sigmoid_slope,
    "sigmoid_backward",
    point=Point("dy y", "(1 - y) * y * dy", engine="dy * y * (1 - y)", cost="CHEAP"),
    meta=_slope_meta,
)
sigmoid_backward.derivative(dy=lambda g, y: sigmoid_backward(g, conj(y)), y=lambda g, dy, y: g * conj(dy * (1 - y * 2)))
tanh_backward = Op(
    _tanh_slope,
    "tanh_backward",
    point=Point("dy y", "(1 - y * y) * dy", engine="dy * (1 - y * y)", cost="CHEAP"),
    meta=_slope_meta,
)
tanh_backward.derivative(dy=lambda g, y: tanh_backward(g, conj(y)), y=lambda g, dy, y: g * conj(dy * y) * -2)
sigmoid = unary(
    "sigmoid", _sigmoid_body, point=Point("x", "sigmoid(x)", c="1 / (1 + cexp(-x))", cost="DEAR"),
    dx=lambda g, out: sigmoid_backward(g, conj(out)),
    doc="`1 / (1 + exp(-input))`: every number moved into (0, 1).",
    example=("torch.tensor([-100.0, 0.0, 2.0]).sigmoid()", "tensor([0.0000, 0.5000, 0.8808])"), facts=Facts(onnx="unary Sigmoid"),
)  # fmt: skip
tanh = unary(
    "tanh",
    point=Point("x", "tanh(x)", c="ctanh(x)", cost="DEAR"),
    dx=lambda g, out: tanh_backward(g, conj(out)),
    doc="The hyperbolic tangent: every number moved into (-1, 1).",
    example=("torch.tensor([-100.0, 0.0, 0.5]).tanh()", "tensor([-1.0000,  0.0000,  0.4621])"),
    facts=Facts(onnx="unary Tanh", sparse="values"),
)


@public("special", name="expit")
@public("functional", name="sigmoid")
def _sigmoid(input: Tensor, *, out: Any = None) -> Tensor:
    """`1 / (1 + exp(-input))`: every number moved into (0, 1).

    Example:
        >>> torch.special.expit(torch.tensor([0.0, 2.0]))
        tensor([0.5000, 0.8808])
    """
    return sigmoid(input, out=out)


@public("functional", name="tanh")
def _tanh(input: Tensor) -> Tensor:
    """The hyperbolic tangent: every number moved into (-1, 1).

    Example:
        >>> F.tanh(torch.tensor([0.0, 0.5]))
        tensor([0.0000, 0.4621])
    """
    return tanh.op(input)


@in_float32
def _logit_body(xp: ArrayModule, x: Array, *, eps: float | None) -> Any:
    if eps is not None:
        low, high = (x.dtype.type(end) for end in (eps, 1 - eps))
        # Where the ends cross, PyTorch asks for the lower one first.
        x = xp.where(x < low, low, xp.minimum(x, high))
    return xp.log(x / (1 - x))


def _logit_slope(xp: ArrayModule, gy: Array, x: Array, *, eps: float | None) -> Any:
    low, high = (0.0, 1.0) if eps is None else (eps, 1.0 - eps)
    inside = (x >= x.dtype.type(low)) & (x <= x.dtype.type(high))
    outside = x.dtype.type(math.nan if eps is None else 0.0)
    return xp.where(inside, gy / (x * (1 - x)), outside)


def _logit_dx(gy: Tensor, x: Tensor, eps: float | None) -> Tensor:
    low, high = (0.0, 1.0) if eps is None else (eps, 1.0 - eps)
    outside = ~((x >= low) & (x <= high))
    return (gy / (x * (1 - x))).masked_fill(outside, math.nan if eps is None else 0.0)


_logit = Op(
    _logit_body,
    "logit",
    point=Point("x | eps?", "log(min(max(x, eps), 1 - eps) / (1 - min(max(x, eps), 1 - eps)))"),
    rule=only(FLOATS, "logit_cpu", promote_unary_float),
    meta=same_meta,
)
_logit_grad = by_reference(
    Op(_logit_slope, "logit_grad", meta=lambda gy, x, eps: (x.shape, x.dtype), facts=Facts(vmap="pointwise")), _logit_dx
)
_logit.derivative(  # half precision rounds the ends, too
    x=lambda g, x, eps: (_logit_dx if is_half(x._a) else _logit_grad)(g, x, eps=eps)
)


@public("torch", "Tensor", "special", inplace=True)
def logit(input: Tensor, eps: float | None = None, *, out: Any = None) -> Tensor:
    """The inverse of `sigmoid`.

    Args:
        eps: move the input into [eps, 1 - eps] first, so that the result is finite.

    Example:
        >>> torch.tensor([0.5, 0.9]).logit()
        tensor([0.0000, 2.1972])
    """
    if eps is not None:
        kind = input._a.dtype
        eps = float(storable(float(eps), kind if kind.kind in "fV" else dtypes.get_default_dtype().np))
    return into(out, _logit(input, eps=eps), input)
