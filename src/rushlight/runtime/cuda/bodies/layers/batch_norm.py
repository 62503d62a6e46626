"""Batch norm on the GPU, in both memory orders, alone or joined with the add and the relu behind it."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, NamedTuple

import cupy

from .....base.arrays import DeviceArray
from .....base.bounded import Bounded
from .....base.dtypes import from_np
from ....door import kernel_for
from ...code.expressions import Expression
from ...code.launch import Result
from ...code.sources import (
    COUNTERS,
    NUMBERS,
    PARTIALS,
    blocks_for,
    computed,
    counter,
    device,
    load,
    partials,
)
from ...processors import multiprocessors
from ..fills import copied, copy_to, row_major
from ..pointwise import add_into, cast, compute
from .layer_norm import stored

_SUMS, _EACH = 512, 256  # threads of the blocks that add up, and of those that go over the elements
_DEEP = 4  # rows that a thread reads before it adds the first of them
_FULL = {
    "sums": 2,
    "apply": 4,
    "slopes": 3,
}  # blocks for each multiprocessor: a multiple of those that run there at the same time

PLAIN, RELU, ADD_RELU = "", "_relu", "_add_relu"  # what follows the normalisation


# -- memory orders --------------------------------------------------------------------------------


def _is_last(x: DeviceArray) -> bool:
    """Whether the channels of x (N, C, ...) lie innermost."""
    if x._c_contiguous or x.ndim < 3:
        return bool(x._c_contiguous) and prod(x.shape[2:]) == 1
    order = (0, *range(2, x.ndim), 1)
    return bool(x.transpose(order)._c_contiguous)


def _as(a: DeviceArray | None, x: DeviceArray) -> Any:
    """`a` in the memory order of x, aligned for wide reads."""
    if a is None or (a.strides == x.strides and not a.data.ptr & 15):
        return a
    out = cupy.ndarray(x.shape, x.dtype, cupy.cuda.alloc(x.nbytes), x.strides)
    copy_to(out, a)
    return out


class _Layout:
    """How blocks and threads share the channels of one shape."""

    __slots__ = ("across", "c", "columns", "images", "inner", "last", "n", "options", "vw")

    def __init__(self, x: DeviceArray, last: bool) -> None:
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
        self.options: dict[str, Any] = {
            "LAST": int(last),
            "VW": self.vw,
            "ACROSS": self.across,
            "IX": index,
        }

    def _splits(self, blocks: int, threads: int) -> int:
        """How many blocks share a column, of `blocks` that fill the GPU."""
        steps = self.n if self.last else self.n // self.vw
        down = threads // self.across * _DEEP
        room = PARTIALS // (4 * self.c) - 1 if self.columns <= COUNTERS else 1
        return max(1, min(blocks // self.columns, -(-steps // down), room, 65535))

    def sums(self, name: str, results: tuple, char: str, *numbers: float, **options: Any) -> Any:
        """The launch of two sums per channel; the last block of each column finishes them."""
        launch = load("batch_norm.cu", name, char, **options, **self.options)
        grid = (self.columns, self._splits(_FULL["sums"] * multiprocessors(), _SUMS), 1)
        sizes = (self.c, self.inner, self.images)
        return launch.prepared(grid, _SUMS, results, *sizes, *numbers)

    def each(self, name: str, result: Result, char: str, number: float, **options: Any) -> Any:
        """The launch over all elements; `number` is its last argument."""
        launch = load("batch_norm.cu", name, char, **options, **self.options)
        grid: tuple = (blocks_for(self.n * self.c // self.vw), 1, 1)
        if self.last:
            blocks = _FULL[name.partition("_")[0]] * multiprocessors()
            grid = (self.columns, self._splits(blocks, _EACH), 1)
        sizes = (self.c, self.inner, self.images, number)
        return launch.prepared(grid, _EACH, (result,), *sizes)


class _Call(NamedTuple):
    """The two launches for one shape, order and dtype: sums, then all elements."""

    sums: Any
    each: Any
    wide: Any  # dtype of the statistics


_MOST_CALLS = 4096  # a momentum that changes with every batch must not fill memory
_calls: dict[tuple, _Call | None] = Bounded(_MOST_CALLS)


def _found(
    x: DeviceArray, key: tuple, make: Callable[..., _Call | None], *given: Any
) -> tuple[Any, _Call | None]:
    """x in an order the kernels know, and its call, made when it is new."""
    if not x._c_contiguous and not _is_last(x):
        x = copied(x)
    x = copied(x, "K") if x.data.ptr & 15 else x
    key = (x.shape, x.strides, *key[2:])
    if key not in _calls:
        _calls[key] = make(x, *given)
    return x, _calls[key]


def _like(x: DeviceArray, at: int) -> Result:
    return Result(at, x.shape, x.dtype, None if x._c_contiguous else x.strides)


def _kind(a: DeviceArray | None) -> Any:
    return None if a is None else a.dtype


# -- training -------------------------------------------------------------------------------------


def _make_train(
    x: DeviceArray,
    weight: DeviceArray | None,
    bias: DeviceArray | None,
    eps: float,
    after: str,
    momentum: float,
) -> _Call | None:
    char, kind = x.dtype.char, stored(weight, bias)
    if char not in NUMBERS or kind is None or x.size < 2:
        return None
    layout, kept = _Layout(x, _is_last(x)), computed(x.dtype)
    n = layout.n
    numbers = (n, eps, momentum, n / max(n - 1, 1))
    statistics = (Result(3, (layout.c,), kept), Result(4, (layout.c,), kept))
    return _Call(
        layout.sums("statistics", statistics, char, *numbers, NW=kind),
        layout.each("apply" + after, _like(x, 6), char, eps, NW=kind),
        kept,
    )


def train(
    x: DeviceArray, weight: DeviceArray | None, bias: DeviceArray | None, eps: float, after: str = PLAIN, other: DeviceArray | None = None,
    means: DeviceArray | None = None, variances: DeviceArray | None = None, batches: DeviceArray | None = None, momentum: float = 0.0,
) -> Any:  # fmt: skip
    """The result, mean and 1 / standard deviation; `other` is added before relu for ADD_RELU.

    Running mean, running variance and the count of batches are changed in place where given.
    """
    key = (
        x.shape, x.strides, x.dtype, _kind(weight), _kind(bias), after, eps, momentum, device()
    )  # fmt: skip
    call = _calls.get(key)
    if call is None or x.data.ptr & 15:
        x, call = _found(x, key, _make_train, weight, bias, eps, after, momentum)
        if call is None:
            return NotImplemented
    if other is not None:
        if other.shape != x.shape or other.dtype != x.dtype:
            return NotImplemented
        other = _as(other, x)
    mean, invstd = call.sums(x, partials(), counter(), means, variances, batches)
    return call.each(x, row_major(weight), row_major(bias), mean, invstd, other), mean, invstd


@kernel_for("cuda", "batch_norm_train")
def batch_norm_train(
    x: DeviceArray, weight: DeviceArray | None, bias: DeviceArray | None, *, eps: float
) -> Any:
    return train(x, weight, bias, eps)


@kernel_for("cuda", "batch_norm_learn")
def batch_norm_learn(
    x: DeviceArray, weight: DeviceArray | None, bias: DeviceArray | None, means: DeviceArray | None, variances: DeviceArray | None, batches: DeviceArray | None, *, momentum: float,
    eps: float,
) -> Any:  # fmt: skip
    kept = computed(x.dtype)
    if all([a is None or (a.dtype == kept and a._c_contiguous) for a in (means, variances)]):  # noqa: C419
        return train(x, weight, bias, eps, PLAIN, None, means, variances, batches, momentum)
    out = train(x, weight, bias, eps)
    if out is NotImplemented:
        return out
    n = x.size // x.shape[1]
    done = running_statistics(means, variances, out[1], out[2], momentum=momentum, eps=eps, n=n)
    if done is NotImplemented:  # nothing is changed yet
        return done
    if batches is not None:
        add_into(batches, batches, 1)
    return out


# -- its derivative -------------------------------------------------------------------------------


STILL = "_still"  # instead: statistics that do not depend on x


def _make_grad(
    x: DeviceArray, weight: DeviceArray | None, bias: DeviceArray | None, after: str
) -> _Call | None:
    char, kind = x.dtype.char, stored(x if weight is None else weight)
    if char not in NUMBERS or kind is None or not x.size:
        return None
    if bias is not None and weight is not None and bias.dtype != weight.dtype:
        return None
    layout, kept = _Layout(x, _is_last(x)), computed(x.dtype)
    held = x.dtype if weight is None else weight.dtype
    per_channel = (
        Result(11, (2, layout.c), kept), Result(12, (layout.c,), held), Result(13, (layout.c,), held)
    )  # fmt: skip
    results = (_like(x, 8), *per_channel) if after == ADD_RELU else per_channel
    sums = "_plain" if after in (PLAIN, STILL) else after
    rest, share = RELU if after == RELU else "_plain", 0.0 if after == STILL else 1.0 / layout.n
    return _Call(
        layout.sums("grad_sums" + sums, results, char, NW=kind),
        layout.each("slopes" + rest, _like(x, 7), char, share, NW=kind),
        kept,
    )


def _alike(x: DeviceArray, *arrays: DeviceArray | None) -> bool:
    for a in arrays:
        if a is not None and (a.dtype != x.dtype or a.shape != x.shape):
            return False
    return True


def grad(
    g: DeviceArray, x: DeviceArray, weight: DeviceArray | None, bias: DeviceArray | None, mean: DeviceArray, invstd: DeviceArray, after: str = PLAIN,
    more: DeviceArray | None = None, y: DeviceArray | None = None,
) -> Any:  # fmt: skip
    """Gradients of x, weight and bias; for ADD_RELU first that of the other summand.

    RELU computes the output's sign again from x; ADD_RELU reads it from the output y, and takes a second
    gradient of the output, `more`, on the way.
    """
    key = (x.shape, x.strides, x.dtype, _kind(weight), _kind(bias), after, device())
    call = _calls.get(key)
    if call is None or x.data.ptr & 15:
        x, call = _found(x, key, _make_grad, weight, bias, after)
        if call is None:
            return NotImplemented
    if mean.dtype != call.wide or invstd.dtype != call.wide or not _alike(x, g, more, y):
        return NotImplemented
    g, known = _as(g, x), (row_major(weight), row_major(bias), row_major(mean), row_major(invstd))
    if after != ADD_RELU:
        totals, gw, gb = call.sums(g, None, None, x, *known, None, partials(), counter())
        return call.each(g, x, *known, totals), gw, gb
    kept, totals, gw, gb = call.sums(
        g, _as(more, x), _as(y, x), x, *known, partials(), counter()
    )  # fmt: skip
    return kept, call.each(kept, x, *known, totals), gw, gb


@kernel_for("cuda", "batch_norm_grad")
def batch_norm_grad(
    gy: DeviceArray,
    x: DeviceArray,
    weight: DeviceArray | None,
    mean: DeviceArray,
    invstd: DeviceArray,
    *,
    eps: float,
) -> Any:
    return grad(gy, x, weight, None, mean, invstd)


_INVSTD = Expression("v", "e", f="R(1) / sqrt(v + e)")


@kernel_for("cuda", "batch_norm_eval_grad")
def batch_norm_eval_grad(
    gy: DeviceArray, x: DeviceArray, weight: DeviceArray | None, mean: DeviceArray, var: DeviceArray, *, eps: float
) -> Any:  # fmt: skip
    kept = computed(x.dtype)
    mean, var = [a if a.dtype == kept else cast(a, from_np(kept).name) for a in (mean, var)]
    return grad(gy, x, weight, None, mean, compute(_INVSTD, (var,), (eps,)), STILL)


# -- evaluation, running statistics ---------------------------------------------------------------


def _make_eval(
    x: DeviceArray,
    weight: DeviceArray | None,
    bias: DeviceArray | None,
    mean: DeviceArray,
    var: DeviceArray,
    eps: float,
    after: str,
) -> _Call | None:
    char, kind, stats = x.dtype.char, stored(weight, bias), stored(mean, var)
    if char not in NUMBERS or kind is None or stats is None or not x.size:
        return None
    layout, name = _Layout(x, _is_last(x)), "apply_eval" + after
    each = layout.each(name, _like(x, 6), char, eps, NW=kind, NS=stats)
    return _Call(None, each, None)


def evaluate(
    x: DeviceArray, weight: DeviceArray | None, bias: DeviceArray | None, mean: DeviceArray, var: DeviceArray, eps: float, after: str = PLAIN,
    other: DeviceArray | None = None,
) -> Any:  # fmt: skip
    """Batch norm by given statistics; `other` is added before relu for ADD_RELU."""
    kinds = (x.dtype, _kind(weight), _kind(bias), mean.dtype, var.dtype)
    key = (x.shape, x.strides, "eval" + after, *kinds, eps, device())
    call = _calls.get(key)
    if call is None or x.data.ptr & 15:
        x, call = _found(x, key, _make_eval, weight, bias, mean, var, eps, after)
        if call is None:
            return NotImplemented
    if not _alike(x, other):
        return NotImplemented
    return call.each(
        x, row_major(weight), row_major(bias), row_major(mean), row_major(var), _as(other, x)
    )


@kernel_for("cuda", "batch_norm_eval")
def batch_norm_eval(
    x: DeviceArray,
    weight: DeviceArray | None,
    bias: DeviceArray | None,
    mean: DeviceArray,
    var: DeviceArray,
    *,
    eps: float,
) -> Any:
    return evaluate(x, weight, bias, mean, var, eps)


@kernel_for("cuda", "running_statistics")
def running_statistics(
    means: DeviceArray | None,
    variances: DeviceArray | None,
    mean: DeviceArray,
    invstd: DeviceArray,
    *,
    momentum: float,
    eps: float,
    n: int,
) -> Any:
    held: Any = means if variances is None else variances
    char = held.dtype.char
    if char not in NUMBERS or stored(means, variances) is None:
        return NotImplemented
    if mean.dtype != computed(held.dtype) or not all(
        a is None or a._c_contiguous for a in (means, variances, mean, invstd)
    ):
        return NotImplemented
    load("batch_norm.cu", "running", char)(
        -(-held.size // 128), 128, means, variances, mean, invstd, held.size, momentum, eps,
        n / max(n - 1, 1),
    )  # fmt: skip
    return ()
