"""Attention on the GPU by products: float32, and halves of a form that cuDNN does not take.

Scores are made by one product, turned into weights in place, and never kept: the way back makes them again. So a
network keeps of its attention what the fused kernels keep, queries, keys, values and one number for each query.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from .....base.arrays import DeviceArray
from .....base.bounded import Bounded
from .....base.dtypes import from_np
from ...code.compile import Launch, kernel, source
from ..draws import draw_key
from ..fills import copied, row_major
from ..products import product
from ..reduce import reduce
from ..stream import text_for

_WARPS = 4  # queries of a block
_launches: dict[tuple[str, str], Launch] = Bounded(64)  # by name and dtype
_WIDE = np.dtype(np.float32)


def takes(q: DeviceArray) -> bool:
    return q.dtype.char in ("f", "e", "E")


def _launch(name: str, dtype: np.dtype) -> Launch:
    found = _launches.get((name, dtype.char))
    if found is None:
        text = text_for(from_np(dtype).name) + source("attention.cu")
        found = _launches[name, dtype.char] = kernel(text, name)
    return found


def _heads(a: DeviceArray, heads: int) -> Any:
    """(B, G, L, E) -> (B * heads, L, E), dense; a head that serves several queries is repeated."""
    batch, groups, length, size = a.shape
    if groups != heads:
        shape = (batch, groups, heads // groups, length, size)
        a = copied(cupy.broadcast_to(a[:, :, None], shape))
    return row_major(a).reshape(batch * heads, length, size)


def _gathered(g: DeviceArray, like: DeviceArray) -> Any:
    """The gradient of repeated heads, summed."""
    batch, groups, length, size = like.shape
    many = g.shape[0] // (batch * groups)
    if many == 1:
        return g.reshape(like.shape)
    g = g.reshape(batch, groups, many, length, size)
    made = reduce("sum", g, (2,), False)
    return g.sum(axis=2, dtype=g.dtype) if made is NotImplemented else made


def _places(q: DeviceArray, n: int, bias: DeviceArray | None, causal: bool, scale: float, p: float) -> tuple:
    """The arguments of both kernels that describe the rows."""
    batch, heads, queries, _ = q.shape
    by_head = queries if bias is not None and bias.shape[1] > 1 else 0
    by_batch = bias.shape[1] * queries if bias is not None and bias.shape[0] > 1 else 0
    rows = batch * heads * queries
    return rows, n, queries, heads, by_batch, by_head, float(scale), int(causal), 1.0 - p


def attend(
    q: DeviceArray, k: DeviceArray, v: DeviceArray, bias: DeviceArray | None, causal: bool, scale: float, p: float
) -> tuple:
    """The result, the stats, and the key of what was dropped (None without dropout)."""
    batch, heads, queries, _ = q.shape
    n = k.shape[2]
    scores = product(_heads(q, heads), _heads(k, heads), False, True, wide=True)
    weights = scores if q.dtype == _WIDE else cupy.ndarray(scores.shape, q.dtype)
    stats = cupy.ndarray((batch, heads, queries, 1), _WIDE)
    key = draw_key(q, 3) if p else None
    told = _places(q, n, bias, causal, scale, p)
    arrays = (scores, weights, stats, bias, key)
    _launch("attention_rows", q.dtype)(-(-told[0] // _WARPS), 32 * _WARPS, *arrays, *told)
    out = product(weights, _heads(v, heads), False, False)
    return out.reshape(batch, heads, queries, v.shape[3]), stats, key


def differentiate(
    gy: DeviceArray, q: DeviceArray, k: DeviceArray, v: DeviceArray, bias: DeviceArray | None, stats: DeviceArray, key: DeviceArray | None, causal: bool, scale: float, p: float
) -> tuple:  # fmt: skip
    """The gradients of q, k and v."""
    heads, n = q.shape[1], k.shape[2]
    rows, keys, given = _heads(q, heads), _heads(k, heads), _heads(gy, heads)
    scores = product(rows, keys, False, True, wide=True)
    reach = product(given, _heads(v, heads), False, True, wide=True)
    weights, slopes = scores, reach
    if q.dtype != _WIDE:
        weights, slopes = [cupy.ndarray(scores.shape, q.dtype) for _ in range(2)]
    told = _places(q, n, bias, causal, scale, p)
    arrays = (scores, reach, weights, slopes, row_major(stats), bias, key)
    _launch("attention_slopes", q.dtype)(-(-told[0] // _WARPS), 32 * _WARPS, *arrays, *told)
    gq = product(slopes, keys, False, False).reshape(q.shape)
    gk = _gathered(product(slopes, rows, True, False), k)
    return gq, gk, _gathered(product(weights, given, True, False), v)
