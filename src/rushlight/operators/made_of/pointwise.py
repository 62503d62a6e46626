"""Making pointwise ops: from a ufunc's name, or a short body, to a public function with all its forms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.arrays import ArrayModule, Shaped
from ...base.shapes import broadcast_shapes
from ...core.inplace import DIRECT
from ...core.op import Op
from ...core.overriding import foreign
from ...core.public import change_plainly, into, into_same, public, publish
from ...core.tensor import Tensor, wrap
from ...runtime.facts import NOTHING, Facts
from ...runtime.point import Point
from .precision import is_half
from .promotion import promote, promote_unary_float

_OF_ONE, _OF_TWO = Point("x"), Point("x y")  # pointwise, and no more is said


def ufunc1(name: str) -> Callable:
    """The generic body of a one-operand ufunc."""

    def body(xp: ArrayModule, x: Any) -> Any:
        return getattr(xp, name)(x)

    body.ufunc = name  # type: ignore[attr-defined]  # the CPU binds NumPy's own, without a frame
    return body


def ufunc2(name: str) -> Callable:
    """The generic body of a two-operand ufunc."""

    def body(xp: ArrayModule, x: Any, y: Any) -> Any:
        return getattr(xp, name)(x, y)

    body.ufunc = name  # type: ignore[attr-defined]
    return body


def wide2(name: str) -> Callable:
    """The generic body of a two-operand ufunc that takes half precision beside a number in float32."""

    def body(xp: ArrayModule, x: Any, y: Any) -> Any:
        first, second = getattr(x, "dtype", None), getattr(y, "dtype", None)
        if first is not second and (first is None or second is None or first != second):
            array = x if first is not None else y
            if is_half(array):
                one, other = xp.asarray(x, xp.float32), xp.asarray(y, xp.float32)
                return getattr(xp, name)(one, other).astype(array.dtype)
        return getattr(xp, name)(x, y)

    return body


def same_meta(x: Shaped, **attrs: Any) -> tuple:
    return x.shape, x.dtype


def pair_meta(x: Any, y: Any, **attrs: Any) -> tuple:
    shapes = [v.shape for v in (x, y) if hasattr(v, "shape")]
    dtype = x.dtype if hasattr(x, "dtype") else y.dtype
    return broadcast_shapes(*shapes), dtype


def bool_meta(x: Any, y: Any = None, **attrs: Any) -> tuple:
    shapes = [v.shape for v in (x, y) if hasattr(v, "shape")]
    return broadcast_shapes(*shapes), np.dtype(bool)


def docstring(summary: str, example: tuple[str, str] | None) -> str:
    """The docstring of a function from a table: a sentence, and an example with its result."""
    if example is None:
        return summary
    return f"{summary}\n\nExample:\n    >>> {example[0]}\n    {example[1]}\n"


def unary(
    name: str,
    body: Callable | None = None,
    *,
    dx: Callable | None = None,
    floats: bool = True,
    same_out: bool = False,
    rule: Callable | None = None,
    meta: Callable = same_meta,
    places: tuple[str, ...] = ("torch", "Tensor"),
    aliases: tuple[str, ...] = (),
    inplace: bool = True,
    doc: str = "",
    example: tuple[str, str] | None = None,
    grad_name: str | None = None,
    facts: Facts = NOTHING,
    point: Point = _OF_ONE,
) -> Any:
    """Define a one-operand pointwise op `name(input, *, out=None)` and its in-place form.

    With `same_out` the `out` of real numbers must have the result's dtype.
    """
    op = Op(
        body or ufunc1(name),
        name,
        rule=rule or (promote_unary_float if floats else None),
        meta=meta,
        grad_name=grad_name,
        facts=facts,
        point=point,
    )
    if dx is not None:
        op.derivative(x=dx)

    def call(input: Tensor, *, out: Any = None) -> Tensor:  # noqa: A002
        result = op(input)
        if out is None:
            return result
        return (into_same if same_out and input._a.dtype.kind != "c" else into)(out, result, input)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = docstring(doc or f"{name} of every element.", example)
    call.op = op  # type: ignore[attr-defined]
    DIRECT[call] = False
    if places:
        public(*places, inplace=inplace, aliases=aliases)(call)
    return call


def binary(
    name: str,
    body: Callable | None = None,
    *,
    dx: Callable | None = None,
    dy: Callable | None = None,
    rule: Callable = promote,
    meta: Callable = pair_meta,
    aliases: tuple[str, ...] = (),
    places: tuple[str, ...] = ("torch", "Tensor"),
    inplace: bool = True,
    doc: str = "",
    example: tuple[str, str] | None = None,
    grad_name: str | None = None,
    facts: Facts = NOTHING,
    point: Point = _OF_TWO,
) -> Any:
    """Define a two-operand pointwise op `name(input, other, *, out=None)` with broadcasting."""
    op = Op(
        body or ufunc2(name), name, rule=rule, broadcasts=True, meta=meta, grad_name=grad_name, facts=facts, point=point
    )
    given = {k: v for k, v in (("x", dx), ("y", dy)) if v is not None}
    if given:
        op.derivative(**given)

    def call(input: Any, other: Any, *, out: Any = None) -> Tensor:  # noqa: A002
        result = op(input, other)
        return result if out is None else into(out, result, input, other)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = docstring(doc or f"{name} of `input` and `other`, element by element.", example)
    call.op = op  # type: ignore[attr-defined]
    DIRECT[call] = False
    if places:
        public(*places, inplace=inplace, aliases=aliases)(call)
    return call


_NUMBERS = frozenset((bool, int, float, complex))
_OPERANDS = (Tensor, bool, int, float, complex, np.ndarray, np.generic)


def operand(value: Any) -> Any:
    """An operator takes an array for a tensor, as PyTorch's do; the functions of its name do not."""
    return wrap(np.asarray(value)) if isinstance(value, np.ndarray) else value


def dunder(name: str, op: Op, *, commutes: bool = False, of_tensors: bool = False) -> None:
    """Give Tensor the operator `__name__`, its reflection and its in-place form.

    `commutes` says that the reflection computes `tensor + number` as well, `of_tensors` that a reflection called by hand
    takes no number first.
    """

    def forward(self: Tensor, other: Any) -> Any:
        if isinstance(other, Tensor):
            return op.pair(self, other)
        if other.__class__ not in _NUMBERS:
            if not isinstance(other, _OPERANDS):
                return foreign(f"__{name}__", self, other)
            other = operand(other)
        return op(self, other)

    def backward(self: Any, other: Any) -> Any:
        if not isinstance(other, _OPERANDS):
            return foreign(f"__r{name}__", self, other)
        if not isinstance(self, Tensor):
            if commutes:
                kind = type(self).__name__
                raise TypeError(f"descriptor '__r{name}__' for 'torch._C.TensorBase' objects doesn't apply to a '{kind}' object")  # fmt: skip
            return NotImplemented if of_tensors or not isinstance(other, Tensor) else op(other, self)
        return op(self, operand(other)) if commutes else op(operand(other), self)

    def assign(self: Tensor, other: Any) -> Any:
        if not isinstance(other, _OPERANDS):
            return foreign(f"__i{name}__", self, other)
        return change_plainly(self, op, operand(other))

    publish("Tensor", f"__{name}__", forward)
    publish("Tensor", f"__r{name}__", backward)
    publish("Tensor", f"__i{name}__", assign)
