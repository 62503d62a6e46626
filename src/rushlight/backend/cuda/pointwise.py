"""Pointwise kernels on the GPU: which variant of an expression's kernel runs, and its launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np

from ...base.dtypes import by_name, finfo, from_np
from ..door import kernel_for
from . import codegen
from .codegen import ARRAY, NUMBER, ONE
from .compile import Launch, kernel
from .expressions import TABLE, expression  # noqa: F401 - `expression` is for fused chains
from .geometry import allocate, collapse, layout_like

ndarray = cupy.ndarray
_THREADS = 256
_MANY = 2**31 - 2**12  # beyond, indices need 64 bits
_MOST_BLOCKS = 2**22


class Plan:
    """An expression for operands of given dtypes and ways; its kernels are made when needed."""

    __slots__ = ("dtypes", "flats", "go", "name", "numbers", "out", "out_name", "per_block",
                 "strided", "vector", "ways")  # fmt: skip

    def __init__(self, name: str, dtypes: tuple[str, ...], ways: tuple[str, ...], out: str) -> None:
        self.name, self.dtypes, self.ways, self.out_name = name, dtypes, ways, out
        self.out = by_name(out).np
        self.vector = codegen.width(dtypes, ways, out)
        self.per_block = _THREADS * self.vector
        self.flats: dict[tuple[int, str], Launch] = {}
        self.strided: dict[tuple, Launch] = {}
        self.numbers = codegen.number_type(dtypes[TABLE[name].main])[1]
        self.go = self.flat(self.vector, "unsigned").go

    def flat(self, vector: int, index: str) -> Launch:
        found = self.flats.get((vector, index))
        if found is None:
            text = codegen.flat_source(
                self.name, self.dtypes, self.ways, self.out_name, vector, index
            )
            formats = ("I" if index == "unsigned" else "q", *self._formats())
            found = self.flats[vector, index] = kernel(text, "k", formats)
        return found

    def with_strides(self, dims: int, index: str, vector: int, inner: tuple[int, ...]) -> Launch:
        key = (dims, index, vector, inner)
        found = self.strided.get(key)
        if found is None:
            text = codegen.strided_source(
                self.name, self.dtypes, self.ways, self.out_name, dims, index, vector, inner
            )
            rows = 2 + sum([way != NUMBER for way in self.ways])
            short = index == "unsigned"
            geometry = f"{rows * dims}{'i' if short else 'q'}"
            formats = ("I" if short else "q", *self._formats(), geometry)
            found = self.strided[key] = kernel(text, "k", formats)
        return found

    def _formats(self) -> list[str]:
        return codegen.formats(self.name, self.dtypes, self.ways)


_plans: dict[tuple, Plan | None] = {}


def plan_for(name: str, dtypes: tuple, ways: tuple[str, ...], out: str | None = None) -> Plan | None:
    """The plan for NumPy dtypes, or None where the table has no text for them."""
    key = (name, dtypes, ways, out)
    try:
        return _plans[key]
    except KeyError:
        pass
    names = tuple([from_np(d).name for d in dtypes])
    e = TABLE[name]
    main = names[e.main]
    stored = out or codegen.stored(name, main)
    known = codegen.TYPES[main][1] in e.text and stored is not None
    found = Plan(name, names, ways, stored) if known and stored else None
    _plans[key] = found
    return found


def number(value: Any, form: str) -> tuple:
    """A Python number as the kernel's parameters take it."""
    if form == "d":
        return (float(value),)
    if form == "dd":
        value = complex(value)
        return (value.real, value.imag)
    return (int(value) & 0xFFFFFFFFFFFFFFFF if form == "Q" else int(value),)


class _Ready:
    """All that shapes, strides and dtypes decide about one call."""

    __slots__ = ("aligned", "arrays", "blocks", "form", "go", "ints", "n", "numbers", "order", "out",
                 "plan", "shape", "slow", "tail", "units")  # fmt: skip

    plan: Plan
    shape: tuple[int, ...]
    out: np.dtype
    order: tuple[int, ...] | None
    n: int  # elements
    units: int  # what the kernel counts: elements, or vectors of them
    blocks: int
    go: Callable[..., None]
    slow: Callable[[], tuple] | None  # (go, units, blocks, tail) for memory that is not aligned
    tail: tuple
    arrays: tuple[int, ...]
    aligned: tuple[int, ...]  # which of the arrays are read by vectors
    numbers: tuple[int, ...]
    ints: tuple[bool, ...]  # which attributes are ints
    form: str


_ready: dict[tuple, _Ready | None] = {}


def compute(
    name: str, operands: tuple, attrs: tuple = (), out: Any = None, to: str | None = None
) -> Any:
    """An expression over arrays and Python numbers, into `out` where given; NotImplemented if unknown.

    Arrays broadcast against each other; `to` names another dtype to store than the table's.
    """
    signature: list[Any] = [name, to]
    for a in operands:
        if a.__class__ is ndarray:
            signature += (a.shape, a.strides, a.dtype)
        else:
            signature.append(None)
    if out is not None:
        signature += (out.shape, out.strides, out.dtype, 0)
    key = tuple(signature)
    try:
        ready = _ready[key]
    except KeyError:
        if len(_ready) > 16384:
            _ready.clear()
        ready = _ready[key] = _prepare(name, operands, out, to)
    if ready is None:
        return NotImplemented
    if out is None:
        order = ready.order
        out = ndarray(ready.shape, ready.out) if order is None else allocate(
            ready.shape, ready.out, order
        )  # fmt: skip
    if ready.n:
        _launch(ready, operands, attrs, out)
    return out


def _launch(ready: _Ready, operands: tuple, attrs: tuple, out: Any) -> None:
    start = out.data.ptr
    values = [start]
    for i in ready.arrays:
        values.append(operands[i].data.ptr)
    go, units, blocks, tail = ready.go, ready.units, ready.blocks, ready.tail
    if ready.slow is not None:
        joined = start
        for k in ready.aligned:
            joined |= values[k]
        if joined & 15:
            go, units, blocks, tail = ready.slow()
    form = ready.form
    for i in ready.numbers:
        values += number(operands[i], form)
    if attrs:
        for is_int, value in zip(ready.ints, attrs):
            values += (int(value),) if is_int else number(value, form)
    go(blocks, _THREADS, units, *values, *tail)


def _prepare(name: str, operands: tuple, out: Any, to: str | None) -> _Ready | None:
    e = TABLE[name]
    arrays = [a for a in operands if a.__class__ is ndarray]
    shape = np.broadcast_shapes(*[a.shape for a in arrays]) if out is None else out.shape
    if out is not None and to is None:
        to = from_np(out.dtype).name
    n = 1
    for s in shape:
        n *= s
    main = operands[e.main]
    if main.__class__ is not ndarray:
        main = next((a for a in arrays if a.dtype.kind != "b"), arrays[0])
    ways, dtypes = [], []
    for a in operands:
        if a.__class__ is not ndarray:
            ways.append(NUMBER)
            dtypes.append(main.dtype)
        else:
            ways.append(ONE if a.size == 1 and n != 1 else ARRAY)
            dtypes.append(a.dtype)
    plan = plan_for(name, tuple(dtypes), tuple(ways), to)
    if plan is None:
        return None
    r = _Ready()
    r.plan, r.shape, r.out, r.n, r.form = plan, shape, plan.out, n, plan.numbers
    whole = [a for a, way in zip(operands, ways) if way == ARRAY]
    r.order = layout_like(whole, shape)
    r.arrays = tuple([i for i, way in enumerate(ways) if way != NUMBER])
    r.numbers = tuple([i for i, way in enumerate(ways) if way == NUMBER])
    r.ints = tuple([a.endswith(":int") for a in e.attrs])
    if n:
        model = allocate(shape, plan.out, r.order) if out is None else out
        _choose(r, model, whole, [operands[i] for i in r.arrays])
    return r


def _choose(r: _Ready, out: Any, whole: list[Any], arrays: list[Any]) -> None:
    """The kernel that walks these layouts, and its geometry."""
    plan, n = r.plan, r.n
    strides = [s // out.itemsize for s in out.strides]
    alike = all(a.shape == r.shape and _same_places(a, strides, r.shape) for a in whole)
    ways = [plan.ways[i] for i in r.arrays]
    if alike and _gapless(out):
        index = "unsigned" if n < _MANY else "i64"
        r.aligned = tuple([k + 1 for k, way in enumerate(ways) if way == ARRAY])
        r.go, r.units, r.tail = plan.flat(plan.vector, index).go, n, ()
        r.blocks = min(-(-n // plan.per_block), _MOST_BLOCKS)
        last = min(-(-n // _THREADS), _MOST_BLOCKS)
        r.slow = lambda: (plan.flat(1, index).go, n, last, ())
        return
    sizes, steps, short = collapse(r.shape, out, arrays)
    dims = len(sizes)
    index = "unsigned" if short and n < _MANY else "i64"
    blocks, tail = min(-(-n // _THREADS), _MOST_BLOCKS), (*sizes, *steps)
    r.slow, r.aligned = None, ()
    vector = plan.vector
    inner = tuple([steps[dims * (k + 1) - 1] for k in range(1 + len(arrays))])
    rows = [steps[dims * k : dims * (k + 1)] for k in range(1 + len(arrays))]
    if (
        vector == 1
        or inner[0] != 1
        or any(s not in (0, 1) for s in inner)
        or sizes[-1] % vector
        or any(row[-1] and any(s % vector for s in row[:-1]) for row in rows)
    ):
        r.go = plan.with_strides(dims, index, 1, ()).go
        r.units, r.blocks, r.tail = n, blocks, tail
        return
    r.slow = lambda: (plan.with_strides(dims, index, 1, ()).go, n, blocks, tail)
    r.aligned = tuple([k for k in range(1, 1 + len(arrays)) if inner[k]])
    r.go = plan.with_strides(dims, index, vector, inner[1:]).go
    r.units = n // vector
    r.blocks = min(-(-r.units // _THREADS), _MOST_BLOCKS)
    packed = [[*row[:-1], row[-1] * vector] for row in rows]
    r.tail = (*sizes[:-1], sizes[-1] // vector, *[s for row in packed for s in row])


def _same_places(a: Any, strides: list[int], shape: tuple[int, ...]) -> bool:
    """Whether element i of `a` lies as many elements from its start as `strides` say."""
    item = a.itemsize
    return all(n == 1 or s == t * item for s, t, n in zip(a.strides, strides, shape))


def _gapless(a: Any) -> bool:
    """Whether the elements fill their memory in some order of the dims."""
    if a._c_contiguous:
        return True
    expected = a.itemsize
    for step, n in sorted(zip(a.strides, a.shape)):
        if n == 1:
            continue
        if step != expected:
            return False
        expected *= n
    return True


# -- ops ------------------------------------------------------------------------------------------


def _unary(name: str, generic: Callable[..., Any]) -> Callable[..., Any]:
    """A body for one array and no attributes, with the short way for contiguous memory inlined."""
    plans: dict[Any, Plan] = {}

    def body(x: Any) -> Any:
        if x._c_contiguous:
            plan = plans.get(x.dtype)
            if plan is None:
                plan = plan_for(name, (x.dtype,), (ARRAY,))
                if plan is None:
                    return generic(x)
                plans[x.dtype] = plan
            n = x.size
            p = x.data.ptr
            if not p & 15 and 0 < n < _MANY:
                out = ndarray(x.shape, plan.out)
                plan.go(-(-n // plan.per_block), _THREADS, n, out.data.ptr, p)
                return out
        out = compute(name, (x,))
        return generic(x) if out is NotImplemented else out

    return body


def _binary(name: str, generic: Callable[..., Any]) -> Callable[..., Any]:
    """A body for two operands without attributes."""
    pairs: dict[Any, Plan] = {}
    left: dict[Any, Plan] = {}

    def body(x: Any, y: Any) -> Any:
        if x.__class__ is ndarray and x._c_contiguous:
            d = x.dtype
            if y.__class__ is ndarray:
                if y._c_contiguous and y.dtype == d:
                    shape = x.shape
                    p, q, n = x.data.ptr, y.data.ptr, x.size
                    if not (p | q) & 15 and shape == y.shape and 0 < n < _MANY:
                        plan = pairs.get(d)
                        if plan is None:
                            plan = plan_for(name, (d, d), (ARRAY, ARRAY))
                            if plan is None:
                                return generic(x, y)
                            pairs[d] = plan
                        out = ndarray(shape, plan.out)
                        plan.go(-(-n // plan.per_block), _THREADS, n, out.data.ptr, p, q)
                        return out
            else:
                plan = left.get(d)
                if plan is None:
                    plan = plan_for(name, (d, d), (ARRAY, NUMBER))
                    if plan is None:
                        return generic(x, y)
                    left[d] = plan
                p, n = x.data.ptr, x.size
                if not p & 15 and 0 < n < _MANY:
                    out = ndarray(x.shape, plan.out)
                    value = number(y, plan.numbers)
                    plan.go(-(-n // plan.per_block), _THREADS, n, out.data.ptr, p, *value)
                    return out
        out = compute(name, (x, y))
        return generic(x, y) if out is NotImplemented else out

    return body


class _Quick:
    """An override that makes its body when a kernel is bound, with the generic body at hand."""

    def __init__(self, name: str, make: Callable[..., Any]) -> None:
        self.name, self.make = name, make

    def with_fallback(self, generic: Callable[..., Any]) -> Callable[..., Any]:
        return self.make(self.name, generic)


def _many(name: str) -> Callable[..., Any]:
    """A body for any number of operands and the attributes of the table."""
    attrs_of = tuple([a.partition(":")[0] for a in TABLE[name].attrs])

    def body(*operands: Any, **attrs: Any) -> Any:
        return compute(name, operands, tuple([attrs[a] for a in attrs_of]))

    return body


def _register() -> None:
    for name, e in TABLE.items():
        if ":" in name or name in _SPECIAL:
            continue
        if e.attrs or len(e.inputs) > 2 or e.main:
            body: Any = _many(name)
        else:
            body = _Quick(name, _unary if len(e.inputs) == 1 else _binary)
        kernel_for("cuda", name)(body)


def _pow(x: Any, y: Any) -> Any:
    if y.__class__ in (int, float) and x.dtype.kind in "fcV":
        if y == 2:
            return compute("square", (x,))
        if y == 3:
            return compute("mul", (compute("square", (x,)), x))
        if y == 0.5:
            return compute("sqrt", (x,))
        if y == -1:
            return compute("reciprocal", (x,))
    return compute("pow", (x, y))


def _where(condition: Any, x: Any, y: Any, *, to: Any) -> Any:
    out = None if to is None else to.name
    arrays = [a for a in (x, y) if a.__class__ is ndarray]
    if condition.dtype.kind != "b":
        return NotImplemented
    if not arrays:  # two numbers: stored as they come
        if out is None:
            return NotImplemented
        x = cupy.full((), x, to.np)
    elif len(arrays) == 2 and x.dtype != y.dtype:
        return NotImplemented
    elif x.__class__ is not ndarray:  # T is the type of y, so the branches change places
        return compute("where", (compute("logical_not", (condition,)), y, x), (), None, out)
    return compute("where", (condition, x, y), (), None, out)


def _masked_fill(x: Any, mask: Any, value: Any) -> Any:
    if value.__class__ is ndarray and value.dtype != x.dtype:
        value = value.astype(x.dtype)
    if mask.dtype.kind != "b":
        return NotImplemented
    return compute("masked_fill", (x, mask, value))


def _clamp(x: Any, low: Any, high: Any) -> Any:
    if low is None:
        return compute("clamp:high", (x, high))
    if high is None:
        return compute("clamp:low", (x, low))
    return compute("clamp", (x, low, high))


def _clamp_backward(dy: Any, x: Any, low: Any, high: Any) -> Any:
    if low is None:
        return compute("clamp_backward:high", (dy, x, high))
    if high is None:
        return compute("clamp_backward:low", (dy, x, low))
    return compute("clamp_backward", (dy, x, low, high))


def _logit(x: Any, *, eps: float | None) -> Any:
    return compute("logit", (x,)) if eps is None else compute("logit:eps", (x,), (eps,))


def _gelu(x: Any, *, approximate: str) -> Any:
    return compute(f"gelu:{approximate}", (x,))


def _gelu_grad(gy: Any, x: Any, *, approximate: str) -> Any:
    return compute(f"gelu_grad:{approximate}", (gy, x))


def _round_decimals(x: Any, *, decimals: int) -> Any:
    return compute("round_decimals", (x,), (10.0 ** abs(decimals), decimals <= 0))


def _nan_to_num(x: Any, *, nan: float, posinf: Any, neginf: Any) -> Any:
    if x.dtype.kind == "c":
        return NotImplemented
    if x.dtype.kind not in "fV":
        return compute("nan_to_num", (x,), (0, 0, 0))
    limits = finfo(from_np(x.dtype))
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    return compute("nan_to_num", (x,), (nan, high, low))


def _cast(x: Any, *, to: Any, source: Any) -> Any:
    return compute("cast", (x,), (), None, to.name)


_SPECIAL = {
    "pow": _pow, "where": _where, "masked_fill": _masked_fill, "clamp": _clamp,
    "clamp_backward": _clamp_backward, "logit": _logit, "gelu": _gelu, "gelu_grad": _gelu_grad,
    "round_decimals": _round_decimals, "nan_to_num": _nan_to_num, "cast": _cast,
}  # fmt: skip

for _name, _body in _SPECIAL.items():
    kernel_for("cuda", _name)(_body)
_register()
