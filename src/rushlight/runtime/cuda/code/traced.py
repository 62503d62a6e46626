"""One kernel from a generic pointwise body: the body is called with values that write down what is done with them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import cupy
import numpy as np

from ....base.bounded import Bounded
from ....base.dtypes import from_np
from .expressions import Expression
from .keyed import keyed
from .variants import compute, prepared

_MOST_LINES = 4000  # of a kernel: what takes more is left to the library


class _Untold(Exception):
    """A body asks for something that cannot be written down, such as a number's value."""


def _spelt(number: float) -> str:
    if number != number:
        return "nan_of<double>()"
    if math.isinf(number):
        return f"({'-' if number < 0 else ''}inf_of<double>())"
    return f"({float(number)!r})"


_KNOWN: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b, "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b, "&&": lambda a, b: a and b, "||": lambda a, b: a or b,
    "/": lambda a, b: a / b if b else math.nan if not a or a != a else math.copysign(math.inf, a) * math.copysign(1.0, b),
}  # fmt: skip


def _operator(sign: str, turned: bool = False) -> Any:
    truth = sign in ("<", "<=", ">", ">=", "==", "!=", "&&", "||")

    def method(self: _Value, other: Any) -> _Value:
        x, y = self.beside(other)
        if turned:
            x, y = y, x
        if (sign in ("&&", "||")) != (x.dtype.kind == "b") and sign not in ("==", "!="):
            raise _Untold
        dtype = np.dtype(bool) if truth else x.dtype
        if x.known is not None and y.known is not None:
            return x.sure(_KNOWN[sign](x.known, y.known), dtype)
        return x.said(dtype, f"{x.text} {sign} {y.text}")

    return method


class _Value:
    """A number of a kernel under its name, or one that is known."""

    __array_priority__ = 1000
    __array_ufunc__ = None  # NumPy's scalars leave operations to this class

    def __init__(self, lines: list[str], dtype: np.dtype, text: str, known: Any = None) -> None:
        self.lines, self.dtype, self.text, self.known = lines, np.dtype(dtype), text, known

    shape: tuple[int, ...] = ()
    ndim = 0

    def said(self, dtype: np.dtype, text: str) -> _Value:
        """A new name for what a text computes."""
        if len(self.lines) >= _MOST_LINES:
            raise _Untold
        name = f"v{len(self.lines)}"
        self.lines.append(f"const {_type(dtype)} {name} = {text};")
        return _Value(self.lines, dtype, name)

    def sure(self, value: Any, dtype: Any = None) -> _Value:
        """A number that is known."""
        dtype = np.dtype(self.dtype if dtype is None else dtype)
        if dtype.kind == "b":
            return _Value(self.lines, dtype, "true" if value else "false", bool(value))
        return _Value(self.lines, dtype, f"{_type(dtype)}({_spelt(float(value))})", float(value))

    def beside(self, other: Any) -> tuple[_Value, _Value]:
        """Both operands in one dtype; plain numbers take that of the value beside them."""
        if not isinstance(other, _Value):
            other = other.item() if isinstance(other, np.generic) else other
            if isinstance(other, bool) and self.dtype.kind == "b":
                return self, self.sure(other)
            if not isinstance(other, (int, float)):
                raise _Untold
            one = self.astype(np.float64) if self.dtype.kind == "b" else self
            return one, one.sure(other)
        if self.dtype == other.dtype:
            return self, other
        wide = np.promote_types(self.dtype, other.dtype)
        if wide.kind not in "fb":
            raise _Untold
        return self.astype(wide), other.astype(wide)

    def astype(self, dtype: Any, copy: bool = True) -> _Value:
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self
        if dtype.kind not in "fVb" or dtype.kind == "b" != self.dtype.kind:
            raise _Untold
        if self.known is not None:
            return self.sure(self.known, dtype)
        return self.said(dtype, f"{_type(dtype)}({self.text})")

    __add__, __radd__ = _operator("+"), _operator("+", True)
    __sub__, __rsub__ = _operator("-"), _operator("-", True)
    __mul__, __rmul__ = _operator("*"), _operator("*", True)
    __truediv__, __rtruediv__ = _operator("/"), _operator("/", True)
    __lt__, __le__, __gt__, __ge__ = (_operator("<"), _operator("<="), _operator(">"), _operator(">="))
    __eq__, __ne__ = _operator("=="), _operator("!=")
    __and__, __or__ = _operator("&&"), _operator("||")
    __hash__ = object.__hash__

    def __bool__(self) -> bool:
        if self.known is None:
            raise _Untold
        return bool(self.known)

    def any(self) -> Any:
        raise _Untold

    def __neg__(self) -> _Value:
        return self.sure(-self.known) if self.known is not None else self.said(self.dtype, f"-{self.text}")

    def __invert__(self) -> _Value:
        if self.dtype.kind != "b":
            raise _Untold
        return self.sure(not self.known) if self.known is not None else self.said(self.dtype, f"!{self.text}")

    def __pow__(self, power: Any) -> _Value:
        x, y = self.beside(power)
        n = y.known
        if x.known is not None and n is not None:
            return x.sure(x.known**n)
        if n is not None and n == int(n) and 1 <= abs(n) <= 16:
            product: Any = x
            for _ in range(int(abs(n)) - 1):
                product = product * x
            return product if n > 0 else 1 / product
        return x.said(x.dtype, f"pow({x.text}, {y.text})")

    def __rpow__(self, base: Any) -> _Value:
        y, x = self.beside(base)
        return x.said(x.dtype, f"pow({x.text}, {y.text})")

    def __mod__(self, other: Any) -> _Value:
        x, y = self.beside(other)
        if x.known is not None and y.known is not None:
            return x.sure(x.known % y.known)
        rest = x.said(x.dtype, f"fmod({x.text}, {y.text})")
        return x.said(
            x.dtype, f"{rest.text} != 0 && ({rest.text} < 0) != ({y.text} < 0) ? {rest.text} + {y.text} : {rest.text}"
        )


def _type(dtype: np.dtype) -> str:
    if dtype.kind == "b":
        return "bool"
    return "double" if dtype == np.float64 else "float"


class _Functions:
    """The part of an array library that pointwise bodies use."""

    float32, float64, nan, inf, pi = np.float32, np.float64, math.nan, math.inf, math.pi

    def __init__(self, lines: list[str]) -> None:
        self._any = _Value(lines, np.dtype(np.float64), "0.0", 0.0)

    def _value(self, x: Any) -> _Value:
        return x if isinstance(x, _Value) else self._any.sure(x)

    def _pair(self, x: Any, y: Any) -> tuple[_Value, _Value]:
        if isinstance(x, _Value):
            return x.beside(y)
        if isinstance(y, _Value):
            y, x = y.beside(x)
            return x, y
        return self._value(x), self._value(y)

    def __getattr__(self, name: str) -> Any:
        """A ufunc that C's library has as well."""
        ufunc = getattr(np, name, None)
        called = name.replace("arc", "a", 1) if name.startswith("arc") else name
        if not isinstance(ufunc, np.ufunc) or called not in _IN_C or ufunc.nout != 1:
            raise _Untold
        return partial(self._one if ufunc.nin == 1 else self._two, called)

    def abs(self, x: Any) -> Any:
        return self._one("fabs", x)

    absolute = abs

    def maximum(self, x: Any, y: Any) -> Any:
        return self._two("top", x, y)

    def minimum(self, x: Any, y: Any) -> Any:
        return self._two("bottom", x, y)

    def _one(self, name: str, x: Any) -> Any:
        x = self._value(x)
        if x.dtype.kind == "b":
            raise _Untold
        return x.said(x.dtype, f"{name}({x.text})")

    def _two(self, name: str, x: Any, y: Any) -> Any:
        x, y = self._pair(x, y)
        if x.dtype.kind == "b":
            raise _Untold
        return x.said(x.dtype, f"{name}({x.text}, {y.text})")

    def power(self, x: Any, y: Any) -> Any:
        x, y = self._pair(x, y)
        return x**y

    def asarray(self, x: Any, dtype: Any = None) -> Any:
        x = self._value(x)
        return x if dtype is None else x.astype(dtype)

    def where(self, condition: Any, x: Any, y: Any) -> Any:
        condition = self._value(condition)
        x, y = self._pair(x, y)
        if condition.known is not None:
            return x if condition.known else y
        return x.said(x.dtype, f"{condition.text} ? {x.text} : {y.text}")

    def clip(self, x: Any, low: Any, high: Any) -> Any:
        return self.minimum(self.maximum(x, low), high)

    def square(self, x: Any) -> Any:
        return x * x

    def isnan(self, x: _Value) -> Any:
        return x.said(np.dtype(bool), f"{x.text} != {x.text}")

    def isinf(self, x: _Value) -> Any:
        return self._one("fabs", x) == math.inf

    def isfinite(self, x: _Value) -> Any:
        return self._one("fabs", x) < math.inf

    def zeros_like(self, x: _Value) -> Any:
        return x.sure(0.0)

    def ones_like(self, x: _Value) -> Any:
        return x.sure(1.0)

    def full_like(self, x: _Value, value: float) -> Any:
        return x.sure(value)


_IN_C = frozenset({"rint", *dir(math)} - {"degrees", "radians"})


def _expression(body: Callable[..., Any], operands: tuple, attrs: Mapping[str, Any]) -> Expression | None:
    """What a body does with operands of one floating dtype; None where that cannot be written down."""
    dtypes = {a.dtype for a in operands if a.__class__ is cupy.ndarray}
    if len(dtypes) != 1 or not from_np(dtype := dtypes.pop()).is_floating_point:
        return None
    lines: list[str] = []
    names = [f"x{i}" for i in range(len(operands))]
    given = [_Value(lines, dtype, name) for name in names]
    try:
        out = body(_Functions(lines), *given, **attrs)
    except (_Untold, AttributeError, TypeError, ValueError, OverflowError, ArithmeticError):
        return None
    if not isinstance(out, _Value) or out.dtype not in (dtype, np.dtype(bool)):
        return None
    text = f"[&]{{ {' '.join(lines)} return {out.text}; }}()"
    return Expression(" ".join(names), out="bool" if out.dtype.kind == "b" else "same", f=text)


def in_one_kernel(body: Callable[..., Any]) -> Callable[..., Any]:
    """A generic pointwise body as one kernel for each kind of operands; NotImplemented where it cannot be written down."""
    known: dict[tuple, Expression | None] = Bounded(256)

    def expression(operands: tuple, attrs: dict[str, Any]) -> Expression | None:
        key = (*[getattr(a, "dtype", None) for a in operands], *[(k, repr(v)) for k, v in attrs.items()])
        if key not in known:
            known[key] = _expression(body, operands, attrs)
        return known[key]

    def call(*operands: Any, **attrs: Any) -> Any:
        e = expression(operands, attrs)
        return NotImplemented if e is None else compute(e, operands)

    def prepare(*operands: Any, **attrs: Any) -> Any:
        e = None if None in [a if a is None else 0 for a in operands] else expression(operands, attrs)
        return None if e is None else prepared(e, operands)

    return keyed(call, prepare)
