"""Joined kernels beside the parts that they stand for: run on the same numbers before a program may use them; what counts as equal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import float32, from_np
from ...runtime import devices
from ...runtime.door import KERNELS, Kernel, run

_PIECE = 1 << 24  # numbers compared at once


def settled(xp: ArrayModule, x: Array, y: Array) -> tuple[Any, Any] | None:
    """Both arrays with 0 for what is not finite; None where that is not the same in both."""
    odd = ~(xp.isfinite(x) & xp.isfinite(y))
    alike = (x == y) | (xp.isnan(x) & xp.isnan(y))
    if bool((odd & ~alike).any()):
        return None
    zero = x.dtype.type(0)
    return xp.where(odd, zero, x), xp.where(odd, zero, y)


def are_near(xp: ArrayModule, a: Array, b: Array, tolerance: float, wide: Callable[[Any], Any]) -> bool:
    """Whether every number of a is as near to that of b as its size, or that of a typical one, allows.

    `wide` gives numbers in a dtype that the array library knows.
    """
    if a.shape != b.shape:
        return False
    typical, count = 0.0, 0
    for _, y in _pieces(a, b):
        y = y.astype(np.float64)
        y = xp.where(xp.isfinite(y), xp.abs(y), 0.0)
        typical, count = typical + float(y.sum()), count + y.size
    slack = 10 * max(typical / max(count, 1), 1e-6)
    for x, y in _pieces(a, b):
        both = settled(xp, wide(x).astype(np.float64), as_stored(xp, y.astype(np.float64), a.dtype))
        if both is None:
            return False
        x, y = both
        if not bool((xp.abs(x - y) <= tolerance * (xp.abs(y) + slack)).all()):
            return False
    return True


def _pieces(a: Array, b: Array) -> Iterator[tuple[Any, Any]]:
    """Both arrays piece by piece: in float64 whole ones would take more memory than the step itself."""
    if a.size <= _PIECE:
        yield a, b
        return
    rows = max(1, _PIECE * len(a) // a.size)
    for first in range(0, len(a), rows):
        yield a[first : first + rows], b[first : first + rows]


def differ_little(x: np.ndarray, y: np.ndarray, tolerance: float) -> bool:
    """Whether no number is further from its fellow than the largest one allows: for sums in the same order."""
    both = settled(np, x.astype(np.float64), y.astype(np.float64))  # type: ignore[arg-type]
    if both is None:
        return False
    x, y = both
    return not x.size or bool(np.abs(x - y).max() <= tolerance * max(np.abs(y).max(), 1e-6))


def as_stored(xp: ArrayModule, y: Array, dtype: np.dtype) -> Any:
    """Numbers computed in a wider dtype, infinite where this one has no room for them."""
    if dtype != np.float16:
        return y
    large = xp.abs(y) > float(np.finfo(np.float16).max)
    return xp.where(large, xp.copysign(xp.inf, y), y).astype(y.dtype)


Part = Callable[..., Any]  # part(kernel, *arrays, **attrs) runs a kernel
By = Callable[..., Any]  # by(part, *arrays, **attrs) computes what a joined kernel does, part by part
Fit = Callable[[Part, list, dict], list]  # arrays that go together, of those that a trial made up

# Name -> what runs the parts on a device: (part, arrays, attrs) -> the arrays to give the joined kernel, and what its
# parts answer for them.
PARTS: dict[str, Callable[[Part, list, dict], tuple[list, Any]]] = {}

_FEW = 1 << 20  # so many numbers are compared by NumPy: a device would compile three kernels for it


def generic_by(by: By) -> Callable[..., Any]:
    """The generic body of a kernel that is computed part by part."""

    def body(xp: ArrayModule, *arrays: Any, **attrs: Any) -> Any:
        return by(partial(_generic, xp), *arrays, **attrs)

    return body


def _generic(xp: ArrayModule, kernel: str, *arrays: Any, **attrs: Any) -> Any:
    return KERNELS[kernel].generic(xp, *arrays, **attrs)


def join(name: str, by: By, fit: Fit | None = None, body: Callable[..., Any] | None = None) -> Kernel:
    """The kernel that computes what `by` does, and is tried beside that; `body` where any array library has a shorter way."""

    def parts(part: Part, arrays: list, attrs: dict) -> tuple[list, Any]:
        given = arrays if fit is None else fit(part, arrays, attrs)
        return given, by(part, *given, **attrs)

    PARTS[name] = parts
    return Kernel(name, body or generic_by(by))


def agrees(name: str, arrays: list[Any], attrs: dict[str, Any]) -> bool:
    """Whether a joined kernel computes what its parts do, one after another, on the same device.

    They round in the same places, so little may differ.
    """
    cls = arrays[0].__class__

    def part(kernel: str, *given: Any, **how: Any) -> Any:
        return run(KERNELS[kernel], cls, given, how)

    given, expected = PARTS[name](part, arrays, attrs)
    out = run(KERNELS[name], cls, given, attrs)
    pairs = zip(out, expected) if out.__class__ is tuple else ((out, expected),)
    return all([_near(part, a, b) for a, b in pairs])  # noqa: C419 - all of them run


def _near(part: Part, a: Array, b: Array) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not a.size:
        return True
    tolerance = {2: 2e-2, 4: 1e-3}.get(a.dtype.itemsize, 1e-8)
    if a.size <= _FEW:
        x, y = [devices.backend_of_type(v.__class__).to_host(v) for v in (a, b)]
        with np.errstate(invalid="ignore", over="ignore"):
            return differ_little(x, y, tolerance)
    if a.dtype.itemsize == 2:
        source = from_np(a.dtype)
        a, b = [part("cast", v, to=float32, source=source) for v in (a, b)]
    a, b = [part("nan_to_num", v, nan=0.0, posinf=0.0, neginf=0.0) for v in (a, b)]

    def largest(v: Array) -> float:
        return float(part("max", part("abs", v), dim=None, keepdim=False))

    return largest(part("sub", a, b)) <= tolerance * max(largest(b), 1e-6)
