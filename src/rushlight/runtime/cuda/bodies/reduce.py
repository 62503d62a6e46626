"""Reductions on the GPU: sums, means, extremes and their places, in any layout, deterministic."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import cupy
import numpy as np

from ....base.arrays import DeviceArray
from ....base.dtypes import by_name, from_np
from ...door import kernel_for
from ..code.compile import Launch, kernel
from ..code.expressions import Expression
from ..code.generate import TYPES
from ..code.keyed import alone
from ..code.launch import Result
from .pointwise import cast, compute
from .reduce_sources import PAIRS, reduction_source, size_of, supports

ndarray = cupy.ndarray
_SPLIT_FROM = 8192  # terms per result above which a few results are computed in parts
_MANY = 1 << 15  # results from which on each thread takes some, where their terms are few
_WANTED = 1024  # blocks that keep a large GPU busy


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


class _Cut(NamedTuple):
    """The kernel that walks a layout, and what it is launched with behind its pointers."""

    launch: Launch
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    numbers: tuple[int, ...]
    join: Callable[..., None] | None = None  # adds up parts, where there are some
    room: int = 0  # bytes for the parts


def _cut(kind: str, x: DeviceArray, dims: tuple[int, ...], out: str) -> _Cut:
    """How blocks share the reduction of arrays like x over dims."""
    name, item = from_np(x.dtype).name, x.itemsize
    pairs = list(zip(x.shape, [s // item for s in x.strides]))
    kept = _merged([pair for d, pair in enumerate(pairs) if d not in dims])
    gone = _merged([pair for d, pair in enumerate(pairs) if d in dims])
    outs = math.prod([n for n, _ in kept])
    terms = math.prod([n for n, _ in gone]) if x.size else 0
    reach = sum([abs(s) * (n - 1) for n, s in kept + gone])
    least = min([s for _, s in pairs], default=0)
    short = max(reach, outs, terms) < 2**31 - 2**20 and least >= 0
    text = reduction_source(kind, name, out, "int" if short else "i64", len(kept), len(gone))
    by_columns = kept[-1][1] == 1 and gone[-1][1] != 1 and outs >= 16
    lanes = 32 if terms <= 512 else 256
    block = (32, 8, 1) if by_columns else (lanes, 256 // lanes, 1)
    vector, aligned = 16 // TYPES[name][2], not x.data.ptr & 15
    whole = (
        by_columns and vector > 1 and kept == [(outs, 1)] and len(gone) == 1
        and outs % vector == 0 and gone[0][1] % vector == 0
    )  # fmt: skip
    if whole and 0 < terms < 64 and outs >= _MANY:
        # Many results of few terms each, next to each other: a thread takes as many as it reads at once.
        numbers = (outs, terms, terms, terms, outs, 1, *gone[0])
        if aligned:
            blocks = -(-outs // (256 * vector))
            return _Cut(kernel(text, "short_columns"), (blocks, 1, 1), (256, 1, 1), numbers)
        return _Cut(kernel(text, "columns"), (-(-outs // 32), 1, 1), block, numbers)
    packed = whole and terms >= 64 and outs >= 16 * vector
    blocks = -(-outs // (256 // lanes if not by_columns else 32 * vector if packed else 32))
    parts = 1
    if blocks < _WANTED // 2 and terms >= (512 if by_columns else _SPLIT_FROM):
        most = terms // (64 if by_columns else 2048)
        parts = max(1, min(most, -(-_WANTED // blocks), 1024))
    chunk = -(-terms // parts) if terms else 1
    chunk = -(-chunk // vector) * vector
    parts = max(-(-terms // chunk), 1)
    by_vectors = packed or (
        not by_columns and vector > 1 and gone[0][1] == 1 and len(gone) == 1 and terms >= 64
        and terms % vector == 0 and all(s % vector == 0 for _, s in kept)
    )  # fmt: skip
    if packed and not aligned:
        blocks = -(-outs // 32)
    names = ("columns", "column_packs") if by_columns else ("rows", "packs")
    join = None
    if parts > 1:
        over, threads = (-(-outs // 32), block) if by_columns else (outs, 256)
        way = kernel(text, "join_columns" if by_columns else "join")
        join = way.fixed(over, threads, outs, parts, terms)
    geometry = (*[n for n, _ in kept], *[s for _, s in kept], *[n for n, _ in gone], *[s for _, s in gone])
    return _Cut(
        kernel(text, names[by_vectors and aligned]), (blocks, parts, 1), block,
        (outs, terms, chunk, terms, *geometry), join, parts * outs * size_of(kind, name),
    )  # fmt: skip


def _dims(dim: Any, ndim: int) -> tuple[int, ...]:
    if dim is None:
        return tuple(range(ndim))
    given = (dim,) if dim.__class__ is int else dim
    return tuple([d % ndim for d in given]) if ndim else ()


def reducing(kind: str, x: DeviceArray, dim: Any, keepdim: bool, out: str | None = None, both: bool = False) -> Any:
    """The launch that reduces arrays like x over dims (None: all); None where there is none.

    argmax and argmin give the index, or with `both` the value as well, aminmax both ends.
    """
    dims = _dims(dim, x.ndim)
    name = from_np(x.dtype).name
    if not supports(kind, name):
        return None
    sides = [1 if d in dims else n for d, n in enumerate(x.shape)]
    shape = tuple([n for d, n in enumerate(sides) if keepdim or d not in dims])
    stored, made = by_name(out or name).np, []
    if both or kind not in PAIRS:
        made.append(Result(1, shape, stored))
    if kind in PAIRS:
        made.append(Result(2, shape, stored if kind == "aminmax" else np.dtype(np.int64)))
    if not math.prod(shape):
        return lambda x: _several([ndarray(r.shape, r.dtype) for r in made])
    cut = _cut(kind, x, dims, out or name)
    join, given = cut.join, [r.at for r in made]
    parts = [] if join is None else [Result(3, (cut.room,), np.dtype(np.uint8))]
    absent = tuple([i for i in (1, 2, 3) if i not in (*given, *[r.at for r in parts])])
    first = cut.launch.prepared(cut.grid, cut.block, (*made, *parts), *cut.numbers, absent=absent)
    if join is None:
        return first

    def joined(x: DeviceArray) -> Any:
        *found, parts = first(x)
        join(parts, *[found[given.index(i)] if i in given else None for i in (1, 2)])
        return _several(found)

    return joined


def _several(arrays: list[Any]) -> Any:
    return arrays[0] if len(arrays) == 1 else tuple(arrays)


_reduced = alone(lambda x, *, kind, dim, keepdim, out, both: reducing(kind, x, dim, keepdim, out, both))


def reduce(
    kind: str,
    x: DeviceArray,
    dim: int | tuple[int, ...] | None,
    keepdim: bool,
    out: str | None = None,
    both: bool = False,
) -> Any:
    """What the launch of `reducing` answers; NotImplemented where there is none."""
    return _reduced(x, kind=kind, dim=dim, keepdim=keepdim, out=out, both=both)


def _ends(x: DeviceArray) -> Any:
    cut = _cut("aminmax", x, _dims(None, x.ndim), from_np(x.dtype).name)
    go, join, room = cut.launch.fixed(cut.grid, cut.block, *cut.numbers), cut.join, cut.room

    def call(x: DeviceArray) -> Any:
        out = ndarray((2,), x.dtype)
        both = out.data.ptr, out.data.ptr + x.itemsize
        parts = None if join is None else ndarray((room,), np.uint8)
        go(x, *both, parts)
        if join is not None:
            join(parts, *both)
        return out

    return call


# The smallest and the largest element in one array of two; NaN where there is one.
ends = alone(_ends)


# -- ops ------------------------------------------------------------------------------------------


def _wide(x: DeviceArray) -> str | None:
    """Integers and booleans add up to int64."""
    return "int64" if x.dtype.kind in "biu" else None


def _truth(x: DeviceArray) -> str:
    return "uint8" if x.dtype == np.uint8 else "bool"


def _register(
    name: str, kind: str, out: Callable[[Any], str | None] = lambda x: None, both: bool = False,
    takes: Callable[[Any, Any], Any] = lambda x, dim: True,
) -> None:  # fmt: skip
    """The body of a reduction; `out` says in what dtype its result is stored, where that is another than x's."""

    def prepare(x: DeviceArray, *, dim: Any, keepdim: bool = False) -> Any:
        whole = kind == "nansum" and x.dtype.kind in "biu"
        what = "sum" if whole else kind
        return reducing(what, x, dim, keepdim, out(x), both) if takes(x, dim) else None

    kernel_for("cuda", name)(alone(prepare))


for _name in ("sum", "prod", "nansum"):
    _register(_name, _name, _wide)
_register("mean", "mean")
_register("count_nonzero", "count_nonzero", lambda x: "int64")
for _name in ("any", "all"):
    _register(_name, _name, _truth, takes=lambda x, dim: dim != ())
for _name in ("max", "min"):
    for _full in (_name, f"a{_name}"):
        _register(_full, _name, takes=lambda x, dim: x.size)
    for _full in (f"arg{_name}", f"{_name}_dim"):
        _register(_full, f"arg{_name}", both=_full != f"arg{_name}", takes=lambda x, dim: x.ndim and x.size)


@kernel_for("cuda", "sum_to_size")
def _sum_to(x: DeviceArray, *, shape: tuple[int, ...]) -> Any:
    lead = x.ndim - len(shape)
    dims = tuple([i for i, s in enumerate(x.shape) if i < lead or (shape[i - lead] == 1 != s)])
    return reduce("sum", x, dims, True, _wide(x)).reshape(shape)


_NORMS = {0: "norm0", 1: "norm1", 2: "norm2", math.inf: "norminf", -math.inf: "norm-inf"}


@kernel_for("cuda", "vector_norm")
def _vector_norm(x: DeviceArray, *, ord: float, dim: Any, keepdim: bool) -> Any:
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
