"""Sizes that are free: how a number that changed between two calls follows from the sizes of the inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from .errors import OnnxExporterError


class Expr(NamedTuple):
    """`factor` times the product of some free sizes, plus `plus`; `value` is what it was in the first call."""

    symbols: tuple[str, ...]
    factor: int
    divide: int
    plus: int
    value: int

    def __str__(self) -> str:
        text = "*".join(self.symbols)
        text = f"{self.factor}*{text}" if self.factor != 1 else text
        text = f"{text}//{self.divide}" if self.divide != 1 else text
        return f"{text}{self.plus:+d}" if self.plus else text


class Symbols:
    """The free sizes by name, and the calls in which each was another: call 0 has all as given."""

    def __init__(self, sizes: dict[str, tuple[int, int]]) -> None:
        self.sizes = sizes  # name -> (in call 0, in the call where it differs)
        self.names = list(sizes)

    def solve(self, values: Sequence[int]) -> int | Expr:
        """The number that was `values[i]` in call i, as a formula."""
        first = values[0]
        moved = [name for name, v in zip(self.names, values[1:]) if v != first]
        if not moved:
            return first
        if len(moved) == 1:
            (name,) = moved
            before, after = self.sizes[name]
            there = values[1 + self.names.index(name)]
            rise, run = there - first, after - before
            if rise % run == 0:
                factor = rise // run
                return Expr((name,), factor, 1, first - factor * before, first)
        product = 1
        for name in moved:
            before, after = self.sizes[name]
            there = values[1 + self.names.index(name)]
            if there * before != first * after:
                raise OnnxExporterError(
                    f"a size of {first} became {there} when {name} went from {before} to {after}, which "
                    f"is neither a multiple of it nor a sum with it: leave {name} fixed"
                )
            product *= before
        if first % product == 0:
            return Expr(tuple(moved), first // product, 1, 0, first)
        return Expr(tuple(moved), first, product, 0, first)


def merge(values: Sequence[Any], symbols: Symbols, what: str) -> Any:
    """One value for what was the same in all calls, formulas for whole numbers that were not."""
    first = values[0]
    if all(v is first for v in values[1:]):
        return first
    if isinstance(first, bool) or not isinstance(first, (int, tuple, list)):
        if all(_same(v, first) for v in values[1:]):
            return first
        raise OnnxExporterError(f"{what} was {first!r} and then {values[1]!r} with other sizes of the inputs")
    if isinstance(first, int):
        return symbols.solve(values)
    if any(type(v) is not type(first) or len(v) != len(first) for v in values):
        raise OnnxExporterError(f"{what} had {len(first)} entries and then another number of them")
    inner = [merge(column, symbols, what) for column in zip(*values)]
    return type(first)(*inner) if hasattr(first, "_fields") else type(first)(inner)


def _same(a: Any, b: Any) -> bool:
    try:
        return bool(a == b) or (a != a and b != b)
    except (TypeError, ValueError):
        return False


def fixed(value: Any, what: str) -> Any:
    """`value`, unless a part of it is free where ONNX wants a number."""
    if isinstance(value, Expr):
        raise OnnxExporterError(f"{what} depends on the free size {value}, where ONNX wants a fixed number")
    if isinstance(value, (tuple, list)):
        for part in value:
            fixed(part, what)
    return value
