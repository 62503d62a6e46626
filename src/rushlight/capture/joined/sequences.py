"""Joined kernels of networks of sequences: gradients of attention, rotary positions, embeddings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import from_np
from ...operators.layers.embedding import embedding_op
from .proof import Part, join

if TYPE_CHECKING:
    import numpy as np


def _rows(g: Array) -> Any:
    """[N, heads, L, size] -> [N, L, E]."""
    batch, heads, length, size = g.shape
    return g.swapaxes(1, 2).reshape(batch, length, heads * size)


def _by(name: str) -> Any:
    def by(part: Part, *arrays: Array, order: tuple[int, ...], **attrs: Any) -> Any:
        grads = part(name, *arrays, **attrs)
        return part("cat", *[_rows(grads[i]) for i in order], dim=2)

    return by


def _fit(name: str, inputs: int) -> Any:
    def fit(part: Part, arrays: list, attrs: dict) -> list:
        """The forward result is made anew, to fit the numbers of q, k and v."""
        how = {k: v for k, v in attrs.items() if k != "order"}
        return [*arrays[:inputs], *part(name, *arrays[1:inputs], **how)]

    return fit


# (gy, q, k, v, out, stats) -> the gradients of q, k and v (in `order`) beside each other, as a linear layer made them.
ATTENTION_GRAD_CAT = join("attention_grad_cat", _by("attention_grad"), _fit("attention", 4))
# (gy, q, k, v, bias, out, stats, kept) -> the same with a mask or dropout.
MASKED_GRAD_CAT = join("masked_attention_grad_cat", _by("masked_attention_grad"), _fit("masked_attention", 5))


def empty_in_order(xp: ArrayModule, shape: tuple[int, ...], dtype: np.dtype, order: tuple[int, ...]) -> Any:
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


def _rotate(xp: ArrayModule, x: Array, cos: Array, sin: Array, *, back: bool, order: tuple[int, ...]) -> Any:
    out = empty_in_order(xp, x.shape, x.dtype, order)
    rotary_into(x, cos, sin, out=out, back=back, order=order)
    return out


def _rotated(part: Part, x: Array, cos: Array, sin: Array, *, back: bool, order: tuple[int, ...]) -> Any:
    h = x.shape[-1] // 2
    if back:
        u = part("mul", x, sin)
        turned = part("cat", u[..., h:], part("neg", u[..., :h]), dim=x.ndim - 1)
    else:
        turned = part("cat", part("neg", x[..., h:]), x[..., :h], dim=x.ndim - 1)
        turned = part("mul", turned, sin)
    return part("add", part("mul", x, cos), turned)


ROTARY = join("rotary", _rotated, body=_rotate)


def _look_up(xp: ArrayModule, table: Array, indices: Array, other: Array, **how: Any) -> Any:
    out = embedding_op.kernel.generic(xp, table, indices, **how)
    out += other
    return out


def embedding_add_into(
    table: np.ndarray, indices: np.ndarray, other: np.ndarray, *, out: np.ndarray, **how: Any
) -> None:
    """The rows and their sum in one array, on the host."""
    if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= table.shape[0]):
        raise IndexError("index out of range in self")
    np.take(table, indices, axis=0, out=out, mode="clip")
    np.add(out, other, out=out)


EMBEDDING_ADD = join(
    "embedding_add",
    lambda part, table, indices, other, **how: part("add", part("embedding", table, indices, **how), other),
    body=_look_up,
)


def _grad_add(part: Part, gy: Array, indices: Array, base: Array, **how: Any) -> Any:
    if base.dtype != gy.dtype:
        base = part("cast", base, to=from_np(gy.dtype), source=from_np(base.dtype))
    return part("add", base, part("embedding_grad", gy, indices, **how))


# The gradient of a table that is used twice: (gy, indices, the other gradient, which may be one of halves).
EMBEDDING_GRAD_ADD = join("embedding_grad_add", _grad_add)
