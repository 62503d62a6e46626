"""Results that follow from positions on the GPU: joins, triangles, numbers in order, classes as vectors, likelihoods."""

from __future__ import annotations

import math
from math import prod
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from ...door import kernel_for
from ..code.expressions import Expression
from ..code.keyed import keyed
from ..code.launch import Result
from ..code.sources import NUMBERS, blocks_for, counter, load
from ..code.variants import prepared_into
from .fills import copy_to, row_major, tiles
from .index_rows import word
from .pointwise import compute

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ....base.device import device
    from ....base.dtypes import dtype
    from ....base.protocols import DeviceArray

ndarray = cupy.ndarray
_LABELS = {"l": "i64", "q": "i64", "B": "u8"}
_WHOLE = {"l": "i64", "q": "i64", "i": "int", "h": "short", "f": "float", "d": "double"}
_FEW = 64  # blocks whose sums the last one adds up


def _triangle(name: str) -> None:
    def prepare(x: DeviceArray, *, diagonal: int) -> Any:
        if not x.size or x.ndim < 2 or not x._c_contiguous:
            return None
        formats = ("P", "P", "q", "q", "q", "q", "i")
        return load("patterns.cu", "triangle", formats, UNIT=word(x.itemsize)[1]).prepared(
            (blocks_for(x.size), 1, 1), (256, 1, 1), 0, 2, (Result(1, x.shape, x.dtype),), x.size,
            *x.shape[-2:], diagonal, int(name == "triu"),
        )  # fmt: skip

    _prepared(name, prepare)


def _prepared(name: str, prepare: Callable[..., Any]) -> None:
    """A body for contiguous arrays whose launch is packed once; others are copied first."""

    def body(x: DeviceArray, **attrs: Any) -> Any:
        x = row_major(x)
        call = prepare(x, **attrs)
        return NotImplemented if call is None else call(x)

    kernel_for("cuda", name)(keyed(body, prepare))


_triangle("tril")
_triangle("triu")


def _one_hot(x: DeviceArray, *, classes: int) -> Any:
    shape = (*x.shape, classes)
    if not prod(shape) or not x._c_contiguous:
        return None
    return load("patterns.cu", "one_hot", ("P", "P", "q", "q")).prepared(
        (blocks_for(prod(shape)), 1, 1), (256, 1, 1), 0, 2, (Result(1, shape, np.dtype(np.int64)),),
        prod(shape), classes,
    )  # fmt: skip


_prepared("one_hot", _one_hot)


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
    formats = ("P", "P", "q", f"{2 * len(shape)}q")
    unit = word(x.itemsize)[1]
    return load("patterns.cu", "roll", formats, UNIT=unit, DIMS=len(shape)).prepared(
        (blocks_for(x.size), 1, 1), (256, 1, 1), 0, 2, (Result(1, x.shape, x.dtype),), x.size,
        *shape, *by,
    )  # fmt: skip


# Pictures of channels_last keep their order, which other bodies know.
kernel_for("cuda", "roll")(keyed(lambda x, **attrs: NotImplemented, _roll))
kernel_for("cuda", "flip")(keyed(lambda x, **attrs: NotImplemented, _flip))


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
    launch = load("patterns.cu", "join", ("P", "q", "q", f"{3 * _MOST}q"), UNIT=name, MOST=_MOST)
    for first in range(0, len(xs), _MOST):
        some = xs[first : first + _MOST]
        none = (0,) * (_MOST - len(some))
        widths = [x.nbytes // rows // size for x in some]
        grid = (blocks_for(rows * max(widths)), len(some), 1)
        launch.on_grid(
            grid, (256, 1, 1), 0, out.data.ptr, rows, starts[-1] // size,
            *[x.data.ptr for x in some], *none, *widths, *none,
            *[at // size for at in starts[first : first + len(some)]], *none,
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


def _prepared_cat(*xs: DeviceArray, dim: int) -> Any:
    """A launch for each of a few strided arrays, into windows whose places in the result are known."""
    if any(x.dtype != xs[0].dtype or not x.size for x in xs) or not xs[0].ndim:
        return None
    out = ndarray(_cat_shape(xs, dim), xs[0].dtype)
    shape, dtype, copies = out.shape, out.dtype, []
    for x, place in zip(xs, _places(out, xs, dim)):
        if x._c_contiguous and (place._c_contiguous or len(xs) > 2):
            return None
        if place.size >= 4096 and tiles(place, x) is not None:
            return None
        copy = prepared_into("cast", (x,), place)
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


@kernel_for("cuda", "stack")
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


@kernel_for("cuda", "arange")
def _arange(*, start: Any, step: Any, size: tuple, dtype: dtype, device: device) -> Any:
    kind = _WHOLE.get(dtype.np.char)
    if start.__class__ is not int or step.__class__ is not int or kind is None or not size[0]:
        return NotImplemented
    if max(abs(start), abs(start + size[0] * step)) >= 2**63:
        return NotImplemented
    out = ndarray(size, dtype.np)
    load("patterns.cu", "arange", ("P", "q", "q", "q"), UNIT=kind)(
        blocks_for(out.size), 256, out.data.ptr, out.size, start, step
    )
    return out


@kernel_for("cuda", "linspace")
def _linspace(
    *, start: Any, end: Any, size: tuple, dtype: dtype, device: device, base: Any = None
) -> Any:
    kind = {"f": "float", "d": "double"}.get(dtype.np.char)
    if kind is None or base is not None or size[0] < 2 or complex in (type(start), type(end)):
        return NotImplemented
    one = dtype.np.type
    with np.errstate(all="ignore"):
        first, last = one(start), one(end)
        gap = (
            (last - first) / one(size[0] - 1) if kind == "float" else (end - start) / (size[0] - 1)
        )
    if not math.isfinite(gap):
        return NotImplemented
    out = ndarray(size, dtype.np)
    load("patterns.cu", "linspace", ("P", "q", "d", "d", "d"), UNIT=kind)(
        blocks_for(out.size), 256, out.data.ptr, out.size, float(first), float(last), float(gap)
    )
    return out


_CROSS = Expression("a b c d", f="a * b - c * d", i="a * b - c * d")


@kernel_for("cuda", "cross")
def _cross(x: DeviceArray, y: DeviceArray, *, dim: int) -> Any:
    if x.dtype != y.dtype or x.dtype.kind not in "fVi" or not x.size or not y.size:
        return NotImplemented
    x, y = cupy.broadcast_arrays(x, y)
    out = ndarray(x.shape, x.dtype)
    lead = (slice(None),) * (dim % x.ndim)
    for k, (i, j) in enumerate(((1, 2), (2, 0), (0, 1))):
        parts = [a[(*lead, at)] for a, at in ((x, i), (y, j), (x, j), (y, i))]
        if compute(_CROSS, tuple(parts), (), out[(*lead, k)]) is NotImplemented:
            return NotImplemented
    return out


# -- likelihoods ----------------------------------------------------------------------------------


def _as(a: DeviceArray | None, dtype: Any) -> Any:
    """Contiguous weights of the dtype that is computed with, or none."""
    return None if a is None else row_major(a.astype(dtype, copy=False))


def _wide(dtype: np.dtype) -> Any:
    return np.dtype(np.float64 if dtype.char == "d" else np.float32)


@kernel_for("cuda", "nll_loss")
def _nll_loss(
    x: DeviceArray, target: DeviceArray, weight: DeviceArray | None, *, ignore_index: int, reduction: str
) -> Any:  # fmt: skip
    label = _LABELS.get(target.dtype.char)
    if x.dtype.char not in NUMBERS or label is None or x.ndim < 2 or not target.size:
        return NotImplemented
    wide, each = _wide(x.dtype), reduction == "none"
    x, target, weight = row_major(x), row_major(target), _as(weight, wide)
    loss, total = ndarray(target.shape if each else (), x.dtype), ndarray((), wide)
    blocks = min(-(-target.size // 256), _FEW)
    sums = ndarray((2 * blocks,), wide)
    load(
        "patterns.cu", "likelihood", (*"PPPPPPP", *"qqqq", "i", "i"), x.dtype.char, LABEL=label,
        WEIGHTED=int(weight is not None),
    )(
        blocks, 256, x.data.ptr, target.data.ptr,
        0 if weight is None else weight.data.ptr, loss.data.ptr, total.data.ptr, sums.data.ptr,
        counter(), target.size, x.shape[1], prod(x.shape[2:]), ignore_index, int(each),
        int(reduction == "mean"),
    )  # fmt: skip
    return loss, total


@kernel_for("cuda", "nll_loss_grad")
def _nll_loss_grad(
    gy: DeviceArray, target: DeviceArray, weight: DeviceArray | None, total: DeviceArray, *, shape: tuple,
    ignore_index: int, reduction: str,
) -> Any:  # fmt: skip
    label = _LABELS.get(target.dtype.char)
    wide = _wide(gy.dtype)
    if gy.dtype.char not in NUMBERS or label is None or not target.size or total.dtype != wide:
        return NotImplemented
    gy, target, weight = row_major(gy), row_major(target), _as(weight, wide)
    out = ndarray(shape, gy.dtype)
    if not out.size:
        return out
    load(
        "patterns.cu", "likelihood_grad", (*"PPPPP", *"qqqq", "i", "i"), gy.dtype.char, LABEL=label,
        WEIGHTED=int(weight is not None),
    )(
        blocks_for(out.size), 256, gy.data.ptr, target.data.ptr,
        0 if weight is None else weight.data.ptr, total.data.ptr, out.data.ptr, out.size, shape[1],
        prod(shape[2:]), ignore_index, int(reduction == "none"), int(reduction == "mean"),
    )  # fmt: skip
    return out
