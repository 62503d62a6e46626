"""assert_close: are two results the same to the tolerance of their dtypes?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np

from ..base.config import settings
from ..base.dtypes import promote_types
from ..core.tensor import Tensor, wrap

# dtype name -> (rtol, atol); what is not listed has to be equal
_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7), "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip


class _Options:
    """What the caller asked for."""

    def __init__(self, rtol: Any, atol: Any, equal_nan: bool, checks: dict[str, bool]) -> None:
        if (rtol is None) != (atol is None):
            lacking = "rtol" if rtol is None else "atol"
            raise ValueError(
                f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {lacking}."
            )
        self.given = None if rtol is None else (rtol, atol)
        self.equal_nan = equal_nan
        self.checks = checks

    def tolerances(self, *names: str) -> tuple[float, float]:
        if self.given is not None:
            return self.given
        pairs = [_TOLERANCES.get(n, (0.0, 0.0)) for n in names]
        return max(p[0] for p in pairs), max(p[1] for p in pairs)


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Args:
        actual, expected: tensors, arrays, numbers, or lists and dicts of them.
        rtol, atol: both or neither; they depend on the dtype if not given.
        equal_nan: nan equals nan.
        allow_subclasses: False asks for the same type.
        check_device, check_dtype, check_stride: these have to be equal, too.
        check_layout: accepted and not needed.
        msg: what the error says, or a function that changes it.

    Raises:
        AssertionError: if they differ; it says where and by how much.

    Example:
        >>> torch.testing.assert_close(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-7]))
        >>> torch.testing.assert_close(1.0, 1.5)
        Traceback (most recent call last):
            ...
        AssertionError: Scalars are not close!
        <BLANKLINE>
        Expected 1.5 but got 1.0.
        Absolute difference: 0.5 (up to 1e-07 allowed)
        Relative difference: 0.3333333333333333 (up to 1e-07 allowed)
    """
    __tracebackhide__ = True
    checks = {"device": check_device, "dtype": check_dtype, "stride": check_stride}
    options = _Options(rtol, atol, equal_nan, checks)
    if not allow_subclasses and type(actual) is not type(expected):
        raise _no_pair(actual, expected)
    for path, a, b in _pairs(actual, expected, ""):
        said = _compare(a, b, options)
        if said is not None:
            said += f"\n\nThe failure occurred for item {path}" if path else ""
            raise AssertionError(said if msg is None else msg(said) if callable(msg) else msg)


def _pairs(a: Any, b: Any, path: str) -> Any:
    """(place, actual, expected) of everything that is not a container."""
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        missing, extra = sorted(set(b) - set(a), key=str), sorted(set(a) - set(b), key=str)
        if missing or extra:
            raise AssertionError(
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {missing}\n"
                f"Additional keys in the actual mapping: {extra}" + _at(path)
            )
        for key in a:
            yield from _pairs(a[key], b[key], f"{path}[{key!r}]")
    elif _is_sequence(a) and _is_sequence(b):
        if len(a) != len(b):
            raise AssertionError(
                f"The length of the sequences mismatch: {len(a)} != {len(b)}" + _at(path)
            )
        for i, (x, y) in enumerate(zip(a, b)):
            yield from _pairs(x, y, f"{path}[{i}]")
    else:
        yield path, a, b


def _at(path: str) -> str:
    return f"\n\nThe failure occurred for item {path}" if path else ""


def _is_sequence(x: Any) -> bool:
    return isinstance(x, Sequence) and not isinstance(x, (str, bytes))


def _no_pair(a: Any, b: Any) -> TypeError:
    return TypeError(
        f"No comparison pair was able to handle inputs of type {type(a)} and {type(b)}."
    )


def _compare(a: Any, b: Any, options: _Options) -> str | None:
    """What is wrong, or None."""
    if a is None or b is None:
        return None if a is b else f"None mismatch: {a} is not {b}"
    if isinstance(a, (bool, np.bool_)) and isinstance(b, (bool, np.bool_)):
        return None if bool(a) is bool(b) else f"Booleans mismatch: {a} is not {b}"
    if isinstance(a, Number) and isinstance(b, Number):
        return _compare_numbers(a, b, options)
    if isinstance(a, (Tensor, np.ndarray)) and isinstance(b, (Tensor, np.ndarray)):
        return _compare_tensors(_as_tensor(a), _as_tensor(b), options)
    raise _no_pair(a, b)


def _as_tensor(x: Any) -> Tensor:
    return x.detach() if isinstance(x, Tensor) else wrap(np.asarray(x))


def _compare_numbers(a: Any, b: Any, options: _Options) -> str | None:
    if options.checks["dtype"] and type(a) is not type(b):
        return f"The (d)types do not match: {type(a)} != {type(b)}."
    names = {int: "int64", float: "float64", complex: "complex128"}
    rtol, atol = options.tolerances(names.get(type(a), ""), names.get(type(b), ""))
    if a == b or (options.equal_nan and a != a and b != b):
        return None
    apart = abs(a - b)
    if apart <= atol + rtol * abs(b):
        return None
    relative = np.inf if b == 0 else apart / abs(b)
    return _scalars(a, b, apart, relative, rtol, atol)


def _allowed(tolerance: float, rtol: float, atol: float) -> str:
    return f" (up to {tolerance} allowed)" if rtol or atol else ""


def _scalars(a: Any, b: Any, apart: Any, relative: Any, rtol: float, atol: float) -> str:
    kind = "close" if rtol or atol else "equal"
    return (
        f"Scalars are not {kind}!\n\nExpected {b} but got {a}.\n"
        f"Absolute difference: {apart}{_allowed(atol, rtol, atol)}\n"
        f"Relative difference: {relative}{_allowed(rtol, rtol, atol)}"
    )


def _compare_tensors(a: Tensor, b: Tensor, options: _Options) -> str | None:
    if a.shape != b.shape:
        sizes = [f"{settings.module}.Size({list(t.shape)})" for t in (a, b)]
        return f"The values for attribute 'shape' do not match: {sizes[0]} != {sizes[1]}."
    for name in ("device", "dtype"):
        x, y = getattr(a, name), getattr(b, name)
        if options.checks[name] and x != y:
            return f"The values for attribute '{name}' do not match: {x} != {y}."
    if options.checks["stride"] and a.stride() != b.stride():
        return f"The values for attribute 'stride()' do not match: {a.stride()} != {b.stride()}."
    rtol, atol = options.tolerances(a.dtype.name, b.dtype.name)
    x, y = _host(a, b), _host(b, a)
    with np.errstate(all="ignore"):
        close = np.isclose(x, y, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
        return None if close.all() else _tell(x, y, close, rtol, atol)


def _host(t: Tensor, other: Tensor) -> np.ndarray:
    """Values in the common dtype; integers and booleans as integers, so that they can be taken apart."""
    a = t.to("cpu", promote_types(t.dtype, other.dtype)).numpy()
    if a.dtype.kind == "V":
        return a.astype(np.float32)
    return a.astype(np.int64) if a.dtype.kind in "ub" else a


def _tell(x: np.ndarray, y: np.ndarray, close: np.ndarray, rtol: float, atol: float) -> str:
    apart = np.abs(x - y)
    if x.dtype.kind == "i":
        relative = np.where(y == 0, np.inf, apart / np.abs(y)).astype(np.float32)
        relative[close] = 0
    else:
        relative = apart / np.abs(y)
    apart, relative = (np.where(close, 0, v).astype(v.dtype) for v in (apart, relative))
    if x.ndim == 0:
        return _scalars(x.item(), y.item(), apart.item(), relative.item(), rtol, atol)
    n = int((~close).sum())
    lines = [f"Mismatched elements: {n} / {close.size} ({n / close.size:.1%})"]
    for word, values, limit in (("absolute", apart, atol), ("relative", relative, rtol)):
        at = np.unravel_index(int(np.argmax(values)), values.shape)
        index = tuple(int(i) for i in at)
        lines.append(
            f"Greatest {word} difference: {values[at].item()} at index {index}"
            + _allowed(limit, rtol, atol)
        )
    kind = "close" if rtol or atol else "equal"
    return f"Tensor-likes are not {kind}!\n\n" + "\n".join(lines)
