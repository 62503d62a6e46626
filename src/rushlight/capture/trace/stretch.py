"""A stretch of a call between two host reads, as it was heard: kernels over the very arrays."""

from __future__ import annotations

from collections import Counter
from sys import getrefcount
from typing import Any, NamedTuple

from ...core.memory import root_array
from ...core.references import IN_DICT_AND_VARIABLE
from ...runtime.door import Kernel
from ..record.recorder import is_array, same, user_line


class Step(NamedTuple):
    """One call of a kernel."""

    kernel: Kernel
    arrays: tuple
    attrs: dict[str, Any]
    outs: tuple
    several: bool
    line: str


class Stretch:
    """What ran, and at its end which of the results somebody still holds."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        # A second reference to each result. Code that looks at reference counts (may this gradient
        # be taken as it is?) then decides as it will when the program's own arrays stand for them.
        self.kept: list[Any] = []
        self.alive: list[bool] = []  # one for each result, in order
        self.final = False  # whether the call ended here
        self.look = 0  # of kernels and shapes: stretches whose numbers differ need not be compared

    def note(self, kernel: Kernel, arrays: tuple, attrs: dict, outs: tuple, several: bool) -> None:
        """Write down a kernel that has run."""
        self.steps.append(Step(kernel, arrays, dict(attrs), outs, several, user_line()))
        self.kept.extend(outs)

    def close(self, final: bool) -> None:
        """See what is still held by somebody else, now that the stretch is over."""
        self.final = final
        self.look = hash((final, *[part for step in self.steps for part in _look_of(step)]))
        distinct: dict[int, Any] = {}
        ours: Counter[int] = Counter()
        for step in self.steps:
            for a in (*step.arrays, *step.outs):
                if is_array(a):
                    ours[id(a)] += 1
                    distinct[id(a)] = a
        ours.update(map(id, self.kept))
        ours.update([id(a.base) for a in distinct.values() if a.base is not None])
        a = None
        held: Counter[int] = Counter()
        for key in ours:
            a = distinct.get(key)
            if a is not None:
                held[id(root_array(a))] += getrefcount(a) - ours[key] > IN_DICT_AND_VARIABLE
        self.alive = [held[id(root_array(o))] > 0 for step in self.steps for o in step.outs]


class Pairing:
    """Two stretches side by side: why they differ, or which arrays came from where.

    `states` are arrays from outside that were the same both times, `inputs` those that were not.
    """

    def __init__(self, first: Stretch, second: Stretch) -> None:
        self.names: dict[int, Any] = {}  # array of the first, by id -> array of the second
        self.taken: set[int] = set()
        self.states: dict[int, Any] = {}
        self.inputs: dict[int, Any] = {}
        self.why = self._compare(first, second)

    def _compare(self, first: Stretch, second: Stretch) -> str | None:
        for a, b in zip(first.steps, second.steps):
            where = f"{b.kernel.name} at {b.line}"
            if a.kernel is not b.kernel:
                return f"{where} was {a.kernel.name} at {a.line} before"
            if not same(a.attrs, b.attrs) or len(a.arrays) != len(b.arrays):
                return f"options of {where} differ from call to call"
            for x, y in zip(a.arrays, b.arrays):
                if not self._same_operand(x, y):
                    return f"an operand of {where} differs from call to call"
            for x, y in zip(a.outs, b.outs, strict=True):
                if (x is y and id(x) not in self.names) or not self._same_result(x, y):
                    return f"a result of {where} differs from call to call"
        if (len(first.steps), first.final) != (len(second.steps), second.final):
            return f"{len(second.steps)} kernels ran where {len(first.steps)} did before"
        return None

    def _same_operand(self, x: Any, y: Any) -> bool:
        if not is_array(x) or not is_array(y):
            return same(x, y)
        known = self.names.get(id(x))
        if known is not None:
            return known is y
        if not self._same_result(x, y):
            return False
        (self.states if x is y else self.inputs)[id(y)] = y
        return True

    def _same_result(self, x: Any, y: Any) -> bool:
        known = self.names.get(id(x))
        if known is not None:
            return known is y
        if id(y) in self.taken or not alike(x, y):
            return False
        self.names[id(x)] = y
        self.taken.add(id(y))
        return True


def _look_of(step: Step) -> list[Any]:
    """The kernel, and shapes of its arrays."""
    return [step.kernel, *[a.shape if is_array(a) else a.__class__ for a in step.arrays]]


def alike(x: Any, y: Any) -> bool:
    """Whether two arrays have one layout."""
    return (
        x.__class__ is y.__class__
        and x.shape == y.shape
        and x.dtype == y.dtype
        and x.strides == y.strides
    )
