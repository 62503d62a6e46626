"""What kernels compute, as CUDA text that they are generated from; of pointwise ops printed from their records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ....base.bounded import Bounded
from ...door import KERNELS
from ...point import Point, cuda


class Expression:
    """One computation: the names of its inputs and attributes, and its text per kind of compute type.

    In the text `T` is the compute type, `R` its real type; inputs and attributes stand under their
    names, attributes and Python numbers already as `T` (as int where the name ends in `:int`).
    `out` says what is stored: "same" the main input's dtype, "bool", "real", "complex".
    """

    __slots__ = ("attr_names", "attrs", "inputs", "main", "out", "text")

    def __init__(self, inputs: str, attrs: str = "", out: str = "same", main: int = 0, **text: str) -> None:
        self.inputs = tuple(inputs.split())
        self.attrs = tuple(attrs.split())
        self.attr_names = tuple([a.partition(":")[0] for a in self.attrs])
        self.out = out
        self.main = main  # the input whose dtype is T's
        self.text = text


_printed: dict[tuple[Any, ...], Expression] = Bounded(4096)


def printed(point: Point, operands: Sequence[Any] = (), attrs: Mapping[str, Any] | None = None) -> Expression:
    """A record in CUDA, for a call with these operands and attributes."""
    given = attrs or {}
    missing, choice = point.missing(operands, given), point.choice(given)
    found = _printed.get((point, missing, choice))
    if found is None:
        inputs = [name for name in point.inputs if name not in missing]
        left = [] if choice else [name for name in point.attrs if name not in missing]
        names = [name.partition(":")[0] for name in (*inputs, *left)]
        texts = {
            kind: cuda(text if isinstance(text, str) else text[choice], names, missing)
            for kind, text in point.texts.items()
        }
        found = Expression(" ".join(inputs), " ".join(left), point.out, point.main, **texts)
        _printed[point, missing, choice] = found
    return found


def named(what: str | Expression) -> Expression:
    """The expression of the kernel of that name; expressions stand for themselves."""
    return what if what.__class__ is Expression else printed(KERNELS[what].facts.point)  # type: ignore[return-value,index]


def expression_of(name: str, attrs: Mapping[str, Any]) -> Expression | None:
    """The expression for a kernel called with these attributes, or None where it is no pointwise op."""
    kernel = KERNELS.get(name)
    point = None if kernel is None else kernel.facts.point
    return None if point is None or not point.texts else printed(point, (), attrs)
