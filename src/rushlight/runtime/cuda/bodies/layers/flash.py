"""Attention in float32 on the GPU by kernels of our own that never write a score to memory.

Forward and backward walk over tiles of keys (or queries) in shared memory. Scores are made again on the way back
from one number for each query. Products are those of tensor cores (TF32) where that precision is allowed.
Nothing is added up by atomic operations: the same arrays give the same bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cupy
import numpy as np

from .....base.arrays import DeviceArray
from .....base.bounded import Bounded
from .....base.config import settings
from ...code.compile import Launch, arch, kernel, source
from ...code.launch import Result
from ...code.sources import block_room, device
from ...processors import multiprocessors
from ..draws import draw_key
from ..fills import copied
from ..stream import text_for
from .flash_cuts import ALL_WIDEST, CUTS, FlashCut, fits, padded, shared_bytes

_WIDE = np.dtype(np.float32)
_FEW = 128  # keys for which three kernels one after another take longer than their arithmetic
_MUCH = 1 << 31  # bytes of scores for which there may be no room
_BUSY = 0.8  # part of the GPU that has work while blocks of the same length run


def _cut(kind: str, precision: int, wide: int, rows: int, heads: int) -> FlashCut:
    """The largest blocks of which every multiprocessor has one, else the smallest."""
    cuts, shared = CUTS[kind, precision, wide], _gpu().shared
    for cut in cuts[:-1]:
        if -(-rows // cut.rows) * heads >= multiprocessors():
            name = "flash_keys" if kind == "whole" else kind
            if shared_bytes(name, cut, wide, wide, kind == "whole") <= shared:
                return cut
    return cuts[-1]


class _Gpu(NamedTuple):
    """What of a GPU decides about kernels."""

    shared: int  # bytes that a block may have
    has_tf32: bool
    widest: tuple[int, ...]  # head of which every kernel's block has room there, by precision


_gpus: dict[int, _Gpu] = Bounded(64)  # by number


def _gpu() -> _Gpu:
    index = device()
    found = _gpus.get(index)
    if found is None:
        found = _gpus[index] = _described(block_room(), int(arch()[3:]) >= 80)
    return found


def _described(shared: int, has_tf32: bool) -> _Gpu:
    return _Gpu(shared, has_tf32, tuple([_widest(shared, precision) for precision in (0, 1)]))


def _widest(shared: int, precision: int) -> int:
    for wide in (128, 64, 32):
        names = ("flash_forward", "flash_queries", "flash_keys")
        least = [shared_bytes(n, CUTS[n, precision, wide][-1], wide, wide) for n in names]
        if max(least) <= shared:
            return wide
    return 0


def takes(q: DeviceArray, v: DeviceArray) -> bool:
    """Whether the kernels can compute this attention."""
    widths = (q.shape[-1], v.shape[-1])
    return q.dtype == _WIDE and fits(*widths) and max(widths) <= _gpu().widest[_precision()]


def pays(q: DeviceArray, k: DeviceArray, v: DeviceArray, causal: bool, back: bool) -> bool:
    """Whether the kernels take this attention and are no slower than products, as an H200 says (17 November).

    Products write every score to memory, and read it again; where that is much, these kernels are taken anyway.
    """
    if not takes(q, v):
        return False
    batch, heads, queries, width = q.shape
    groups, n = k.shape[1:3]
    precision, wide = _precision(), padded(max(width, v.shape[3]))
    if 4 * batch * heads * queries * n >= _MUCH or (back and is_all(wide, n, batch * groups)):
        return True
    if precision:
        return not back or wide <= 64 or causal
    # Without tensor cores arithmetic decides: the way back by two kernels makes the scores twice.
    busy = batch * heads * -(-queries // 64) >= 2 * multiprocessors()
    if back:
        return busy and causal and wide <= 64
    return n <= _FEW or (busy and (causal or wide <= 64))


def _precision() -> int:
    """1 where products may be those of tensor cores, as `products` decides."""
    return int(settings.float32_matmul_precision != "highest" and _gpu().has_tf32)


def _launch(name: str, cut: FlashCut, widths: tuple[int, int], drops: bool, biased: bool, **more: int) -> Launch:
    constants = {
        "WIDTH": widths[0], "VALUES": widths[1], "TILES": cut.tiles, "WARPS": cut.warps, "STEP": cut.step,
        "BLOCKS": cut.blocks, "TF32": _precision(), "DROP": int(drops), "BIAS": int(biased), **more,
    }  # fmt: skip
    options = tuple([f"-D{key}={value}" for key, value in constants.items()])
    text = text_for("float32") + source("tf32.cuh") + source("flash.cu") + source(f"{name}.cu")
    launch = kernel(text, name, options)
    launch.allow(shared_bytes(name, cut, *widths, bool(more.get("ALL"))))
    return launch


def lies(a: DeviceArray) -> Any:
    """The array with its last dim dense and its rows at multiples of 16 bytes, as the kernels read it."""
    s0, s1, s2, last = a.strides
    if last != a.itemsize or (a.data.ptr | s0 | s1 | s2) & 15:
        return copied(a)
    return a


class _Call(NamedTuple):
    """What of a call is the same for all kernels."""

    widths: tuple[int, int]  # as the kernels have them
    sizes: tuple  # the last parameters
    drops: bool
    biased: bool
    wide: int


def _call(
    q: DeviceArray, k: DeviceArray, v: DeviceArray, bias: DeviceArray | None, causal: bool, scale: float, p: float
) -> _Call:
    batch, heads, queries, width = q.shape
    values = v.shape[3]
    by_head = queries if bias is not None and bias.shape[1] > 1 else 0
    by_batch = bias.shape[1] * queries if bias is not None and bias.shape[0] > 1 else 0
    numbers = (queries, k.shape[2], heads, heads // k.shape[1], width, values, int(causal), batch)
    widths = (padded(width), padded(values))
    sizes = (*numbers, by_batch, by_head, scale, 1.0 - p)
    return _Call(widths, sizes, p > 0, bias is not None, max(widths))


class _Made(NamedTuple):
    """A kernel with all but the addresses of its arrays."""

    launch: Launch
    blocks: int
    threads: int
    numbers: tuple
    shared: int

    def fixed(self) -> Any:
        return self.launch.fixed(self.blocks, self.threads, *self.numbers, shared=self.shared)

    def prepared(self, results: tuple[Result, ...], aligned: tuple, absent: tuple = ()) -> Any:
        return self.launch.prepared(
            self.blocks, self.threads, results, *self.numbers, shared=self.shared, aligned=aligned, absent=absent
        )


def _made(name: str, call: _Call, blocks_of: int, across: int, strides: tuple, kind: str = "") -> _Made:
    """A kernel over blocks of `blocks_of` rows of each of `across` heads, for arrays with `strides`."""
    cut = _cut(kind or name, _precision(), call.wide, blocks_of, across)
    more = {"ALL": int(kind == "whole")} if name == "flash_keys" else {}
    launch = _launch(name, cut, call.widths, call.drops, call.biased, **more)
    steps = [s // 4 for lies in strides for s in lies[:3]]
    shared = shared_bytes(name, cut, *call.widths, kind == "whole")
    blocks = -(-blocks_of // cut.rows) * across
    return _Made(launch, blocks, 32 * cut.warps, (*steps, *call.sizes), shared)


_calls: dict[tuple, Any] = Bounded(1024)  # launches with all but addresses


def _go(name: str, arrays: tuple, call: _Call, blocks_of: int, across: int, laid: tuple, kind: str = "") -> None:
    """Launch a kernel; `laid` are the arrays whose strides it wants."""
    strides = tuple([a.strides for a in laid])
    key = (name, kind, call, strides, _precision(), device())
    found = _calls.get(key)
    if found is None:
        found = _calls[key] = _made(name, call, blocks_of, across, strides, kind).fixed()
    found(*arrays)


def attend(
    q: DeviceArray, k: DeviceArray, v: DeviceArray, bias: DeviceArray | None, out: Any, causal: bool, scale: float, p: float
) -> tuple:  # fmt: skip
    """Write the result to `out`; the answer is it, the stats, and the key of what was dropped (None without dropout)."""
    q, k, v = lies(q), lies(k), lies(v)
    call = _call(q, k, v, bias, causal, scale, p)
    batch, heads, queries, _ = q.shape
    stats = cupy.ndarray((batch, heads, queries, 1), _WIDE)
    key = draw_key(q, 3) if p else None
    arrays = (q, k, v, out, stats, bias, key)
    _go("flash_forward", arrays, call, queries, batch * heads, (q, k, v, out))
    return out, stats, key


def differentiate(
    gy: DeviceArray, q: DeviceArray, k: DeviceArray, v: DeviceArray, bias: DeviceArray | None, out: DeviceArray,
    stats: DeviceArray, key: DeviceArray | None, grads: tuple, causal: bool, scale: float, p: float,
) -> tuple:  # fmt: skip
    """Write the gradients of q, k and v to `grads`."""
    gy, q, k, v, out = [lies(a) for a in (gy, q, k, v, out)]
    stats = stats if stats._c_contiguous else copied(stats)
    call = _call(q, k, v, bias, causal, scale, p)
    batch, heads, queries, _ = q.shape
    groups, n = k.shape[1:3]
    inputs, laid = (gy, q, k, v, out, stats, bias, key), (gy, q, k, v, out)
    if is_all(call.wide, n, batch * groups):
        arrays = (*inputs, None, *grads)
        _go("flash_keys", arrays, call, 1, batch * groups, (*laid, *grads), "whole")
        return grads
    slope = cupy.ndarray((batch, heads, queries), _WIDE)
    _go("flash_queries", (*inputs, grads[0], slope), call, queries, batch * heads, (*laid, grads[0]))
    _go("flash_keys", (*inputs, slope, *grads), call, n, batch * groups, (*laid, *grads))
    return grads


def attend_call(q: DeviceArray, k: DeviceArray, v: DeviceArray, made: Result, causal: bool, scale: float) -> Any:
    """`attend` without bias and dropout as a launch of q, k and v, which lie as the kernels read them."""
    call = _call(q, k, v, None, causal, scale, 0.0)
    batch, heads, queries, _ = q.shape
    results = made._replace(at=3), Result(4, (batch, heads, queries, 1), _WIDE)
    strides = (q.strides, k.strides, v.strides, made.strides)
    kernel = _made("flash_forward", call, queries, batch * heads, strides)
    return kernel.prepared(results, (0, 1, 2), (5, 6))


def differentiate_call(arrays: tuple, made: tuple[Result, ...], causal: bool, scale: float) -> Any:
    """`differentiate` in the same way: of (gy, q, k, v, out, stats)."""
    gy, q, k, v, out, _ = arrays
    call = _call(q, k, v, None, causal, scale, 0.0)
    batch, heads, queries, _ = q.shape
    groups, n = k.shape[1:3]
    laid, grads = tuple([a.strides for a in (gy, q, k, v, out)]), tuple([r.strides for r in made])
    at, whole = (0, 1, 2, 3, 4), is_all(call.wide, n, batch * groups)
    by_keys = _made("flash_keys", call, 1 if whole else n, batch * groups, (*laid, *grads), "whole" if whole else "")
    results = tuple([r._replace(at=9 + i) for i, r in enumerate(made)])
    if whole:
        return by_keys.prepared(results, at, (6, 7, 8))
    slope = Result(9, (batch, heads, queries), _WIDE)
    by_queries = _made("flash_queries", call, queries, batch * heads, (*laid, grads[0]))
    first = by_queries.prepared((made[0]._replace(at=8), slope), at, (6, 7))
    second = by_keys.prepared(results[1:], at, (6, 7))

    def both(*arrays: DeviceArray) -> Any:
        there = first(*arrays)
        return there if there is NotImplemented else (there[0], *second(*arrays, there[1], there[0]))

    return both


def is_all(wide: int, n: int, heads: int) -> bool:
    """Whether one kernel makes all the gradients: a block has all keys of a head.

    So scores are made once, not twice. Where one block does not hold all keys at a time, there have to be heads enough.
    """
    if wide > ALL_WIDEST:
        return False
    cut = CUTS["whole", _precision(), wide][0]
    if shared_bytes("flash_keys", cut, wide, wide, True) > _gpu().shared:
        return False
    at_once = cut.blocks * multiprocessors()
    return n <= cut.rows or heads >= _BUSY * -(-heads // at_once) * at_once
