"""Two-operand arithmetic: + - * / // % ** and their named forms, with broadcasting and promotion."""

from __future__ import annotations

from typing import Any

from ..base import dtypes
from ..core.public import into, public
from ..core.tensor import Tensor
from .pointwise import binary, dunder, ufunc2
from .promotion import promote, promote_float


def conj(x: Any) -> Any:
    """The factor a gradient takes: conjugated for complex numbers, itself for real ones."""
    if isinstance(x, Tensor):
        return x.conj() if x._a.dtype.kind == "c" else x
    return x.conjugate() if isinstance(x, complex) else x


def _no_bool(inputs: tuple) -> tuple:
    for t in inputs:
        if isinstance(t, Tensor) and t._a.dtype.kind == "b":
            raise RuntimeError(
                "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
                "trying to invert a mask, use the `~` or `logical_not()` operator instead."
            )
    return promote(inputs)


_add = binary("add", ufunc2("add"), dx=lambda g: g, dy=lambda g: g, places=(),
              ).op  # fmt: skip
_sub = binary("sub", ufunc2("subtract"), dx=lambda g: g, dy=lambda g: -g, rule=_no_bool,
              places=()).op  # fmt: skip
_mul = binary("mul", ufunc2("multiply"), dx=lambda g, y: _mul(g, conj(y)),
              dy=lambda g, x: _mul(g, conj(x)), places=()).op  # fmt: skip
_div = binary("div", ufunc2("true_divide"), dx=lambda g, y: _div(g, conj(y)),
              dy=lambda g, x, y: -_div(_mul(g, conj(x)), conj(y * y)), rule=promote_float,
              places=()).op  # fmt: skip


def _scaled(other: Any, alpha: Any) -> Any:
    if alpha == 1:
        return other
    if isinstance(other, Tensor) and isinstance(alpha, float) and other._a.dtype.kind in "iub":
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    return other * alpha


@public(inplace=True)
def add(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:  # noqa: A002
    """`input + alpha * other`."""
    return into(out, _add(input, _scaled(other, alpha)))


@public(inplace=True, aliases=("subtract",))
def sub(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Tensor:  # noqa: A002
    """`input - alpha * other`."""
    return into(out, _sub(input, _scaled(other, alpha)))


@public()
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:  # noqa: A002
    """`other - alpha * input`."""
    return _sub(other, _scaled(input, alpha))


@public(inplace=True, aliases=("multiply",))
def mul(input: Any, other: Any, *, out: Any = None) -> Tensor:  # noqa: A002
    """`input * other`."""
    return into(out, _mul(input, other))


@public(inplace=True, aliases=("divide",))
def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Tensor:  # noqa: A002
    """`input / other`; `rounding_mode` "trunc" or "floor" rounds the quotient."""
    if rounding_mode is None:
        return into(out, _div(input, other))
    if rounding_mode == "floor":
        return into(out, _floor_divide(input, other))
    if rounding_mode != "trunc":
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )
    return into(out, _trunc_divide(input, other))


@public(inplace=True)
def true_divide(input: Any, other: Any, *, out: Any = None) -> Tensor:  # noqa: A002
    """`input / other`, always floating point."""
    return into(out, _div(input, other))


def _zero_checked(inputs: tuple) -> tuple:
    inputs = promote(inputs)
    divisor = inputs[1]
    integral = any(isinstance(t, Tensor) and t._a.dtype.kind in "iub" for t in inputs)
    if integral and (divisor == 0 if not isinstance(divisor, Tensor) else _has_zero(divisor)):
        raise RuntimeError("ZeroDivisionError")
    return inputs


def _has_zero(t: Tensor) -> bool:
    return t.device.type == "cpu" and bool((t._a == 0).any())


def _trunc_body(xp: Any, x: Any, y: Any) -> Any:
    if getattr(x, "dtype", getattr(y, "dtype", None)).kind in "iu":
        q = xp.floor_divide(x, y)
        return q + ((q < 0) & (q * y != x))
    return xp.trunc(xp.true_divide(x, y))


_floor_divide = binary("floor_divide", ufunc2("floor_divide"), rule=_zero_checked, places=()).op
_trunc_divide = binary("trunc_divide", _trunc_body, rule=_zero_checked, places=()).op


@public(inplace=True)
def floor_divide(input: Any, other: Any, *, out: Any = None) -> Tensor:  # noqa: A002
    """`input // other`, rounded towards minus infinity."""
    return into(out, _floor_divide(input, other))


remainder = binary(
    "remainder", ufunc2("remainder"), rule=_zero_checked, dx=lambda g: g,
    dy=lambda g, x, y: -g * _floor_divide(x, y),
    doc="The remainder of `input / other` with the divisor's sign.",
)  # fmt: skip
fmod = binary(
    "fmod", ufunc2("fmod"), rule=_zero_checked, dx=lambda g: g,
    dy=lambda g, x, y: -g * _trunc_divide(x, y),
    doc="The remainder of `input / other` with the dividend's sign.",
)  # fmt: skip


def _pow_rule(inputs: tuple) -> tuple:
    x, y = promote(inputs)
    base_integral = not isinstance(x, Tensor) or x._a.dtype.kind in "iub"
    if base_integral and isinstance(y, int) and not isinstance(y, bool) and y < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    return x, y


def _pow_body(xp: Any, x: Any, y: Any) -> Any:
    if y.__class__ in (int, float):  # NumPy's float power is 20 times slower than a product
        if y == 2:
            return xp.multiply(x, x)
        if y == 0.5 and x.dtype.kind in "fc":
            return xp.sqrt(x)
    return xp.power(x, y)


def _pow_dx(g: Any, x: Any, y: Any) -> Any:
    if not isinstance(y, Tensor):
        if y == 0:
            return g * 0.0
        return g * conj(x if y == 2 else _pow(x, y - 1)) * y
    zero = _pow(x, y - 1) * y
    return g * conj(zero.masked_fill(y == 0, 0))


def _pow_dy(g: Any, x: Any, y: Any, out: Any) -> Any:
    if not isinstance(x, Tensor):
        if x == 0:
            return g * out.masked_fill(y.real >= 0, 0)
        import cmath
        import math

        return g * conj(out * (math.log(x) if x > 0 else cmath.log(x)))
    log = x.log().masked_fill((x == 0) & (y.real >= 0), 0)
    return g * conj(out * log)


_pow = binary("pow", _pow_body, dx=_pow_dx, dy=_pow_dy, rule=_pow_rule, places=(),
              ).op  # fmt: skip


@public(inplace=True)
def pow(input: Any, exponent: Any, *, out: Any = None) -> Tensor:  # noqa: A001, A002
    """`input ** exponent`."""
    return into(out, _pow(input, exponent))


@public(inplace=True)
def float_power(input: Any, exponent: Any, *, out: Any = None) -> Tensor:  # noqa: A002
    """`input ** exponent` in double precision."""

    def wide(v: Any) -> Any:
        if not isinstance(v, Tensor):
            return v
        return v.to(dtypes.complex128 if v._a.dtype.kind == "c" else dtypes.float64)

    return into(out, _pow(wide(input), wide(exponent)))


for _name, _op in (("add", _add), ("sub", _sub), ("mul", _mul), ("truediv", _div),
                   ("floordiv", _floor_divide), ("pow", _pow)):  # fmt: skip
    dunder(_name, _op)
dunder("mod", remainder.op)
