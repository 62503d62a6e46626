"""Facts: what is known about a kernel apart from how it computes. They stand beside its body; whoever needs one asks the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

REDUCTIONS = ("none", "mean", "sum")  # what `reduction=` of a loss may be, in the order in which it is numbered


class Rows(NamedTuple):
    """One operand holds positions along a dim of another one: the rows of a table, classes.

    `of` is that operand, or the attribute that has its shape; `dim` may be an attribute's name, too. `ignored` is the
    attribute with a number that may stand in the place of a position.
    """

    at: int = 1
    of: int | str = 0
    dim: int | str = 0
    ignored: str = ""

    def places(self, operands: Sequence[Any], attrs: dict[str, Any]) -> list[tuple[int, int]]:
        """Operands that hold positions, and how many positions there are."""
        shape = _shape(self.of, operands, attrs)
        dim = attrs[self.dim] if isinstance(self.dim, str) else self.dim
        if not isinstance(self.dim, str) and len(shape) <= self.dim:
            return [(self.at, 0)]
        return [(self.at, shape[dim] if shape else 1)]


class Slots(NamedTuple):
    """The operands from `at` on hold positions along those dims of `of` that the attribute `slots` marks."""

    at: int = 1
    of: int | str = 0

    def places(self, operands: Sequence[Any], attrs: dict[str, Any]) -> list[tuple[int, int]]:
        """Operands that hold positions, and how many positions there are."""
        shape = _shape(self.of, operands, attrs)
        dims = [d for d, taken in enumerate(attrs["slots"]) if taken]
        return [(i, shape[d]) for i, d in enumerate(dims, self.at)]


def _shape(of: int | str, operands: Sequence[Any], attrs: dict[str, Any]) -> Sequence[int]:
    return attrs[of] if isinstance(of, str) else operands[of].shape


class Values(NamedTuple):
    """Operands whose values decide whether a kernel raises, and a function that tells that it will not."""

    operands: tuple[int, ...]
    harmless: Callable[[Sequence[Any], dict[str, Any]], bool]


class Facts(NamedTuple):
    """What is known about one kernel. A fact that nobody stated is the careful one, or the usual one.

    Facts are asked for when a kernel is met, bound or exported, and never in a plain call of an op.
    """

    # How each element is computed from those at its place; None where that is not all that the kernel does.
    point: Any = None
    # Of a loss and its slope: how that of one pair of numbers is computed, before the reduction.
    each: Any = None
    # Whether it raises on the CPU because of values: never, by some, by some whole numbers ("integers"), or by what
    # certain operands hold. One that takes positions refuses those that are none. "checked": it would, but whoever calls
    # it has looked at the values before, as the forward pass has for the kernels of the backward pass.
    refuses: bool | str | Values = False
    positions: Rows | Slots | None = None
    # (attributes, shapes of the operands) -> the least and the largest whole number that it can answer, or None where
    # nobody knows; "kept": those of the first operand.
    range: Callable[[dict[str, Any], Sequence[Any]], tuple[int, int] | None] | str | None = None
    # Whether the shape of its result depends on values; a function of the operands where only some do that.
    shape_by_values: bool | Callable[[Sequence[Any]], bool] = False
    # How vmap computes all samples at once: a way of `runtime/batch`, by its name; None: as `point` says, or one by one.
    vmap: str | None = None
    # In which order the result of the NumPy body lies in memory (`runtime/cpu/layouts.py`); None: as NumPy's.
    layout: str | None = None
    # What autocast does with the inputs: "low", "float32", "widest" or "refused"; a dict where devices differ.
    autocast: str | dict[str, str] | None = None
    # PyTorch's inner operator, and maybe the way in which its call is written (`_aten/calls.py`); "": it has none, though
    # it has one of that name; None: the one of that name, or none.
    aten: str | None = None
    # What it is, for whoever treats relatives alike: "product", "convolution", "attention", "pool", "norm"; "reduction" and
    # "row" (of which each number needs all of its row) with the way in which a row group folds a row.
    family: str = ""
    # How many of the first inputs and outputs are images that may lie in another order of memory.
    images: tuple[int, int] = (0, 0)
    # Devices on which it is better one kernel, though it could be computed in parts and the device has no body of its own;
    # and whether a recorder is shown the one kernel there, too, or the parts, which passes join with their neighbours.
    one_kernel: dict[str, bool] | None = None
    # What it does with sparse tensors: a way of `operators/matrix/sparse_kernels.py`, by its name; None: it refuses them.
    sparse: str | None = None
    # How it is written as ONNX: a way of the exporter, by its name, and maybe the node; None: it cannot be.
    onnx: str | None = None

    def is_of(self, *families: str) -> bool:
        """Whether the kernel is of one of these families."""
        return self.family.partition(" ")[0] in families

    @property
    def fold(self) -> str:
        """How a row group folds a row, where the kernel is a reduction or of whole rows."""
        return self.family.partition(" ")[2]


NOTHING = Facts()
