"""The fused kernel: several pointwise steps in one pass over memory, described as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ...runtime.door import KERNELS, Kernel

if TYPE_CHECKING:
    from ...base.array_module import ArrayModule


class Step(NamedTuple):
    """One pointwise kernel inside a fused one.

    Operands are ("in", i) an input array, ("step", j) an earlier step's value, ("number", v).
    """

    kernel: str
    operands: tuple[tuple[str, Any], ...]
    attrs: tuple[tuple[str, Any], ...]


def values_of(xp: ArrayModule, arrays: Sequence[Any], steps: Sequence[Step]) -> list[Any]:
    """The values of all steps, one after another: what any array library can do."""
    values: list[Any] = []
    for step in steps:
        given = []
        for kind, value in step.operands:
            if kind == "number":
                given.append(value)
            else:
                given.append(arrays[value] if kind == "in" else values[value])
        values.append(KERNELS[step.kernel].generic(xp, *given, **dict(step.attrs)))
    return values


def _body(
    xp: ArrayModule, *arrays: Any, steps: tuple[Step, ...], dtype: str, code: bytes = b""
) -> Any:
    return values_of(xp, arrays, steps)[-1].astype(dtype, copy=False)


FUSED = Kernel("fused", _body)


def text_of(
    steps: Sequence[Step], find: Callable[[str, dict[str, Any]], Any], names: Sequence[str]
) -> str:
    """The steps as one CUDA expression over inputs called `names`."""
    lines = []
    for number, step in enumerate(steps):
        attrs = dict(step.attrs)
        e = find(step.kernel, attrs)
        bound = []
        for given, (kind, value) in zip(e.inputs, step.operands):
            if kind == "number":
                bound.append(f"const T {given} = {literal(value)};")
            elif kind == "in":
                bound.append(f"const auto {given} = {names[value]};")
            else:
                bound.append(f"const auto {given} = t{value};")
        for attr in e.attrs:
            name, _, kind = attr.partition(":")
            value = attrs[name]
            made = (
                f"const int {name} = {int(value)};"
                if kind
                else f"const T {name} = {literal(value)};"
            )
            bound.append(made)
        lines.append(f"const auto t{number} = [&] {{ {' '.join(bound)} return {e.text['f']}; }}();")
    return f"[&] {{ {' '.join(lines)} return t{len(steps) - 1}; }}()"


def literal(value: Any) -> str:
    """A Python number as CUDA text of type T."""
    number = float(value)
    if number != number:
        return "nan_of<T>()"
    if number in (float("inf"), float("-inf")):
        return f"T({'-' if number < 0 else ''}inf_of<T>())"
    return f"T({number!r})"
