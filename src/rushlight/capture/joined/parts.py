"""Joined kernels beside their parts, both as the device computes them: do they agree?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.dtypes import float32, from_np
from ...runtime import devices
from ...runtime.door import KERNELS, run
from .compare import differ_little

# Name -> what runs the parts: (part, arrays, attrs) -> the arrays to give the joined kernel, and what its
# parts answer for them. `part(kernel, *arrays, **attrs)` runs a kernel on the device.
PARTS: dict[str, Callable[[Callable[..., Any], list, dict], tuple[list, Any]]] = {}

_FEW = 1 << 20  # so many numbers are compared by NumPy: a device would compile three kernels for it


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


def _near(part: Any, a: Any, b: Any) -> bool:
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

    def largest(v: Any) -> float:
        return float(part("max", part("abs", v), dim=None, keepdim=False))

    return largest(part("sub", a, b)) <= tolerance * max(largest(b), 1e-6)
