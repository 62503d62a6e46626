"""What attention is made of: its weights, and without a mask one op that engines override by name."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from ....base.arrays import Array, ArrayModule
from ....base.device import device
from ....core.op import Op
from ....core.tensor import Tensor
from ....runtime.facts import Facts
from ...made_of.constants import on_device
from ...made_of.pointwise import same_meta
from ...made_of.precision import in_float32, widen
from ...made_of.reference import by_reference
from ..softmax import softmax_grad


@in_float32
def _attention_weights_body(xp: ArrayModule, x: Array) -> Any:
    """softmax along the last dim; a row of -inf gives zeros."""
    if x.size == 0:
        return x.copy()
    high = x.max(axis=-1, keepdims=True)
    high[high == -xp.inf] = 0
    z = x - high
    xp.exp(z, out=z)
    total = z.sum(axis=-1, keepdims=True)
    total[total == 0] = 1
    z /= total
    return z


attention_weights = Op(
    _attention_weights_body,
    "attention_weights",
    meta=same_meta,
    grad_name="SafeSoftmaxBackward0",
    facts=Facts(onnx="weights"),
)
attention_weights.derivative(x=lambda g, out: softmax_grad(g, out, dim=out._a.ndim - 1))


@lru_cache(maxsize=16)
def _causal_mask(rows: int, columns: int, on: device) -> Tensor:
    """True where a query may not look: at keys behind it."""
    later = np.triu(np.ones((rows, columns), bool), 1)
    return on_device(later, on)


def masked(scores: Tensor, mask: Any, is_causal: bool) -> Tensor:
    """The scores where a query may look, -inf elsewhere."""
    if is_causal:
        later = _causal_mask(scores._a.shape[-2], scores._a.shape[-1], scores.device)
        return scores.masked_fill(later, -math.inf)
    if mask is None:
        return scores
    if mask._a.dtype.kind == "b":
        return scores.masked_fill(~mask, -math.inf)
    return scores + mask


# Contract of the kernels, which engines override by name; q (B, H, L, E), k (B, G, S, E), v (B, G, S, V):
#   attention(q, k, v, *, causal, scale) -> out (B, H, L, V), stats (B, H, L, 1)
#   attention_grad(gy, q, k, v, out, stats, *, causal, scale) -> gq, gk, gv
# stats is the logarithm of the sum of exponentials of each query's scores, float32 for half precision.
# H is a multiple of G: a head of k and v serves H / G neighbouring heads of q.


def spread(xp: ArrayModule, a: Array, heads: int) -> Any:
    """Keys or values in float32 (or wider), one head for each head of the query."""
    a = widen(xp, a)
    return a if a.shape[1] == heads else xp.repeat(a, heads // a.shape[1], axis=1)


def gathered(g: Any, like: Any) -> Any:
    """The gradient of keys or values, summed over the query heads that each of them serves."""
    batch, heads, length, size = g.shape
    groups = like.shape[1]
    if groups != heads:
        g = g.reshape(batch, groups, heads // groups, length, size).sum(axis=2)
    return g.astype(like.dtype)


def score(xp: ArrayModule, q: Array, k: Array, causal: bool, scale: float) -> Any:
    """The scores of all queries and keys, -inf where causal attention may not look."""
    scores = xp.matmul(widen(xp, q) * scale, spread(xp, k, q.shape[1]).swapaxes(-1, -2))
    if causal:
        rows, columns = scores.shape[-2:]
        later = xp.arange(columns)[None, :] > xp.arange(rows)[:, None]
        scores = xp.where(later, -xp.inf, scores).astype(scores.dtype)
    return scores


def _attention_body(xp: ArrayModule, q: Array, k: Array, v: Array, *, causal: bool, scale: float) -> tuple:
    scores = score(xp, q, k, causal, scale)
    high = scores.max(axis=-1, keepdims=True)
    scores = xp.exp(scores - high)
    total = scores.sum(axis=-1, keepdims=True)
    out = xp.matmul(scores, spread(xp, v, q.shape[1])) / total
    return out.astype(q.dtype), high + xp.log(total)


def _attention_grad_body(
    xp: ArrayModule, gy: Any, q: Any, k: Any, v: Any, out: Any, stats: Any, *, causal: bool, scale: float
) -> tuple:
    g = widen(xp, gy)
    heads = q.shape[1]
    weights = xp.exp(score(xp, q, k, causal, scale) - stats)
    gv = xp.matmul(weights.swapaxes(-1, -2), g)
    slope = (g * widen(xp, out)).sum(axis=-1, keepdims=True)
    gs = weights * (xp.matmul(g, spread(xp, v, heads).swapaxes(-1, -2)) - slope) * scale
    gq = xp.matmul(gs, spread(xp, k, heads))
    gk = xp.matmul(gs.swapaxes(-1, -2), widen(xp, q))
    return gq.astype(q.dtype), gathered(gk, k), gathered(gv, v)


def _meta(q: Any, k: Any, v: Any, *, causal: bool, scale: float) -> list:
    wide = np.dtype(np.float32) if q.dtype.itemsize == 2 else q.dtype
    return [((*q.shape[:-1], v.shape[-1]), q.dtype), ((*q.shape[:-1], 1), wide)]


attention = Op(
    _attention_body,
    "attention",
    meta=_meta,
    grad_name="ScaledDotProductFusedAttentionBackward0",
    facts=Facts(
        aten="_scaled_dot_product_flash_attention_for_cpu attention",
        onnx="attention",
        one_kernel={"cpu": True},
        family="attention",
    ),
)
attention_grad = Op(
    _attention_grad_body,
    "attention_grad",
    meta=lambda gy, q, k, v, out, stats, **_: [(a.shape, a.dtype) for a in (q, k, v)],
    facts=Facts(aten="_scaled_dot_product_flash_attention_for_cpu_backward attention _backward", family="attention"),
)


@attention.backward
def _attention_backward(
    g: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, out1: Tensor, causal: bool, scale: float
) -> tuple:
    if g is None:
        return None, None, None
    return attention_grad(g, q, k, v, out.detach(), out1.detach(), causal=causal, scale=scale)


def spread_heads(query: Tensor, x: Tensor) -> Tensor:
    """Repeat key or value heads, so that each serves several neighbouring query heads."""
    heads, groups = query._a.shape[-3], x._a.shape[-3]
    if heads == groups:
        return x
    if not groups or heads % groups:
        raise RuntimeError(
            f"Number of heads in key and value must divide the number of heads in query, but got {groups} and {heads}"
        )
    return x.repeat_interleave(heads // groups, -3)


def gather_heads(g: Tensor, like: Tensor) -> Tensor:
    """Sum the gradients of repeated heads."""
    heads, groups = g._a.shape[1], like._a.shape[1]
    return g if heads == groups else g.unflatten(1, (groups, heads // groups)).sum(2)


def _attention_grad_formula(
    gy: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, stats: Tensor, causal: bool, scale: float
) -> tuple:
    keys, v = spread_heads(q, k), spread_heads(q, v)
    scores = (q * scale) @ keys.transpose(-2, -1)
    weights = attention_weights(masked(scores, None, causal))
    reach = gy @ v.transpose(-2, -1)
    gs = weights * (reach - (reach * weights).sum(-1, keepdim=True)) * scale
    gk, gv = gs.transpose(-2, -1) @ q, weights.transpose(-2, -1) @ gy
    return gs @ keys, gather_heads(gk, k), gather_heads(gv, k)


by_reference(attention_grad, _attention_grad_formula)


def fits(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether the inputs fit the one kernel: batch and heads as two dims; half precision, or float32 where a device has it."""
    q, k, v = query._a, key._a, value._a
    if q.ndim != 4 or not q.shape[:2] == k.shape[:2] == v.shape[:2]:
        return False
    if q.dtype.itemsize != 2 and (q.dtype != np.float32 or not attention.is_whole(query)):
        return False
    return sizes_agree(q, k, v)


def sizes_agree(q: Array, k: Array, v: Array) -> bool:
    sizes = k.shape[2] == v.shape[2] and q.shape[3] == k.shape[3]
    return sizes and q.size > 0 and k.size > 0 and v.size > 0
