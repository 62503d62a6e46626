"""Results that follow from positions on the GPU: joins, triangles, numbers in order, short vectors, losses of classes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import cupy
import numpy as np

from ....base.arrays import DeviceArray
from ....base.device import device
from ....base.dtypes import dtype
from ...door import kernel_for
from ..code.keyed import keyed
from ..code.launch import Result
from ..code.sources import LABELS, NUMBERS, blocks_for, computed, counter, load, typed
from .fills import copy_to, copying, one_launch, row_major, tiles
from .index_rows import word

ndarray = cupy.ndarray
_WHOLE = {"l": "i64", "q": "i64", "i": "int", "h": "short", "f": "float", "d": "double"}
_FEW = 64  # blocks whose sums the last one adds up


def _triangle(name: str) -> None:
    def prepare(x: DeviceArray, *, diagonal: int) -> Any:
        if not x.size or x.ndim < 2 or not x._c_contiguous:
            return None
        return load("patterns.cu", "triangle", UNIT=word(x.itemsize)[1]).prepared(
            blocks_for(x.size), 256, (Result(1, x.shape, x.dtype),), x.size, *x.shape[-2:],
            diagonal, int(name == "triu"),
        )  # fmt: skip

    kernel_for("cuda", name)(one_launch(prepare))


_triangle("tril")
_triangle("triu")


def _one_hot(x: DeviceArray, *, classes: int) -> Any:
    shape = (*x.shape, classes)
    if not prod(shape) or not x._c_contiguous:
        return None
    return load("patterns.cu", "one_hot").prepared(
        blocks_for(prod(shape)), 256, (Result(1, shape, np.dtype(np.int64)),), prod(shape), classes
    )


kernel_for("cuda", "one_hot")(one_launch(_one_hot))


def _roll(x: DeviceArray, *, shifts: tuple[int, ...], dims: tuple[int, ...] | None) -> Any:
    shape = (x.size,) if dims is None else x.shape
    if not x.size or not shape or len(shape) > 8 or not x._c_contiguous:
        return None
    by = [0] * len(shape)
    for shift, dim in zip(shifts, dims or (0,)):
        by[dim] = (by[dim] + shift) % shape[dim]
    return _turned(x, shape, by)


def _flip(x: DeviceArray, *, dims: tuple[int, ...]) -> Any:
    if not x.size or not x.ndim or x.ndim > 8 or not x._c_contiguous:
        return None
    turned = [d % x.ndim for d in dims]
    return _turned(x, x.shape, [-1 if d in turned else 0 for d in range(x.ndim)])


def _turned(x: DeviceArray, shape: tuple[int, ...], by: list[int]) -> Any:
    unit = word(x.itemsize)[1]
    return load("patterns.cu", "roll", UNIT=unit, DIMS=len(shape)).prepared(
        blocks_for(x.size), 256, (Result(1, x.shape, x.dtype),), x.size, *shape, *by
    )


# Pictures of channels_last keep their order, which other bodies know.
kernel_for("cuda", "roll")(keyed(lambda x, **attrs: NotImplemented, _roll))
kernel_for("cuda", "flip")(keyed(lambda x, **attrs: NotImplemented, _flip))


def _repeat(x: DeviceArray, *, repeats: tuple[int, ...]) -> Any:
    """A copy of `x`, stretched along a dim in front of each of its own."""
    shape = (1,) * (len(repeats) - x.ndim) + x.shape
    made, dtype = tuple([n * r for n, r in zip(shape, repeats)]), x.dtype
    if not prod(made):
        return None
    stretched = [n for pair in zip(repeats, shape) for n in pair]
    apart = x.reshape([n for size in shape for n in (1, size)])
    out = ndarray(made, dtype).reshape(stretched)
    launch = copying(cupy.broadcast_to(apart, stretched), out)
    if launch is None:
        return None

    def call(x: DeviceArray) -> Any:
        out = ndarray(made, dtype)
        launch(out, x)
        return out

    return call


kernel_for("cuda", "repeat")(keyed(lambda x, **attrs: NotImplemented, _repeat))


# -- joins ----------------------------------------------------------------------------------------

_MOST = 32  # arrays of one launch


def _joined(out: DeviceArray, xs: Sequence[DeviceArray], rows: int) -> Any:
    """Fill `out`, which is `rows` rows, with those of contiguous arrays beside each other."""
    bits, starts = out.data.ptr, [0]
    for x in xs:
        width = x.nbytes // rows
        starts.append(starts[-1] + width)
        bits |= width | x.data.ptr
    size, name = word(bits)
    launch = load("patterns.cu", "join", UNIT=name, MOST=_MOST)
    for first in range(0, len(xs), _MOST):
        some = xs[first : first + _MOST]
        none = (0,) * (_MOST - len(some))
        widths = [x.nbytes // rows // size for x in some]
        grid = (blocks_for(rows * max(widths)), len(some), 1)
        launch(
            grid, 256, out, rows, starts[-1] // size, *[x.data.ptr for x in some], *none, *widths,
            *none, *[at // size for at in starts[first : first + len(some)]], *none,
        )  # fmt: skip
    return out


def _cat(*xs: DeviceArray, dim: int) -> Any:
    first = xs[0]
    if any(x.dtype != first.dtype for x in xs) or not first.ndim:
        return NotImplemented
    whole = [x for x in xs if x.size]
    if not whole:
        return NotImplemented
    out = ndarray(_cat_shape(whole, dim), first.dtype)
    if all(x._c_contiguous for x in whole):
        return _joined(out, whole, prod(out.shape[: dim % out.ndim]))
    for x, place in zip(whole, _places(out, whole, dim)):
        copy_to(place, x)
    return out


def _cat_shape(xs: Sequence[Any], dim: int) -> tuple[int, ...]:
    shape = list(xs[0].shape)
    shape[dim] = sum([x.shape[dim] for x in xs])
    return tuple(shape)


def _places(out: DeviceArray, xs: Sequence[Any], dim: int) -> list[Any]:
    """The windows of `out` that the arrays of a list fill one after the other."""
    lead, start, found = (slice(None),) * (dim % out.ndim), 0, []
    for x in xs:
        found.append(out[(*lead, slice(start, start + x.shape[dim]))])
        start += x.shape[dim]
    return found


_FEW_PARTS = 4  # whose addresses are parameters of their own


def _prepared_join(xs: Sequence[DeviceArray], shape: tuple[int, ...], rows: int) -> Any:
    """One launch for a few contiguous arrays; None for others."""
    if len(xs) > _FEW_PARTS or not all(x._c_contiguous and x.size for x in xs):
        return None
    widths = [x.nbytes // rows for x in xs]
    starts = [sum(widths[:k]) for k in range(len(xs))]
    bits = 0
    for width in widths:
        bits |= width
    size, name = word(bits)
    missing = _FEW_PARTS - len(xs)
    launch = load("patterns.cu", "join_few", UNIT=name)
    return launch.prepared(
        (blocks_for(rows * max(widths) // size), len(xs), 1), 256, (Result(0, shape, xs[0].dtype),),
        rows, sum(widths) // size, *[n // size for n in widths], *[0] * missing,
        *[n // size for n in starts], *[0] * missing,
        absent=tuple(range(1 + len(xs), 1 + _FEW_PARTS)),
        aligned=tuple(range(1, 1 + len(xs))) if size > xs[0].itemsize else (),
    )  # fmt: skip


def _prepared_cat(*xs: DeviceArray, dim: int) -> Any:
    if any(x.dtype != xs[0].dtype or not x.size for x in xs) or not xs[0].ndim:
        return None
    shape = _cat_shape(xs, dim)
    whole = _prepared_join(xs, shape, prod(shape[: dim % len(shape)]))
    return _strided_cat(xs, dim) if whole is None else whole


def _strided_cat(xs: Sequence[DeviceArray], dim: int) -> Any:
    """A launch for each of a few strided arrays, into windows whose places in the result are known."""
    out = ndarray(_cat_shape(xs, dim), xs[0].dtype)
    shape, dtype, copies = out.shape, out.dtype, []
    for x, place in zip(xs, _places(out, xs, dim)):
        if x._c_contiguous and (place._c_contiguous or len(xs) > 2):
            return None
        if place.size >= 4096 and tiles(place, x) is not None:
            return None
        copy = copying(x, place)
        if copy is None:
            return None
        copies.append((copy, place.data.ptr - out.data.ptr))

    def call(*xs: DeviceArray) -> Any:
        out = ndarray(shape, dtype)
        start = out.data.ptr
        for x, (copy, at) in zip(xs, copies):
            if copy(start + at, x) is NotImplemented:
                return NotImplemented
        return out

    return call


kernel_for("cuda", "cat")(keyed(_cat, _prepared_cat))


def _stack(*xs: DeviceArray, dim: int) -> Any:
    first = xs[0]
    if any(x.dtype != first.dtype or x.shape != first.shape for x in xs) or not first.size:
        return NotImplemented
    dim %= first.ndim + 1
    lead = first.shape[:dim]
    out = ndarray((*lead, len(xs), *first.shape[dim:]), first.dtype)
    if all(x._c_contiguous for x in xs):
        return _joined(out, xs, prod(lead))
    for i, x in enumerate(xs):
        copy_to(out[(slice(None),) * dim + (i,)], x)
    return out


def _prepared_stack(*xs: DeviceArray, dim: int) -> Any:
    first = xs[0]
    if any(x.dtype != first.dtype or x.shape != first.shape for x in xs):
        return None
    dim %= first.ndim + 1
    shape = (*first.shape[:dim], len(xs), *first.shape[dim:])
    return _prepared_join(xs, shape, prod(shape[:dim]))


kernel_for("cuda", "stack")(keyed(_stack, _prepared_stack))


def _pad(x: DeviceArray, *, widths: tuple[tuple[int, int], ...], value: Any) -> Any:
    shape = tuple([n + a + b for n, (a, b) in zip(x.shape, widths)])
    if not x.size or not prod(shape) or x.ndim > 8 or x.itemsize > 8 or not x._c_contiguous:
        return None
    with np.errstate(all="ignore"):  # a number that is too large is infinite
        around = np.array(value, x.dtype).tobytes().ljust(8, b"\0")
    unit = word(x.itemsize)[1]
    return load("patterns.cu", "pad", UNIT=unit, DIMS=x.ndim).prepared(
        blocks_for(prod(shape)), 256, (Result(1, shape, x.dtype),), prod(shape),
        int.from_bytes(around, "little"), *shape, *x.shape, *[a for a, _ in widths],
    )  # fmt: skip


kernel_for("cuda", "pad_constant")(one_launch(_pad))


def _arange(*, start: Any, step: Any, size: tuple, dtype: dtype, device: device) -> Any:
    kind = _WHOLE.get(dtype.np.char)
    if start.__class__ is not int or step.__class__ is not int or kind is None or not size[0]:
        return None
    if max(abs(start), abs(start + size[0] * step)) >= 2**63:
        return None
    return load("patterns.cu", "arange", UNIT=kind).prepared(
        blocks_for(size[0]), 256, (Result(0, size, dtype.np),), size[0], start, step
    )


kernel_for("cuda", "arange")(one_launch(_arange))


def _linspace(*, start: Any, end: Any, size: tuple, dtype: dtype, device: device, base: Any = None) -> Any:
    kind = {"f": "float", "d": "double"}.get(dtype.np.char)
    if kind is None or base is not None or size[0] < 2 or complex in (type(start), type(end)):
        return None
    one = dtype.np.type
    with np.errstate(all="ignore"):
        first, last = one(start), one(end)
        gap = (last - first) / one(size[0] - 1) if kind == "float" else (end - start) / (size[0] - 1)
    if not math.isfinite(gap):
        return None
    return load("patterns.cu", "linspace", UNIT=kind).prepared(
        blocks_for(size[0]), 256, (Result(0, size, dtype.np),), size[0], float(first), float(last), float(gap)
    )


kernel_for("cuda", "linspace")(one_launch(_linspace))


# -- short vectors --------------------------------------------------------------------------------


def _prepared_cross(x: DeviceArray, y: DeviceArray, *, dim: int) -> Any:
    if x.dtype != y.dtype or x.shape != y.shape or not x.size or x.dtype.kind == "b":
        return None
    if not x._c_contiguous or not y._c_contiguous:
        return None
    return typed("vectors.cu", "cross", x.dtype).prepared(
        blocks_for(x.size // 3), 256, (Result(2, x.shape, x.dtype),), x.size // 3, prod(x.shape[dim % x.ndim + 1 :])
    )


def _cross(x: DeviceArray, y: DeviceArray, *, dim: int) -> Any:
    x, y = [row_major(a) for a in cupy.broadcast_arrays(x, y)]
    launch = _prepared_cross(x, y, dim=dim)
    return NotImplemented if launch is None else launch(x, y)


kernel_for("cuda", "cross")(keyed(_cross, _prepared_cross))


def _dot(x: DeviceArray, y: DeviceArray) -> Any:
    if x.dtype != y.dtype or x.dtype.char not in NUMBERS or not x.size:
        return NotImplemented
    x, y = row_major(x), row_major(y)
    blocks = min(-(-x.size // 4096), 4 * _FEW)
    out, sums = ndarray((), x.dtype), ndarray((blocks,), computed(x.dtype))
    load("dot.cu", "dot", x.dtype.char)(blocks, 512, x, y, out, sums, counter(), x.size)
    return out


def _short_dot(x: DeviceArray, y: DeviceArray) -> Any:
    """By one block, which needs nothing of others."""
    if x.dtype != y.dtype or x.dtype.char not in NUMBERS or not 0 < x.size <= 8192:
        return None
    if not x._c_contiguous or not y._c_contiguous:
        return None
    return load("dot.cu", "dot", x.dtype.char).prepared(1, 512, (Result(2, (), x.dtype),), x.size, absent=(3, 4))


kernel_for("cuda", "dot")(keyed(_dot, _short_dot))


# -- likelihoods ----------------------------------------------------------------------------------


def _as(a: DeviceArray | None, dtype: Any) -> Any:
    """Contiguous weights of the dtype that is computed with, or none."""
    return None if a is None else row_major(a.astype(dtype, copy=False))


def _likelihood(
    x: DeviceArray, target: DeviceArray, weight: DeviceArray | None, *, ignore_index: int, reduction: str
) -> Any:
    found, wide, each = _classes(x, target, weight=weight), computed(x.dtype), reduction == "none"
    if found is None or x.ndim < 2 or not target.size:
        return None
    blocks = min(-(-target.size // 256), _FEW)
    made = Result(3, target.shape if each else (), x.dtype), Result(4, (), wide)
    launch = load("patterns.cu", "likelihood", x.dtype.char, **found).prepared(
        blocks, 256, (*made, Result(5, (2 * blocks,), wide)), target.size, x.shape[1],
        prod(x.shape[2:]), ignore_index, int(each), int(reduction == "mean"),
    )  # fmt: skip
    return lambda x, target, weight: launch(x, target, weight, counter())[:2]


def _likelihood_grad(
    gy: DeviceArray, target: DeviceArray, weight: DeviceArray | None, total: DeviceArray, *, shape: tuple,
    ignore_index: int, reduction: str,
) -> Any:  # fmt: skip
    found = _classes(gy, target, weight=weight)
    if found is None or not prod(shape) or total.dtype != computed(gy.dtype):
        return None
    return load("patterns.cu", "likelihood_grad", gy.dtype.char, **found).prepared(
        blocks_for(prod(shape)), 256, (Result(4, tuple(shape), gy.dtype),), prod(shape), shape[1],
        prod(shape[2:]), ignore_index, int(reduction == "none"), int(reduction == "mean"),
    )  # fmt: skip


def _weighed(prepare: Callable[..., Any]) -> Callable[..., Any]:
    """The body of one launch whose weights may be of another dtype than is computed with."""
    launch = one_launch(prepare)

    def body(x: DeviceArray, target: DeviceArray, weight: Any, *more: Any, **how: Any) -> Any:
        return launch(x, target, _as(weight, computed(x.dtype)), *more, **how)

    return keyed(body, prepare)


kernel_for("cuda", "nll_loss")(_weighed(_likelihood))
kernel_for("cuda", "nll_loss_grad")(_weighed(_likelihood_grad))


# -- margins --------------------------------------------------------------------------------------


def _classes(
    x: DeviceArray, target: DeviceArray, *more: Any, weight: DeviceArray | None = None
) -> dict[str, Any] | None:
    """The constants of margins.cu; None where arrays are not for it."""
    label = LABELS.get(target.dtype.char)
    given = [x, target, *more] if weight is None else [x, target, *more, weight]
    if x.dtype.char not in NUMBERS or label is None or not x.size:
        return None
    if any(not a._c_contiguous for a in given) or any(a.dtype != x.dtype for a in more):
        return None
    if weight is not None and weight.dtype != computed(x.dtype):
        return None
    return {"LABEL": label, "WEIGHTED": int(weight is not None)}


def _by_samples(name: str, x: DeviceArray, found: dict | None, results: tuple[Result, ...], *numbers: Any) -> Any:
    """A block for each sample."""
    if found is None:
        return None
    launch = load("margins.cu", name, x.dtype.char, **found)
    threads = 32 if x.shape[1] <= 128 else 256
    return launch.prepared(x.shape[0], threads, results, x.shape[1], *numbers)


def _margin(x: DeviceArray, target: DeviceArray, weight: DeviceArray | None, *, p: int, margin: float) -> Any:
    found, made = _classes(x, target, weight=weight), (Result(3, x.shape[:1], x.dtype),)
    return _by_samples("margin", x, found, made, margin, int(p == 2))


def _margin_grad(gy: DeviceArray, x: DeviceArray, target: DeviceArray, weight: DeviceArray | None, *, p: int, margin: float) -> Any:  # fmt: skip
    found, made = _classes(x, target, gy, weight=weight), (Result(4, x.shape, x.dtype),)
    return _by_samples("margin_grad", x, found, made, margin, int(p == 2))


def _margins(x: DeviceArray, target: DeviceArray) -> Any:
    made = (Result(2, x.shape[:1], x.dtype), Result(3, (x.size,), np.dtype(np.uint8)))
    call = _by_samples("margins", x, _classes(x, target), made)
    return call and (lambda *arrays: call(*arrays)[0])


def _margins_grad(gy: DeviceArray, x: DeviceArray, target: DeviceArray) -> Any:
    made = (Result(3, x.shape, x.dtype), Result(4, (x.size,), np.dtype(np.uint8)))
    call = _by_samples("margins_grad", x, _classes(x, target, gy), made)
    return call and (lambda *arrays: call(*arrays)[0])


kernel_for("cuda", "multi_margin_loss")(one_launch(_margin))
kernel_for("cuda", "multi_margin_loss_grad")(one_launch(_margin_grad))
kernel_for("cuda", "multilabel_margin_loss")(one_launch(_margins))
kernel_for("cuda", "multilabel_margin_loss_grad")(one_launch(_margins_grad))
