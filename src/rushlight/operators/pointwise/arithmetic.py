"""Two-operand arithmetic: + - * / // % ** and their named forms, with broadcasting and promotion."""

from __future__ import annotations

import cmath
import math
from typing import Any

import numpy as np

from ...base import dtypes
from ...base.arrays import Array, ArrayModule
from ...base.fits import fitting, storable
from ...core.inplace import DIRECT, change
from ...core.op import Op
from ...core.public import into, into_same, public, publish
from ...core.tensor import Tensor, tensor_over
from ...runtime.facts import Facts
from ...runtime.point import Point
from ...runtime.thread import here
from ..made_of.checks import check_values
from ..made_of.guards import only, passed_by, passing
from ..made_of.pointwise import binary, dunder, pair_meta, same_meta, ufunc2, wide2
from ..made_of.precision import is_half
from ..made_of.promotion import promote, promote_float_wide, promote_sum, promote_wide, result_dtype, rounded
from ..memory.casting import cast_to
from .number_first import also_number_first, number_first


def conj(x: Any) -> Any:
    """The factor a gradient takes: conjugated for complex numbers, itself for real ones."""
    if isinstance(x, Tensor):
        return x.conj() if x._a.dtype.kind == "c" else x
    return x.conjugate() if isinstance(x, complex) else x


_zeros = Op(
    lambda xp, x: xp.zeros_like(x),
    "zeros_of",
    point=Point("x", fiubc="0"),
    moves_only=True,
    meta=same_meta,
    facts=Facts(aten="zeros_like", onnx="full", sparse="zeros"),
)


def flat(g: Tensor) -> Tensor:
    """The gradient of a function that is constant almost everywhere."""
    return _zeros(g)


@passing("fVciunr")
def _no_bool(inputs: tuple) -> tuple:
    for t in inputs:
        if isinstance(t, Tensor):
            if t._a.dtype.kind == "b":
                raise _bool_subtraction(inputs)
        elif t.__class__ is bool:
            raise _bool_subtraction(inputs)
    return promote_sum(inputs)


def _bool_subtraction(inputs: tuple) -> RuntimeError:
    if all(isinstance(t, Tensor) and t._a.dtype.kind == "b" for t in inputs):
        return RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or "
            "`logical_xor()` operator instead."
        )
    return RuntimeError(
        "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to "
        "invert a mask, use the `~` or `logical_not()` operator instead."
    )


add_op = binary("add", ufunc2("add"), point=Point("x y", fiuc="x + y", b="x or y", cost="CHEAP"),
    dx=lambda g: g, dy=lambda g: g, rule=promote_sum,
              places=(), facts=Facts(onnx="binary Add", aten="add paired", sparse="plus")).op  # fmt: skip
_sub = binary("sub", ufunc2("subtract"), point=Point("x y", fiuc="x - y", b="x != y", cost="CHEAP"),
    dx=lambda g: g, dy=lambda g: -g, rule=_no_bool,
              places=(), facts=Facts(onnx="binary Sub", aten="sub less", sparse="minus")).op  # fmt: skip
mul_op: Any = binary("mul", wide2("multiply"), point=Point("x y", fiuc="x * y", b="x and y", cost="CHEAP"),
    dx=lambda g, y: g * conj(y),
              dy=lambda g, x: g * conj(x), rule=promote_wide, places=(), facts=Facts(onnx="binary Mul", aten="mul paired", sparse="times")).op  # fmt: skip
_div: Any = binary("div", wide2("true_divide"), point=Point("x y", fc="x / y", cost="CHEAP"),
    dx=lambda g, y: g / conj(y),
              dy=lambda g, x, y: -g * conj(x / y / y), rule=promote_float_wide,
              places=(), facts=Facts(onnx="binary Div", aten="div paired", sparse="over")).op  # fmt: skip


_NUMBERS = frozenset((int, float, bool, complex))


def _of_numbers(input: Any, other: Any) -> Any:
    """`input`; as a tensor where both are numbers, which PyTorch takes here: `torch.div(7, 2)`."""
    if input.__class__ in _NUMBERS and other.__class__ in _NUMBERS:
        return tensor_over(np.array(input, dtypes.scalar_dtype(input).np), np.ndarray)
    return input


def _add_scaled_body(xp: ArrayModule, x: Any, y: Any, *, alpha: float) -> Any:
    dtype = (x if hasattr(x, "dtype") else y).dtype
    if xp is np:  # PyTorch's CPU rounds alpha, a GPU does not
        alpha = rounded(alpha, dtypes.from_np(dtype))
    wide = xp.float32 if dtype.itemsize == 2 else dtype
    return (xp.asarray(x, wide) + xp.asarray(y, wide) * alpha).astype(dtype)


# Half precision is rounded once: `add(x, y * alpha)` would round the product, too. So are numbers that a GPU's kernel
# adds to where they lie, as PyTorch's does.
_add_scaled: Any = Op(
    _add_scaled_body, "add_scaled", point=Point("x y | alpha", "x + y * alpha"),
    rule=promote_sum, broadcasts=True, meta=pair_meta, grad_name="AddBackward0"
)  # fmt: skip
_add_scaled.derivative(x=lambda g: g, y=lambda g, alpha: g * alpha)


def _sum(input: Any, other: Any, alpha: Any, sign: int) -> Any:
    """`input + sign * alpha * other`."""
    op = add_op if sign > 0 else _sub
    if alpha.__class__ is int and alpha == 1:
        if isinstance(input, Tensor) and isinstance(other, Tensor):
            return op.pair(input, other)
        return op(input, other)
    if here.in_place is not None and getattr(other, "_a", None) is here.in_place:
        here.in_place = None  # the product with alpha reads it first
    d = result_dtype(input, other)
    once = d.itemsize == 2 or here.in_place is not None
    if once and d.category == dtypes.FLOATING and alpha.__class__ in (int, float):
        if sign < 0:
            _no_bool((input, other))
        return _add_scaled(input, other, alpha=float(sign * storable(alpha, d.np)))
    if not isinstance(alpha, Tensor) and (d.is_complex or not isinstance(alpha, complex)):
        fitting(sign * alpha, d)
    return op(input, _scaled(input, other, alpha, d))


def _scaled(input: Any, other: Any, alpha: Any, d: dtypes.dtype) -> Any:
    """`alpha * other` in the dtype `d` that `input` and `other` promote to."""
    if isinstance(alpha, bool) and d.category != dtypes.BOOL:
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if isinstance(alpha, float) and d.category < dtypes.FLOATING:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if isinstance(alpha, complex) and d.category != dtypes.COMPLEX:
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    if d.category == dtypes.BOOL:
        alpha = bool(alpha)
    return mul_op(cast_to(other, d), alpha) if isinstance(other, Tensor) else other * alpha


@public(inplace=True)
@also_number_first
def add(input: Any, other: Any, *old: Any, alpha: Any = 1, out: Any = None) -> Tensor:
    """`input + alpha * other`, element by element; shapes broadcast.

    Args:
        other: a tensor or a number.
        alpha: a number that multiplies `other` first.

    Raises:
        RuntimeError: if the shapes do not broadcast.

    Example:
        >>> torch.add(torch.tensor([1, 2]), torch.tensor([10, 20]), alpha=2)
        tensor([21, 42])
    """
    if old:
        return number_first(add, ("alpha",), 1, (input, other, *old), out)
    if out is None and isinstance(input, Tensor):
        return _sum(input, other, alpha, 1)
    return into(out, _sum(_of_numbers(input, other), other, alpha, 1), input, other)


@public(inplace=True, aliases=("subtract",))
@also_number_first
def sub(input: Any, other: Any, *old: Any, alpha: Any = 1, out: Any = None) -> Tensor:
    """`input - alpha * other`, element by element; shapes broadcast.

    Args:
        other: a tensor or a number.
        alpha: a number that multiplies `other` first.

    Raises:
        RuntimeError: for truth values (use `logical_xor`), and if the shapes do not broadcast.

    Example:
        >>> torch.tensor([5, 7]).sub(2)
        tensor([3, 5])
    """
    if old:
        return number_first(sub, ("alpha",), 1, (input, other, *old), out)
    if out is None and isinstance(input, Tensor):
        return _sum(input, other, alpha, -1)
    return into(out, _sum(_of_numbers(input, other), other, alpha, -1), input, other)


@public()
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Tensor:
    """`other - alpha * input`, element by element.

    Args:
        alpha: a number that multiplies `input` first.

    Example:
        >>> torch.rsub(torch.tensor([1, 2]), 10)
        tensor([9, 8])
    """
    if not isinstance(input, Tensor):
        raise TypeError(
            f"rsub() received an invalid combination of arguments - got ({type(input).__name__}, "
            f"{type(other).__name__}), but expected one of:\n"
            " * (Tensor input, Tensor other, *, Number alpha = 1)\n"
            " * (Tensor input, Number other, Number alpha = 1)"
        )
    return _sum(other, input, alpha, -1)


@public(inplace=True, aliases=("multiply",))
def mul(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """`input * other`, element by element; shapes broadcast.

    Raises:
        RuntimeError: if the shapes do not broadcast.

    Example:
        >>> torch.tensor([[1], [2]]).mul(torch.tensor([10, 20]))
        tensor([[10, 20],
                [20, 40]])
    """
    if out is None and isinstance(input, Tensor):
        return mul_op.pair(input, other) if isinstance(other, Tensor) else mul_op(input, other)
    return into(out, mul_op(_of_numbers(input, other), other), input, other)


@public(inplace=True, aliases=("divide",))
def div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Tensor:
    """`input / other`, element by element; shapes broadcast, integers give floats.

    Args:
        rounding_mode: None for the true quotient, "trunc" to round towards zero, "floor" to
            round down.

    Raises:
        RuntimeError: for another `rounding_mode`, or integers divided by zero with rounding.

    Example:
        >>> torch.tensor([7, -7]).div(2)
        tensor([ 3.5000, -3.5000])
        >>> torch.tensor([7, -7]).div(2, rounding_mode="floor")
        tensor([ 3, -4])
    """
    if out is None and rounding_mode is None and isinstance(input, Tensor):
        return _div.pair(input, other) if isinstance(other, Tensor) else _div(input, other)
    input = _of_numbers(input, other)
    if rounding_mode is None:
        return into(out, _div(input, other), input, other)
    if rounding_mode == "floor":
        return into(out, _floor_divide(input, other), input, other)
    if rounding_mode != "trunc":
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    return into(out, _trunc_divide(input, other), input, other)


@public(inplace=True)
def true_divide(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """`input / other`, element by element, always as floating point numbers.

    Example:
        >>> torch.true_divide(torch.tensor([1, 2]), 2)
        tensor([0.5000, 1.0000])
    """
    input = _of_numbers(input, other)
    return into(out, _div(input, other), input, other)


def _zero_checked(label: str, promotes: Any = promote) -> Any:
    numbers = only("iufV", label, promotes)

    @passing(passed_by(numbers, "fV"))
    def rule(inputs: tuple) -> tuple:
        inputs = x, divisor = numbers(inputs)
        tensor = x if isinstance(x, Tensor) else divisor
        integral = isinstance(tensor, Tensor) and tensor._a.dtype.kind in "iu"  # they have one dtype
        if any(isinstance(v, Tensor) and v._a.size == 0 for v in inputs):  # nothing is divided
            return inputs
        if integral and isinstance(divisor, Tensor):
            check_values(_no_zero, divisor)
        elif integral and divisor == 0:
            raise RuntimeError("ZeroDivisionError")
        return inputs

    return rule


def _no_zero(divisor: Array) -> None:
    if np.count_nonzero(np.asarray(divisor)) != divisor.size:
        raise RuntimeError("ZeroDivisionError")


@passing("fVciubnr")
def _number_second(inputs: tuple) -> tuple:
    """A number is kept in float32 as the divisor only."""
    return (promote_wide if isinstance(inputs[0], Tensor) else promote)(inputs)


def _trunc_body(xp: ArrayModule, x: Array, y: Array) -> Any:
    if hasattr(x, "dtype") and is_half(x) and getattr(y, "dtype", None) != x.dtype:
        return xp.trunc(x.astype(xp.float32) / xp.float32(y)).astype(x.dtype)
    if (x if hasattr(x, "dtype") else y).dtype.kind in "iu":
        q = xp.floor_divide(x, y)
        return q + ((q < 0) & (q * y != x))
    return xp.trunc(xp.true_divide(x, y))


_floor_divide = binary(
    "floor_divide",
    wide2("floor_divide"),
    point=Point("x y", "floordiv(x, y)", iu="ifloordiv(x, y)"),
    rule=_zero_checked("div_floor_cpu", _number_second),
    places=(),
    dx=flat,
    dy=flat,
    facts=Facts(refuses="integers", onnx="divide", sparse="rounded"),
).op
_trunc_divide = binary(
    "trunc_divide",
    _trunc_body,
    point=Point("x y", "trunc(x / y)", iu="itruncdiv(x, y)"),
    rule=_zero_checked("div_trunc_cpu", _number_second),
    places=(),
    dx=flat,
    dy=flat,
    facts=Facts(refuses="integers", onnx="divide", sparse="rounded"),
).op


@public(inplace=True)
def floor_divide(input: Any, other: Any, *, out: Any = None) -> Tensor:
    """`input // other`, element by element, rounded down.

    Raises:
        RuntimeError: if integers are divided by zero.

    Example:
        >>> torch.tensor([7, -7]).floor_divide(2)
        tensor([ 3, -4])
    """
    input = _of_numbers(input, other)
    return into(out, _floor_divide(input, other), input, other)


def _tensor_first(name: str, then: Any) -> Any:
    """A rule of functions that take a number in the second place alone."""

    def rule(inputs: tuple) -> tuple:
        if not isinstance(inputs[0], Tensor):
            got = ", ".join(type(v).__name__ for v in inputs)
            raise TypeError(f"{name}() received an invalid combination of arguments - got ({got}), but expected one of:\n"
                            " * (Tensor input, Tensor other, *, Tensor out = None)\n * (Tensor input, Number other, *, Tensor out = None)\n")  # fmt: skip
        return then(inputs)

    return rule


remainder = binary(
    "remainder", ufunc2("remainder"), point=Point("x y", "modulo(x, y)", iu="imodulo(x, y)"),
    rule=_zero_checked("remainder_cpu"), dx=lambda g: g,
    dy=lambda g, x, y: -g * _floor_divide(x, y),
    doc="What `input // other` leaves over, with the sign of `other`, as Python's `%`.",
    example=("torch.tensor([7, -7]).remainder(3)", "tensor([1, 2])"), facts=Facts(refuses="integers", onnx="divide", aten="remainder compared"),
)  # fmt: skip
fmod = binary(
    "fmod", ufunc2("fmod"), point=Point("x y", "fmod(x, y)", iu="ifmod(x, y)"),
    rule=_tensor_first("fmod", _zero_checked("fmod_cpu")), dx=lambda g: g,
    dy=lambda g, x, y: -g * _trunc_divide(x, y),
    doc="What division leaves over, with the sign of `input`, as C's `fmod`.",
    example=("torch.tensor([7, -7]).fmod(3)", "tensor([ 1, -1])"), facts=Facts(refuses="integers", onnx="divide"),
)  # fmt: skip


_no_bool_power = only("iufVc", "pow", promote)


@passing("fVnr")
def _pow_rule(inputs: tuple) -> tuple:
    x, y = _no_bool_power(inputs)
    power = inputs[1]  # as it was given: of a byte, -1 would have become 255
    base_integral = not isinstance(x, Tensor) or x._a.dtype.kind in "iub"
    if base_integral and isinstance(power, int) and not isinstance(power, bool) and power < 0:
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if not isinstance(y, Tensor) and is_half(x._a):
        return x, float(storable(power, x._a.dtype))  # the derivative takes it as it is; the body rounds it
    if isinstance(x, Tensor) and power.__class__ is int and x._a.dtype.kind in "iu":
        storable(power, x._a.dtype)
    return x, y


def _pow_body(xp: ArrayModule, x: Any, y: Any) -> Any:
    half = y.__class__ is float and is_half(x)
    if half:
        y = rounded(y, dtypes.from_np(x.dtype))
    if y.__class__ in (int, float):  # NumPy's float power is 20 times slower than a product
        if y == 2:
            return xp.multiply(x, x)
        if y == 3 and x.dtype.char != "e":  # PyTorch rounds float16 once, bfloat16 each time
            return xp.multiply(x, x) * x
        if y == -2 and x.dtype.char in "fdE":
            return xp.reciprocal(xp.multiply(x, x))
        if y == 0.5 and x.dtype.kind in "fc":
            return xp.sqrt(x)
        if y == -0.5 and x.dtype.kind == "f":
            return 1 / xp.sqrt(x)
        if y == -1 and x.dtype.kind in "fc":
            return xp.reciprocal(x)
    elif getattr(y, "dtype", None) is not None and y.dtype.kind == "i":
        return _integer_power(xp, x, y)
    return xp.power(x, x.dtype.type(y) if half else y)


def _integer_power(xp: ArrayModule, x: Array, y: Array) -> Any:
    """NumPy refuses negative exponents; PyTorch rounds to zero all but the powers of 1 and -1."""
    whole = xp.power(x, xp.maximum(y, 0))
    unit = xp.where(x == 1, 1, xp.where(x == -1, 1 - 2 * (y % 2), 0))
    return xp.where(y < 0, unit, whole).astype(whole.dtype)


def _pow_dx(g: Any, x: Any, y: Any) -> Any:
    if not isinstance(y, Tensor):
        if y == 0:
            return flat(g)
        return g * conj((x if y == 2 else _pow(x, y - 1)) * y)
    return (g * conj(_pow(x, y - 1) * y)).masked_fill(y == 0, 0)


def _pow_dy(g: Any, x: Any, y: Any, out: Any) -> Any:
    if not isinstance(x, Tensor):
        if x == 0:
            return g * (out * -math.inf).masked_fill(y.real >= 0, 0)
        if out._a.dtype.kind == "c":
            return g * conj(out * cmath.log(x))
        return g * out * (math.log(x) if x > 0 else math.nan)
    log = x.log().masked_fill((x == 0) & (y.real >= 0), 0)
    return g * conj(out * log)


_pow = binary("pow", _pow_body, point=Point("x y", "pow(x, y)", iu="ipow(x, y)", c="cpow(x, y)"),
    dx=_pow_dx, dy=_pow_dy, rule=_pow_rule, places=(), facts=Facts(refuses="integers", autocast={"cuda": "float32"}, onnx="pow", aten="pow pow", sparse="power"),
              ).op  # fmt: skip


@public(inplace=True)
def pow(input: Any, exponent: Any, *, out: Any = None) -> Tensor:
    """`input ** exponent`, element by element; shapes broadcast.

    Args:
        exponent: a number or a tensor; `input` may be a number if this is a tensor.

    Raises:
        RuntimeError: for negative whole powers of integers.

    Example:
        >>> torch.tensor([1.0, 2.0, 3.0]).pow(2)
        tensor([1., 4., 9.])
        >>> torch.pow(2, torch.arange(4))
        tensor([1, 2, 4, 8])
    """
    if isinstance(exponent, bool) and isinstance(input, Tensor) and input._a.dtype.kind == "b":
        made = input.clone() if exponent else input.new_full(input._a.shape, True)
        return into(out, made, input, exponent)
    return into(out, _pow(input, exponent), input, exponent)


@public()
def float_power(input: Any, exponent: Any, *, out: Any = None) -> Tensor:
    """`input ** exponent`, computed in float64 (or complex128).

    Args:
        exponent: a number or a tensor.

    Example:
        >>> torch.tensor([2, 3]).float_power(-1)
        tensor([0.5000, 0.3333], dtype=torch.float64)
    """

    def wide(v: Any) -> Any:
        if not isinstance(v, Tensor):
            return v
        return v.to(dtypes.complex128 if v._a.dtype.kind == "c" else dtypes.float64)

    return into_same(out, _pow(wide(input), wide(exponent)), input, exponent)


@public("Tensor")
def float_power_(self: Tensor, exponent: Any) -> Tensor:
    """In-place version of `float_power`: the tensor has to be of float64, or of complex128.

    Args:
        exponent: a number or a tensor.
    """
    of = exponent.dtype.is_complex if isinstance(exponent, Tensor) else isinstance(exponent, complex)
    needed = dtypes.complex128 if of or self.dtype.is_complex else dtypes.float64
    if self.dtype is not needed:
        raise RuntimeError(
            f"the base given to float_power_ has dtype {dtypes.title(self.dtype)} but the operation's "
            f"result requires dtype {dtypes.title(needed)}"
        )
    return change(self, float_power, exponent)


for _name, _op in (("add", add_op), ("sub", _sub), ("mul", mul_op), ("truediv", _div),
                   ("floordiv", _floor_divide), ("pow", _pow)):  # fmt: skip
    dunder(_name, _op, commutes=_op in (add_op, mul_op), of_tensors=_op is _sub)
dunder("mod", remainder.op)


def _rtruediv(self: Any, other: Any) -> Any:
    """`number / tensor` as PyTorch rounds it: the reciprocal, then the product."""
    return mul_op(self.reciprocal(), other)


for _name in ("__rtruediv__", "__rdiv__"):  # the second is Python 2's
    publish("Tensor", _name, _rtruediv)
DIRECT.update(dict.fromkeys((add, sub, add_op, _sub), True))
DIRECT.update(dict.fromkeys((mul, mul_op, div, _div), False))
