"""Batch norm on the GPU, in both memory orders, alone or joined with the add and the relu behind it."""

from __future__ import annotations

from math import prod
from typing import Any

import cupy

from ..door import kernel_for
from .norm import dense, pointer, stored, wide
from .sources import COUNTERS, NUMBERS, PARTIALS, blocks_for, counter, device, load, partials

_PROCESSORS = 132  # of an H200; fewer blocks leave a smaller GPU just as busy
_SUMS, _EACH = 512, 256  # threads of the blocks that add up, and of those that go over the elements
_DEEP = 4  # rows a thread has under way at once
_FULL = {"sums": 2, "apply": 8, "slopes": 6}  # blocks per processor: whole turns of those that fit

PLAIN, RELU, ADD_RELU = "", "_relu", "_add_relu"  # what follows the normalisation


# -- memory orders --------------------------------------------------------------------------------


def _is_last(x: Any) -> bool:
    """Whether the channels of x (N, C, ...) lie innermost."""
    if x._c_contiguous or x.ndim < 3:
        return bool(x._c_contiguous) and prod(x.shape[2:]) == 1
    order = (0, *range(2, x.ndim), 1)
    return bool(x.transpose(order)._c_contiguous)


def _like(x: Any) -> Any:
    """An empty array with x's shape and memory order."""
    memory = cupy.cuda.alloc(x.size * x.itemsize)
    return cupy.ndarray(x.shape, x.dtype, memory, x.strides)


def _as(a: Any, x: Any) -> Any:
    """`a` in the memory order of x, aligned for wide reads."""
    if a is None or (a.strides == x.strides and not a.data.ptr & 15):
        return a
    out = _like(x)
    cupy.copyto(out, a)
    return out


class _Layout:
    """How the channels of one shape are walked."""

    __slots__ = ("across", "c", "columns", "images", "inner", "last", "n", "options", "vw")

    def __init__(self, x: Any, last: bool) -> None:
        self.last = last
        self.c = x.shape[1]
        self.n = x.size // self.c
        self.inner = prod(x.shape[2:])
        widest = 16 // x.itemsize
        side = self.c if last else self.inner
        self.vw = next(v for v in (widest, 4, 2, 1) if v <= widest and side % v == 0)
        self.images = self.n if last else x.shape[0]
        self.across = 1
        if last:  # threads beside each other read up to 128 bytes of a row
            wanted = min(32, 128 // (self.vw * x.itemsize))
            while self.across < min(wanted, -(-self.c // self.vw)):
                self.across *= 2
        self.columns = -(-self.c // (self.across * self.vw)) if last else self.c
        index = "unsigned" if x.size < 1 << 30 else "i64"
        self.options = {"LAST": int(last), "VW": self.vw, "ACROSS": self.across, "IX": index}

    def _splits(self, blocks: int, threads: int) -> int:
        """How many blocks share a column, of `blocks` that fill the GPU."""
        steps = self.n if self.last else self.n // self.vw
        down = threads // self.across * _DEEP
        room = PARTIALS // (4 * self.c) if self.columns <= COUNTERS else 1
        return max(1, min(blocks // self.columns, -(-steps // down), room, 65535))

    def sums(self, name: str, pointers: int, char: str, *numbers: Any, **options: Any) -> Any:
        """The launch of two sums per channel; the last block of each column finishes them."""
        formats = ("P",) * pointers + ("i", "i", "q", "q", "d")[: 3 + len(numbers)]
        launch = load("batch_norm.cu", name, formats, char, **options, **self.options)
        grid = (self.columns, self._splits(_FULL["sums"] * _PROCESSORS, _SUMS), 1)
        sizes = (self.c, self.inner, self.images)
        return launch.fixed(grid, (_SUMS, 1, 1), 0, pointers, *sizes, *numbers)

    def each(self, name: str, pointers: int, char: str, number: float, **options: Any) -> Any:
        """The launch over all elements; `number` is its last argument."""
        formats = ("P",) * pointers + ("i", "i", "q", "d")
        launch = load("batch_norm.cu", name, formats, char, **options, **self.options)
        grid: tuple = (blocks_for(self.n * self.c // self.vw), 1, 1)
        if self.last:
            blocks = _FULL[name.partition("_")[0]] * _PROCESSORS
            grid = (self.columns, self._splits(blocks, _EACH), 1)
        sizes = (self.c, self.inner, self.images, number)
        return launch.fixed(grid, (_EACH, 1, 1), 0, pointers, *sizes)


_layouts: dict[tuple, _Layout] = {}


def _layout(x: Any) -> tuple[Any, _Layout]:
    """x in an order the kernels know, with its layout."""
    last = _is_last(x)
    if not last and not x._c_contiguous:
        x = cupy.ascontiguousarray(x)
    if x.data.ptr & 15:
        x = x.copy(order="K")
    key = (x.shape, last, x.itemsize)  # a layout knows sizes only
    found = _layouts.get(key)
    if found is None:
        found = _layouts[key] = _Layout(x, last)
    return x, found


# -- training -------------------------------------------------------------------------------------


class _Train:
    """The two launches of batch norm in training, for one shape."""

    __slots__ = ("apply", "statistics")

    def __init__(self, layout: _Layout, char: str, kind: str, eps: float, after: str) -> None:
        self.statistics = layout.sums("statistics", 5, char, layout.n, eps, NW=kind)
        self.apply = layout.each("apply" + after, 7, char, eps, NW=kind)


_trains: dict[tuple, _Train] = {}


def train(x: Any, weight: Any, bias: Any, eps: float, after: str = PLAIN, other: Any = None) -> Any:
    """The result, mean and 1 / standard deviation; `other` is added before relu for ADD_RELU."""
    char, kind = x.dtype.char, stored(weight, bias)
    if char not in NUMBERS or kind is None or x.size < 2:
        return NotImplemented
    if other is not None and (other.shape != x.shape or other.dtype != x.dtype):
        return NotImplemented
    x, layout = _layout(x)
    key = (x.shape, layout.last, char, kind, eps, after, device())
    call = _trains.get(key)
    if call is None:
        call = _trains[key] = _Train(layout, char, kind, eps, after)
    weight, bias, other = dense(weight), dense(bias), _as(other, x)
    at, kept = x.data.ptr, wide(char)
    mean, invstd = cupy.ndarray((layout.c,), kept), cupy.ndarray((layout.c,), kept)
    call.statistics(at, partials(), counter(), mean.data.ptr, invstd.data.ptr)
    out = _like(x)
    call.apply(
        at, pointer(weight), pointer(bias), mean.data.ptr, invstd.data.ptr, pointer(other),
        out.data.ptr,
    )  # fmt: skip
    return out, mean, invstd


@kernel_for("cuda", "batch_norm_train")
def batch_norm_train(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    return train(x, weight, bias, eps)


# -- its derivative -------------------------------------------------------------------------------


class _Back:
    """The two launches of the derivative, for one shape."""

    __slots__ = ("slopes", "sums")

    def __init__(self, layout: _Layout, char: str, kind: str, after: str) -> None:
        self.sums = layout.sums("grad_sums" + (after or "_plain"), 14, char, NW=kind)
        rest = RELU if after == RELU else "_plain"
        self.slopes = layout.each("slopes" + rest, 8, char, 1.0 / layout.n, NW=kind)


_backs: dict[tuple, _Back] = {}


def _usable(x: Any, kind: Any, mean: Any, invstd: Any, *gradients: Any) -> bool:
    kept = wide(x.dtype.char)
    if x.dtype.char not in NUMBERS or kind is None or not x.size:
        return False
    if mean.dtype != kept or invstd.dtype != kept:
        return False
    return all(g is None or (g.dtype == x.dtype and g.shape == x.shape) for g in gradients)


def grad(
    g: Any, x: Any, weight: Any, bias: Any, mean: Any, invstd: Any, after: str = PLAIN,
    more: Any = None, y: Any = None,
) -> Any:  # fmt: skip
    """Gradients of x, weight and bias; for ADD_RELU first that of the other summand.

    RELU computes the output's sign again from x; ADD_RELU reads it from the output y, and takes a second
    gradient of the output, `more`, on the way.
    """
    kind = stored(x if weight is None else weight)
    if bias is not None and weight is not None and bias.dtype != weight.dtype:
        return NotImplemented
    if not _usable(x, kind, mean, invstd, g, more, y):
        return NotImplemented
    char = x.dtype.char
    x, layout = _layout(x)
    key = (x.shape, layout.last, char, kind, after, device())
    call = _backs.get(key)
    if call is None:
        call = _backs[key] = _Back(layout, char, kind, after)
    g, more, y = _as(g, x), _as(more, x), _as(y, x)
    weight, bias, mean, invstd = dense(weight), dense(bias), dense(mean), dense(invstd)
    dtype = x.dtype if weight is None else weight.dtype
    totals = cupy.ndarray((2, layout.c), wide(char))
    gw, gb = cupy.ndarray((layout.c,), dtype), cupy.ndarray((layout.c,), dtype)
    kept = _like(x) if after == ADD_RELU else None
    known = (pointer(weight), pointer(bias), mean.data.ptr, invstd.data.ptr)
    call.sums(
        g.data.ptr, pointer(more), pointer(y), x.data.ptr, *known, pointer(kept), partials(),
        counter(), totals.data.ptr, gw.data.ptr, gb.data.ptr,
    )  # fmt: skip
    gx = _like(x)
    g = g if kept is None else kept
    call.slopes(g.data.ptr, x.data.ptr, *known, totals.data.ptr, gx.data.ptr)
    return (gx, gw, gb) if kept is None else (kept, gx, gw, gb)


@kernel_for("cuda", "batch_norm_grad")
def batch_norm_grad(gy: Any, x: Any, weight: Any, mean: Any, invstd: Any, *, eps: float) -> Any:
    return grad(gy, x, weight, None, mean, invstd)


# -- evaluation, running statistics ---------------------------------------------------------------

_evals: dict[tuple, Any] = {}


@kernel_for("cuda", "batch_norm_eval")
def batch_norm_eval(x: Any, weight: Any, bias: Any, mean: Any, var: Any, *, eps: float) -> Any:
    char, kind, stats = x.dtype.char, stored(weight, bias), stored(mean, var)
    if char not in NUMBERS or kind is None or stats is None or not x.size:
        return NotImplemented
    x, layout = _layout(x)
    key = (x.shape, layout.last, char, kind, stats, eps, device())
    go = _evals.get(key)
    if go is None:
        go = _evals[key] = layout.each("apply_eval", 7, char, eps, NW=kind, NS=stats)
    weight, bias, mean, var = dense(weight), dense(bias), dense(mean), dense(var)
    out = _like(x)
    go(
        x.data.ptr, pointer(weight), pointer(bias), mean.data.ptr, var.data.ptr, 0, out.data.ptr
    )  # fmt: skip
    return out


@kernel_for("cuda", "running_statistics")
def running_statistics(
    means: Any, variances: Any, mean: Any, invstd: Any, *, momentum: float, eps: float, n: int
) -> Any:
    held = means if variances is None else variances
    char = held.dtype.char
    if char not in NUMBERS or stored(means, variances) is None:
        return NotImplemented
    if mean.dtype != wide(char) or not all(
        a is None or a._c_contiguous for a in (means, variances, mean, invstd)
    ):
        return NotImplemented
    load("batch_norm.cu", "running", ("P", "P", "P", "P", "i", "d", "d", "d"), char)(
        -(-held.size // 128), 128, pointer(means), pointer(variances), mean.data.ptr,
        invstd.data.ptr, held.size, momentum, eps, n / max(n - 1, 1),
    )  # fmt: skip
    return ()
