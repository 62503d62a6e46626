"""Questions about elements: comparisons, logic, finiteness, closeness."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.shapes import broadcast_shapes
from ...core.op import Op
from ...core.overriding import foreign
from ...core.public import into_same, public, publish
from ...core.tensor import Tensor
from ...runtime.devices import backend_of_type
from ...runtime.door import Kernel, run
from ...runtime.facts import Facts
from ...runtime.point import Point
from ...runtime.thread import FOREIGN, PARTS, TRACED, here
from ..made_of.guards import invalid_arguments, not_a_tensor, passing, tensors_only, title, unsupported
from ..made_of.pointwise import _OPERANDS, binary, bool_meta, operand, ufunc1, ufunc2, unary
from ..made_of.promotion import promote

# -- order --------------------------------------------------------------------------------------


def _comparison(name: str, ufunc: str, sign: str, of_123: str, onnx: str) -> Any:
    """`of_123` is the example: 1, 2 and 3 compared with 2."""
    ordered = name not in ("eq", "ne")

    @passing("fViubn")
    def rule(inputs: tuple) -> tuple:
        x, y = inputs
        if not isinstance(x, Tensor) or not isinstance(y, _OPERANDS):
            raise invalid_arguments(name, x, y)
        inputs = promote(inputs)
        if ordered and inputs[0]._a.dtype.kind == "c":
            raise unsupported(f"{name}_cpu", inputs[0].dtype)
        return inputs

    kinds: Any = {"fiub" if ordered else "fiubc": f"x {sign} y"}
    call = binary(
        name, ufunc2(ufunc), rule=rule, meta=bool_meta, aliases=() if name == "eq" else (ufunc,),
        doc=f"Where `input {sign} other`.", point=Point("x y", out="bool", **kinds),
        example=(f"torch.tensor([1, 2, 3]).{name}(2)", f"tensor({of_123})"),
        facts=Facts(onnx=f"compare {onnx}", aten=f"{name} compared"),
    )  # fmt: skip
    op = call.op

    def operator(self: Tensor, other: Any) -> Any:
        if not isinstance(other, _OPERANDS):
            return foreign(f"__{name}__", self, other)
        return op.pair(self, operand(other))

    publish("Tensor", f"__{name}__", operator)
    return call


eq = _comparison("eq", "equal", "==", "[False,  True, False]", "Equal")
ne = _comparison("ne", "not_equal", "!=", "[ True, False,  True]", "NotEqual")
lt = _comparison("lt", "less", "<", "[ True, False, False]", "Less")
le = _comparison("le", "less_equal", "<=", "[ True,  True, False]", "LessOrEqual")
gt = _comparison("gt", "greater", ">", "[False, False,  True]", "Greater")
ge = _comparison("ge", "greater_equal", ">=", "[False,  True,  True]", "GreaterOrEqual")


# -- logic --------------------------------------------------------------------------------------


@passing("fVciub")
def _shapes_fit(inputs: tuple) -> tuple:
    broadcast_shapes(inputs[0]._a.shape, inputs[1]._a.shape)
    return inputs


def _logical(name: str, text: str, which: str, onnx: str, example: tuple[str, str, str]) -> Any:
    return binary(
        name, ufunc2(name), rule=tensors_only(name, "input", "other", then=_shapes_fit), meta=bool_meta,
        doc=f"Where {which} true (not zero).", point=Point("x y", fiubc=text, out="bool"), facts=Facts(onnx=f"logical {onnx}"),
        example=(f"torch.tensor({example[0]}).{name}(torch.tensor({example[1]}))", f"tensor({example[2]})"),
    )  # fmt: skip


_TRUE, _BOTH = "[True, True]", "[True, False]"
logical_and = _logical("logical_and", "truth(x) and truth(y)", "both are", "And", (_TRUE, _BOTH, "[ True, False]"))
logical_or = _logical("logical_or", "truth(x) or truth(y)", "at least one is", "Or", (_BOTH, "[False, False]", "[ True, False]"))  # fmt: skip
logical_xor = _logical("logical_xor", "truth(x) != truth(y)", "exactly one is", "Xor", (_TRUE, _BOTH, "[False,  True]"))
logical_not = unary(
    "logical_not",
    ufunc1("logical_not"),
    point=Point("x", fiubc="not truth(x)", out="bool"),
    floats=False,
    meta=bool_meta,
    doc="Where the element is false (zero).",
    example=("torch.tensor([0, 1, 5]).logical_not()", "tensor([ True, False, False])"),
    facts=Facts(onnx="unary Not"),
)


# -- finiteness ---------------------------------------------------------------------------------


def _ask_floats(ufunc: str, others: bool) -> Any:
    """A body that calls a ufunc for floats and returns `others` everywhere for integers."""

    def body(xp: ArrayModule, x: Array) -> Any:
        if x.dtype.kind in "fcV":
            return getattr(xp, ufunc)(x)
        return xp.full(x.shape, others, bool)

    return body


def _ask(name: str, body: Any, doc: str, **options: Any) -> Any:
    return unary(name, body, floats=False, meta=bool_meta, inplace=False, doc=doc, **options)


def _one_infinity(name: str, value: float, doc: str, **options: Any) -> Any:
    def rule(inputs: tuple) -> tuple:
        if inputs[0]._a.dtype.kind == "c":
            raise RuntimeError(f"{name} does not support complex inputs.")
        return inputs

    def body(xp: ArrayModule, x: Array) -> Any:
        return x == value if x.dtype.kind in "fV" else xp.zeros(x.shape, bool)

    return _ask(name, body, doc, rule=rule, same_out=True, **options)


isnan = _ask(
    "isnan",
    _ask_floats("isnan", False),
    "Where the element is nan.",
    point=Point("x", "x != x", iub="False", c="x.re != x.re or x.im != x.im", out="bool"),
    example=("torch.tensor([1.0, torch.nan]).isnan()", "tensor([False,  True])"),
    facts=Facts(onnx="unary IsNaN", sparse="values"),
)
isinf = _ask(
    "isinf",
    _ask_floats("isinf", False),
    "Where the element is infinite, of either sign.",
    point=Point("x", "isinf(x)", iub="False", c="isinf(x.re) or isinf(x.im)", out="bool"),
    example=("torch.tensor([1.0, -torch.inf]).isinf()", "tensor([False,  True])"),
    facts=Facts(onnx="unary IsInf", sparse="values"),
)
isfinite = _ask(
    "isfinite",
    _ask_floats("isfinite", True),
    "Where the element is neither infinite nor nan.",
    point=Point("x", "isfinite(x)", iub="True", c="isfinite(x.re) and isfinite(x.im)", out="bool"),
    example=("torch.tensor([1.0, torch.inf, torch.nan]).isfinite()", "tensor([ True, False, False])"),
    facts=Facts(onnx="isfinite"),
)
isposinf = _one_infinity(
    "isposinf",
    math.inf,
    "Where the element is plus infinity.",
    point=Point("x", "isinf(x) and x > 0", iub="False", out="bool"),
    example=("torch.tensor([torch.inf, -torch.inf]).isposinf()", "tensor([ True, False])"),
    facts=Facts(sparse="values"),
)
isneginf = _one_infinity(
    "isneginf",
    -math.inf,
    "Where the element is minus infinity.",
    point=Point("x", "isinf(x) and x < 0", iub="False", out="bool"),
    example=("torch.tensor([torch.inf, -torch.inf]).isneginf()", "tensor([False,  True])"),
    facts=Facts(sparse="values"),
)
isreal = _ask(
    "isreal",
    lambda xp, x: x.imag == 0 if x.dtype.kind == "c" else xp.ones(x.shape, bool),
    "Where the imaginary part is zero.",
    point=Point("x", fiub="True", c="x.im == R(0)", out="bool"),
    example=("torch.tensor([1 + 0j, 1j]).isreal()", "tensor([ True, False])"),
)


# -- closeness ----------------------------------------------------------------------------------


def _isclose_body(xp: ArrayModule, x: Array, y: Array, *, rtol: float, atol: float, equal_nan: bool) -> Any:
    close = x == y
    if equal_nan and x.dtype.kind in "fcV":
        close = close | ((x != x) & (y != y))
    if x.dtype.kind == "b" or (rtol == 0 and atol == 0):
        return close
    if x.dtype.kind == "V":
        x, y = x.astype(xp.float32), y.astype(xp.float32)
    if x.dtype.kind == "u":  # the difference of two could not be negative
        gap = xp.maximum(x, y) - xp.minimum(x, y)
    else:
        gap = xp.abs(x - y)
    return close | (xp.isfinite(gap) & (gap <= atol + xp.abs(rtol * y)))


_isclose = Op(
    _isclose_body,
    "isclose",
    point=Point(
        "x y | rtol atol equal_nan:int",
        "x == y or (equal_nan and x != x and y != y) or ((rtol != 0 or atol != 0) and isfinite(x - y) and abs(x - y) <= atol + abs(rtol * y))",
        out="bool",
    ),
    broadcasts=True,
    meta=bool_meta,
)


@public()
def isclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Tensor:
    """Where two tensors differ little: `|input - other| <= atol + rtol * |other|`.

    Args:
        rtol: the difference allowed, relative to `other`.
        atol: the difference allowed in any case.
        equal_nan: count two nan as close.

    Raises:
        RuntimeError: if the dtypes differ.

    Example:
        >>> torch.isclose(torch.tensor([1.0, 2.0]), torch.tensor([1.0 + 1e-7, 2.1]))
        tensor([ True, False])
    """
    return _closeness("isclose", input, other, rtol, atol, equal_nan)


@public()
def allclose(input: Tensor, other: Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> bool:
    """As `isclose`, of all elements together: True or False."""
    return bool(_closeness("allclose", input, other, rtol, atol, equal_nan).all())


def _closeness(name: str, x: Any, y: Any, rtol: float, atol: float, equal_nan: bool) -> Tensor:
    for i, (argument, value) in enumerate((("input", x), ("other", y))):
        if not isinstance(value, Tensor):
            raise not_a_tensor(name, argument, i + 1, value)
    if x._a.dtype != y._a.dtype:
        raise RuntimeError(f"{title(x.dtype)} did not match {title(y.dtype)}")
    if rtol < 0 or atol < 0:
        which = "rtol" if rtol < 0 else "atol"
        raise RuntimeError(f"{which} must be greater than or equal to zero, but got {min(rtol, atol)}")
    broadcast_shapes(x._a.shape, y._a.shape)
    return _isclose(x, y, rtol=float(rtol), atol=float(atol), equal_nan=bool(equal_nan))


_SEEN = PARTS | TRACED | FOREIGN
_EQUAL = Kernel("equal_everywhere", lambda xp, x, y: (x == y).all(), moves_only=True,
                meta=lambda x, y: ((), np.dtype(bool)))  # fmt: skip


@public()
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape and the same elements.

    Example:
        >>> torch.equal(torch.tensor([1, 2]), torch.tensor([1, 2]))
        True
    """
    for i, (argument, value) in enumerate((("input", input), ("other", other))):
        if not isinstance(value, Tensor):
            raise not_a_tensor("equal", argument, i + 1, value)
    a, b = input._a, other._a
    if a.shape != b.shape:
        return False
    plain = a.__class__ is b.__class__ and backend_of_type(a.__class__).type in ("cpu", "cuda")
    if plain and a.dtype == b.dtype and here.tracer is None and not here.state & _SEEN:
        # nothing is recorded: one kernel, whose answer the host has
        return bool(run(_EQUAL, a.__class__, (a, b), {}))
    return bool(eq.op(input, other).all())


@public()
def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether two tensors have the same shape.

    Example:
        >>> torch.zeros(2, 3).is_same_size(torch.ones(2, 3))
        True
    """
    return input._a.shape == other._a.shape


@public()
def is_nonzero(input: Tensor) -> bool:
    """Whether the one element of a tensor is not zero.

    Raises:
        RuntimeError: if there is not exactly one element.

    Example:
        >>> torch.tensor([0.0]).is_nonzero()
        False
    """
    return input._a is not None and bool(input)


# -- membership ---------------------------------------------------------------------------------

_FEW = 8  # elements that are looked for one beside the other; more are sorted


def _isin_body(xp: ArrayModule, x: Any, y: Any, *, invert: bool) -> Any:
    if not hasattr(y, "dtype"):
        return x != y if invert else x == y
    if y.dtype != x.dtype or not 0 < y.size <= _FEW:
        return xp.isin(x, y, invert=invert)  # type: ignore[attr-defined]
    found = (x[..., None] == y.reshape(-1)).any(-1)
    if not found.flags.c_contiguous:
        found = found.copy()
    return ~found if invert else found


_isin = Op(_isin_body, "isin", meta=lambda x, y, *, invert: (x.shape, np.dtype(bool)))


@public("torch")
def isin(
    elements: Any, test_elements: Any, *, assume_unique: bool = False, invert: bool = False, out: Any = None
) -> Tensor:
    """Where an element is one of those in another tensor.

    Args:
        elements: a tensor or a number.
        test_elements: what to look for; a tensor or a number.
        assume_unique: for PyTorch's signature; it changes nothing.
        invert: say where it is not.

    Example:
        >>> torch.isin(torch.tensor([1, 2, 3]), torch.tensor([2, 3, 4]))
        tensor([False,  True,  True])
    """
    if not isinstance(elements, Tensor) and not isinstance(test_elements, Tensor):
        raise invalid_arguments("isin", elements, test_elements)
    for t in (elements, test_elements):
        if isinstance(t, Tensor) and t._a.dtype.kind in "bc":
            raise RuntimeError(f"Unsupported input type encountered for isin(): {title(t.dtype)}")
        if isinstance(t, (bool, complex)):
            kind = "Bool" if isinstance(t, bool) else "ComplexDouble"
            raise RuntimeError(f"Unsupported input type encountered for isin(): {kind}")
    if not isinstance(elements, Tensor):
        found = eq.op(test_elements, elements).any()
        return into_same(out, ~found if invert else found)
    return into_same(out, _isin(elements, test_elements, invert=invert))
