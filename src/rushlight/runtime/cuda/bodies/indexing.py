"""Gather, scatter and advanced indexing on the GPU; sums at places repeat exactly when asked."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import cupy
import numpy as np

from ....base.arrays import DeviceArray
from ....base.bounded import Bounded
from ....base.config import settings
from ....base.dtypes import from_np
from ...door import kernel_for
from ..code.compile import Launch, kernel, source
from ..code.expressions import Expression
from ..code.generate import PRELUDE, TYPES
from ..code.keyed import alone, keyed
from ..code.launch import Result
from ..code.sources import device
from ..code.variants import prepared_with
from . import index_rows, selection
from .fills import copied, copy_to, fill
from .pointwise import cast, compute
from .sorting import ordered

ndarray = cupy.ndarray
_ATOMIC = {"float32": "float", "float64": "double", "int32": "int", "uint32": "unsigned",
           "int64": "u64", "uint64": "u64"}  # fmt: skip
_KINDS = ("", "prod", "amax", "amin")  # the first adds


@lru_cache(512)
def source_for(name: str, index: str, dims: int) -> str:
    """The kernels for one dtype of elements and of indices."""
    head = [PRELUDE, f"typedef {TYPES[name][0]} S; typedef {TYPES[index][0]} X;"]
    head.append(f"#define N {dims}")
    if name in _ATOMIC:
        head.append(f"#define ATOMIC {_ATOMIC[name]}")
    text = source("indexing.cu")
    if TYPES[name][1] == "c":  # complex numbers have no order
        text = text.replace("kind == 2 ? top(a, b) : bottom(a, b)", "a")
    return "\n".join([*head, text])


def _kernel(what: str, dtype: np.dtype, index: np.dtype, dims: int) -> Launch:
    text = source_for(from_np(dtype).name, from_np(index).name, dims)
    return kernel(text, what)


def _along(
    what: str, out: DeviceArray, far: DeviceArray, near: DeviceArray | None, index: DeviceArray, dim: int, *more: int
) -> None:
    """One of the kernels over the elements of `index`; `far` is indexed along `dim`, `more` are its own numbers."""
    if not index.size:
        return
    others = None if near is None else near.strides
    kind = (
        what,
        far.shape,
        far.strides,
        far.dtype,
        index.shape,
        index.strides,
        index.dtype,
        others,
        dim,
        more,
        device(),
    )
    launch = _walks.get(kind)
    if launch is None:
        launch = _walks[kind] = _walk(what, far, near, index, dim, more)
    launch(out, near, index)


_walks: dict[tuple, Any] = Bounded(2048)


def _walk(what: str, far: DeviceArray, near: DeviceArray | None, index: DeviceArray, dim: int, more: tuple) -> Any:
    """The launch of `_along` for arrays of a kind, which takes those."""
    n, dims = index.size, index.ndim
    other = far if near is None else near
    geometry = [s // a.itemsize for a in (far, index, other) for s in a.strides]
    return _kernel(what, far.dtype, index.dtype, dims).prepared(
        min(-(-n // 256), 2**20), 256, (), dim, far.shape[dim], *index.shape, *geometry, *more, front=(n,)
    )


def _gather(x: DeviceArray, index: DeviceArray, *, dim: int) -> Any:
    if not x.ndim or not index.size:
        return None
    n, dims = index.size, index.ndim
    far, line = [[s // a.itemsize for s in a.strides] for a in (x, index)]
    return _kernel("gather", x.dtype, index.dtype, dims).prepared(
        min(-(-n // 256), 2**20), 256, (Result(0, index.shape, x.dtype),), dim % x.ndim,
        x.shape[dim], *index.shape, *far, *line, *far, front=(n,),
    )  # fmt: skip


kernel_for("cuda", "gather")(alone(_gather))


def _scatter(x: DeviceArray, index: DeviceArray, src: Any, *, dim: int) -> Any:
    if not x.ndim:
        return NotImplemented
    out = copied(x)
    if src.__class__ is not ndarray:
        src, value = ndarray((), x.dtype), src
        fill(src, value)
    if not src.ndim:
        src = cupy.broadcast_to(src, index.shape)
    _along("scatter", out, out, src.astype(x.dtype, copy=False), index, dim % x.ndim)
    return out


def _scatter_call(x: DeviceArray, index: DeviceArray, src: Any, *, dim: int) -> Any:
    return None if src.dtype != x.dtype else _onto_copy("scatter", x, index, src, dim)


def _onto_copy(what: str, x: DeviceArray, index: DeviceArray, src: DeviceArray, dim: int) -> Any:
    """The launch over a copy of `x`, for arrays of a kind."""
    if not x.ndim or not index.size or not src.ndim:
        return None
    launch = _walk(what, ndarray(x.shape, x.dtype), src, index, dim % x.ndim, ())

    def call(x: DeviceArray, index: DeviceArray, src: DeviceArray) -> Any:
        out = copied(x)
        launch(out, src, index)
        return out

    return call


kernel_for("cuda", "scatter")(keyed(_scatter, _scatter_call))


def _adds_in_place(dtype: np.dtype) -> bool:
    return from_np(dtype).name in _ATOMIC and not settings.deterministic


def _scatter_into(out: DeviceArray, index: DeviceArray, src: DeviceArray, dim: int) -> None:
    """`out[index] += src` along `dim`; `out` is contiguous."""
    if _adds_in_place(out.dtype):
        _along("scatter_add", out, out, src, index, dim)
        return
    at = ndarray(index.shape, np.int64)
    _along("flatten", at, out, None, index, dim)
    part = src[tuple([slice(n) for n in index.shape])]
    fold_at(out.reshape(-1), at.reshape(-1), copied(part).reshape(-1))


def _scatter_add(x: DeviceArray, index: DeviceArray, src: DeviceArray, *, dim: int) -> Any:
    if not x.ndim:
        return NotImplemented
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":  # add in float32, round once
        wide = _scatter_add(x.astype(np.float32), index, src.astype(np.float32), dim=dim)
        return wide.astype(x.dtype)
    out = copied(x)
    if not src.ndim:
        src = cupy.broadcast_to(src, index.shape)
    _scatter_into(out, index, src, dim % x.ndim)
    return out


def _scatter_add_call(x: DeviceArray, index: DeviceArray, src: DeviceArray, *, dim: int) -> Any:
    if x.dtype.itemsize == 2 or src.dtype != x.dtype or not _adds_in_place(x.dtype):
        return None
    return _onto_copy("scatter_add", x, index, src, dim)


_SETTING = ((settings, "deterministic"),)
kernel_for("cuda", "scatter_add")(keyed(_scatter_add, _scatter_add_call, None, _SETTING))


@kernel_for("cuda", "gather_grad")
def _gather_grad(g: DeviceArray, index: DeviceArray, *, dim: int, shape: tuple) -> Any:
    if not shape:
        return NotImplemented
    name, half = from_np(g.dtype).name, g.dtype.itemsize == 2 and g.dtype.kind in "fV"
    src = cast(g, "float32") if half else g
    out = ndarray(shape, src.dtype)
    fill(out, 0)
    _scatter_into(out, index, src, dim % len(shape))
    return cast(out, name) if half else out


def _extremes(x: DeviceArray, index: DeviceArray, src: DeviceArray, dim: int, kind: str, keep: bool) -> Any:
    """Maxima or minima need no order of what comes to a place; None where there is no kernel."""
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":
        wide = [cast(a, "float32") for a in (x, src)]
        return cast(_extremes(wide[0], index, wide[1], dim, kind, keep), x.dtype.name)
    if from_np(x.dtype).name not in _ATOMIC:
        return None
    out = copied(x)
    src = cupy.broadcast_to(src, index.shape) if not src.ndim else src
    if src.dtype != x.dtype:
        src = src.astype(x.dtype)
    if not keep:  # any of those that come, in the place of what was there
        _along("scatter", out, out, src, index, dim)
    _along("scatter_extreme", out, out, src, index, dim, int(kind == "amax"))
    return out


@kernel_for("cuda", "scatter_reduce")
def _scatter_reduce(
    x: DeviceArray, index: DeviceArray, src: DeviceArray, *, dim: int, kind: str, include_self: bool
) -> Any:
    if kind in ("amax", "amin") and x.ndim:
        found = _extremes(x, index, src, dim % x.ndim, kind, include_self)
        if found is not None:
            return found
    out = copied(x)
    at = ndarray(index.shape, np.int64)
    if x.ndim:
        _along("flatten", at, out, None, index, dim % x.ndim)
    else:
        at[...] = 0
    part = src[tuple([slice(n) for n in index.shape])] if src.ndim else src
    part = copied(cupy.broadcast_to(part, index.shape).astype(x.dtype, copy=False))
    fold_at(out.reshape(-1), at.reshape(-1), part.reshape(-1), kind, include_self)
    return out


def fold_at(flat: DeviceArray, at: DeviceArray, values: DeviceArray, kind: str = "", keep: bool = True) -> None:
    """Fold `values` into the places `at` of a flat array, equal places in the order they come."""
    n = at.size
    if not n:
        return
    launch = _kernel("runs", flat.dtype, np.dtype(np.int64), 1)
    at, order = ordered(at, 0, 0, n, False)
    launch(min(-(-n // 256), 2**20), 256, n, flat, values, at, order, _KINDS.index(kind), int(keep))


def add_flat(flat: DeviceArray, at: DeviceArray, values: DeviceArray) -> None:
    """`flat[at] += values`, counting duplicates; all three are contiguous and one-dimensional."""
    n = at.size
    if not n:
        return
    if not _adds_in_place(flat.dtype):
        fold_at(flat, at, values)
        return
    launch = _kernel("add_flat", flat.dtype, np.dtype(np.int64), 1)
    launch(min(-(-n // 256), 2**20), 256, n, flat, values, at)


# -- advanced indexing ----------------------------------------------------------------------------


def _flat_places(shape: tuple[int, ...], slots: tuple, indices: tuple) -> Any:
    """The flat position of every element that `x[slots]` names, in the order of the result."""
    picks: list[tuple[int, Any]] = []
    whole: list[int] = []
    before: list[int] = []
    supply = iter(indices)
    dim = 0
    for taken in slots:
        if not taken:
            whole.append(dim)
            dim += 1
            continue
        entry = next(supply)
        parts = cupy.nonzero(entry) if entry.dtype.kind == "b" else (entry,)
        for part in parts:
            wide = part.astype(np.int64, copy=False)
            picks.append((dim, cupy.where(wide < 0, wide + shape[dim], wide)))
            before.append(len(whole))
            dim += 1
    whole.extend(range(dim, len(shape)))
    steps = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    picked = sum([a * steps[d] for d, a in picks])
    lead = before[0] if len(set(before)) == 1 else 0
    trail = len(whole) - lead
    places = picked.reshape(picked.shape + (1,) * trail)
    rank = lead + picked.ndim + trail
    for i, d in enumerate(whole):
        line = [1] * rank
        line[i if i < lead else i + picked.ndim] = shape[d]
        places = places + (cupy.arange(shape[d]) * steps[d]).reshape(line)
    return places


def _add_places(out: DeviceArray, slots: tuple, indices: tuple, values: DeviceArray) -> None:
    """`out[slots] += values` for contiguous `out`, counting duplicates."""
    one = _as_one(out.shape, slots, indices)
    if one is not None:
        _add_places(out.reshape(one[0]), one[1], one[2], values)
        return
    rows = index_rows.rows_of(out.shape, slots, indices)
    if rows is not None and index_rows.add(out, indices[0], values, rows):
        return
    if out.dtype.itemsize == 2 and out.dtype.kind in "fV":  # add in float32, round once
        wide = cast(out, "float32")
        _add_places(wide, slots, indices, cast(values, "float32"))
        cast(wide, out=out)
        return
    places = _flat_places(out.shape, slots, indices)
    values = cupy.broadcast_to(values.astype(out.dtype, copy=False), places.shape)
    add_flat(out.reshape(-1), copied(places).reshape(-1), copied(values).reshape(-1))


_PLACE = Expression("i j", "n m", i="(i < T(0) ? i + n : i) * m + (j < T(0) ? j + m : j)")


def _as_one(shape: tuple[int, ...], slots: tuple, indices: tuple) -> tuple[tuple, tuple, tuple] | None:
    """Several indices of neighbouring dims as one index of these dims together: the shape, slots and index; else None."""
    count, first = len(indices), slots.index(1)
    if count < 2 or slots[first : first + count] != (1,) * count or sum(slots) != count:
        return None
    if any(i.dtype.char not in "lqi" for i in indices) or 0 in shape:
        return None
    place, extent = indices[0], shape[first]
    for k, index in enumerate(indices[1:], first + 1):
        pair = [a if a.itemsize == 8 else cast(a, "int64") for a in (place, index)]
        place = compute(_PLACE, tuple(pair), (extent, shape[k]))
        extent *= shape[k]
    together = (*shape[:first], extent, *shape[first + count :])
    return together, (0,) * first + (1,), (place,)


class _Together(NamedTuple):
    """Two indices of neighbouring dims as one launch, and how the array looks that their places are in."""

    launch: Any
    sizes: tuple[int, int]
    shape: tuple[int, ...]
    slots: tuple[int, ...]

    def place(self, *indices: DeviceArray) -> Any:
        return self.launch(*indices, *self.sizes)


def _together(shape: tuple[int, ...], slots: tuple, indices: tuple) -> _Together | None:
    first = slots.index(1)
    if slots[first:] != (1, 1) or 0 in shape or len({i.shape for i in indices}) != 1:
        return None
    if any(i.dtype != np.int64 or not i._c_contiguous for i in indices):
        return None
    sizes = shape[first], shape[first + 1]
    launch = prepared_with(_PLACE, indices, {"n": sizes[0], "m": sizes[1]})
    joined = (*shape[:first], sizes[0] * sizes[1], *shape[first + 2 :])
    return launch and _Together(launch, sizes, joined, slots[: first + 1])


def _index_call(x: DeviceArray, *indices: DeviceArray, slots: tuple) -> Any:
    """`_index` by numbers along one dim, or two neighbouring ones, of dense arrays of a kind."""
    if sum(slots) == 1 == len(indices):
        return index_rows.take_call(x, indices[0], dim=slots.index(1))
    together = _together(x.shape, slots, indices) if x._c_contiguous else None
    if together is None:
        return None
    shape, dim = together.shape, together.slots.index(1)
    return lambda x, *indices: index_rows.take(x.reshape(shape), together.place(*indices), dim=dim)


def _index(x: DeviceArray, *indices: DeviceArray, slots: tuple) -> Any:
    by = selection.chosen(x.shape, slots, indices)
    if by is not None:
        return selection.take(x, indices[0], by)
    one = _as_one(x.shape, slots, indices) if x._c_contiguous else None
    if one is not None:
        shape, slots, indices = one
        x = x.reshape(shape)
    rows = index_rows.rows_of(x.shape, slots, indices)
    return NotImplemented if rows is None else index_rows.take_dense(x, indices[0], rows)


kernel_for("cuda", "index")(keyed(_index, _index_call))


@kernel_for("cuda", "index_grad")
def _index_grad(g: DeviceArray, *indices: DeviceArray, slots: tuple, shape: tuple) -> Any:
    one = _as_one(shape, slots, indices)
    if one is not None:
        together, slots, indices = one
        return _index_grad(g, *indices, slots=slots, shape=together).reshape(shape)
    rows = index_rows.rows_of(shape, slots, indices)
    if rows is not None:
        found = index_rows.index_grad(g, indices[0], rows, shape)
        if found is not None:
            return found
    by = selection.chosen(shape, slots, indices)
    if by is not None:  # a mask names every element once
        return selection.spread(g, indices[0], by)
    out = cupy.zeros(shape, g.dtype)
    if not shape or 0 in shape or not g.size:
        return out
    _add_places(out, slots, indices, g)
    return out


def _put(dst: DeviceArray, values: Any, indices: tuple, slots: tuple, accumulate: bool) -> Any:
    if not dst.ndim:
        return NotImplemented
    if not accumulate:
        return _write(dst, values, indices, slots)
    if values.__class__ is not ndarray:
        values = cupy.full((), values, dst.dtype)
    dense = dst if dst._c_contiguous else copied(dst)
    _add_places(dense, slots, indices, values)
    if dense is not dst:
        copy_to(dst, dense)
    return dst


def _write(dst: DeviceArray, values: Any, indices: tuple, slots: tuple) -> Any:
    by = selection.chosen(dst.shape, slots, indices)
    if by is not None:
        return selection.put(dst, values, indices[0], by)
    one = _as_one(dst.shape, slots, indices) if dst._c_contiguous else None
    if one is not None:
        found = _write(dst.reshape(one[0]), values, one[2], one[1])
        return found if found is NotImplemented else dst
    rows = index_rows.rows_of(dst.shape, slots, indices)
    if rows is None:
        return NotImplemented
    if values.__class__ is not ndarray:
        value = values
        values = ndarray((*rows.before, *indices[0].shape, *rows.after), dst.dtype)
        fill(values, value)
    if values.dtype != dst.dtype:
        return NotImplemented
    if not dst._c_contiguous:
        return index_rows.put_strided(dst, indices[0], values, len(rows.before))
    index_rows.put(dst, indices[0], values, rows)
    return dst


def _index_put_into(dst: DeviceArray, values: Any, *indices: DeviceArray, slots: tuple, accumulate: bool) -> Any:
    return _put(dst, values, indices, slots, accumulate)


def _index_put_call(dst: DeviceArray, values: Any, *indices: DeviceArray, slots: tuple, accumulate: bool) -> Any:
    """Into the memory of a dense array of a kind, by numbers along one dim, or two neighbouring ones."""
    together = _together(dst.shape, slots, indices) if len(indices) == 2 else None
    if together is not None and dst._c_contiguous:
        shape, one = together.shape, {"slots": together.slots, "accumulate": accumulate}

        def both(dst: DeviceArray, values: DeviceArray, *indices: DeviceArray) -> Any:
            found = index_put_into(dst.reshape(shape), values, together.place(*indices), **one)
            return found if found is NotImplemented else dst

        return both
    rows = index_rows.rows_of(dst.shape, slots, indices)
    if rows is None or (accumulate and settings.deterministic):
        return None
    make = index_rows.add_call if accumulate else index_rows.put_call
    launch = make(dst, indices[0], values, rows)

    def call(dst: DeviceArray, values: DeviceArray, index: DeviceArray) -> Any:
        written = dst.data.mem  # what may lie in the memory that is written is copied first
        if values.data.mem is written or index.data.mem is written:
            return NotImplemented
        launch(values, index, dst)
        return dst

    return launch and call


index_put_into = kernel_for("cuda", "index_put_into")(keyed(_index_put_into, _index_put_call, None, _SETTING))


@kernel_for("cuda", "index_put")
def _index_put(x: DeviceArray, values: Any, *indices: DeviceArray, slots: tuple, accumulate: bool) -> Any:
    return index_put_into(copied(x), values, *indices, slots=slots, accumulate=accumulate)
