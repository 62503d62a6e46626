"""Attention on the GPU: cuDNN's fused kernels forward and backward in half precision, products for the rest.

Masks arrive as a bias on the scores, groups of heads as fewer heads of keys and values. Dropout is drawn inside
the kernels from a seed in device memory, so that a captured program draws anew at every replay, and the way back
draws the same again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from .....base.arrays import DeviceArray
from .....base.bounded import Bounded
from .....base.config import settings
from ....door import kernel_for
from ...code.keyed import keyed
from ...code.launch import Result
from ...library.cudnn import CudnnPlan, build_first, frontend, new_graph, refusals, version
from ..draws import draw_key
from ..fills import copied, row_major
from . import attention_products as products
from . import flash


def _graph(char: str) -> tuple[Any, Any]:
    cudnn = frontend()
    io = cudnn.data_type.HALF if char == "e" else cudnn.data_type.BFLOAT16
    return new_graph(io, cudnn.data_type.FLOAT), io


def _tensor(graph: Any, a: DeviceArray, kind: Any) -> Any:
    strides = [s // a.itemsize for s in a.strides]
    return graph.tensor(dim=list(a.shape), stride=strides, data_type=kind)


def _output(tensor: Any, like: DeviceArray, kind: Any) -> Any:
    strides = [s // like.itemsize for s in like.strides]
    return tensor.set_output(True).set_data_type(kind).set_dim(list(like.shape)).set_stride(strides)


def _extras(
    graph: Any, io: Any, bias: DeviceArray | None, p: float
) -> tuple[dict[str, Any], list[Any]]:
    """The options of a graph with a bias or dropout, and its tensors for them."""
    how: dict[str, Any] = {}
    tensors = []
    if bias is not None:
        how["bias"] = _tensor(graph, bias, io)
        tensors.append(how["bias"])
    if p:
        one, kind = [1, 1, 1, 1], frontend().data_type.INT64
        drawn = [graph.tensor(dim=one, stride=one, data_type=kind) for _ in range(2)]
        how["dropout"] = (p, *drawn)
        tensors += drawn
    return how, tensors


def forward(arrays: tuple, made: tuple, causal: bool, scale: float, p: float) -> Any:
    q, k, v, bias = arrays
    graph, io = _graph(q.dtype.char)
    ins = [_tensor(graph, a, io) for a in (q, k, v)]
    how, more = _extras(graph, io, bias, p)
    o, s = graph.sdpa(
        q=ins[0], k=ins[1], v=ins[2], attn_scale=scale, use_causal_mask=causal,
        generate_stats=True, name="attention", **how,
    )  # fmt: skip
    _output(o, made[0], io)
    _output(s, made[1], frontend().data_type.FLOAT)
    return graph, (*ins, *more, o, s)


def backward(arrays: tuple, grads: tuple, causal: bool, scale: float, p: float) -> Any:
    gy, q, k, v, bias, out, stats = arrays
    graph, io = _graph(q.dtype.char)
    wide = frontend().data_type.FLOAT
    tq, tk, tv, to, tg = [_tensor(graph, a, io) for a in (q, k, v, out, gy)]
    ts = _tensor(graph, stats, wide)
    how, more = _extras(graph, io, bias, p)
    found = graph.sdpa_backward(
        q=tq, k=tk, v=tv, o=to, dO=tg, stats=ts, attn_scale=scale, use_causal_mask=causal,
        use_deterministic_algorithm=settings.deterministic or settings.cudnn_deterministic,
        name="attention_grad", **how,
    )  # fmt: skip
    for t, a in zip(found, grads):
        _output(t, a, io)
    return graph, (tg, tq, tk, tv, *more, to, ts, *found)


def tell_of_versions(name: str, said: str) -> None:
    """Warn when the front end asks for something that the installed cuDNN does not know."""
    if "set_attribute" in said:
        front, own = getattr(frontend(), "__version__", "?"), version()
        warnings.warn(
            f"nvidia-cudnn-frontend {front} does not fit cuDNN {own}, so {name} takes a way that is "
            "several times slower; pip install 'nvidia-cudnn-frontend<1.23' or a newer cuDNN",
            stacklevel=2,
        )


_WIDEST = 256  # most numbers in a head; cuDNN itself refuses what it cannot compute on this GPU
_KEY, _F32 = np.dtype(np.int64), np.dtype(np.float32)
ndarray, alloc = cupy.ndarray, cupy.cuda.alloc

_plans: dict[tuple, CudnnPlan | None] = Bounded(1024)


def _rows_dense(a: DeviceArray) -> Any:
    """The array with its last dim dense and its address aligned, as cuDNN asks."""
    s0, s1, s2, last = a.strides  # [batch, heads, places, numbers of a head]
    if last != a.itemsize or (a.data.ptr | s0 | s1 | s2) & 15:
        return copied(a)
    return a


def _alike(a: DeviceArray, width: int) -> Any:
    """An empty array for heads of `width` numbers whose dims lie in memory in the order of `a`.

    Heads are mostly views of what a linear layer made; a result in the same order needs no copy before the next layer.
    """
    key = (a.shape, a.strides, width)
    found = _laid.get(key)
    if found is None:
        found = _laid[key] = _lay(a.shape, a.strides, width, a.itemsize)
    shape, size, strides = found
    return cupy.ndarray(shape, a.dtype, cupy.cuda.alloc(size), strides)


_laid: dict[tuple, tuple] = Bounded(1024)  # shape, bytes and strides of such memory


def _lay(shape: tuple, strides: tuple, width: int, item: int) -> tuple[tuple, int, tuple]:
    shape = (*shape[:3], width)
    order = sorted(range(3), key=lambda d: (-strides[d], d))
    own, step = [0, 0, 0, item], width * item
    for d in reversed(order):
        own[d] = step
        step *= shape[d]
    return shape, step, tuple(own)


def _result(a: DeviceArray, width: int) -> Result:
    """`_alike` as a result of a launch, whose place is still to come."""
    shape, _, strides = _lay(a.shape, a.strides, width, a.itemsize)
    return Result(0, shape, a.dtype, strides)


def _takes(q: DeviceArray, k: DeviceArray, v: DeviceArray) -> bool:
    widths = (q.shape[-1], v.shape[-1])
    return (
        q.dtype.char in ("e", "E") and settings.cudnn_enabled and frontend() is not None
        and all(w % 8 == 0 and w <= _WIDEST for w in widths)
    )  # fmt: skip


def _plan(key: tuple, describe: Callable[[], Any]) -> CudnnPlan | None:
    try:
        return _plans[key]
    except KeyError:
        pass
    try:
        made = build_first(*describe())
    except refusals() as e:
        made = None
        tell_of_versions(key[0], str(e))
    _plans[key] = made
    return made


def _key(name: str, arrays: tuple, *rest: float) -> tuple:
    lie = [None if a is None else (a.shape, a.strides, a.dtype.char) for a in arrays]
    return (name, *lie, *rest, settings.deterministic or settings.cudnn_deterministic)


def _forward_plan(arrays: tuple, made: tuple, *how: Any) -> CudnnPlan | None:
    return _plan(_key("attention", arrays, *how), lambda: forward(arrays, made, *how))


def _backward_plan(arrays: tuple, grads: tuple, *how: Any) -> CudnnPlan | None:
    key = _key("attention_grad", (*arrays, *grads), *how)
    return _plan(key, lambda: backward(arrays, grads, *how))


def _addresses(*arrays: DeviceArray | None) -> list[int]:
    return [a.data.ptr for a in arrays if a is not None]


def _new_grads(*arrays: DeviceArray) -> tuple:
    """Arrays for the gradients of q, k and v, which lie in memory as those do."""
    return tuple([_alike(a, a.shape[-1]) for a in arrays])


def _new_results(q: DeviceArray, v: DeviceArray) -> tuple[Any, Any]:
    return _alike(q, v.shape[-1]), cupy.ndarray((*q.shape[:-1], 1), np.float32)


# What decides about a plan beside the arrays.
_WATCHED = tuple(
    [(settings, name) for name in ("cudnn_enabled", "deterministic", "cudnn_deterministic", "float32_matmul_precision")]
)  # fmt: skip


def _can_lie(a: DeviceArray) -> bool:
    """Whether `_rows_dense` leaves an array as it is, wherever it begins by 16 bytes."""
    s0, s1, s2, last = a.strides
    return bool(last == a.itemsize and not (s0 | s1 | s2) & 15)


def _prepared(q: DeviceArray, k: DeviceArray, v: DeviceArray, *, causal: bool, scale: float) -> Any:
    """`attention` as a function of the arrays alone; None where there is more to do."""
    if not all(_can_lie(a) for a in (q, k, v)):
        return None
    if flash.pays(q, k, v, causal, back=False):
        return flash.attend_call(q, k, v, _result(q, v.shape[-1]), causal, scale)
    if not _takes(q, k, v):
        return None
    made = _new_results(q, v)
    plan = _forward_plan((q, k, v, None), made, causal, scale, 0.0)
    if plan is None:
        return None
    (shape, size, strides), dtype = _lay(q.shape, q.strides, v.shape[-1], q.itemsize), q.dtype
    sums = made[1].shape

    def call(q: DeviceArray, k: DeviceArray, v: DeviceArray) -> Any:
        pq, pk, pv = q.data.ptr, k.data.ptr, v.data.ptr
        if (pq | pk | pv) & 15:
            return NotImplemented
        out = ndarray(shape, dtype, alloc(size), strides)
        stats = ndarray(sums, _F32)
        plan(pq, pk, pv, out.data.ptr, stats.data.ptr)
        return out, stats

    return call


def _prepared_grad(
    gy: DeviceArray, q: DeviceArray, k: DeviceArray, v: DeviceArray, out: DeviceArray, stats: DeviceArray, *, causal: bool,
    scale: float,
) -> Any:  # fmt: skip
    """`attention_grad` in the same way."""
    if stats.dtype != _F32 or not all(_can_lie(a) for a in (gy, q, k, v, out)):
        return None
    if stats._c_contiguous and flash.pays(q, k, v, causal, back=True):
        arrays = (gy, q, k, v, out, stats)
        grads = tuple([_result(a, a.shape[-1]) for a in (q, k, v)])
        return flash.differentiate_call(arrays, grads, causal, scale)
    if not _takes(q, k, v):
        return None
    grads = _new_grads(q, k, v)
    plan = _backward_plan((gy, q, k, v, None, out, stats), grads, causal, scale, 0.0)
    if plan is None:
        return None
    laid = [_lay(a.shape, a.strides, a.shape[-1], a.itemsize) for a in (q, k, v)]
    dtype = q.dtype

    def call(*arrays: DeviceArray) -> Any:
        given = [a.data.ptr for a in arrays]
        if (given[0] | given[1] | given[2] | given[3] | given[4]) & 15:
            return NotImplemented
        made = [ndarray(shape, dtype, alloc(size), strides) for shape, size, strides in laid]
        plan(*given, *[a.data.ptr for a in made])
        return tuple(made)

    return call


def attention(q: DeviceArray, k: DeviceArray, v: DeviceArray, *, causal: bool, scale: float) -> Any:
    if _takes(q, k, v):
        found = _by_cudnn(q, k, v, None, causal, scale, 0.0)
        if found is not None:
            return found[:2]
    if not products.takes(q):
        return NotImplemented
    return _by_our_kernels(q, k, v, None, causal, scale, 0.0)[:2]


kernel_for("cuda", "attention")(keyed(attention, _prepared, None, _WATCHED))


def _by_our_kernels(
    q: DeviceArray, k: DeviceArray, v: DeviceArray, bias: DeviceArray | None, causal: bool, scale: float, p: float
) -> tuple:  # fmt: skip
    """The result, the stats, and the key of what was dropped: by one kernel where it takes them, else by products."""
    if flash.pays(q, k, v, causal, back=False):
        return flash.attend(q, k, v, bias, _alike(q, v.shape[-1]), causal, scale, p)
    return products.attend(q, k, v, bias, causal, scale, p)


def _back_by_our_kernels(
    arrays: tuple, key: DeviceArray | None, causal: bool, scale: float, p: float
) -> tuple:
    """The gradients of q, k and v in the same way; both draw the same again."""
    gy, q, k, v, bias, out, stats = arrays
    if flash.pays(q, k, v, causal, back=True):
        grads = _new_grads(q, k, v)
        return flash.differentiate(gy, q, k, v, bias, out, stats, key, grads, causal, scale, p)
    return products.differentiate(gy, q, k, v, bias, stats, key, causal, scale, p)


def attention_grad(*given: DeviceArray, causal: bool, scale: float) -> Any:
    gy, q, k, v, out, stats = given
    if stats.dtype != np.float32 or not products.takes(q):
        return NotImplemented
    arrays = (gy, q, k, v, None, out, stats)
    if _takes(q, k, v):
        found = _differentiate(arrays, _new_grads(q, k, v), causal, scale)
        if found is not NotImplemented:
            return found
    return _back_by_our_kernels(arrays, None, causal, scale, 0.0)


kernel_for("cuda", "attention_grad")(keyed(attention_grad, _prepared_grad, None, _WATCHED))


@kernel_for("cuda", "attention_grad_cat")
def attention_grad_cat(
    *given: DeviceArray, causal: bool, scale: float, order: tuple[int, ...]
) -> Any:
    """The three gradients beside each other in one array [N, L, size of q + k + v]."""
    gy, q, k, v, out, stats = given
    if stats.dtype != np.float32:
        return NotImplemented
    arrays = (gy, q, k, v, None, out, stats)
    if not _takes(q, k, v):
        return _cat_by_our_kernel(arrays, None, causal, scale, 0.0, order)
    joined, grads = _beside(q, k, v, order)
    made = _differentiate(arrays, grads, causal, scale)
    return made if made is NotImplemented else joined


@kernel_for("cuda", "masked_attention_grad_cat")
def masked_attention_grad_cat(
    *given: Any, causal: bool, scale: float, p: float, order: tuple[int, ...]
) -> Any:
    """The same with a mask or dropout."""
    gy, q, k, v, bias, out, stats, kept = given
    if stats.dtype != np.float32 or (p and (kept.dtype != _KEY or kept.size == 2)):
        return NotImplemented
    arrays = (gy, q, k, v, row_major(bias), out, stats)
    return _cat_by_our_kernel(arrays, kept if p else None, causal, scale, p, order)


def _cat_by_our_kernel(
    arrays: tuple, key: DeviceArray | None, causal: bool, scale: float, p: float, order: tuple[int, ...]
) -> Any:  # fmt: skip
    gy, q, k, v, bias, out, stats = arrays
    if not flash.takes(q, v):
        return NotImplemented
    joined, grads = _beside(q, k, v, order)
    flash.differentiate(gy, q, k, v, bias, out, stats, key, grads, causal, scale, p)
    return joined


def _beside(
    q: DeviceArray, k: DeviceArray, v: DeviceArray, order: tuple[int, ...]
) -> tuple[Any, tuple]:
    """Memory [N, L, size of q + k + v], and q's, k's and v's places in it, which lie there in `order`."""
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
    return joined, tuple(grads)


def _differentiate(
    arrays: tuple, grads: tuple, causal: bool, scale: float, kept: Any = None, p: float = 0.0
) -> Any:
    """Write the gradients where they are asked for."""
    gy, q, k, v, bias, out, stats = arrays
    gy, q, k, v, out = [_rows_dense(a) for a in (gy, q, k, v, out)]
    plan = _backward_plan((gy, q, k, v, bias, out, stats), grads, causal, scale, p)
    if plan is None:
        return NotImplemented
    plan(*_addresses(gy, q, k, v, bias), *_drawn(kept, p), *_addresses(out, stats, *grads))
    return grads


def _drawn(kept: Any, p: float) -> list[int]:
    """Where cuDNN finds the seed and the offset of its draws."""
    return [kept.data.ptr, kept.data.ptr + _KEY.itemsize] if p else []


def _both_ways(
    arrays: tuple, made: tuple, causal: bool, scale: float, p: float
) -> CudnnPlan | None:
    """The forward plan, but only where backward has a plan, too: both must drop the same numbers."""
    forward = _forward_plan(arrays, made, causal, scale, p)
    if forward is None or not p:
        return forward
    back = _backward_plan((made[0], *arrays, *made), _new_grads(*arrays[:3]), causal, scale, p)
    return None if back is None else forward


@kernel_for("cuda", "masked_attention")
def masked_attention(
    q: DeviceArray, k: DeviceArray, v: DeviceArray, bias: DeviceArray | None, *, causal: bool, scale: float, p: float
) -> Any:  # fmt: skip
    if not products.takes(q) or (bias is not None and bias.dtype != q.dtype):
        return NotImplemented
    bias = row_major(bias)
    found = _by_cudnn(q, k, v, bias, causal, scale, p) if _takes(q, k, v) else None
    if found is not None:
        return found
    out, stats, key = _by_our_kernels(q, k, v, bias, causal, scale, p)
    return out, stats, cupy.ndarray((0,), q.dtype) if key is None else key


def _by_cudnn(
    q: DeviceArray, k: DeviceArray, v: DeviceArray, bias: DeviceArray | None, causal: bool, scale: float, p: float
) -> tuple | None:  # fmt: skip
    """The result, the stats and the key of what was dropped; None where cuDNN has no plan."""
    q, k, v = _rows_dense(q), _rows_dense(k), _rows_dense(v)
    made = _new_results(q, v)
    plan = _both_ways((q, k, v, bias), made, causal, scale, p)
    if plan is None:
        return None
    kept = draw_key(q) if p else cupy.ndarray((0,), q.dtype)
    plan(*_addresses(q, k, v, bias), *_drawn(kept, p), *_addresses(*made))
    return (*made, kept)


@kernel_for("cuda", "masked_attention_grad")
def masked_attention_grad(*given: Any, causal: bool, scale: float, p: float) -> Any:
    gy, q, k, v, bias, out, stats, kept = given
    if not products.takes(q) or stats.dtype != np.float32 or (p and kept.dtype != _KEY):
        return NotImplemented
    arrays, cudnn_drew = (gy, q, k, v, row_major(bias), out, stats), kept.size == 2
    if _takes(q, k, v) and (cudnn_drew or not p):
        found = _differentiate(arrays, _new_grads(q, k, v), causal, scale, kept, p)
        if found is not NotImplemented:
            return found
    if p and cudnn_drew:
        raise RuntimeError("cuDNN cannot draw this attention's dropout again for its gradient")
    return _back_by_our_kernels(arrays, kept if p else None, causal, scale, p)
