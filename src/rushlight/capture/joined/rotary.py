"""The kernel that passes make of a rotary embedding: x cos + rotated(x) sin, and its derivative by x.

The halves of a row are turned against each other: (a, b) becomes (a c1 - b s1, b c2 + a s2). Backward the sines
change places and signs: (a c1 + b s2, b c2 - a s1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .parts import Part, join

if TYPE_CHECKING:
    import numpy as np

    from ...base.array_module import ArrayModule
    from ...base.protocols import Array


def empty_in_order(
    xp: ArrayModule, shape: tuple[int, ...], dtype: np.dtype, order: tuple[int, ...]
) -> Any:
    """A new array whose axes lie in memory in this order, the last one innermost."""
    out = xp.empty(tuple([shape[axis] for axis in order]), dtype)
    return out.transpose([order.index(axis) for axis in range(len(shape))])


def rotary_into(x: Array, cos: Array, sin: Array, *, out: Array, back: bool, order: tuple) -> None:
    """The same by any array library, into an array that is there."""
    h = x.shape[-1] // 2
    first, second = (x[..., h:], x[..., :h])
    low, high = (sin[..., h:], sin[..., :h]) if back else (sin[..., :h], sin[..., h:])
    out[...] = x * cos
    if back:
        out[..., :h] += first * low
        out[..., h:] -= second * high
    else:
        out[..., :h] -= first * low
        out[..., h:] += second * high


def _body(
    xp: ArrayModule, x: Array, cos: Array, sin: Array, *, back: bool, order: tuple[int, ...]
) -> Any:
    out = empty_in_order(xp, x.shape, x.dtype, order)
    rotary_into(x, cos, sin, out=out, back=back, order=order)
    return out


def _by(part: Part, x: Array, cos: Array, sin: Array, *, back: bool, order: tuple[int, ...]) -> Any:
    h = x.shape[-1] // 2
    if back:
        u = part("mul", x, sin)
        turned = part("cat", u[..., h:], part("neg", u[..., :h]), dim=x.ndim - 1)
    else:
        turned = part("cat", part("neg", x[..., h:]), x[..., :h], dim=x.ndim - 1)
        turned = part("mul", turned, sin)
    return part("add", part("mul", x, cos), turned)


ROTARY = join("rotary", _by, body=_body)
