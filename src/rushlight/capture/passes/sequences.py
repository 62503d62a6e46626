"""Networks over sequences: embeddings with positions, rotary embeddings, attention's gradients, the loss of half precision."""

from __future__ import annotations

from typing import Any

from ...operators.layers.attention.attention_kernels import attention_grad
from ...operators.layers.attention.masked_attention_kernels import masked_attention_grad
from ...operators.layers.embedding import embedding_grad, embedding_op
from ...operators.loss.cross_entropy import cross_entropy_fused, cross_entropy_grad
from ...operators.memory.casting import cast_op
from ...operators.pointwise.arithmetic import add_op, mul_op
from ...operators.pointwise.unary import neg
from ...operators.shape.join import cat_op
from ...operators.shape.windows import unwindow
from ..joined.sequences import ATTENTION_GRAD_CAT, EMBEDDING_ADD, EMBEDDING_GRAD_ADD, MASKED_GRAD_CAT, ROTARY
from ..program.instructions import Instruction
from ..program.match import Found, Joining, alike, first, joined, maker, other, reader, rule, same
from ..program.slots import Slot

_LOSS, _SLOPE = cross_entropy_fused.kernel, cross_entropy_grad.kernel


@rule(EMBEDDING_ADD, lookup=first(embedding_op), add=reader(add_op, of="lookup"))
def _lookup(m: Found) -> Any:
    """Rows are added to while they are looked up: tokens and their positions."""
    rows, out = m.lookup.outputs[0], m.add.outputs[0]
    more = other(m.add, rows)
    if more is None or not alike(rows, out) or more.dtype != out.dtype:
        return None
    shape = more.shape[next((i for i, n in enumerate(more.shape) if n != 1), 0) :]
    # Every so many rows the same numbers are added, so that they need no more than a remainder to be found.
    if rows.shape[len(rows.shape) - len(shape) :] != shape:
        return None
    return joined(EMBEDDING_ADD, (*m.lookup.inputs, more), m.lookup.attrs, (out,))


@rule(
    EMBEDDING_GRAD_ADD,
    back=first(embedding_grad),
    add=reader(add_op, of="back"),
    cast=maker(cast_op, of="add<*", optional=True),
)
def _tied(m: Found) -> Any:
    """A table that is also a layer's weight: the gradients of few rows are added while the others' are cast."""
    own, out = m.back.outputs[0], m.add.outputs[0]
    base = other(m.add, own)
    if base is None or same(base, own) or not alike(own, base, out):
        return None
    if m.cast is not None:
        if not same(m.cast.outputs[0], base):
            return None
        base = m.cast.inputs[0]
        if base.dtype.itemsize != 2 or base.dtype.kind not in "fV" or own.dtype.name != "float32":
            return None
    return joined(EMBEDDING_GRAD_ADD, (*m.back.inputs, base), m.back.attrs, (out,))


@rule(ATTENTION_GRAD_CAT, cat=first(cat_op), back=maker(attention_grad, of="cat<0"))
def _beside(m: Found) -> Any:
    """Gradients beside each other, where a linear layer made queries, keys and values so."""
    return _beside_each_other(m, ATTENTION_GRAD_CAT)


@rule(MASKED_GRAD_CAT, cat=first(cat_op), back=maker(masked_attention_grad, of="cat<0"))
def _masked_beside(m: Found) -> Any:
    """The same of attention with a mask or dropout."""
    return _beside_each_other(m, MASKED_GRAD_CAT)


def _beside_each_other(m: Found, kernel: Any) -> Any:
    grads, parts, (out,) = m.back.outputs, m.cat.inputs, m.cat.outputs
    if len(parts) != 3 or m.cat.attrs["dim"] not in (2, -1) or not out.dense:
        return None
    order = [i for part in parts for i, g in enumerate(grads) if _is_rows_of(part, g)]
    if sorted(order) != [0, 1, 2]:
        return None
    attrs = {**m.back.attrs, "order": tuple(order)}
    return joined(kernel, m.back.inputs, attrs, (out,))


def _is_rows_of(part: Slot, g: Slot) -> bool:
    """Whether `part` is [N, L, E] over the heads [N, heads, L, size] of g."""
    (batch, heads, length, size), item = g.shape, g.dtype.itemsize
    lies = g.strides[1] == size * item and g.strides[3] == item
    return (
        part.storage is g.storage and part.offset == g.offset and lies
        and part.shape == (batch, length, heads * size)
        and part.strides == (g.strides[0], g.strides[2], item)
    )  # fmt: skip


@rule(
    _LOSS, _SLOPE,
    cast=first(cast_op),
    loss=reader(cross_entropy_fused, of="cast", at=0),
    slope=reader(cross_entropy_grad, of="loss.1", at=2, maybe=True),
    back=reader(cast_op, of="slope", at=0, maybe=True),
)  # fmt: skip
def _entropy(m: Found) -> Any:
    """Cross entropy of halves that were cast: it reads them itself. It computes in float32 anyway, so every bit stays."""
    x, wide = m.cast.inputs[0], m.cast.outputs[0]
    if x.dtype.name not in ("float16", "bfloat16") or wide.dtype.name != "float32":
        return None
    inputs, attrs = (x, *m.loss.inputs[1:]), {**m.loss.attrs, "wide": True}
    loss = joined(_LOSS, inputs, attrs, m.loss.outputs)
    if m.slope is None:
        return {"loss": loss}
    gy, read, *kept = m.slope.inputs
    if m.back is None or m.back.outputs[0].dtype != x.dtype or read is not wide:
        return None
    grad = joined(_SLOPE, (gy, x, *kept), m.slope.attrs, m.back.outputs)
    return [{"loss": loss, "slope": grad}, {"loss": loss, "back": grad}]


join_lookups = Joining(_lookup, _tied)
join_attention_grads = Joining(_beside, _masked_beside)
drop_entropy_casts = Joining(_entropy)

# -- rotary embeddings: x cos + rotated(x) sin, and their derivative, however the halves were cut ------


@rule(
    ROTARY,
    cat=first(cat_op),
    neg=maker(neg.op, of="cat<0"),
    sin=reader(mul_op, of="cat"),
    total=reader(add_op, of="sin"),
    cos=maker(mul_op, of="total<*"),
)
def _rotary(m: Found) -> Any:
    """x cos + cat(-x2, x1) sin."""
    if not _joins_halves(m.cat):
        return None
    low, high, turned = m.cat.inputs[1], m.neg.inputs[0], m.cat.outputs[0]
    return [_turned(m, x, turned, back=False) for x in m.cos.reads if _are_halves(x, low, high)]


@rule(
    ROTARY,
    neg=first(neg.op),
    cat=reader(cat_op, of="neg", at=1),
    sin=maker(mul_op, of="neg<0"),
    total=reader(add_op, of="cat"),
    cos=maker(mul_op, of="total<*"),
)
def _rotary_grad(m: Found) -> Any:
    """g cos + cat(u2, -u1) with u = g sin."""
    low, high = m.neg.inputs[0], m.cat.inputs[0]
    if not _joins_halves(m.cat) or not _are_halves(m.sin.outputs[0], low, high):
        return None
    return [_turned(m, g, g, back=True) for g in m.cos.reads]


@rule(
    ROTARY,
    neg=first(neg.op),
    low=reader(unwindow, of="neg"),
    inner=reader(add_op, of="low"),
    total=reader(add_op, of="inner"),
    high=maker(unwindow, of="inner<*|total<*"),
    cos=maker(mul_op, of="inner<*|total<*"),
    sin=maker(mul_op, of="neg<0"),
)
def _rotary_grad_of_slices(m: Found) -> Any:
    """The same where the halves were slices: each is put into zeros, and the three are added in any order."""
    u, h = m.sin.outputs[0], m.neg.outputs[0].shape[-1]
    whole = ((None, None, None),) * (len(u.shape) - 1)
    for part, begin in ((m.high, 0), (m.low, h)):
        if part.attrs != {"index": (*whole, (begin, begin + h, 1)), "shape": u.shape}:
            return None
    if not _are_halves(u, m.neg.inputs[0], m.high.inputs[0]):
        return None
    return [_turned(m, g, g, back=True) for g in m.cos.reads]


def _turned(m: Found, x: Slot, by_sin: Slot, back: bool) -> Instruction | None:
    """One kernel, where x is multiplied by the cosine, and this array by the sine."""
    cos, sin, out = other(m.cos, x), other(m.sin, by_sin), m.total.outputs[0]
    order = tuple(sorted(range(len(out.shape)), key=lambda axis: -out.strides[axis]))
    packed = out.extent() == (0, out.nbytes) and order[-1] == len(out.shape) - 1
    if cos is None or sin is None or out.shape != x.shape or not packed:
        return None
    fits = all(f.dtype == x.dtype and f.shape[-1:] == x.shape[-1:] for f in (cos, sin))
    if not fits or max(len(cos.shape), len(sin.shape)) > len(x.shape):
        return None
    return joined(ROTARY, (x, cos, sin), {"back": back, "order": order}, (out,))


def _joins_halves(cat: Instruction) -> bool:
    return len(cat.inputs) == 2 and cat.attrs["dim"] in (-1, len(cat.outputs[0].shape) - 1)


def _are_halves(x: Slot, low: Slot, high: Slot) -> bool:
    """Whether two slots show the first and the second half of the rows of x."""
    if not x.shape or x.shape[-1] % 2:
        return False
    half = x.shape[-1] // 2
    return all(
        s.storage is x.storage and s.shape == (*x.shape[:-1], half) and s.strides == x.strides
        and s.offset == x.offset + begin * x.strides[-1]
        for s, begin in ((low, 0), (high, half))
    )  # fmt: skip


join_rotary = Joining(_rotary, _rotary_grad, _rotary_grad_of_slices)
