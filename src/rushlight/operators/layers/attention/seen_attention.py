"""Attention through a mask as one op, for the CPU: it reads the mask as it is, in whichever dims it is stretched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ....core.op import Op
from ....core.tensor import Tensor
from ....runtime.facts import Facts
from ...made_of.reference import by_reference
from .attention_kernels import attention_weights, masked

if TYPE_CHECKING:
    from ....base.array_module import ArrayModule
    from ....base.protocols import Array

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


def _seen_body(
    xp: ArrayModule, q: Array, k: Array, v: Array, mask: Array, *, scale: float
) -> tuple:
    scores = _scores(xp, q, k, mask, scale)
    high = scores.max(axis=-1, keepdims=True)
    total = xp.exp(scores - xp.where(high == -np.inf, 0, high)).sum(axis=-1, keepdims=True)
    stats = (high + xp.log(total)).astype(q.dtype)
    return xp.matmul(_weights(xp, scores, stats), v), stats


def _seen_grad_body(
    xp: ArrayModule, gy: Any, q: Any, k: Any, v: Any, mask: Any, out: Any, stats: Any, *, scale: float
) -> tuple:  # fmt: skip
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
    g: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, out: Tensor, out1: Tensor,
    scale: float,
) -> tuple:  # fmt: skip
    if g is None:
        return None, None, None, None
    made = seen_attention_grad(g, q, k, v, mask, out.detach(), out1.detach(), scale=scale)
    return (*made, None)


def _formula(
    gy: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, out: Tensor, stats: Tensor,
    scale: float,
) -> tuple:  # fmt: skip
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
