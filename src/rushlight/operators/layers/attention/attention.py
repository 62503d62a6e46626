"""Scaled dot-product attention."""

from __future__ import annotations

import math
from typing import Any

from ....core.public import public
from ....core.tensor import Tensor
from ....runtime.thread import here
from ..dropout import dropout
from .attention_kernels import attention, attention_weights, fits, masked, spread_heads
from .masked_attention import attend
from .masked_attention_kernels import fits_heads
from .seen_attention import seen_attention, sees


def _check(query: Tensor, key: Tensor, value: Tensor, mask: Any, is_causal: bool) -> None:
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
    if is_causal:
        raise RuntimeError(
            "scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
        )
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
        is_causal: query i looks at keys 0 to i only; not together with a mask.
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
    _check(query, key, value, attn_mask, is_causal)
    if scale is None:
        scale = 1.0 / math.sqrt(query._a.shape[-1]) if query._a.shape[-1] else 1.0
    fused = not here.attention_by_products
    if fused and (attn_mask is not None or dropout_p or enable_gqa):
        found = _by_one_kernel(
            query, key, value, attn_mask, dropout_p, bool(is_causal), float(scale), enable_gqa
        )
        if found is not None:
            return found
    if enable_gqa:
        key, value = spread_heads(query, key), spread_heads(query, value)
    if fused and attn_mask is None and not dropout_p and fits(query, key, value):
        return attention(query, key, value, causal=bool(is_causal), scale=float(scale))[0]
    if fused and attn_mask is not None and not dropout_p:
        if sees(query, key, value, attn_mask):
            return seen_attention(query, key, value, attn_mask, scale=float(scale))[0]
    scores = (query * scale) @ key.transpose(-2, -1)
    weights = attention_weights(masked(scores, attn_mask, is_causal))
    if dropout_p > 0.0:
        weights = dropout(weights, dropout_p)
    return weights @ value


def _by_one_kernel(
    query: Tensor, key: Tensor, value: Tensor, mask: Any, p: float, causal: bool, scale: float,
    enable_gqa: bool,
) -> Tensor | None:  # fmt: skip
    """Attention with a mask, dropout or groups of heads, where the device has one kernel for it."""
    if not fits_heads(query, key, value) or not 0.0 <= p < 1.0:
        return None
    if not enable_gqa and query._a.shape[1] != key._a.shape[1]:
        return None
    return attend(query, key, value, mask, causal=causal, scale=scale, p=float(p))
