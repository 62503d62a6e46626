"""Rounding floats and taking them apart: whole parts, fractions, exponents, what is not finite."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base import dtypes
from ...base.arrays import Array, ArrayModule
from ...base.shapes import whole
from ...core.op import Op
from ...core.public import into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ...runtime.point import Point
from ..made_of import precision
from ..made_of.guards import FLOATS, INTEGERS, only, unsupported
from ..made_of.pointwise import same_meta, unary
from ..made_of.return_types import named
from .arithmetic import flat

# -- rounding -----------------------------------------------------------------------------------


def _rounding(name: str, doc: str, ufunc: str = "", onnx: str = "", **options: Any) -> Any:
    ufunc = ufunc or name

    def body(xp: ArrayModule, x: Array) -> Any:
        return x.copy() if x.dtype.kind in INTEGERS else getattr(xp, ufunc)(x)

    message = f"{name} is not supported for complex inputs"

    def rule(inputs: tuple) -> tuple:
        x = inputs[0]
        if isinstance(x, Tensor) and x._a.dtype.kind in "bc":
            complex_input = x._a.dtype.kind == "c" and name != "round"
            raise NotImplementedError(message) if complex_input else unsupported(f"{name}_vml_cpu", x.dtype)
        return inputs

    return unary(
        name, body, dx=lambda g: flat(g), rule=rule, same_out=True, doc=doc, **options,
        point=Point("x", f"{ufunc}(x)", iub="x"), facts=Facts(onnx=onnx or f"unary {name.capitalize()}", sparse="values"),
    )  # fmt: skip


floor = _rounding(
    "floor",
    "The nearest whole number that is not larger.",
    example=("torch.tensor([1.7, -1.2]).floor()", "tensor([ 1., -2.])"),
)
ceil = _rounding(
    "ceil",
    "The nearest whole number that is not smaller.",
    example=("torch.tensor([1.2, -1.7]).ceil()", "tensor([ 2., -1.])"),
)
trunc = _rounding(
    "trunc",
    "The whole part: the fraction is cut off.",
    example=("torch.tensor([1.7, -1.7]).trunc()", "tensor([ 1., -1.])"),
    aliases=("fix",),
    onnx="trunc",
)
_round = _rounding("round", "The nearest integer.", "rint", places=()).op
frac = unary(
    "frac", lambda xp, x: x - xp.trunc(x), point=Point("x", "x - trunc(x)", engine="frac(x)", cost="CHEAP"),
    dx=lambda g: g, rule=only(FLOATS, "frac_cpu"), same_out=True,
    doc="The fraction that `trunc` cuts off, with its sign.",
    example=("torch.tensor([1.5, -1.25]).frac()", "tensor([ 0.5000, -0.2500])"), facts=Facts(onnx="trunc", sparse="values"),
)  # fmt: skip


@precision.in_float32
def _round_decimals_body(xp: ArrayModule, x: Array, *, decimals: int) -> Any:
    power = 10.0 ** abs(decimals) if abs(decimals) <= 308 else math.inf
    return xp.rint(x * power) / power if decimals > 0 else xp.rint(x / power) * power


_round_decimals = Op(
    _round_decimals_body, "round_decimals", point=Point("x | power shrink:int", "rint(x / power) * power if shrink else rint(x * power) / power"),
    rule=only(FLOATS, "round_cpu"), meta=same_meta,
    grad_name="RoundBackward1",
)  # fmt: skip
_round_decimals.derivative(x=lambda g: flat(g))


@public("torch", "Tensor", "special", inplace=True)
def round(input: Tensor, *, decimals: int = 0, out: Any = None) -> Tensor:  # noqa: A001
    """The nearest whole number, halves to the even one; or the nearest number with some decimals.

    Args:
        decimals: digits after the point; negative ones round to tens, hundreds and so on.

    Example:
        >>> torch.tensor([0.5, 1.5, 2.7]).round()
        tensor([0., 2., 3.])
        >>> torch.tensor([1.2345]).round(decimals=2)
        tensor([1.2300])
    """
    decimals = whole(decimals, "decimals")
    return into_same(out, _round_decimals(input, decimals=decimals) if decimals else _round(input), input)


# -- mending ------------------------------------------------------------------------------------


def _nan_to_num_body(xp: ArrayModule, x: Array, *, nan: float, posinf: Any, neginf: Any) -> Any:
    if x.dtype.kind not in "fcV":
        return x.copy()
    if x.dtype.kind == "c":
        out = x.copy()
        out.real = _nan_to_num_body(xp, x.real, nan=nan, posinf=posinf, neginf=neginf)
        out.imag = _nan_to_num_body(xp, x.imag, nan=nan, posinf=posinf, neginf=neginf)
        return out
    limits = dtypes.finfo(dtypes.from_np(x.dtype))
    out = xp.array(x)
    out[xp.isnan(x)] = nan
    out[xp.equal(x, math.inf)] = limits.max if posinf is None else posinf
    out[xp.equal(x, -math.inf)] = limits.min if neginf is None else neginf
    return out


_nan_to_num = Op(
    _nan_to_num_body,
    "nan_to_num",
    point=Point(
        "x | nan high low",
        "nan if x != x else (high if x > 0 else low) if isinf(x) else x",
        iub="x",
        engine="nan if x != x else high if x == inf else low if x == -inf else x",
        cost="CHEAP",
        by_hand=True,
    ),
    meta=same_meta,
    facts=Facts(sparse="values"),
)
_nan_to_num.derivative(x=lambda g, x: g.masked_fill(~x.isfinite(), 0))


@public(inplace=True)
def nan_to_num(
    input: Tensor, nan: float | None = 0.0, posinf: Any = None, neginf: Any = None, *, out: Any = None
) -> Tensor:
    """nan and infinities replaced by numbers.

    Args:
        nan: what stands for nan.
        posinf: what stands for infinity; the largest number of the dtype if None.
        neginf: what stands for minus infinity; the smallest number of the dtype if None.

    Example:
        >>> torch.tensor([torch.nan, torch.inf, 1.0]).nan_to_num(posinf=99.0)
        tensor([ 0., 99.,  1.])
    """
    nan = 0.0 if nan is None else nan
    return into_same(out, _nan_to_num(input, nan=nan, posinf=posinf, neginf=neginf), input)


# -- mantissa and exponent ----------------------------------------------------------------------

_Frexp = named("frexp", "mantissa", "exponent")


def _frexp_body(xp: ArrayModule, x: Array) -> tuple:
    mantissa, exponent = xp.frexp(x.astype(xp.float32) if x.dtype.kind == "V" else x)
    return mantissa.astype(x.dtype, copy=False), exponent.astype(xp.int32)


_frexp = Op(
    _frexp_body, "frexp", rule=only("fV", "", message="torch.frexp() only supports floating-point dtypes"),
    meta=lambda x: [(x.shape, x.dtype), (x.shape, np.dtype(np.int32))], facts=Facts(vmap="pointwise", layout="first"),
)  # fmt: skip
_frexp.derivative(x=lambda g, out1: g * 2.0 ** -out1.to(g.dtype))


@public()
def frexp(input: Tensor, *, out: Any = None) -> Any:
    """Every element as a mantissa, whose size is in [0.5, 1), and a power of two.

    Example:
        >>> mantissa, exponent = torch.tensor([8.0, 3.0]).frexp()
        >>> mantissa, exponent
        (tensor([0.5000, 0.7500]), tensor([4, 2], dtype=torch.int32))
    """
    return into_same(out, _Frexp(*_frexp(input)))
