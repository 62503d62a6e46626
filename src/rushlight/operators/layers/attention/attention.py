"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ....base import dtypes
from ....base.arrays import Array, ArrayModule
from ....base.dtypes import finfo
from ....core.op import Op
from ....core.public import public
from ....core.tensor import Tensor
from ....runtime.facts import Facts
from ....runtime.thread import here
from ...made_of.reference import by_reference
from ..dropout import dropout
from .attention_kernels import attention, attention_weights, fits, masked, spread_heads
from .masked_attention_kernels import fits_heads, masked_attention

# Contract, which engines override by name; q (B, H, L, E), k (B, H, S, E), v (B, H, S, V), and a mask that broadcasts to
# (B, H, L, S): truth values (True where a query may look), or numbers that are added to the scores:
#   seen_attention(q, k, v, mask, *, scale) -> out (B, H, L, V), stats (B, H, L, 1)
#   seen_attention_grad(gy, q, k, v, mask, out, stats, *, scale) -> gq, gk, gv
# stats is the logarithm of the sum of exponentials of each query's scores. Where a query may look at nothing its result
# is zero.


def _scores(xp: ArrayModule, q: Array, k: Array, mask: Array, scale: float) -> Any:
    scores = xp.matmul(q * q.dtype.type(scale), k.swapaxes(-1, -2))
    if mask.dtype.kind == "b":
        return xp.where(mask, scores, scores.dtype.type(-np.inf))
    return scores + mask


def _weights(xp: ArrayModule, scores: Array, stats: Array) -> Any:
    return xp.where(stats == -np.inf, stats.dtype.type(0), xp.exp(scores - stats))


def _seen_body(xp: ArrayModule, q: Array, k: Array, v: Array, mask: Array, *, scale: float) -> tuple:
    scores = _scores(xp, q, k, mask, scale)
    high = scores.max(axis=-1, keepdims=True)
    total = xp.exp(scores - xp.where(high == -np.inf, 0, high)).sum(axis=-1, keepdims=True)
    stats = (high + xp.log(total)).astype(q.dtype)
    return xp.matmul(_weights(xp, scores, stats), v), stats


def _seen_grad_body(
    xp: ArrayModule, gy: Any, q: Any, k: Any, v: Any, mask: Any, out: Any, stats: Any, *, scale: float
) -> tuple:
    weights = _weights(xp, _scores(xp, q, k, mask, scale), stats)
    gv = xp.matmul(weights.swapaxes(-1, -2), gy)
    slope = (gy * out).sum(axis=-1, keepdims=True)
    gs = weights * (xp.matmul(gy, v.swapaxes(-1, -2)) - slope) * q.dtype.type(scale)
    return xp.matmul(gs, k), xp.matmul(gs.swapaxes(-1, -2), q), gv


seen_attention = Op(
    _seen_body, "seen_attention", grad_name="ScaledDotProductFlashAttentionForCpuBackward0",
    meta=lambda q, k, v, mask, *, scale: [
        ((*q.shape[:-1], v.shape[-1]), q.dtype), ((*q.shape[:-1], 1), q.dtype)], facts=Facts(aten="_scaled_dot_product_flash_attention_for_cpu seen_attention", onnx="seen_attention", one_kernel={"cpu": True}),
)  # fmt: skip
seen_attention_grad = Op(
    _seen_grad_body, "seen_attention_grad",
    meta=lambda gy, q, k, v, mask, out, stats, **_: [(a.shape, a.dtype) for a in (q, k, v)], facts=Facts(aten="_scaled_dot_product_flash_attention_for_cpu_backward seen_attention"),
)  # fmt: skip


@seen_attention.backward
def _seen_backward(
    g: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, out: Tensor, out1: Tensor, scale: float
) -> tuple:
    if g is None:
        return None, None, None, None
    made = seen_attention_grad(g, q, k, v, mask, out.detach(), out1.detach(), scale=scale)
    return (*made, None)


def _formula(
    gy: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, out: Tensor, stats: Tensor, scale: float
) -> tuple:
    """The gradients in tensor ops, for second derivatives."""
    weights = attention_weights(masked((q * scale) @ k.transpose(-2, -1), mask, False))
    reach = gy @ v.transpose(-2, -1)
    gs = weights * (reach - (reach * weights).sum(-1, keepdim=True)) * scale
    return gs @ k, gs.transpose(-2, -1) @ q, weights.transpose(-2, -1) @ gy


by_reference(seen_attention_grad, _formula)


def sees(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> bool:
    """Whether these are what the op takes: float32 in (B, H, L, E) of a device that has it, and a mask without a gradient."""
    q, k, v, m = query._a, key._a, value._a, mask._a
    if q.dtype.char != "f" or m.__class__ is not q.__class__ or not seen_attention.is_whole(query):
        return False
    if q.ndim != 4 or m.ndim > 4 or not q.shape[:2] == k.shape[:2] == v.shape[:2]:
        return False
    if k.shape[2] != v.shape[2] or q.shape[3] != k.shape[3] or mask.requires_grad:
        return False
    scores = (*q.shape[:3], k.shape[2])
    if any(n not in (1, want) for n, want in zip(m.shape[::-1], scores[::-1])):
        return False
    return m.dtype.char in "?f" and min(q.size, k.size, v.size) > 0


_LOWEST = -1e38


def attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *, causal: bool, scale: float, p: float
) -> Tensor | None:
    """Attention of (B, H, L, E) by one kernel; None where the mask is not of a form it takes."""
    if mask is None and not p:
        return attention(query, key, value, causal=causal, scale=scale)[0]
    bias = blind = None
    if mask is not None:
        shape = _mask_shape(mask._a.shape, (*query._a.shape[:3], key._a.shape[2]))
        if shape is None or mask.requires_grad:
            return None
        bias, blind = _bias(mask, shape, query)
    out = masked_attention(query, key, value, bias, causal=causal, scale=scale, p=p)[0]
    return out if blind is None else out.masked_fill(blind, 0.0)


def _mask_shape(shape: tuple[int, ...], scores: tuple[int, ...]) -> tuple[int, ...] | None:
    """A mask's shape with the scores' last two dims in full; None if it does not broadcast to the scores."""
    if len(shape) > 4:
        return None
    full = (1,) * (4 - len(shape)) + shape
    if any(n not in (1, want) for n, want in zip(full, scores)):
        return None
    return (*full[:2], *scores[2:])


def _bias(mask: Tensor, shape: tuple[int, ...], query: Tensor) -> tuple[Tensor, Tensor]:
    """What is added to the scores, and which queries may look at nothing: those get zeros.

    Kernels take no infinities: where a query may not look, a number is added that leaves nothing of any score,
    and that is still finite when a kernel multiplies it with log2(e).
    """
    lowest = max(finfo(query.dtype).min, _LOWEST)
    if mask._a.dtype.kind == "b":
        hidden = ~mask
        bias = mask.new_zeros(mask._a.shape, dtype=query.dtype).masked_fill(hidden, lowest)
    else:
        hidden = mask == -math.inf
        bias = mask.masked_fill(hidden, lowest)
    blind = hidden.all(-1, keepdim=True)
    return bias.expand(shape).contiguous(), blind


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Any) -> None:
    if not query._a.dtype == key._a.dtype == value._a.dtype:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{query.dtype} key.dtype: {key.dtype} and value.dtype: {value.dtype} instead."
        )
    if min(query._a.ndim, key._a.ndim, value._a.ndim) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be at least 2 dimensional, but got query.dim: "
            f"{query.ndim}, key.dim: {key.ndim} and value.dim: {value.ndim} instead."
        )
    if mask is None:
        return
    if mask._a.dtype.kind != "b" and mask._a.dtype != query._a.dtype:
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {mask.dtype} and  query.dtype: {query.dtype} instead."
        )


@public("functional")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Attention: `softmax(query @ key^T * scale + mask) @ value`.

    Args:
        query: (..., L, E).
        key: (..., S, E).
        value: (..., S, Ev).
        attn_mask: broadcast to (..., L, S); a bool mask is True where a query may look, another one
            is added to the scores.
        dropout_p: probability with which weights are set to zero; give 0 in evaluation.
        is_causal: query i looks at keys 0 to i only; together with a mask of (N, H, L, E) alone, without dropout.
        scale: factor of the scores; 1 / sqrt(E) if None.
        enable_gqa: the query may have several times as many heads (dimension -3) as key and value.

    Returns:
        (..., L, Ev).

    Example:
        >>> q, k, v = torch.zeros(1, 2, 4), torch.zeros(1, 2, 4), torch.tensor([[[1.0], [3.0]]])
        >>> F.scaled_dot_product_attention(q, k, v)
        tensor([[[2.],
                 [2.]]])
        >>> F.scaled_dot_product_attention(q, k, v, is_causal=True)
        tensor([[[1.],
                 [2.]]])
    """
    _check(query, key, value, attn_mask)
    if is_causal and attn_mask is not None:
        attn_mask, is_causal = _causal_too(query, key, value, attn_mask, dropout_p), False
    if scale is None:
        scale = 1.0 / math.sqrt(query._a.shape[-1]) if query._a.shape[-1] else 1.0
    fused = not here.attention_by_products
    if fused and (attn_mask is not None or dropout_p or enable_gqa):
        found = _by_one_kernel(query, key, value, attn_mask, dropout_p, bool(is_causal), float(scale), enable_gqa)
        if found is not None:
            return found
    if enable_gqa:
        key, value = spread_heads(query, key), spread_heads(query, value)
    if fused and attn_mask is None and not dropout_p and fits(query, key, value):
        return attention(query, key, value, causal=bool(is_causal), scale=float(scale))[0]
    if fused and attn_mask is not None and not dropout_p:
        if sees(query, key, value, attn_mask):
            return seen_attention(query, key, value, attn_mask, scale=float(scale))[0]
    kept = query.dtype
    if kept.itemsize == 2:  # as PyTorch: scores and weights are not rounded
        query, key, value = query.float(), key.float(), value.float()
    scores = (query * scale) @ key.transpose(-2, -1)
    weights = attention_weights(masked(scores, attn_mask, is_causal))
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    return (weights @ value).to(kept)


def _causal_too(query: Tensor, key: Tensor, value: Tensor, mask: Tensor, dropout_p: float) -> Tensor:
    """A mask that leaves out later keys, too: of heads alone, as PyTorch's kernel takes both."""
    heads = {t._a.ndim for t in (query, key, value)} == {4} and mask._a.ndim in (2, 4)
    if not heads or dropout_p or mask.requires_grad or query._a.shape[-1] != value._a.shape[-1]:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    seen = mask.new_ones(query._a.shape[-2], key._a.shape[-2], dtype=dtypes.bool_).tril()
    return mask & seen if mask._a.dtype.kind == "b" else mask.masked_fill(~seen, -math.inf)


def _by_one_kernel(
    query: Tensor, key: Tensor, value: Tensor, mask: Any, p: float, causal: bool, scale: float, enable_gqa: bool
) -> Tensor | None:
    """Attention with a mask, dropout or groups of heads, where the device has one kernel for it."""
    if not fits_heads(query, key, value) or not 0.0 <= p < 1.0:
        return None
    if not enable_gqa and query._a.shape[1] != key._a.shape[1]:
        return None
    return attend(query, key, value, mask, causal=causal, scale=scale, p=float(p))
