"""Which arguments are one object, and which are objects of the function's own.

Numbers and containers among the arguments are compared by value. Code that asks with `is`, or that changes a list for
a while, sees more than that: one list given twice, or a list that the function keeps, is not two equal ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import CodeType
from typing import Any

import numpy as np

from . import tree
from .kinds import PLAIN, own_dict


class Identity:
    """The objects among the arguments of a recorded call, and which of them are the same in later calls."""

    def __init__(self, watch: Any, given: tuple, objects: Sequence[Any]) -> None:
        self.every = watch.by_identity  # otherwise only what can be changed matters
        self.recorded = self._objects(given, objects)
        self.order = order_of(self.recorded)
        self.own = watch.own_objects() if self.recorded else frozenset()

    def _objects(self, given: tuple, objects: Sequence[Any]) -> list[Any]:
        args, kwargs = given  # the tuple and the dict themselves are made anew for each call
        found: list[Any] = []
        for part in (args, kwargs.values(), *[own_dict(o).values() for o in objects]):
            tree.by_value(part, found)
        if self.every:
            return [*found, *objects]
        # A list that holds a NaN has that one and no other, as far as `in` and `==` are concerned.
        return [*[v for v in found if issubclass(type(v), (list, dict)) or _is_nan(v)], *objects]

    def same(self, given: tuple, objects: Sequence[Any]) -> bool:
        """Whether the same of these are one object, and those of the function's own are so again."""
        now = self._objects(given, objects)
        if order_of(now) != self.order:
            return False
        own = self.own
        return all(a is b or (id(a) not in own and id(b) not in own) for a, b in zip(now, self.recorded))


def _is_nan(value: Any) -> bool:
    return issubclass(type(value), (float, complex, np.inexact)) and bool(value != value)


def order_of(things: Sequence[Any]) -> list[int]:
    """Which of some objects are the same: for each the place of the first."""
    first: dict[int, int] = {}
    return [first.setdefault(id(thing), i) for i, thing in enumerate(things)]


def constants(code: CodeType) -> Iterator[Any]:
    """The plain values that stand in code, in tuples too."""
    stack = list(code.co_consts)
    while stack:
        value = stack.pop()
        if type(value) is tuple or type(value) is frozenset:
            stack.extend(value)
        if type(value) in PLAIN or type(value) is tuple:
            yield value
