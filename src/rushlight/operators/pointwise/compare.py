"""Questions about elements: comparisons, logic, finiteness, closeness."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base.shapes import broadcast_shapes
from ...core.op import Op
from ...core.overriding import foreign
from ...core.public import into, public, publish
from ...core.tensor import Tensor
from ..made_of.guards import invalid_arguments, not_a_tensor, tensors_only, title, unsupported
from ..made_of.pointwise import _OPERANDS, binary, bool_meta, operand, ufunc1, ufunc2, unary
from ..made_of.promotion import promote

# -- order --------------------------------------------------------------------------------------


def _comparison(name: str, ufunc: str, dunder: str, alias: str | None, doc: str) -> Any:
    ordered = name not in ("eq", "ne")

    def rule(inputs: tuple) -> tuple:
        x, y = inputs
        if not isinstance(x, Tensor) or not isinstance(y, _OPERANDS):
            raise invalid_arguments(name, x, y)
        inputs = promote(inputs)
        if ordered and inputs[0]._a.dtype.kind == "c":
            raise unsupported(f"{name}_cpu", inputs[0].dtype)
        return inputs

    call = binary(
        name, ufunc2(ufunc), rule=rule, meta=bool_meta, aliases=(alias,) if alias else (), doc=doc
    )
    op = call.op

    def operator(self: Tensor, other: Any) -> Any:
        if not isinstance(other, _OPERANDS):
            return foreign(f"__{dunder}__", self, other)
        return op(self, operand(other))

    publish("Tensor", f"__{dunder}__", operator)
    return call


eq = _comparison("eq", "equal", "eq", None, "Where `input == other`.")
ne = _comparison("ne", "not_equal", "ne", "not_equal", "Where `input != other`.")
lt = _comparison("lt", "less", "lt", "less", "Where `input < other`.")
le = _comparison("le", "less_equal", "le", "less_equal", "Where `input <= other`.")
gt = _comparison("gt", "greater", "gt", "greater", "Where `input > other`.")
ge = _comparison("ge", "greater_equal", "ge", "greater_equal", "Where `input >= other`.")


# -- logic --------------------------------------------------------------------------------------


def _shapes_fit(inputs: tuple) -> tuple:
    broadcast_shapes(inputs[0]._a.shape, inputs[1]._a.shape)
    return inputs


def _logical(name: str, doc: str) -> Any:
    rule = tensors_only(name, "input", "other", then=_shapes_fit)
    return binary(name, ufunc2(name), rule=rule, meta=bool_meta, doc=doc)


logical_and = _logical("logical_and", "Where both are true (not zero).")
logical_or = _logical("logical_or", "Where either is true (not zero).")
logical_xor = _logical("logical_xor", "Where exactly one is true (not zero).")
logical_not = unary(
    "logical_not", ufunc1("logical_not"), floats=False, meta=bool_meta, doc="Where false (zero)."
)


# -- finiteness ---------------------------------------------------------------------------------


def _ask_floats(ufunc: str, others: bool) -> Any:
    """A body that asks floats by a ufunc and answers `others` for integers."""

    def body(xp: Any, x: Any) -> Any:
        if x.dtype.kind in "fcV":
            return getattr(xp, ufunc)(x)
        return xp.full(x.shape, others, bool)

    return body


def _ask(name: str, body: Any, doc: str, **options: Any) -> Any:
    return unary(name, body, floats=False, meta=bool_meta, inplace=False, doc=doc, **options)


def _one_infinity(name: str, value: float, doc: str) -> Any:
    def rule(inputs: tuple) -> tuple:
        if inputs[0]._a.dtype.kind == "c":
            raise RuntimeError(f"{name} does not support complex inputs.")
        return inputs

    def body(xp: Any, x: Any) -> Any:
        return x == value if x.dtype.kind in "fV" else xp.zeros(x.shape, bool)

    return _ask(name, body, doc, rule=rule)


isnan = _ask("isnan", _ask_floats("isnan", False), "Where not a number.")
isinf = _ask("isinf", _ask_floats("isinf", False), "Where infinite.")
isfinite = _ask("isfinite", _ask_floats("isfinite", True), "Where neither infinite nor nan.")
isposinf = _one_infinity("isposinf", math.inf, "Where plus infinity.")
isneginf = _one_infinity("isneginf", -math.inf, "Where minus infinity.")
isreal = _ask(
    "isreal",
    lambda xp, x: x.imag == 0 if x.dtype.kind == "c" else xp.ones(x.shape, bool),
    "Where the imaginary part is zero.",
)


# -- closeness ----------------------------------------------------------------------------------


def _isclose_body(xp: Any, x: Any, y: Any, *, rtol: float, atol: float, equal_nan: bool) -> Any:
    close = x == y
    if equal_nan and x.dtype.kind in "fcV":
        close = close | ((x != x) & (y != y))
    if x.dtype.kind == "b" or (rtol == 0 and atol == 0):
        return close
    if x.dtype.kind == "V":
        x, y = x.astype(xp.float32), y.astype(xp.float32)
    gap = xp.abs(x - y)
    return close | (xp.isfinite(gap) & (gap <= atol + xp.abs(rtol * y)))


_isclose = Op(_isclose_body, "isclose", broadcasts=True, meta=bool_meta)


@public()
def isclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Tensor:
    """Where `|input - other| <= atol + rtol * |other|`."""
    return _closeness("isclose", input, other, rtol, atol, equal_nan)


@public()
def allclose(
    input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether all elements are close."""
    return bool(_closeness("allclose", input, other, rtol, atol, equal_nan).all())


def _closeness(name: str, x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    for i, (argument, value) in enumerate((("input", x), ("other", y))):
        if not isinstance(value, Tensor):
            raise not_a_tensor(name, argument, i + 1, value)
    if x._a.dtype != y._a.dtype:
        raise RuntimeError(f"{title(x.dtype)} did not match {title(y.dtype)}")
    if rtol < 0 or atol < 0:
        which = "rtol" if rtol < 0 else "atol"
        raise RuntimeError(
            f"{which} must be greater than or equal to zero, but got {min(rtol, atol)}"
        )
    broadcast_shapes(x._a.shape, y._a.shape)
    return _isclose(x, y, rtol=float(rtol), atol=float(atol), equal_nan=bool(equal_nan))


@public()
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether shapes and all elements are the same."""
    for i, (argument, value) in enumerate((("input", input), ("other", other))):
        if not isinstance(value, Tensor):
            raise not_a_tensor("equal", argument, i + 1, value)
    if input._a.shape != other._a.shape:
        return False
    return bool(eq.op(input, other).all())


@public()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether the shapes are the same."""
    return input._a.shape == other._a.shape


@public()
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element is not zero."""
    return input._a is not None and bool(input)


# -- membership ---------------------------------------------------------------------------------

_isin = Op(
    lambda xp, x, y, *, invert: xp.isin(x, y, invert=invert), "isin",
    meta=lambda x, y, *, invert: (x.shape, np.dtype(bool)),
)  # fmt: skip


@public("torch")
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False,
    out: Any = None,
) -> Tensor:  # fmt: skip
    """Where an element of `elements` is one of `test_elements`."""
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise invalid_arguments("isin", elements, test_elements)
    for t in (elements, test_elements):
        if isinstance(t, Tensor) and t._a.dtype.kind in "bc":
            raise RuntimeError(f"Unsupported input type encountered for isin(): {title(t.dtype)}")
    if not isinstance(elements, Tensor):
        found = eq.op(test_elements, elements).any()
        return into(out, ~found if invert else found)
    return into(out, _isin(elements, test_elements, invert=invert))
