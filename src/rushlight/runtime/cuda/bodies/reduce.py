"""Reductions on the GPU: sums, means, extremes and their places, in any layout, deterministic."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import cupy
import numpy as np

from ....base.arrays import DeviceArray
from ....base.bounded import Bounded
from ....base.dtypes import by_name, from_np
from ...door import kernel_for
from ..code.compile import Launch, kernel
from ..code.expressions import Expression
from ..code.generate import TYPES
from ..code.launch import Result
from .pointwise import cast, compute
from .reduce_sources import PAIRS, reduction_source, size_of, supports

ndarray = cupy.ndarray
_SPLIT_FROM = 8192  # terms per result above which a few results are computed in parts
_MANY = 1 << 15  # results from which on each thread takes some, where their terms are few
_WANTED = 1024  # blocks that keep a large GPU busy


class _Recipe:
    """Everything about a reduction that its shape, strides and dtype decide."""

    __slots__ = ("aligned", "go", "join", "outs", "parts", "plain", "quick", "shape", "squeezed")

    shape: tuple[int, ...]
    squeezed: tuple[int, ...]
    outs: int
    go: Callable[..., None]
    aligned: bool  # whether `go` reads 16 bytes at a time
    plain: Callable[[], Callable[..., None]]  # makes the launch for memory that is not aligned
    quick: dict[
        tuple[bool, bool], Callable[..., Any]
    ]  # by keepdim and `both`: what also makes the results
    join: Callable[..., None] | None
    parts: int  # bytes for the parts of a reduction in two steps


_recipes: dict[tuple, _Recipe | None] = Bounded(8192)


def _merged(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Neighbouring (size, step) that are walked as one, joined; sizes of 1 fall away."""
    out: list[tuple[int, int]] = []
    for n, step in pairs:
        if n == 1:
            continue
        if out and out[-1][1] == n * step:
            out[-1] = (out[-1][0] * n, step)
        else:
            out.append((n, step))
    return out or [(1, 0)]


def _recipe(kind: str, x: DeviceArray, dims: tuple[int, ...], out: str) -> _Recipe | None:
    name = from_np(x.dtype).name
    if not supports(kind, name):
        return None
    item = x.itemsize
    steps = [s // item for s in x.strides]
    gone_at = set(dims)
    kept = _merged([(n, s) for d, (n, s) in enumerate(zip(x.shape, steps)) if d not in gone_at])
    gone = _merged([(n, s) for d, (n, s) in enumerate(zip(x.shape, steps)) if d in gone_at])
    r = _Recipe()
    r.shape = tuple([1 if d in gone_at else n for d, n in enumerate(x.shape)])
    r.squeezed = tuple([n for d, n in enumerate(x.shape) if d not in gone_at])
    r.outs = math.prod(r.squeezed)
    r.quick = {}
    terms = math.prod([n for n, _ in gone]) if x.size else 0
    if r.outs:
        _choose(r, kind, name, out, kept, gone, terms, min(steps, default=0))
    return r


def _choose(
    r: _Recipe, kind: str, name: str, out: str, kept: list, gone: list, terms: int, least: int
) -> None:
    """The kernels that walk this layout and how many blocks they take."""
    outs = r.outs
    reach = sum([abs(s) * (n - 1) for n, s in kept + gone])
    short = max(reach, outs, terms) < 2**31 - 2**20 and least >= 0
    text = reduction_source(kind, name, out, "int" if short else "i64", len(kept), len(gone))
    by_columns = kept[-1][1] == 1 and gone[-1][1] != 1 and outs >= 16
    lanes = 32 if terms <= 512 else 256
    block = (32, 8, 1) if by_columns else (lanes, 256 // lanes, 1)
    vector = 16 // TYPES[name][2]
    whole = (
        by_columns and vector > 1 and kept == [(outs, 1)] and len(gone) == 1
        and outs % vector == 0 and gone[0][1] % vector == 0
    )  # fmt: skip
    packed = whole and terms >= 64 and outs >= 16 * vector
    if whole and 0 < terms < 64 and outs >= _MANY:
        _choose_short(r, kind, name, out, text, terms, (outs, 1, *gone[0]))
        return
    results_of_a_block = 256 // lanes if not by_columns else 32 * vector if packed else 32
    blocks = -(-outs // results_of_a_block)
    parts = 1
    if blocks < _WANTED // 2 and terms >= (512 if by_columns else _SPLIT_FROM):
        most = terms // (64 if by_columns else 2048)
        parts = max(1, min(most, -(-_WANTED // blocks), 1024))
    chunk = -(-terms // parts) if terms else 1
    chunk = -(-chunk // vector) * vector
    parts = max(-(-terms // chunk), 1)
    grid = (blocks, parts, 1)
    geometry = (
        *[n for n, _ in kept], *[s for _, s in kept], *[n for n, _ in gone], *[s for _, s in gone],
    )  # fmt: skip
    r.aligned = packed or (
        not by_columns and vector > 1 and gone[0][1] == 1 and len(gone) == 1 and terms >= 64
        and terms % vector == 0 and all(s % vector == 0 for _, s in kept)
    )  # fmt: skip
    fixed: tuple[Any, ...] = (grid, block, outs, terms, chunk, terms, *geometry)
    any_address = (-(-outs // 32), parts, 1) if packed else grid
    r.plain = lambda: kernel(text, "columns" if by_columns else "rows").fixed(
        any_address, *fixed[1:]
    )
    names = ("columns", "column_packs") if by_columns else ("rows", "packs")
    launch = kernel(text, names[r.aligned])
    r.go = launch.fixed(*fixed)
    r.join, r.parts = None, 0
    if parts > 1:
        way = "join_columns" if by_columns else "join"
        joined = kernel(text, way)
        grid, block = ((-(-outs // 32), 1, 1), block) if by_columns else ((outs, 1, 1), (256, 1, 1))
        r.join = joined.fixed(grid, block, outs, parts, terms)
        r.parts = parts * outs * size_of(kind, name)
    _make_quick(r, kind, out, launch, fixed)


def _make_quick(r: _Recipe, kind: str, out: str, launch: Launch, fixed: tuple[Any, ...]) -> None:
    """The launches that make their results."""
    for keepdim, shape in ((False, r.squeezed), (True, r.shape)):
        for both in (False, True) if kind in PAIRS else (False,):
            r.quick[keepdim, both] = _quick(r, kind, out, launch, fixed, shape, both)


def _quick(
    r: _Recipe, kind: str, out: str, launch: Launch, fixed: tuple[Any, ...], shape: tuple, both: bool
) -> Callable[[Any], Any]:  # fmt: skip
    made, join = [], r.join
    if both or kind not in PAIRS:
        made.append(Result(1, shape, by_name(out).np))
    if kind in PAIRS:
        made.append(Result(2, shape, by_name(out).np if kind == "aminmax" else np.dtype(np.int64)))
    if join is not None:
        made.append(Result(3, (r.parts,), np.dtype(np.uint8)))
    places = [m.at for m in made]
    absent = tuple([i for i in (1, 2, 3) if i not in places])
    first = launch.prepared(
        *fixed[:2], tuple(made), *fixed[2:], aligned=(0,) if r.aligned else (), absent=absent
    )
    if join is None:
        return first
    if len(made) == 3:

        def to_two(x: DeviceArray) -> Any:
            found = first(x)
            if found is NotImplemented:
                return found
            values, index, parts = found
            join(parts, values, index)
            return values, index

        return to_two

    def to_one(x: DeviceArray) -> Any:
        found = first(x)
        if found is NotImplemented:
            return found
        result, parts = found
        join(parts, *((None, result) if 2 in places else (result, None)))
        return result

    return to_one


def _choose_short(
    r: _Recipe, kind: str, name: str, out: str, text: str, terms: int, geometry: tuple
) -> None:
    """Many results of few terms each, next to each other: a thread takes as many as it reads at once."""
    outs, vector = r.outs, 16 // TYPES[name][2]
    rest = (outs, terms, terms, terms, *geometry)
    grid, block = (-(-outs // (256 * vector)), 1, 1), (256, 1, 1)
    launch = kernel(text, "short_columns")
    r.aligned, r.join, r.parts = True, None, 0
    r.go = launch.fixed(grid, block, *rest)
    r.plain = lambda: kernel(text, "columns").fixed(-(-outs // 32), (32, 8, 1), *rest)
    _make_quick(r, kind, out, launch, (grid, block, *rest))


def _dims(dim: Any, ndim: int) -> tuple[int, ...]:
    if dim is None:
        return tuple(range(ndim))
    given = (dim,) if dim.__class__ is int else dim
    return tuple([d % ndim for d in given]) if ndim else ()


def reduce(
    kind: str,
    x: DeviceArray,
    dim: int | Sequence[int] | None,
    keepdim: bool,
    out: str | None = None,
    both: bool = False,
) -> Any:
    """Reduce over dims (None: all); argmax and argmin give the index, or with `both` the value as well, aminmax both ends."""
    key = (kind, x.dtype, x.shape, x.strides, dim, out)
    try:
        r = _recipes[key]
    except KeyError:
        dims = _dims(dim, x.ndim)
        r = _recipes[key] = _recipe(kind, x, dims, out or from_np(x.dtype).name)
    if r is None:
        return NotImplemented
    quick = r.quick.get((keepdim, both))
    if quick is not None:
        values = quick(x)
        if values is not NotImplemented:
            return values
    shape = r.shape if keepdim else r.squeezed
    stored = x.dtype if out is None else by_name(out).np
    if kind in PAIRS:
        second = ndarray(shape, stored if kind == "aminmax" else np.int64)
        values = ndarray(shape, stored) if both else None
        if r.outs:
            _launch(r, x.data.ptr, 0 if values is None else values.data.ptr, second.data.ptr)
        return (values, second) if both else second
    values = ndarray(shape, stored)
    if r.outs:
        _launch(r, x.data.ptr, values.data.ptr, 0)
    return values


def _launch(r: _Recipe, start: int, out: int, place: int) -> None:
    go = r.go
    if r.aligned and start & 15:
        go = r.plain()
    if r.join is None:
        go(start, out, place, 0)
        return
    parts = ndarray((r.parts,), np.uint8)
    go(start, out, place, parts.data.ptr)
    r.join(parts.data.ptr, out, place)


def ends(x: DeviceArray) -> Any:
    """The smallest and the largest element in one array of two; NaN where there is one."""
    key = ("aminmax", x.dtype, x.shape, x.strides, None, None)
    r = _recipes.get(key)
    if r is None:
        r = _recipes[key] = _recipe("aminmax", x, _dims(None, x.ndim), from_np(x.dtype).name)
    assert r is not None
    out = ndarray((2,), x.dtype)
    _launch(r, x.data.ptr, out.data.ptr, out.data.ptr + x.itemsize)
    return out


# -- ops ------------------------------------------------------------------------------------------


def _wide(x: DeviceArray) -> str | None:
    """Integers and booleans add up to int64."""
    return "int64" if x.dtype.kind in "biu" else None


@kernel_for("cuda", "sum")
def _sum(x: DeviceArray, *, dim: int | Sequence[int] | None, keepdim: bool) -> Any:
    return reduce("sum", x, dim, keepdim, _wide(x))


@kernel_for("cuda", "sum_to_size")
def _sum_to(x: DeviceArray, *, shape: tuple[int, ...]) -> Any:
    lead = x.ndim - len(shape)
    dims = tuple([i for i, s in enumerate(x.shape) if i < lead or (shape[i - lead] == 1 != s)])
    return reduce("sum", x, dims, True, _wide(x)).reshape(shape)


@kernel_for("cuda", "mean")
def _mean(x: DeviceArray, *, dim: int | Sequence[int] | None, keepdim: bool) -> Any:
    return reduce("mean", x, dim, keepdim)


@kernel_for("cuda", "prod")
def _prod(x: DeviceArray, *, dim: int | Sequence[int] | None, keepdim: bool) -> Any:
    return reduce("prod", x, dim, keepdim, _wide(x))


@kernel_for("cuda", "nansum")
def _nansum(x: DeviceArray, *, dim: int | Sequence[int] | None, keepdim: bool) -> Any:
    kind = "sum" if x.dtype.kind in "biu" else "nansum"
    return reduce(kind, x, dim, keepdim, _wide(x))


@kernel_for("cuda", "count_nonzero")
def _count_nonzero(x: DeviceArray, *, dim: int | Sequence[int] | None) -> Any:
    return reduce("count_nonzero", x, dim, False, "int64")


def _logic(kind: str) -> Any:
    def body(x: DeviceArray, *, dim: int | Sequence[int] | None, keepdim: bool) -> Any:
        if dim == ():
            return NotImplemented
        return reduce(kind, x, dim, keepdim, "uint8" if x.dtype == np.uint8 else "bool")

    return body


def _extreme(kind: str) -> Any:
    def body(x: DeviceArray, *, dim: int | Sequence[int] | None, keepdim: bool) -> Any:
        return reduce(kind, x, dim, keepdim) if x.size else NotImplemented

    return body


def _place(kind: str) -> Any:
    def body(x: DeviceArray, *, dim: int | Sequence[int] | None, keepdim: bool) -> Any:
        if not x.ndim or not x.size:
            return NotImplemented
        return reduce(kind, x, dim, keepdim)

    return body


def _value_and_place(kind: str) -> Any:
    def body(x: DeviceArray, *, dim: int, keepdim: bool) -> Any:
        if not x.ndim or not x.size:
            return NotImplemented
        return reduce(kind, x, dim, keepdim, None, True)

    return body


for _name in ("any", "all"):
    kernel_for("cuda", _name)(_logic(_name))
for _name in ("max", "min", "amax", "amin"):
    kernel_for("cuda", _name)(_extreme(_name.removeprefix("a")))
for _name in ("max", "min"):
    kernel_for("cuda", f"arg{_name}")(_place(f"arg{_name}"))
    kernel_for("cuda", f"{_name}_dim")(_value_and_place(f"arg{_name}"))


_NORMS = {0: "norm0", 1: "norm1", 2: "norm2", math.inf: "norminf", -math.inf: "norm-inf"}


@kernel_for("cuda", "vector_norm")
def _vector_norm(
    x: DeviceArray, *, ord: float, dim: int | Sequence[int] | None, keepdim: bool
) -> Any:
    if x.dtype.kind not in "fV" or not x.size:
        return NotImplemented
    return reduce(_NORMS.get(ord) or f"normp {float(ord)!r}", x, dim, keepdim)


# -- of two passes --------------------------------------------------------------------------------

_EXP_OFF = Expression("x m", "", f="exp(x - (fabs(m) == inf_of<T>() ? T(0) : m))")
_LOG_ON = Expression("s m", "", f="log(s) + (fabs(m) == inf_of<T>() ? T(0) : m)")


def _wider(x: DeviceArray) -> Any:
    return cast(x, "float32") if x.itemsize == 2 else x


def _as_before(out: DeviceArray, x: DeviceArray) -> Any:
    return out if out.dtype == x.dtype else cast(out, from_np(x.dtype).name)


def _spread(x: DeviceArray, correction: float, dim: Any, keepdim: bool, root: bool) -> Any:
    if x.dtype.kind not in "fV" or not x.size:
        return NotImplemented
    n = math.prod([x.shape[d] for d in _dims(dim, x.ndim)])
    if n <= correction:
        return NotImplemented
    return reduce(f"{'deviation' if root else 'variance'} {float(correction)!r}", x, dim, keepdim)


@kernel_for("cuda", "var")
def _var(x: DeviceArray, *, correction: float, dim: Any, keepdim: bool) -> Any:
    return _spread(x, correction, dim, keepdim, False)


@kernel_for("cuda", "std")
def _std(x: DeviceArray, *, correction: float, dim: Any, keepdim: bool) -> Any:
    return _spread(x, correction, dim, keepdim, True)


@kernel_for("cuda", "logsumexp")
def _logsumexp(x: DeviceArray, *, dim: Any, keepdim: bool) -> Any:
    if x.dtype.kind not in "fV" or not x.size:
        return NotImplemented
    wide = _wider(x)
    top = reduce("max", wide, dim, True)
    total = reduce("sum", compute(_EXP_OFF, (wide, top)), dim, keepdim)
    return _as_before(compute(_LOG_ON, (total, top.reshape(total.shape))), x)
