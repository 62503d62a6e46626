"""The fused kernel: several pointwise steps in one pass over memory, described as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...runtime.door import KERNELS, Kernel


class Step(NamedTuple):
    """One pointwise kernel inside a fused one.

    Operands are ("in", i) an input array, ("step", j) an earlier step's value, ("number", v).
    """

    kernel: str
    operands: tuple[tuple[str, Any], ...]
    attrs: tuple[tuple[str, Any], ...]


def values_of(xp: ArrayModule, arrays: Sequence[Any], steps: Sequence[Step], dtypes: Sequence[str] = ()) -> list[Any]:
    """The values of all steps, one after another: what any array library can do.

    With `dtypes` each is rounded to what it would be stored in, where it is computed in a wider one.
    """
    values: list[Any] = []
    for number, step in enumerate(steps):
        given = []
        for kind, value in step.operands:
            if kind == "number":
                given.append(value)
            else:
                given.append(arrays[value] if kind == "in" else values[value])
        value = KERNELS[step.kernel].generic(xp, *given, **dict(step.attrs))
        values.append(rounded_to(xp, value, dtypes[number]) if dtypes else value)
    return values


def rounded_to(xp: ArrayModule, value: Array, dtype: str) -> Any:
    """float32 numbers rounded to a half dtype, and still float32; all others as they are."""
    if dtype not in ("float16", "bfloat16") or value.dtype != np.float32:
        return value
    if dtype == "float16":
        return value.astype(np.float16).astype(np.float32)
    bits = xp.ascontiguousarray(value).view(np.uint32)
    bits = (bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) & np.uint32(0xFFFF0000)
    return xp.where(xp.isfinite(value), bits.view(np.float32), value)


def _body(
    xp: ArrayModule, *arrays: Array, steps: tuple[Step, ...], dtype: str, code: bytes = b"", kept: tuple[str, ...] = ()
) -> Any:
    return values_of(xp, arrays, steps)[-1].astype(dtype, copy=False)


FUSED = Kernel("fused", _body)


def text_of(
    steps: Sequence[Step], find: Callable[[str, dict[str, Any]], Any], names: Sequence[str], kept: Sequence[str] = ()
) -> str:
    """The steps as one CUDA expression over inputs called `names`.

    With `kept`, the C types that single kernels would store, each step is rounded as it is there, and no compiler
    computes across two steps or with what it knows of a number. The expression has an attribute then, `one`.
    """
    lines = []

    def number(value: Any) -> str:
        return f"hidden({literal(value)}, one)" if kept else literal(value)

    for at, step in enumerate(steps):
        attrs = dict(step.attrs)
        e = find(step.kernel, attrs)
        bound = []
        for given, (kind, value) in zip(e.inputs, step.operands):
            if kind == "number":
                bound.append(f"const T {given} = {number(value)};")
            elif kind == "in":
                bound.append(f"const auto {given} = {names[value]};")
            else:
                bound.append(f"const auto {given} = t{value};")
        for attr in e.attrs:
            name, _, kind = attr.partition(":")
            value = attrs[name]
            made = f"const int {name} = {int(value)};" if kind else f"const T {name} = {number(value)};"
            bound.append(made)
        if kept and "NARROW" in e.text["f"]:
            bound.append(f"constexpr bool NARROW = sizeof({kept[at]}) == 2;")
        value = f"[&] {{ {' '.join(bound)} return {e.text['f']}; }}()"
        stored = f"stored_as(To<{kept[at]}>(), {value}, one)" if kept else value
        lines.append(f"const auto t{at} = {stored};")
    return f"[&] {{ {' '.join(lines)} return t{len(steps) - 1}; }}()"


def literal(value: int | float | np.generic) -> str:
    """A Python number as CUDA text of type T."""
    number = float(value)
    if number != number:
        return "nan_of<T>()"
    if number in (float("inf"), float("-inf")):
        return f"T({'-' if number < 0 else ''}inf_of<T>())"
    return f"T({number!r})"
