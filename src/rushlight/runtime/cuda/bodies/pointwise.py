"""The pointwise ops of the GPU: bodies made from their records, and those that choose or compute numbers first."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import cupy

from ....base.arrays import DeviceArray
from ....base.dtypes import dtype, finfo, from_np
from ...door import kernel_for
from ...thread import here
from ..code.expressions import printed
from ..code.keyed import keyed
from ..code.variants import compute, prepared, prepared_over, prepared_with

if TYPE_CHECKING:
    from ...point import Point

__all__ = ["add_into", "cast", "compute"]  # for fused chains and for other families

ndarray = cupy.ndarray


def _in_place(body: Callable[..., Any], named: Callable[..., Any]) -> Callable[..., Any]:
    """The body, which writes into its first operand where an in-place operation offers that; `named` has its expression."""

    def prepare(x: DeviceArray, *others: Any, **attrs: Any) -> Any:
        for y in others:
            if y.__class__ is ndarray and y.dtype != x.dtype:
                return None
        operands = (x, *others)
        launch = prepared_over(named(operands, attrs), operands, attrs)
        return None if launch is None else lambda x, *given: launch(x, x, *given)

    known: list[Any] = []  # the launches, once there is a use for them

    def direct(x: DeviceArray | None, *others: Any, **attrs: Any) -> Any:
        if x is not here.in_place or x is None:
            return body(x, *others, **attrs)
        here.in_place = None
        for y in others:
            if y.__class__ is ndarray and not _apart(y, x):
                return body(x, *others, **attrs)
        if not known:
            known.append(keyed(lambda *operands, **attrs: NotImplemented, prepare, None, (), True))
        done = known[0](x, *others, **attrs)
        return body(x, *others, **attrs) if done is NotImplemented else x

    return direct


def _apart(y: DeviceArray, x: DeviceArray) -> bool:
    """Whether x may be overwritten element by element while y is read beside it."""
    if y is x or y.data.mem is not x.data.mem:
        return True
    return y.data.ptr == x.data.ptr and y.shape == x.shape and y.strides == x.strides


def bound(name: str, point: Point) -> Callable[..., Any]:
    """The body of the kernel that a record describes: any number of operands, attributes, of which some may be None."""
    varies = bool(point.optional) or point.is_chosen

    def expression(operands: tuple, attrs: dict[str, Any]) -> Any:
        return printed(point, operands, attrs) if varies else name

    def body(*operands: Any, **attrs: Any) -> Any:
        e = printed(point, operands, attrs) if varies else printed(point)
        left = tuple([a for a in operands if a is not None])
        return compute(e if varies else name, left, tuple([attrs[a] for a in e.attr_names]))

    def prepare(*operands: Any, **attrs: Any) -> Any:
        if not any(a.__class__ is ndarray for a in operands):
            return None
        return prepared_with(expression(operands, attrs), operands, attrs)

    return keyed(_in_place(body, expression), prepare, here, (), True)


def _pow(x: DeviceArray, y: Any) -> Any:
    if y.__class__ in (int, float) and x.dtype.kind in "fcV":
        if x.dtype.itemsize == 2:
            y = float(x.dtype.type(y))
        if y == 2:
            return compute("square", (x,))
        if y == 3:
            return compute("mul", (compute("square", (x,)), x))
        if y == 0.5:
            return compute("sqrt", (x,))
        if y == -0.5 and x.dtype.kind != "c":
            return compute("rsqrt", (x,))
        if y == -1:
            return compute("reciprocal", (x,))
        if y == -2 and x.dtype.kind != "c":
            return compute("reciprocal", (compute("square", (x,)),))
    return compute("pow", (x, y))


def _where(condition: DeviceArray, x: Any, y: Any, *, to: Any) -> Any:
    out = None if to is None else to.name
    arrays = [a for a in (x, y) if a.__class__ is ndarray]
    if condition.dtype.kind != "b":
        return NotImplemented
    if not arrays:  # two numbers: stored as they come
        if out is None:
            return NotImplemented
        x = cupy.full((), x, to.np)
    elif len(arrays) == 2 and x.dtype != y.dtype:
        return NotImplemented
    elif x.__class__ is not ndarray:  # T is the type of y, so the branches change places
        return compute("where", (compute("logical_not", (condition,)), y, x), (), None, out)
    return compute("where", (condition, x, y), (), None, out)


def _masked_fill(x: DeviceArray, mask: DeviceArray, value: Any) -> Any:
    if value.__class__ is ndarray and value.dtype != x.dtype:
        value = value.astype(x.dtype)
    if mask.dtype.kind != "b":
        return NotImplemented
    return compute("masked_fill", (x, mask, value))


def _round_decimals(x: DeviceArray, *, decimals: int) -> Any:
    return compute("round_decimals", (x,), (10.0 ** abs(decimals), decimals <= 0))


def _nan_to_num(x: DeviceArray, *, nan: float, posinf: float | None, neginf: float | None) -> Any:
    if x.dtype.kind == "c":
        return NotImplemented
    if x.dtype.kind not in "fV":
        return compute("nan_to_num", (x,), (0, 0, 0))
    limits = finfo(from_np(x.dtype))
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    return compute("nan_to_num", (x,), (nan, high, low))


def cast(x: DeviceArray, to: str = "", out: Any = None) -> Any:
    """The elements as another dtype's, or as an array's that they are written into."""
    return compute("cast", (x,), (), out, to or None)


def add_into(out: DeviceArray, x: DeviceArray, y: Any) -> Any:
    """x + y, written into an array, which may be one of them."""
    return compute("add", (x, y), (), out)


def _cast(x: DeviceArray, *, to: dtype, source: dtype) -> Any:
    return cast(x, to.name)


_SPECIAL: dict[str, Any] = {
    "pow": _pow, "where": _where, "masked_fill": _masked_fill, "round_decimals": _round_decimals,
    "nan_to_num": _nan_to_num,
    # a third of an autocast step's kernels are casts
    "cast": keyed(_cast, lambda x, *, to, source: prepared("cast", (x,), to.name)),
}  # fmt: skip
for _name, _body in _SPECIAL.items():
    kernel_for("cuda", _name)(_body)
