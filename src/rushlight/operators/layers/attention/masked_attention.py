"""Attention with masks, groups of heads and dropout, for devices that have one kernel for it."""

from __future__ import annotations

import math

from ....base.dtypes import finfo
from ....core.tensor import Tensor
from .attention_kernels import attention
from .masked_attention_kernels import masked_attention

_LOWEST = -1e38


def attend(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *,
    causal: bool, scale: float, p: float,
) -> Tensor | None:  # fmt: skip
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
