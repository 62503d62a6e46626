"""A call of an update kernel that waits for its turn: its arrays, its numbers, and how to undo both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.columns import bump_all
from ..core.tensor import Tensor
from ..operators import update
from ..runtime import devices
from ..runtime.cpu import scalars
from ..runtime.door import Kernel, each_replay
from ..runtime.thread import here, settle

Numbers = Sequence[float]
Raise = Callable[[dict[str, Any], Numbers], Numbers]  # (options, scalars before) -> scalars after
Find = Callable[[dict[str, Any], Numbers, Numbers], list[Any]]  # (options, before, after) -> numbers


class UpdateCall:
    """A kernel call that waits until those of all groups are prepared.

    `changed` lists tensors whose version goes up; `arrays[0]` is a place for the numbers.
    """

    __slots__ = ("arrays", "changed", "cls", "flags", "kernel", "numbers")

    def __init__(
        self, kernel: Kernel, arrays: list[Any], flags: dict[str, Any], changed: list[list[Tensor]],
        numbers: HostNumbers,
    ) -> None:  # fmt: skip
        self.kernel, self.arrays, self.flags, self.changed = kernel, arrays, flags, changed
        self.numbers = numbers
        self.cls = arrays[1].__class__

    def written(self) -> list[Any]:
        """The arrays that the call changes."""
        return [self.arrays[i] for i in update.written(self.arrays, self.flags)]

    def raise_versions(self) -> None:
        """Raise the versions of what changed, so that a backward that saved it notices."""
        for tensors in self.changed:
            if tensors:
                bump_all(tensors)


def are_sure(calls: list[UpdateCall]) -> bool:
    """Whether each changes all or nothing, and needs no more memory when others went before it."""
    several = len(calls) > 1
    for call in calls:
        ready = devices.known.preparers.get(call.cls)
        if ready is not None and not ready(call.kernel.name, call.arrays, call.flags, several):
            return False
    return True


class HostNumbers:
    """The numbers of one kernel call, found anew before each replay of a captured step."""

    __slots__ = ("before", "columns", "find", "group", "latest", "n", "raised", "rows")

    def __init__(self, group: dict[str, Any], columns: list[list[Any]], n: int, raised: Raise, find: Find) -> None:
        self.group, self.columns, self.n = group, columns, n
        self.raised, self.find = raised, find
        self.before: Sequence[Any] = ()  # the scalars of the host, as they were

    def put_back(self) -> None:
        """Scalars as they were before a step that failed."""
        for column, values in zip(self.columns, self.before):
            scalars.write(column, values)

    def first(self, group: dict[str, Any]) -> np.ndarray:
        """One row of numbers, or a row for each parameter: where they differ, or may at a replay.

        `group` has the options without tensors, see `plain`.
        """
        if self.columns:
            tracer = here.tracer
            if tracer is not None and not all(tracer.sees(a) for c in self.columns for a in c):
                settle()  # what fills them was put off: a state that was loaded
            heard = None if here.replay_hooks is None else here.replay_hooks.recorder
            if heard is not None and any(heard.has_seen(a) for c in self.columns for a in c):
                # they are raised before a replay, and what computes with them runs in it
                heard.complain("computes with counts of an optimiser before its step")
        self.latest = self._today(group)
        if here.replay_hooks is None:
            return np.array(self.latest, np.float64)
        alike = self.latest.__class__ is not list
        rows = [self.latest] * self.n if alike else self.latest
        self.rows = np.array(rows, np.float64)
        each_replay(self.refresh, self.rows, undo=self.put_back)
        return self.rows

    def refresh(self) -> None:
        """Count a step, and bring the numbers up to date; nothing is counted where that fails."""
        group = plain(self.group)
        try:
            now = self._today(group)
        except BaseException:
            self.put_back()
            raise
        if now != self.latest:
            self.latest = now
            self.rows[...] = now

    def _today(self, group: dict[str, Any]) -> Any:
        """Raise the scalars; the numbers as a tuple, or a list of tuples where parameters differ."""
        if not self.columns:
            return tuple(self.find(group, (), ()))
        self.before = [scalars.read(c) for c in self.columns]
        after = raise_scalars(self.raised, group, self.columns, self.before)
        if list not in [v.__class__ for v in (*self.before, *after)]:
            return tuple(self.find(group, self.before, after))
        known: dict[tuple, tuple] = {}
        rows = []
        for was, now in zip(self._spread(self.before), self._spread(after)):
            if (was, now) not in known:
                known[was, now] = tuple(self.find(group, was, now))
            rows.append(known[was, now])
        return rows

    def _spread(self, values: Sequence[Any]) -> list[tuple]:
        """Scalar by scalar to parameter by parameter."""
        return list(zip(*[v if v.__class__ is list else [v] * self.n for v in values]))


def raise_scalars(raised: Raise, group: dict[str, Any], columns: list[list[Any]], before: Sequence[Any]) -> list[Any]:
    """Count a step: each scalar of all parameters afterwards, a number, or a list where they differ."""
    if not columns:
        return []
    if list not in [b.__class__ for b in before]:
        now: Any = raised(group, before)
    else:
        each = list(zip(*[b if b.__class__ is list else [b] * len(columns[0]) for b in before]))
        known = {values: raised(group, values) for values in set(each)}
        now = [[known[values][j] for values in each] for j in range(len(columns))]
    for column, values in zip(columns, now):
        scalars.write(column, values)
    return [scalars.read(c) for c in columns]  # as rounded by being stored


_NO_TENSOR = frozenset([bool, int, float, list, str, type(None)])


def plain(group: dict[str, Any]) -> dict[str, Any]:
    """The options with numbers in place of tensors, read past the door: no program depends on them."""
    found: dict[str, Any] = {}
    for k, v in group.items():
        if v.__class__ in _NO_TENSOR:
            continue
        if isinstance(v, Tensor):
            found[k] = number(v)
        elif v.__class__ is tuple and any(isinstance(x, Tensor) for x in v):
            found[k] = tuple([number(x) if isinstance(x, Tensor) else x for x in v])
    return {**group, **found} if found else group


def number(t: Tensor) -> float:
    """A tensor of one element as a number of the host."""
    settle()
    if t.numel() != 1:
        raise RuntimeError(f"an optimiser's option is a number or a tensor of one, not of shape {list(t.shape)}")
    return float(devices.backend_of_type(t._a.__class__).to_host(t._a).reshape(()))
