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
from .geometry import collapse, dense_like

ndarray = cupy.ndarray
_THREADS = 256
_MANY = 2**31 - 2**12  # beyond, indices need 64 bits
_SHORT = 2**31 - 1


class Plan:
    """An expression for operands of given dtypes and ways; its kernels are made when needed."""

    __slots__ = (
        "dtypes",
        "flats",
        "name",
        "numbers",
        "out",
        "out_name",
        "per_block",
        "quick",
        "strided",
        "vector",
        "ways",
    )  # fmt: skip

    def __init__(self, name: str, dtypes: tuple[str, ...], ways: tuple[str, ...], out: str) -> None:
        self.name, self.dtypes, self.ways, self.out_name = name, dtypes, ways, out
        self.out = by_name(out).np
        self.vector = codegen.width(dtypes, ways, out)
        self.per_block = _THREADS * self.vector
        self.flats: dict[tuple[int, str], Launch] = {}
        self.strided: dict[tuple[int, str], Launch] = {}
        self.numbers = codegen.number_type(dtypes[TABLE[name].main])[1]
        self.quick: Launch = self.flat(self.vector, "unsigned")

    def flat(self, vector: int, index: str) -> Launch:
        found = self.flats.get((vector, index))
        if found is None:
            text = codegen.flat_source(
                self.name, self.dtypes, self.ways, self.out_name, vector, index
            )
            formats = ("I" if index == "unsigned" else "q", *self._formats())
            found = self.flats[vector, index] = kernel(text, "k", formats)
        return found

    def with_strides(self, dims: int, index: str) -> Launch:
        found = self.strided.get((dims, index))
        if found is None:
            text = codegen.strided_source(
                self.name, self.dtypes, self.ways, self.out_name, dims, index
            )
            rows = 2 + sum([way != NUMBER for way in self.ways])
            short = index == "unsigned"
            geometry = f"{rows * dims}{'i' if short else 'q'}"
            formats = ("I" if short else "q", *self._formats(), geometry)
            found = self.strided[dims, index] = kernel(text, "k", formats)
        return found

    def _formats(self) -> list[str]:
        return codegen.formats(self.name, self.dtypes, self.ways)

    def launch_flat(self, n: int, pointers: tuple, numbers: tuple) -> None:
        """Operands that lie in memory alike."""
        joined = 0
        for p, way in zip(pointers, (ARRAY, *[w for w in self.ways if w != NUMBER])):
            if way == ARRAY:
                joined |= p
        if not joined & 15 and n < _MANY:
            self.quick(-(-n // self.per_block), _THREADS, n, *pointers, *numbers)
            return
        vector = 1 if joined & 15 else self.vector
        launch = self.flat(vector, "unsigned" if n < _MANY else "i64")
        blocks = min(-(-n // (_THREADS * vector)), _SHORT)
        launch(blocks, _THREADS, n, *pointers, *numbers)


_plans: dict[tuple, Plan | None] = {}


def plan_for(name: str, dtypes: tuple, ways: tuple[str, ...], out: str | None = None) -> Plan | None:
    """The plan for NumPy dtypes, or None where the table has no text for them."""
    key = (name, dtypes, ways, out)
    try:
        return _plans[key]
    except KeyError:
        pass
    names = tuple(["float64" if d is None else from_np(d).name for d in dtypes])
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


def compute(
    name: str, operands: tuple, attrs: tuple = (), out: Any = None, to: str | None = None
) -> Any:
    """An expression over arrays and Python numbers, into `out` where given; NotImplemented if unknown.

    Arrays broadcast against each other; `to` names another dtype to store than the table's.
    """
    e = TABLE[name]
    arrays = [a for a in operands if a.__class__ is ndarray]
    shape = arrays[0].shape
    for a in arrays[1:]:
        if a.shape != shape:
            shape = np.broadcast_shapes(*[b.shape for b in arrays])
            break
    if out is not None:
        shape = out.shape
        if to is None:
            to = from_np(out.dtype).name
    size = 1
    for s in shape:
        size *= s
    main = operands[e.main]
    if main.__class__ is not ndarray:
        main = next((a for a in arrays if a.dtype.kind != "b"), arrays[0])
    ways, dtypes = [], []
    for a in operands:
        if a.__class__ is not ndarray:
            ways.append(NUMBER)
            dtypes.append(main.dtype)
        else:
            ways.append(ONE if a.size == 1 and size != 1 else ARRAY)
            dtypes.append(a.dtype)
    plan = plan_for(name, tuple(dtypes), tuple(ways), to)
    if plan is None:
        return NotImplemented
    return _run(plan, operands, attrs, shape, size, out)


def _run(plan: Plan, operands: tuple, attrs: tuple, shape: tuple, size: int, out: Any) -> Any:
    full = [a for a, way in zip(operands, plan.ways) if way == ARRAY]
    if out is None:
        out = dense_like(full, shape, plan.out)
    if not size:
        return out
    numbers: list[Any] = []
    for a, way in zip(operands, plan.ways):
        if way == NUMBER:
            numbers.extend(number(a, plan.numbers))
    for name, value in zip(TABLE[plan.name].attrs, attrs):
        if name.endswith(":int"):
            numbers.append(int(value))
        else:
            numbers.extend(number(value, plan.numbers))
    given = [a for a, way in zip(operands, plan.ways) if way != NUMBER]
    pointers = (out.data.ptr, *[a.data.ptr for a in given])
    strides = out.strides
    alike = [a.shape == shape and _same_places(a, out, strides) for a in full]
    if all(alike) and (out._c_contiguous or _gapless(out)):
        plan.launch_flat(size, pointers, tuple(numbers))
        return out
    sizes, steps, short = collapse(shape, out, given)
    launch = plan.with_strides(len(sizes), "unsigned" if short and size < _MANY else "i64")
    blocks = min(-(-size // _THREADS), 2**20)
    launch(blocks, _THREADS, size, *pointers, *numbers, *sizes, *steps)
    return out


def _same_places(a: Any, out: Any, strides: tuple) -> bool:
    """Whether element i of `a` and of `out` lie equally far from their starts."""
    if a._c_contiguous and out._c_contiguous:
        return True
    if a.itemsize == out.itemsize:
        return a.strides == strides
    return tuple([s // a.itemsize for s in a.strides]) == tuple(
        [s // out.itemsize for s in strides]
    )


def _gapless(a: Any) -> bool:
    """Whether the elements fill their memory in some order of the dims."""
    expected = a.itemsize
    for step, n in sorted(zip(a.strides, a.shape)):
        if n == 1:
            continue
        if step != expected:
            return False
        expected *= n
    return True


# -- ops ------------------------------------------------------------------------------------------


def _unary(name: str) -> Callable[..., Any]:
    """A body for one array and no attributes, with the short way for contiguous memory inlined."""
    plans: dict[Any, Plan] = {}

    def body(x: Any) -> Any:
        plan = plans.get(x.dtype)
        if plan is None:
            plan = plan_for(name, (x.dtype,), (ARRAY,))
            if plan is None:
                return NotImplemented
            plans[x.dtype] = plan
        n = x.size
        if x._c_contiguous and 0 < n < _MANY:
            p = x.data.ptr
            if not p & 15:
                out = ndarray(x.shape, plan.out)
                plan.quick(-(-n // plan.per_block), _THREADS, n, out.data.ptr, p)
                return out
        return _run(plan, (x,), (), x.shape, n, None)

    return body


def _binary(name: str) -> Callable[..., Any]:
    """A body for two operands without attributes."""
    pairs: dict[Any, Plan] = {}
    left: dict[Any, Plan] = {}

    def body(x: Any, y: Any) -> Any:
        if x.__class__ is ndarray and x._c_contiguous:
            d = x.dtype
            n = x.size
            if y.__class__ is ndarray:
                if y._c_contiguous and y.dtype == d and 0 < n < _MANY and n == y.size:
                    shape = x.shape
                    p, q = x.data.ptr, y.data.ptr
                    if not (p | q) & 15 and shape == y.shape:
                        plan = pairs.get(d)
                        if plan is None:
                            plan = plan_for(name, (d, d), (ARRAY, ARRAY))
                            if plan is None:
                                return NotImplemented
                            pairs[d] = plan
                        out = ndarray(shape, plan.out)
                        plan.quick(-(-n // plan.per_block), _THREADS, n, out.data.ptr, p, q)
                        return out
            elif 0 < n < _MANY:
                plan = left.get(d)
                if plan is None:
                    plan = plan_for(name, (d, d), (ARRAY, NUMBER))
                    if plan is None:
                        return NotImplemented
                    left[d] = plan
                p = x.data.ptr
                if not p & 15:
                    out = ndarray(x.shape, plan.out)
                    value = number(y, plan.numbers)
                    plan.quick(-(-n // plan.per_block), _THREADS, n, out.data.ptr, p, *value)
                    return out
        return compute(name, (x, y))

    return body


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
            body = _many(name)
        else:
            body = _unary(name) if len(e.inputs) == 1 else _binary(name)
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
