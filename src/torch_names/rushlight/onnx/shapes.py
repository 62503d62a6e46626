"""Views, copies, joins and look-ups as ONNX nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .sizes import Expr, fixed
from .table import Site, put_view_back, writes

END = 2**63 - 1  # the end of a dim, for Slice


@writes
def reshape(s: Site) -> str:
    return s.g.reshape(s.x(), s.out_shapes[0])


@writes
def expand(s: Site) -> str:
    return s.node("Expand", s.x(), s.g.shape(s.out_shapes[0]))


@writes
def permute(s: Site) -> str:
    return s.g.transpose(s.x(), [d % s.rank for d in s.fixed("dims")])


@writes
def transpose(s: Site) -> str:
    order = list(range(s.rank))
    if s.kernel == "t":
        return s.g.transpose(s.x(), order[::-1])
    a, b = s.fixed("dim0") % s.rank, s.fixed("dim1") % s.rank
    order[a], order[b] = order[b], order[a]
    return s.g.transpose(s.x(), order)


@writes
def squeeze(s: Site) -> str:
    axes = [d % s.rank for d in s.fixed("dims")]
    return s.g.squeeze(s.x(), *axes) if axes else s.node("Identity", s.x())


@writes
def unsqueeze(s: Site) -> str:
    return s.g.unsqueeze(s.x(), s.fixed("dim") % (s.rank + 1))


@writes
def window(s: Site) -> str:
    """An int takes a position, (start, stop, step) a range, None makes a new dim."""
    out, axis = s.x(), 0
    gone, new, place = [], [], 0
    for entry in s.attrs["index"]:
        if entry is None:
            new.append(place)
            place += 1
            continue
        if isinstance(entry, tuple):
            out = _range(s, out, axis, entry)
            place += 1
        else:
            stop = entry._replace(plus=entry.plus + 1) if isinstance(entry, Expr) else entry + 1
            out = s.g.slice(out, axis, entry, stop)
            gone.append(axis)
        axis += 1
    out = s.g.squeeze(out, *gone) if gone else out
    out = s.g.unsqueeze(out, *new) if new else out
    return out if out != s.x() else s.node("Identity", out)


def _range(s: Site, x: str, axis: int, entry: tuple) -> str:
    start, stop, step = entry
    if start in (None, 0) and stop is None and step in (None, 1):
        return x
    if (start or 0) == 0 and (step or 1) == 1 and stop == s.shapes[0][axis]:
        return x
    step = fixed(step or 1, "the step of a slice")
    if step < 0:
        raise s.fail("a slice that goes backwards")
    # `x[:, :n]` of a constant table: its end is a free size; of an input: to its end, whatever that is.
    return s.g.slice(x, axis, start or 0, END if stop is None else stop, step)


@writes
def split(s: Site) -> list[str]:
    dim = s.fixed("dim") % s.rank
    sizes = [length for _, length in s.attrs["ranges"]]
    if len(sizes) == 1:
        return [s.node("Identity", s.x())]
    return s.node("Split", s.x(), s.g.shape(sizes), outputs=len(sizes), axis=dim)


@writes
def unbind(s: Site) -> list[str]:
    dim = s.fixed("dim") % s.rank
    return [s.node("Gather", s.x(), s.number(i, np.dtype(np.int64)), axis=dim) for i in range(len(s.out_shapes))]


@writes
def cat(s: Site) -> str:
    names = [s.x(i, s.out_dtypes[0]) for i in range(len(s.inputs)) if s.shapes[i] != (0,)]
    return s.node("Concat", *names, axis=s.fixed("dim") % len(s.out_shapes[0]))


@writes
def stack(s: Site) -> str:
    dim = s.fixed("dim") % len(s.out_shapes[0])
    names = [s.g.unsqueeze(s.x(i, s.out_dtypes[0]), dim) for i in range(len(s.inputs))]
    return s.node("Concat", *names, axis=dim)


@writes
def flip(s: Site) -> str:
    out = s.x()
    for d in s.fixed("dims"):
        out = s.node("Slice", out, s.g.ints(-1), s.g.ints(-END), s.g.ints(d % s.rank), s.g.ints(-1))
    return out


@writes
def roll(s: Site) -> str:
    out = s.x()
    shifts, dims = s.fixed("shifts"), s.fixed("dims")
    if not dims:
        flat = s.g.node("Reshape", out, s.g.ints(-1))
        return s.g.reshape(_rolled(s, flat, 0, shifts[0]), s.out_shapes[0])
    for by, d in zip(shifts, dims):
        out = _rolled(s, out, d % s.rank, by)
    return out


def _rolled(s: Site, x: str, axis: int, by: int) -> str:
    return s.node("Concat", s.g.slice(x, axis, -by, END), s.g.slice(x, axis, 0, -by), axis=axis) if by else x


@writes
def repeat(s: Site) -> str:
    counts = list(s.attrs["repeats"])
    x = s.x()
    more = len(counts) - s.rank
    if more:
        x = s.g.unsqueeze(x, *range(more))
    return s.node("Tile", x, s.g.shape(counts))


@writes
def triangle(s: Site) -> str:
    diagonal, upper = s.fixed("diagonal"), s.kernel == "triu"
    if s.g.opset < 14:
        below = s.g.triangle(s.shapes[0], diagonal - upper)
        zero = s.number(False if s.dtypes[0] == np.bool_ else 0)
        return s.node("Where", below, *((zero, s.x()) if upper else (s.x(), zero)))
    k = s.number(diagonal, np.dtype(np.int64))
    if s.dtypes[0] == np.bool_:  # onnxruntime has no Trilu of booleans
        whole = s.node("Trilu", s.g.cast(s.x(), np.dtype(np.int64)), k, upper=int(s.kernel == "triu"))
        return s.g.cast(whole, np.dtype(bool))
    return s.node("Trilu", s.x(), k, upper=int(s.kernel == "triu"))


@writes
def pad(s: Site) -> str:
    widths = s.fixed("widths")
    out = s.x()
    for axis, (before, after) in enumerate(widths):
        if before < 0 or after < 0:
            out = s.g.slice(out, axis, max(-before, 0), min(after, 0) if after < 0 else END)
    pads = [max(w[0], 0) for w in widths] + [max(w[1], 0) for w in widths]
    return s.node("Pad", out, s.g.ints(*pads), s.number(s.fixed("value"))) if any(pads) else out


# -- making and looking up -----------------------------------------------------------------------


@writes
def full(s: Site) -> str:
    value = s.attrs.get("value", 0)
    return s.node("Expand", s.g.constant(np.asarray(value).astype(s.out_dtypes[0])), s.g.shape(s.out_shapes[0]))


@writes
def arange(s: Site) -> str:
    start, step = s.attrs["start"], s.attrs["step"]
    (count,) = s.out_shapes[0]
    index = np.dtype(np.int64)
    zero, one = s.g.constant(np.int64(0)), s.g.constant(np.int64(1))
    out = s.node("Range", zero, s.g.squeeze(s.g.size(count), 0), one)
    kind = s.out_dtypes[0] if isinstance(start, int) and isinstance(step, int) else np.dtype(np.float64)
    out = out if kind == index else s.g.cast(out, kind)
    if step != 1:
        out = s.node("Mul", out, s.g.constant(np.asarray(fixed(step, "a range's step")).astype(kind)))
    if isinstance(start, Expr):
        out = s.node("Add", out, s.g.cast(s.g.squeeze(s.g.size(start), 0), kind))
    elif start != 0:
        out = s.node("Add", out, s.g.constant(np.asarray(start).astype(kind)))
    return out if kind == s.out_dtypes[0] else s.g.cast(out, s.out_dtypes[0])


@writes
def embedding(s: Site) -> str:
    return s.node("Gather", s.x(0), s.x(1), axis=0)


@writes
def index_select(s: Site) -> str:
    return s.node("Gather", s.x(0), s.x(1), axis=s.fixed("dim") % s.rank)


@writes
def gather(s: Site) -> str:
    return s.node("GatherElements", s.x(0), s.x(1), axis=s.fixed("dim") % s.rank)


@writes
def index(s: Site) -> str:
    """x[i], x[:, i] and x[i, j, :]: positions, not masks."""
    slots = s.fixed("slots")
    at = [d for d, taken in enumerate(slots) if taken]
    if any(d == np.bool_ for d in s.dtypes[1:]):
        raise s.fail("by a mask, whose result has another size for other values: use where()")
    if len(at) == 1:
        return s.node("Gather", s.x(0), s.x(1), axis=at[0])
    if at != list(range(len(at))):
        raise s.fail("by several tensors behind a slice")
    shape = _common(s)
    columns = [s.g.unsqueeze(s.node("Expand", s.x(i + 1, np.dtype(np.int64)), s.g.shape(shape)), len(shape))
               for i in range(len(at))]  # fmt: skip
    return s.node("GatherND", s.x(0), s.node("Concat", *columns, axis=len(shape)))


def _common(s: Site) -> tuple[Any, ...]:
    """The shape that all index tensors are broadcast to."""
    rank = max(len(shape) for shape in s.shapes[1:])
    return tuple(s.out_shapes[0][:rank])


@writes
def one_hot(s: Site) -> str:
    depth = s.number(s.fixed("classes"), np.dtype(np.int64))
    values = s.g.constant(np.array([0, 1], s.out_dtypes[0]))
    return s.node("OneHot", s.x(), depth, values, axis=-1)


@writes
def scatter(s: Site) -> str:
    how = {"reduction": "add"} if s.kernel == "scatter_add" else {}
    source = s.x(2, s.dtypes[0])
    if not isinstance(s.inputs[2], str):
        source = s.node("Expand", source, s.g.shape(s.shapes[1]))
    return s.node("ScatterElements", s.x(0), s.x(1), source, axis=s.fixed("dim") % s.rank, **how)


@writes
def put_back(s: Site) -> str:
    """A write through a view, put into what it is a view of."""
    from ..runtime.door import KERNELS

    shape = fixed(s.shapes[0], "a tensor that is written through a view")
    how = {k: fixed(v, k) for k, v in s.attrs["how"].items()}
    body = KERNELS[s.attrs["view"]].generic
    s.out_shapes.append(s.shapes[1])
    return put_view_back(s, shape, lambda places: body(np, places, **how))
