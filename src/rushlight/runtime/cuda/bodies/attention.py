"""Attention on the GPU: cuDNN's fused kernels forward and backward, in half precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from ....base.config import settings
from ...door import kernel_for
from ..library.cudnn import Plan, build_first, frontend, handle, refusals
from .fills import copied

# Never forgotten: a captured graph may run kernels that only the plan holds.
_plans: dict[tuple, Plan | None] = {}


def _rows_dense(a: Any) -> Any:
    """The array with its last dim dense and its address aligned, as cuDNN asks."""
    if a.strides[-1] != a.itemsize or a.data.ptr & 15 or any(s & 15 for s in a.strides[:-1]):
        return copied(a)
    return a


def _alike(a: Any, width: int) -> Any:
    """New memory for heads of `width` numbers, its dims in `a`'s order.

    Heads are mostly windows of what a linear layer made; a result that lies so needs no copy on its way to the next one.
    """
    shape = (*a.shape[:3], width)
    order = sorted(range(3), key=lambda d: (-a.strides[d], d))
    strides, step = [0, 0, 0, a.itemsize], width * a.itemsize
    for d in reversed(order):
        strides[d] = step
        step *= shape[d]
    return cupy.ndarray(shape, a.dtype, cupy.cuda.alloc(step), tuple(strides))


def _takes(q: Any, k: Any, v: Any) -> bool:
    widths = (q.shape[-1], v.shape[-1])
    return (
        q.dtype.char in ("e", "E") and settings.cudnn_enabled and frontend() is not None
        and all(w % 8 == 0 and w <= 128 for w in widths)
    )  # fmt: skip


def _graph(char: str) -> tuple[Any, Any]:
    cudnn = frontend()
    io = cudnn.data_type.HALF if char == "e" else cudnn.data_type.BFLOAT16
    wide = cudnn.data_type.FLOAT
    made = cudnn.pygraph(
        handle=handle(), io_data_type=io, intermediate_data_type=wide, compute_data_type=wide
    )
    return made, io


def _tensor(graph: Any, a: Any, kind: Any) -> Any:
    strides = [s // a.itemsize for s in a.strides]
    return graph.tensor(dim=list(a.shape), stride=strides, data_type=kind)


def _output(tensor: Any, like: Any, kind: Any) -> Any:
    strides = [s // like.itemsize for s in like.strides]
    return tensor.set_output(True).set_data_type(kind).set_dim(list(like.shape)).set_stride(strides)


def _forward(q: Any, k: Any, v: Any, out: Any, stats: Any, causal: bool, scale: float) -> Any:
    graph, io = _graph(q.dtype.char)
    ins = [_tensor(graph, a, io) for a in (q, k, v)]
    o, s = graph.sdpa(
        q=ins[0], k=ins[1], v=ins[2], attn_scale=scale, use_causal_mask=causal,
        generate_stats=True, name="attention",
    )  # fmt: skip
    _output(o, out, io)
    _output(s, stats, frontend().data_type.FLOAT)
    return graph, (*ins, o, s)


def _backward(arrays: tuple, grads: tuple, causal: bool, scale: float) -> Any:
    gy, q, k, v, out, stats = arrays
    graph, io = _graph(q.dtype.char)
    wide = frontend().data_type.FLOAT
    tq, tk, tv, to, tg = [_tensor(graph, a, io) for a in (q, k, v, out, gy)]
    ts = _tensor(graph, stats, wide)
    found = graph.sdpa_backward(
        q=tq, k=tk, v=tv, o=to, dO=tg, stats=ts, attn_scale=scale, use_causal_mask=causal,
        use_deterministic_algorithm=settings.deterministic or settings.cudnn_deterministic,
        name="attention_grad",
    )  # fmt: skip
    for t, a in zip(found, grads):
        _output(t, a, io)
    return graph, (tg, tq, tk, tv, to, ts, *found)


def _plan(key: tuple, describe: Callable[[], Any]) -> Plan | None:
    try:
        return _plans[key]
    except KeyError:
        pass
    try:
        made = build_first(*describe())
    except refusals():
        made = None
    _plans[key] = made
    return made


def _key(name: str, *rest: Any) -> tuple:
    arrays = [(a.shape, a.strides, a.dtype.char) for a in rest[0]]
    return (name, *arrays, *rest[1:], settings.deterministic or settings.cudnn_deterministic)


@kernel_for("cuda", "attention")
def attention(q: Any, k: Any, v: Any, *, causal: bool, scale: float) -> Any:
    if not _takes(q, k, v):
        return NotImplemented
    q, k, v = _rows_dense(q), _rows_dense(k), _rows_dense(v)
    out = _alike(q, v.shape[-1])
    stats = cupy.ndarray((*q.shape[:-1], 1), np.float32)
    plan = _plan(
        _key("attention", (q, k, v), causal, scale),
        lambda: _forward(q, k, v, out, stats, causal, scale),
    )
    if plan is None:
        return NotImplemented
    plan(*[a.data.ptr for a in (q, k, v, out, stats)])
    return out, stats


@kernel_for("cuda", "attention_grad")
def attention_grad(
    gy: Any, q: Any, k: Any, v: Any, out: Any, stats: Any, *, causal: bool, scale: float
) -> Any:
    if not _takes(q, k, v) or stats.dtype != np.float32:
        return NotImplemented
    grads = tuple([_alike(a, a.shape[-1]) for a in (q, k, v)])
    return _differentiate((gy, q, k, v, out, stats), grads, causal, scale)


@kernel_for("cuda", "attention_grad_cat")
def attention_grad_cat(
    gy: Any, q: Any, k: Any, v: Any, out: Any, stats: Any, *, causal: bool, scale: float,
    order: tuple[int, ...],
) -> Any:  # fmt: skip
    """The three gradients as windows of one array [N, L, all of them]."""
    if not _takes(q, k, v) or stats.dtype != np.float32:
        return NotImplemented
    batch, _, length, _ = q.shape
    widths = [a.shape[1] * a.shape[3] for a in (q, k, v)]
    joined = cupy.ndarray((batch, length, sum(widths)), q.dtype)
    grads: list[Any] = [None] * 3
    at, item = 0, q.itemsize
    row = sum(widths) * item
    for i in order:
        a = (q, k, v)[i]
        strides = (length * row, a.shape[3] * item, row, item)
        grads[i] = cupy.ndarray(a.shape, a.dtype, joined.data + at, strides)
        at += widths[i] * item
    made = _differentiate((gy, q, k, v, out, stats), tuple(grads), causal, scale)
    return made if made is NotImplemented else joined


def _differentiate(arrays: tuple, grads: tuple, causal: bool, scale: float) -> Any:
    """Write the gradients where they are asked for."""
    arrays = tuple([_rows_dense(a) for a in arrays[:5]]) + arrays[5:]
    plan = _plan(
        _key("attention_grad", (*arrays, *grads), causal, scale),
        lambda: _backward(arrays, grads, causal, scale),
    )
    if plan is None:
        return NotImplemented
    plan(*[a.data.ptr for a in (*arrays, *grads)])
    return grads
