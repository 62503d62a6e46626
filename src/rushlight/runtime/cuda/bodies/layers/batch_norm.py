"""Batch norm on the GPU, in both memory orders, alone or joined with the add and the relu behind it."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import cupy

from .....base.arrays import DeviceArray
from .....base.dtypes import from_np
from ....door import kernel_for
from ...code.expressions import Expression
from ...code.keyed import keyed
from ...code.launch import Result
from ...code.sources import COUNTERS, NUMBERS, PARTIALS, blocks_for, computed, counter, load, partials
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
        self.options: dict[str, Any] = {"LAST": int(last), "VW": self.vw, "ACROSS": self.across, "IX": index}

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

    def each(
        self, name: str, result: Result, char: str, number: float, absent: tuple[int, ...] = (), **options: Any
    ) -> Any:
        """The launch over all elements; `number` is its last argument."""
        launch = load("batch_norm.cu", name, char, **options, **self.options)
        grid: tuple = (blocks_for(self.n * self.c // self.vw), 1, 1)
        if self.last:
            blocks = _FULL[name.partition("_")[0]] * multiprocessors()
            grid = (self.columns, self._splits(blocks, _EACH), 1)
        sizes = (self.c, self.inner, self.images, number)
        return launch.prepared(grid, _EACH, (result,), *sizes, absent=absent)


def lying(at: int, prepare: Callable[..., Any]) -> Callable[..., Any]:
    """The body of a kernel whose argument `at` is x: launches for arrays that lie as `_are_ready` says, and others brought there."""

    def body(*arrays: Any, **attrs: Any) -> Any:
        x = arrays[at]
        if not x._c_contiguous and not _is_last(x):
            x = copied(x)
        x = copied(x, "K") if x.data.ptr & 15 else x
        brought = [x if i == at else _as(a, x) if _is_beside(a, x) else row_major(a) for i, a in enumerate(arrays)]
        if all(a is b for a, b in zip(arrays, brought)):
            return NotImplemented
        return launch(*brought, **attrs)

    launch = keyed(body, prepare)
    return launch


def _is_beside(a: DeviceArray | None, x: DeviceArray) -> bool:
    return a is not None and a.shape == x.shape and a.dtype == x.dtype


def _are_ready(x: DeviceArray, others: tuple, vectors: tuple) -> bool:
    """Whether x is in an order the kernels know, all images in the same and aligned for wide reads, and vectors are dense."""
    if not (x._c_contiguous or _is_last(x)) or not all(a is None or a._c_contiguous for a in vectors):
        return False
    return all(
        a is None or (a.dtype == x.dtype and a.shape == x.shape and a.strides == x.strides and not a.data.ptr & 15)
        for a in (x, *others)
    )


def _like(x: DeviceArray, at: int) -> Result:
    return Result(at, x.shape, x.dtype, None if x._c_contiguous else x.strides)


# -- training -------------------------------------------------------------------------------------


def training(
    x: DeviceArray, weight: DeviceArray | None, bias: DeviceArray | None, eps: float, after: str = PLAIN,
    other: DeviceArray | None = None, momentum: float = 0.0,
) -> Any:  # fmt: skip
    """The launches that give the result, mean and 1 / standard deviation; `other` is added before relu for ADD_RELU.

    They are called with x, weight, bias, `other`, and running mean, running variance and the count of batches, which
    are changed in place where given.
    """
    char, kind = x.dtype.char, stored(weight, bias)
    if char not in NUMBERS or kind is None or x.size < 2 or not _are_ready(x, (other,), (weight, bias)):
        return None
    layout, kept = _Layout(x, _is_last(x)), computed(x.dtype)
    n = layout.n
    statistics = (Result(3, (layout.c,), kept), Result(4, (layout.c,), kept))
    numbers = (n, eps, momentum, n / max(n - 1, 1))
    sums = layout.sums("statistics", statistics, char, *numbers, NW=kind)
    each = layout.each("apply" + after, _like(x, 6), char, eps, NW=kind)

    def call(x: Any, weight: Any, bias: Any, other: Any = None, *learned: Any) -> Any:
        mean, invstd = sums(x, partials(), counter(), *(learned or (None, None, None)))
        return each(x, weight, bias, mean, invstd, other), mean, invstd

    return call


def _train(x: DeviceArray, weight: Any, bias: Any, *, eps: float) -> Any:
    return training(x, weight, bias, eps)


def _learn(
    x: DeviceArray, weight: Any, bias: Any, means: Any, variances: Any, batches: Any, *, momentum: float, eps: float
) -> Any:
    call = training(x, weight, bias, eps, momentum=momentum)
    return call and (lambda x, weight, bias, *learned: call(x, weight, bias, None, *learned))


batch_norm_train = kernel_for("cuda", "batch_norm_train")(lying(0, _train))
_learning = lying(0, _learn)


@kernel_for("cuda", "batch_norm_learn")
def batch_norm_learn(
    x: DeviceArray, weight: Any, bias: Any, means: Any, variances: Any, batches: Any, *, momentum: float, eps: float
) -> Any:
    kept = computed(x.dtype)
    if all([a is None or (a.dtype == kept and a._c_contiguous) for a in (means, variances)]):  # noqa: C419
        return _learning(x, weight, bias, means, variances, batches, momentum=momentum, eps=eps)
    out = batch_norm_train(x, weight, bias, eps=eps)
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


def differentiating(
    g: DeviceArray, x: DeviceArray, weight: DeviceArray | None, bias: DeviceArray | None, mean: DeviceArray,
    invstd: DeviceArray, after: str = PLAIN, more: DeviceArray | None = None, y: DeviceArray | None = None,
) -> Any:  # fmt: skip
    """The launches that give the gradients of x, weight and bias; for ADD_RELU first that of the other summand.

    RELU computes the output's sign again from x; ADD_RELU reads it from the output y, and takes a second
    gradient of the output, `more`, on the way. They are called with these arrays in the same order.
    """
    char, kind, kept = x.dtype.char, stored(x if weight is None else weight), computed(x.dtype)
    if char not in NUMBERS or kind is None or not x.size or mean.dtype != kept or invstd.dtype != kept:
        return None
    if bias is not None and weight is not None and bias.dtype != weight.dtype:
        return None
    if not _are_ready(x, (g, more, y), (weight, bias, mean, invstd)):
        return None
    layout, held = _Layout(x, _is_last(x)), x.dtype if weight is None else weight.dtype
    per_channel = (Result(11, (2, layout.c), kept), Result(12, (layout.c,), held), Result(13, (layout.c,), held))
    results = (_like(x, 8), *per_channel) if after == ADD_RELU else per_channel
    name = "_plain" if after in (PLAIN, STILL) else after
    sums = layout.sums("grad_sums" + name, results, char, NW=kind)
    rest, share = RELU if after == RELU else "_plain", 0.0 if after == STILL else 1.0 / layout.n
    each = layout.each("slopes" + rest, _like(x, 7), char, share, NW=kind)

    def call(g: Any, x: Any, *known: Any) -> Any:
        totals, gw, gb = sums(g, None, None, x, *known, None, partials(), counter())
        return each(g, x, *known, totals), gw, gb

    def of_sum(g: Any, x: Any, weight: Any, bias: Any, mean: Any, invstd: Any, more: Any, y: Any) -> Any:
        known = (weight, bias, mean, invstd)
        kept, totals, gw, gb = sums(g, more, y, x, *known, partials(), counter())
        return kept, each(kept, x, *known, totals), gw, gb

    return of_sum if after == ADD_RELU else call


def _without_bias(after: str) -> Callable[..., Any]:
    def prepare(gy: Any, x: Any, weight: Any, mean: Any, invstd: Any, *, eps: float) -> Any:
        call = differentiating(gy, x, weight, None, mean, invstd, after)
        return call and (lambda gy, x, weight, *stats: call(gy, x, weight, None, *stats))

    return lying(1, prepare)


batch_norm_grad = kernel_for("cuda", "batch_norm_grad")(_without_bias(PLAIN))
_still_grad = _without_bias(STILL)
_INVSTD = Expression("v", "e", f="R(1) / sqrt(v + e)")


@kernel_for("cuda", "batch_norm_eval_grad")
def batch_norm_eval_grad(
    gy: DeviceArray, x: DeviceArray, weight: DeviceArray | None, mean: DeviceArray, var: DeviceArray, *, eps: float
) -> Any:
    kept = computed(x.dtype)
    mean, var = [a if a.dtype == kept else cast(a, from_np(kept).name) for a in (mean, var)]
    return _still_grad(gy, x, weight, mean, compute(_INVSTD, (var,), (eps,)), eps=eps)


# -- evaluation, running statistics ---------------------------------------------------------------


def evaluating(after: str) -> Callable[..., Any]:
    """The body that normalises by given statistics; `other` is added before relu for ADD_RELU."""

    def prepare(
        x: DeviceArray, weight: Any, bias: Any, mean: DeviceArray, var: DeviceArray, *other: Any, eps: float
    ) -> Any:
        char, kind, stats = x.dtype.char, stored(weight, bias), stored(mean, var)
        if char not in NUMBERS or kind is None or stats is None or not x.size:
            return None
        if not _are_ready(x, other, (weight, bias, mean, var)):
            return None
        return _Layout(x, _is_last(x)).each(
            "apply_eval" + after, _like(x, 6), char, eps, () if other else (5,), NW=kind, NS=stats
        )

    return lying(0, prepare)


kernel_for("cuda", "batch_norm_eval")(evaluating(PLAIN))


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
        -(-held.size // 128), 128, means, variances, mean, invstd, held.size, momentum, eps, n / max(n - 1, 1)
    )
    return ()
