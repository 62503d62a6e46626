"""Attention on the GPU: cuDNN's fused kernels forward and backward in half precision, products for the rest.

Masks arrive as a bias on the scores, groups of heads as fewer heads of keys and values. Dropout is drawn inside
the kernels from a seed in device memory, so that a captured program draws anew at every replay, and the way back
draws the same again.
"""

from __future__ import annotations

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
from ...library.cudnn import CudnnRefused, library
from ...library.cudnn_graph import (
    ADD,
    DIV,
    EXP,
    LOG,
    MOST,
    MUL,
    NOT_LESS,
    PLACE,
    SAME,
    SELECT,
    SUB,
    SUM,
    CudnnGraph,
    CudnnPlan,
    GraphTensor,
)
from ..draws import draw_key
from ..fills import copied, row_major
from . import attention_products as products
from . import flash

# cuDNN before the first leaves it to its callers to clear memory; the others give wrong numbers, as NVIDIA says.
_OLDEST, _WRONG = 90600, (91000, 91001)
_KNOWS_INFINITY = 91000  # softmax of cuDNN before this takes the least number for a masked one


def _tensor(graph: CudnnGraph, a: DeviceArray, turned: bool = False) -> GraphTensor:
    """An array as a tensor of the graph, with its last two dims exchanged if it is turned."""
    dims, strides = list(a.shape), [s // a.itemsize for s in a.strides]
    if turned:
        dims[-2:], strides[-2:] = dims[:-3:-1], strides[:-3:-1]
    return graph.tensor(dims, strides, a.dtype.char)


class _Scores:
    """What both ways know of the scores in one graph: their scale, the bias, the mask, what is dropped."""

    def __init__(self, graph: CudnnGraph, dims: tuple, bias: DeviceArray | None, causal: bool, scale: float, p: float) -> None:  # fmt: skip
        self.graph, self.causal, self.p = graph, causal, p
        self.scale = graph.number(scale)
        self.bias = None if bias is None else _tensor(graph, bias)
        self.given = [] if self.bias is None else [self.bias]
        self.kept = None
        if p:
            one = (1, 1, 1, 1)
            drawn = [graph.tensor(one, one, "q") for _ in range(2)]
            self.given += drawn
            self.kept = graph.drawn(drawn[0], drawn[1], 1.0 - p, dims)
            self.up = graph.number(1.0 / (1.0 - p))

    def scaled(self, products: GraphTensor) -> GraphTensor:
        x = self.graph.pointwise(MUL, products, self.scale)
        return x if self.bias is None else self.graph.pointwise(ADD, x, self.bias)

    def masked(self, x: GraphTensor) -> GraphTensor:
        if not self.causal:
            return x
        graph = self.graph
        rows, columns = [graph.pointwise(PLACE, x, char="i", axis=axis) for axis in (2, 3)]
        seen = graph.pointwise(NOT_LESS, rows, columns, char="?", math="?")
        least = -np.inf if graph.lib.version >= _KNOWS_INFINITY else float(np.finfo(np.float32).min)
        return graph.pointwise(SELECT, x, graph.number(least), where=seen)

    def dropped(self, x: GraphTensor, char: str) -> GraphTensor:
        if self.kept is None:
            return x
        return self.graph.pointwise(MUL, self.graph.pointwise(MUL, x, self.kept), self.up, char=char)


def forward(arrays: tuple, made: tuple, causal: bool, scale: float, p: float) -> CudnnPlan:
    q, k, v, bias = arrays
    char, graph = q.dtype.char, CudnnGraph()
    tq, tk, tv = _tensor(graph, q), _tensor(graph, k, turned=True), _tensor(graph, v)
    to, ts = [_tensor(graph, a) for a in made]
    rows = made[1].shape
    products = graph.product(tq, tk)
    scores = _Scores(graph, products.dims, bias, causal, scale, p)
    x = scores.masked(scores.scaled(products))
    most = graph.reduced(MOST, x, graph.between(rows))
    exp = graph.pointwise(EXP, graph.pointwise(SUB, x, most))
    total = graph.reduced(SUM, exp, graph.between(rows))
    graph.pointwise(ADD, most, graph.pointwise(LOG, total), to=ts)
    weights = graph.pointwise(DIV, exp, total, char="f" if p else char)
    graph.product(scores.dropped(weights, char), tv, to)
    return CudnnPlan(graph, (tq, tk, tv, *scores.given, to, ts))


def backward(arrays: tuple, grads: tuple, causal: bool, scale: float, p: float) -> CudnnPlan:
    gy, q, k, v, bias, out, stats = arrays
    char, graph = q.dtype.char, CudnnGraph()
    tg, tq, to, ts = [_tensor(graph, a) for a in (gy, q, out, stats)]
    tk, tv = [_tensor(graph, a, turned=True) for a in (k, v)]
    found = [_tensor(graph, a) for a in grads]
    dims = (*q.shape[:3], k.shape[2])
    scores = _Scores(graph, dims, bias, causal, scale, p)
    products = graph.pointwise(MUL, tg, to)
    own = graph.reduced(SUM, products, graph.between(stats.shape))
    own = graph.pointwise(MUL, own, graph.number(1.0 - p), to=graph.scratch(stats.shape))
    x = graph.pointwise(SUB, scores.scaled(graph.product(tq, tk)), ts)
    weights = graph.pointwise(EXP, scores.masked(x))
    _into(graph, scores.dropped(weights, "f"), tg, found[2], char)
    x = graph.product(tg, tv)
    if scores.kept is not None:
        x = graph.pointwise(MUL, x, scores.kept)
    x = graph.pointwise(MUL, graph.pointwise(SUB, x, own), weights)
    if scores.kept is not None:
        x = graph.pointwise(MUL, x, scores.up)
    x = graph.pointwise(MUL, x, scores.scale)
    _into(graph, x, tq, found[1], char)
    keys = graph.turned(tk, [s // k.itemsize for s in k.strides], "f")
    if settings.deterministic or settings.cudnn_deterministic:
        graph.product(x, keys, found[0])
    else:
        graph.pointwise(SAME, graph.product(x, keys, graph.scratch(q.shape)), to=found[0])
    return CudnnPlan(graph, (tg, tq, tk, tv, *scores.given, to, ts, *found))


def _into(graph: CudnnGraph, x: GraphTensor, other: GraphTensor, to: GraphTensor, char: str) -> None:
    """`x`, turned, times the other, summed over the heads that share one of `to`."""
    _, heads, rows, columns = x.dims
    turned = graph.turned(x, (heads * rows * columns, rows * columns, 1, columns), char)
    if to.dims[1] == heads:
        graph.product(turned, other, to)
    else:
        graph.reduced(SUM, graph.product(turned, other, char=char), to)


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
        q.dtype.char in ("e", "E") and settings.cudnn_enabled and _is_known()
        and all(w % 8 == 0 and w <= _WIDEST for w in widths)
    )  # fmt: skip


def _is_known() -> bool:
    lib = library()
    return lib is not None and lib.version >= _OLDEST and lib.version not in _WRONG


def _plan(key: tuple, describe: Callable[[], CudnnPlan]) -> CudnnPlan | None:
    try:
        return _plans[key]
    except KeyError:
        pass
    try:
        made: CudnnPlan | None = describe()
    except CudnnRefused:
        made = None
    if made is not None and not made.choose_first():
        made = None
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
)


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
) -> tuple:
    """The result, the stats, and the key of what was dropped: by one kernel where it takes them, else by products."""
    if flash.pays(q, k, v, causal, back=False):
        return flash.attend(q, k, v, bias, _alike(q, v.shape[-1]), causal, scale, p)
    return products.attend(q, k, v, bias, causal, scale, p)


def _back_by_our_kernels(arrays: tuple, key: DeviceArray | None, causal: bool, scale: float, p: float) -> tuple:
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
def attention_grad_cat(*given: DeviceArray, causal: bool, scale: float, order: tuple[int, ...]) -> Any:
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
def masked_attention_grad_cat(*given: Any, causal: bool, scale: float, p: float, order: tuple[int, ...]) -> Any:
    """The same with a mask or dropout."""
    gy, q, k, v, bias, out, stats, kept = given
    if stats.dtype != np.float32 or (p and (kept.dtype != _KEY or kept.size == 2)):
        return NotImplemented
    arrays = (gy, q, k, v, row_major(bias), out, stats)
    return _cat_by_our_kernel(arrays, kept if p else None, causal, scale, p, order)


def _cat_by_our_kernel(
    arrays: tuple, key: DeviceArray | None, causal: bool, scale: float, p: float, order: tuple[int, ...]
) -> Any:
    gy, q, k, v, bias, out, stats = arrays
    if not flash.takes(q, v):
        return NotImplemented
    joined, grads = _beside(q, k, v, order)
    flash.differentiate(gy, q, k, v, bias, out, stats, key, grads, causal, scale, p)
    return joined


def _beside(q: DeviceArray, k: DeviceArray, v: DeviceArray, order: tuple[int, ...]) -> tuple[Any, tuple]:
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


def _differentiate(arrays: tuple, grads: tuple, causal: bool, scale: float, kept: Any = None, p: float = 0.0) -> Any:
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


def _both_ways(arrays: tuple, made: tuple, causal: bool, scale: float, p: float) -> CudnnPlan | None:
    """The forward plan, but only where backward has a plan, too: both must drop the same numbers."""
    forward = _forward_plan(arrays, made, causal, scale, p)
    if forward is None or not p:
        return forward
    back = _backward_plan((made[0], *arrays, *made), _new_grads(*arrays[:3]), causal, scale, p)
    return None if back is None else forward


@kernel_for("cuda", "masked_attention")
def masked_attention(
    q: DeviceArray, k: DeviceArray, v: DeviceArray, bias: DeviceArray | None, *, causal: bool, scale: float, p: float
) -> Any:
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
) -> tuple | None:
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
