"""Half precision inside kernels: float16 and bfloat16 compute in float32 and are rounded once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from ...base.arrays import Array, ArrayModule

Body = TypeVar("Body", bound=Callable[..., Any])


def is_half(a: Array) -> bool:
    """Whether an array holds float16 or bfloat16 (kind V: ml_dtypes)."""
    return a.dtype.itemsize == 2 and a.dtype.kind in "fV"


def widen(xp: ArrayModule, a: Array) -> Any:
    """The array in a dtype fit to compute in: itself, or float32 for half precision."""
    return a.astype(xp.float32) if is_half(a) else a


def in_float32(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A body whose half precision inputs arrive as float32; results take the first input's dtype."""

    @wraps(fn)
    def body(xp: ArrayModule, *arrays: Array, **attrs: Any) -> Any:
        first = arrays[0]
        if not is_half(first):
            return fn(xp, *arrays, **attrs)
        wide = [widen(xp, a) if hasattr(a, "dtype") else a for a in arrays]
        out = fn(xp, *wide, **attrs)
        if out.__class__ is tuple:
            return tuple([_narrow(o, first.dtype) for o in out])
        return _narrow(out, first.dtype)

    return rounds("0")(body)


def rounds(like: str) -> Callable[[Body], Body]:
    """Says of a body that it computes half precision in float32, so that an engine may do so in its place.

    Each letter of `like` is the number of the input whose dtype a result is rounded to, or "-" for one that stays in
    float32; the last letter stands for all results that follow.
    """

    def mark(body: Body) -> Body:
        body.rounds = like  # type: ignore[attr-defined]
        return body

    return mark


def _narrow(a: Any, dtype: Any) -> Any:
    return a.astype(dtype) if a.dtype.kind == "f" else a
