"""Which variant of an expression's kernel computes a call, and its launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import cupy
import numpy as np

from ....base.arrays import DeviceArray
from ....base.bounded import Bounded
from ....base.dtypes import by_name, from_np
from . import generate as codegen
from .compile import Launch, kernel
from .expressions import Expression, named
from .generate import ARRAY, NUMBER, ONE
from .geometry import allocate, collapse, layout_like
from .launch import Result, is_gapless

ndarray = cupy.ndarray
THREADS = 256
MANY = 2**31 - 2**12  # beyond, indices need 64 bits; keyed.c has the same
_MOST_BLOCKS = 2**22


class VariantPlan:
    """An expression for operands of given dtypes and ways; its kernels are made when needed."""

    __slots__ = ("dtypes", "flats", "name", "numbers", "out", "out_name", "per_block", "strided", "vector", "ways")

    def __init__(self, name: str | Expression, dtypes: tuple[str, ...], ways: tuple[str, ...], out: str) -> None:
        self.name, self.dtypes, self.ways, self.out_name = name, dtypes, ways, out
        self.out = by_name(out).np
        self.vector = codegen.width(dtypes, ways, out)
        self.per_block = THREADS * self.vector
        self.flats: dict[tuple[int, str], Launch] = {}
        self.strided: dict[tuple, Launch] = {}
        self.numbers = codegen.number_type(dtypes[named(name).main])[1]

    def flat(self, vector: int, index: str) -> Launch:
        found = self.flats.get((vector, index))
        if found is None:
            text = codegen.flat_source(self.name, self.dtypes, self.ways, self.out_name, vector, index)
            found = self.flats[vector, index] = kernel(text, "k")
        return found

    def with_strides(self, dims: int, index: str, vector: int, inner: tuple[int, ...]) -> Launch:
        key = (dims, index, vector, inner)
        found = self.strided.get(key)
        if found is None:
            text = codegen.strided_source(self.name, self.dtypes, self.ways, self.out_name, dims, index, vector, inner)
            found = self.strided[key] = kernel(text, "k")
        return found


_plans: dict[tuple, VariantPlan | None] = Bounded(4096)


def plan_for(
    name: str | Expression, dtypes: tuple, ways: tuple[str, ...], out: str | None = None
) -> VariantPlan | None:
    """The plan for NumPy dtypes, or None where the table has no text for them."""
    key = (name, dtypes, ways, out)
    try:
        return _plans[key]
    except KeyError:
        pass
    names = tuple([from_np(d).name for d in dtypes])
    e = named(name)
    main = names[e.main]
    stored = out or codegen.stored(name, main)
    known = codegen.TYPES[main][1] in e.text and stored is not None
    found = VariantPlan(name, names, ways, stored) if known and stored else None
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

    __slots__ = ("aligned", "arrays", "blocks", "call", "each", "form", "ints", "launch", "n", "numbers", "order",
                 "out", "packs", "plan", "shape", "slow", "strides", "tail", "units")  # fmt: skip

    plan: VariantPlan
    shape: tuple[int, ...]
    out: np.dtype
    order: tuple[int, ...] | None
    strides: tuple[int, ...] | None  # of the result where it is not row-major
    n: int  # elements
    units: int  # what the kernel counts: elements, or vectors of them
    blocks: int
    each: int  # elements of a block where that is all that sizes tell, else 0
    launch: Launch
    packs: bool  # whether a launch can be packed with all but the arrays and numbers
    call: Any  # that launch, packed for the second call
    slow: Callable[[], tuple] | None  # (launch, units, blocks, tail) for memory that is not aligned
    tail: tuple
    arrays: tuple[int, ...]
    aligned: tuple[int, ...]  # which of the arrays are read by vectors
    numbers: tuple[int, ...]
    ints: tuple[bool, ...]  # which attributes are ints
    form: str


_ready: dict[tuple, _Ready | None] = Bounded(16384)


def compute(
    name: str | Expression, operands: tuple, attrs: tuple = (), out: DeviceArray | None = None, to: str | None = None
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
        ready = _ready[key] = _prepare(name, operands, out, to)
        call = None
    else:
        if ready is None:
            return NotImplemented
        call = ready.call
        if call is None and ready.packs:
            call = ready.call = _packed(ready, out is not None)
    if ready is None:
        return NotImplemented
    if call is not None:
        got = call(*operands, *attrs) if out is None else call(out, *operands, *attrs)
        if got is not NotImplemented:
            return got if out is None else out
    if out is None:
        order = ready.order
        out = ndarray(ready.shape, ready.out) if order is None else allocate(ready.shape, ready.out, order)
    if ready.n:
        _launch(ready, operands, attrs, out)
    return out


def prepared(name: str | Expression, operands: tuple, to: str | None = None) -> Any:
    """The launch that `compute` makes for such operands: it takes them and the attributes; None where there is none."""
    ready = _prepare(name, operands, None, to)
    return None if ready is None or not ready.packs else _packed(ready, False)


def prepared_with(name: str | Expression, operands: tuple, attrs: Mapping[str, Any]) -> Any:
    """As `prepared`, for a launch that is given all operands and attributes of a call, also those that are None or text."""
    left = [i for i, a in enumerate(operands) if a is not None]
    ready = _prepare(name, tuple([operands[i] for i in left]), None, None)
    if ready is None or not ready.packs:
        return None
    return _wherever(ready, False, operands, _taken(name, operands, left, attrs))


def _taken(name: str | Expression, operands: tuple, left: list[int], attrs: Mapping[str, Any]) -> tuple[int, ...]:
    """Which parameter each operand and attribute of a call is, -1 for none."""
    order = {attr: k for k, attr in enumerate(named(name).attr_names)}
    at = [left.index(i) if i in left else -1 for i in range(len(operands))]
    return (*at, *[len(left) + order[attr] if attr in order else -1 for attr in attrs])


def _wherever(ready: _Ready, given: bool, operands: tuple, at: tuple[int, ...]) -> Any:
    if any(a.__class__ is ndarray and a.data.ptr & 15 for a in operands):
        _begin_anywhere(ready)
    return _packed(ready, given, at)


def prepared_as(name: str | Expression, operands: tuple, model: DeviceArray) -> Any:
    """The launch that makes a result of the shape, dtype and order of memory of `model`; None as in `prepared`."""
    ready = _prepare(name, operands, model, None)
    return None if ready is None or not ready.packs else _packed(ready, False)


def prepared_into(name: str | Expression, operands: tuple, out: DeviceArray) -> Any:
    """The launch of (address or array like `out`, *operands) that writes there; None as in `prepared`."""
    ready = _prepare(name, operands, out, None)
    return None if ready is None or not ready.packs else _packed(ready, True)


def prepared_over(name: str | Expression, operands: tuple, attrs: Mapping[str, Any]) -> Any:
    """As `prepared_with`, where the first operand is written; None also where its shape or dtype is not the result's."""
    x, left = operands[0], [i for i, a in enumerate(operands) if a is not None]
    there = tuple([operands[i] for i in left])
    alone = _prepare(name, there, None, None)
    if alone is None or alone.shape != x.shape or alone.out != x.dtype:
        return None
    ready = _prepare(name, there, x, None)
    if ready is None or not ready.packs:
        return None
    return _wherever(ready, True, operands, _taken(name, operands, left, attrs))


def _launch(ready: _Ready, operands: tuple, attrs: tuple, out: DeviceArray) -> None:
    start = out.data.ptr
    values = [start]
    for i in ready.arrays:
        values.append(operands[i].data.ptr)
    launch, units, blocks, tail = ready.launch, ready.units, ready.blocks, ready.tail
    if ready.slow is not None:
        joined = start
        for k in ready.aligned:
            joined |= values[k]
        if joined & 15:
            launch, units, blocks, tail = ready.slow()
    form = ready.form
    for i in ready.numbers:
        values += number(operands[i], form)
    if attrs:
        for is_int, value in zip(ready.ints, attrs):
            values += (int(value),) if is_int else number(value, form)
    launch.go(blocks, THREADS, units, *values, *tail)


def _prepare(name: str | Expression, operands: tuple, out: DeviceArray | None, to: str | None) -> _Ready | None:
    e = named(name)
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
    r.call, r.packs = None, bool(n) and (len(r.form) == 1 or not (r.numbers or r.ints))
    if n:
        model = allocate(shape, plan.out, r.order) if out is None else out
        r.strides = None if model._c_contiguous else model.strides
        _choose(r, model, whole, [operands[i] for i in r.arrays])
    return r


def _packed(r: _Ready, given: bool, at: tuple[int, ...] | None = None) -> Any:
    """The launch that takes operands and attributes, and makes its result unless that is given, too.

    `at` says which of them each value is that it will be called with, -1 for none.
    """
    results = () if given else (Result(0, r.shape, r.out, r.strides),)
    aligned: tuple[int, ...] = ()
    if r.slow is not None:  # a result of its own is aligned; one that is given may be a window of something
        aligned = (0, *r.aligned) if given else r.aligned
    operands = len(r.arrays) + len(r.numbers)
    places = [0] * operands  # of operands among the parameters: arrays stand before numbers
    for k, i in enumerate((*r.arrays, *r.numbers)):
        places[i] = k + 1
    kinds = ["P" if i in r.arrays else r.form for i in range(operands)]
    kinds += ["i" if is_int else r.form for is_int in r.ints]
    places += range(operands + 1, operands + 1 + len(r.ints))
    every = list(zip(places, kinds))
    taken = every if at is None else [every[i] if i >= 0 else (0, "x") for i in at]
    return r.launch.prepared(
        r.blocks, THREADS, results, *r.tail, head=1 + len(every), front=(r.units,), aligned=aligned,
        given=((0, "P"), *taken) if given else tuple(taken), each=0 if given or r.strides else r.each,
    )  # fmt: skip


def _choose(r: _Ready, out: DeviceArray, whole: list[Any], arrays: list[Any]) -> None:
    """The kernel that walks these layouts, and its geometry."""
    plan, n = r.plan, r.n
    strides = [s // out.itemsize for s in out.strides]
    alike = all(a.shape == r.shape and _same_places(a, strides, r.shape) for a in whole)
    ways = [plan.ways[i] for i in r.arrays]
    if alike and is_gapless(out):
        index = "unsigned" if n < MANY else "i64"
        r.aligned = tuple([k + 1 for k, way in enumerate(ways) if way == ARRAY])
        r.launch, r.units, r.tail = plan.flat(plan.vector, index), n, ()
        r.blocks = min(-(-n // plan.per_block), _MOST_BLOCKS)
        r.each = plan.per_block if n < MANY else 0
        last = min(-(-n // THREADS), _MOST_BLOCKS)
        r.slow = lambda: (plan.flat(1, index), n, last, ())
        return
    sizes, steps, short = collapse(r.shape, out, arrays)
    dims = len(sizes)
    index = "unsigned" if short and n < MANY else "i64"
    blocks, tail = min(-(-n // THREADS), _MOST_BLOCKS), (*sizes, *steps)
    r.slow, r.aligned, r.each = None, (), 0
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
        r.launch = plan.with_strides(dims, index, 1, ())
        r.units, r.blocks, r.tail = n, blocks, tail
        return
    r.slow = lambda: (plan.with_strides(dims, index, 1, ()), n, blocks, tail)
    r.aligned = tuple([k for k in range(1, 1 + len(arrays)) if inner[k]])
    r.launch = plan.with_strides(dims, index, vector, inner[1:])
    r.units = n // vector
    r.blocks = min(-(-r.units // THREADS), _MOST_BLOCKS)
    packed = [[*row[:-1], row[-1] * vector] for row in rows]
    r.tail = (*sizes[:-1], sizes[-1] // vector, *[s for row in packed for s in row])


def _begin_anywhere(r: _Ready) -> None:
    """Take the launch for arrays that are not aligned."""
    if r.slow is not None:
        r.launch, r.units, r.blocks, r.tail = r.slow()
        r.slow, r.aligned, r.each = None, (), THREADS if r.each else 0


def _same_places(a: DeviceArray, strides: list[int], shape: tuple[int, ...]) -> bool:
    """Whether element i of `a` lies as many elements from its start as `strides` say."""
    item = a.itemsize
    return all(n == 1 or s == t * item for s, t, n in zip(a.strides, strides, shape))
