"""Attention with a bias on its scores and with dropout on its weights, as one op that engines override by name."""

from __future__ import annotations

from typing import Any

import numpy as np

from ....base.arrays import ArrayModule
from ....core.op import Op
from ....core.tensor import Tensor
from ....runtime import devices
from ....runtime.facts import Facts
from ...made_of.precision import widen
from ...made_of.reference import by_reference
from .attention_kernels import (
    attention_weights,
    gather_heads,
    gathered,
    masked,
    score,
    sizes_agree,
    spread,
    spread_heads,
)

# Contract, with the shapes of `attention`; bias is None or (B or 1, H or 1, L, S) of finite numbers, in q's dtype:
#   masked_attention(q, k, v, bias, *, causal, scale, p) -> out, stats, kept
#   masked_attention_grad(gy, q, k, v, bias, out, stats, kept, *, causal, scale, p) -> gq, gk, gv
# kept says which weights dropout of probability p kept: a mask of 0 and 1 / (1 - p), or in the device's own form;
# it is empty where p is 0.


def _biased(xp: ArrayModule, q: Any, k: Any, bias: Any, causal: bool, scale: float) -> Any:
    scores = score(xp, q, k, causal, scale)
    if bias is not None:
        scores += widen(xp, bias)
    return scores


def _draw(xp: ArrayModule, scores: Any, like: Any, p: float) -> Any:
    """Which weights are kept, drawn from the device's stream of random numbers."""
    if not p:
        return xp.zeros((0,), like.dtype)
    backend = devices.backend_of_type(like.__class__)
    mask = backend.stream(backend.device_of(like)).bernoulli(1.0 - p, scores.shape, like.dtype)
    mask *= mask.dtype.type(1.0 / (1.0 - p))
    return mask


def _masked_attention_body(
    xp: ArrayModule, q: Any, k: Any, v: Any, bias: Any, *, causal: bool, scale: float, p: float
) -> tuple:
    scores = _biased(xp, q, k, bias, causal, scale)
    high = scores.max(axis=-1, keepdims=True)
    weights = xp.exp(scores - high)
    total = weights.sum(axis=-1, keepdims=True)
    kept = _draw(xp, scores, q, p)
    if p:
        weights *= widen(xp, kept)
    out = xp.matmul(weights, spread(xp, v, q.shape[1])) / total
    return out.astype(q.dtype), high + xp.log(total), kept


def _masked_attention_grad_body(
    xp: ArrayModule, gy: Any, q: Any, k: Any, v: Any, bias: Any, out: Any, stats: Any, kept: Any, *,
    causal: bool, scale: float, p: float,
) -> tuple:  # fmt: skip
    heads, g = q.shape[1], widen(xp, gy)
    weights = xp.exp(_biased(xp, q, k, bias, causal, scale) - stats)
    reach = xp.matmul(g, spread(xp, v, heads).swapaxes(-1, -2))
    slope = (g * widen(xp, out)).sum(axis=-1, keepdims=True)
    used = weights
    if p:
        used, reach = weights * widen(xp, kept), reach * widen(xp, kept)
    gv = xp.matmul(used.swapaxes(-1, -2), g)
    gs = weights * (reach - slope) * scale
    gq = xp.matmul(gs, spread(xp, k, heads))
    gk = xp.matmul(gs.swapaxes(-1, -2), widen(xp, q))
    return gq.astype(q.dtype), gathered(gk, k), gathered(gv, v)


def _meta(q: Any, k: Any, v: Any, bias: Any, *, causal: bool, scale: float, p: float) -> list:
    wide = np.dtype(np.float32) if q.dtype.itemsize == 2 else q.dtype
    kept = (*q.shape[:3], k.shape[2]) if p else (0,)
    return [((*q.shape[:3], v.shape[3]), q.dtype), ((*q.shape[:3], 1), wide), (kept, q.dtype)]


masked_attention = Op(
    _masked_attention_body, "masked_attention", meta=_meta,
    grad_name="ScaledDotProductFusedAttentionBackward0", facts=Facts(family="attention"))  # fmt: skip
masked_attention.kernel.random = True
masked_attention_grad = Op(
    _masked_attention_grad_body, "masked_attention_grad",
    meta=lambda gy, q, k, v, bias, out, stats, kept, **_: [(a.shape, a.dtype) for a in (q, k, v)], facts=Facts(family="attention"))  # fmt: skip


@masked_attention.backward
def _masked_attention_backward(
    g: Tensor, q: Tensor, k: Tensor, v: Tensor, bias: Any, out: Tensor, out1: Tensor, out2: Tensor,
    causal: bool, scale: float, p: float,
) -> tuple:  # fmt: skip
    if g is None:
        return None, None, None, None
    made = [t.detach() for t in (out, out1, out2)]
    return (*masked_attention_grad(g, q, k, v, bias, *made, causal=causal, scale=scale, p=p), None)


def _formula(
    gy: Tensor, q: Tensor, k: Tensor, v: Tensor, bias: Any, out: Tensor, stats: Tensor,
    kept: Tensor, causal: bool, scale: float, p: float,
) -> tuple:  # fmt: skip
    """The gradients in tensor ops, for second derivatives."""
    keys, values = spread_heads(q, k), spread_heads(q, v)
    scores = masked((q * scale) @ keys.transpose(-2, -1), None, causal)
    weights = attention_weights(scores if bias is None else scores + bias)
    reach, used = gy @ values.transpose(-2, -1), weights
    if p:
        if kept._a.shape != scores._a.shape:
            raise RuntimeError(
                "the derivative of scaled_dot_product_attention's backward is not implemented for "
                "dropout in half precision on this device"
            )
        reach, used = reach * kept, weights * kept
    gs = weights * (reach - (reach * weights).sum(-1, keepdim=True)) * scale
    gk, gv = gs.transpose(-2, -1) @ q, used.transpose(-2, -1) @ gy
    return gs @ keys, gather_heads(gk, k), gather_heads(gv, k)


by_reference(masked_attention_grad, _formula)


def fits_heads(query: Tensor, key: Tensor, value: Tensor) -> bool:
    """Whether a device has a kernel of its own for these, be they masked, dropped or in groups of heads."""
    q, k, v = query._a, key._a, value._a
    if not masked_attention.is_whole(query):
        return False
    if q.dtype.itemsize != 2 and q.dtype != np.float32:
        return False
    if not q.ndim == k.ndim == v.ndim == 4 or not q.shape[0] == k.shape[0] == v.shape[0]:
        return False
    groups = k.shape[1]
    return groups == v.shape[1] > 0 == q.shape[1] % groups and sizes_agree(q, k, v)
