"""Norms whose neighbours have another dtype: the casts that autocast puts around them are part of the kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.dtypes import from_np
from ...runtime.door import KERNELS, Kernel
from .parts import PARTS


def _cast(part: Callable[..., Any], x: Any, to: Any) -> Any:
    """x in a dtype (as NumPy or as users name it), itself where it has that already."""
    to = getattr(to, "np", to)
    if x is None or x.dtype == to:
        return x
    return part("cast", x, to=from_np(to), source=from_np(x.dtype))


def _forward(norm: str) -> tuple[Callable[..., tuple], Callable[..., tuple]]:
    """(x, other or None, weight, bias) -> result in the dtype `to`, statistics, and x + other where there is one."""

    def by(part: Callable[..., Any], x: Any, other: Any, *affine: Any, to: Any, **attrs: Any) -> tuple:  # fmt: skip
        total = x if other is None else part("add", x, _cast(part, other, x.dtype))
        y, *statistics = part(norm, total, *affine, **attrs)
        made = (_cast(part, y, to or x.dtype), *statistics)
        return made if other is None else (*made, total)

    return _generic(by), lambda part, arrays, attrs: (arrays, by(part, *arrays, **attrs))


def _backward(norm: str) -> tuple[Callable[..., tuple], Callable[..., tuple]]:
    """(g, x, weight, statistics, more or None) -> gradients of x and of the weight and bias.

    With `also` behind them that of x again in g's dtype.
    """

    def by(part: Callable[..., Any], *arrays: Any, also: bool, **attrs: Any) -> tuple:
        g, x, *rest, more = arrays
        gx, *grads = part(f"{norm}_grad", _cast(part, g, x.dtype), x, *rest, **attrs)
        gx = gx if more is None else part("add", gx, more)
        return (gx, *grads, _cast(part, gx, g.dtype)) if also else (gx, *grads)

    def parts(part: Callable[..., Any], arrays: list, attrs: dict) -> tuple[list, Any]:
        """Statistics are made anew, to fit the numbers of x."""
        g, x, weight = arrays[:3]
        affine = (weight, None) if norm == "layer_norm" else (weight,)
        how = {k: v for k, v in attrs.items() if k != "also"}
        given = [g, x, weight, *part(norm, x, *affine, **how)[1:], arrays[-1]]
        return given, by(part, *given, **attrs)

    return _generic(by), parts


def _generic(by: Callable[..., tuple]) -> Callable[..., tuple]:
    def body(xp: Any, *arrays: Any, **attrs: Any) -> tuple:
        def part(name: str, *given: Any, **how: Any) -> Any:
            return KERNELS[name].generic(xp, *given, **how)

        return by(part, *arrays, **attrs)

    return body


def _made(name: str, body: Callable[..., tuple], parts: Callable[..., tuple]) -> Kernel:
    PARTS[name] = parts
    return Kernel(name, body)


_NORMS = ("layer_norm", "rms_norm")
MIXED_NORMS = {norm: _made(f"{norm}_mixed", *_forward(norm)) for norm in _NORMS}
MIXED_GRADS = {norm: _made(f"{norm}_grad_mixed", *_backward(norm)) for norm in _NORMS}
