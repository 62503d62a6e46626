"""The Python state that a recorded call depends on: gathered before the call, compared before every replay."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import is_
from typing import Any

from ...core.tensor import Tensor
from .identity import constants
from .kinds import (
    MISSING,
    AbstractClasses,
    Handled,
    content,
    group_shape,
    hooks_on,
    isinstance_of,
    look_of_array,
    short,
)
from .kinds import equal as alike
from .known import PACKAGE
from .library import NotReady as NotReady
from .quick import Quick
from .tree import is_container
from .walk import MOST_OBJECTS, Walk


class Watch(Walk):
    """The state reachable from a function, compared as a whole.

    A comparison is (what it is, how to look, what was seen); looking must give the same again.
    """

    def __init__(
        self, fn: Callable[..., Any], arguments: Iterable[Any] = (), seen: Any = None, records: Sequence[Any] = ()
    ) -> None:
        super().__init__(seen)
        self._grow(fn, list(arguments), records)
        for record in records:
            self.asked.pop(id(record), None)
        self.held = [t for t, _ in self.tensors.values()]
        self.groups = [(o, group_shape(o)) for o in self.optimizers]
        self.quick = Quick(self)

    def _grow(self, fn: Callable[..., Any], arguments: list[Any], records: Sequence[Any]) -> None:
        """Read functions until no new names turn up; names decide which attributes matter."""
        for _ in range(16):
            known = self.size()
            self.clear()
            self.visit(fn, getattr(fn, "__name__", type(fn).__name__))
            self._hooks_of_all_modules()
            self._our_code()
            self._arguments(arguments)
            for record in records:
                self._kind_of_record(record, f"argument {type(record).__name__}")
            if self.seen is not None and self.seen.abstract:
                table = AbstractClasses()
                self.rows.append(("what abstract classes take in", table, "", table.last))
            if self.raises_again:
                self.rows.append(("the error that is handled", Handled(), "", sys.exc_info()[1]))
            if known == self.size() or len(self.objects) >= MOST_OBJECTS:
                return
        self.refuse("its state is too deep to be followed")

    def _arguments(self, arguments: list[Any]) -> None:
        """What arguments lead to; last of all those that another call may have equal ones of."""
        equal = [v for v in arguments if is_container(type(v))]
        for value in arguments:
            if isinstance_of(value, Tensor):
                for name, held in list(vars(value).items()):
                    self.visit(held, f"argument.{name}")
            elif not any(value is v for v in equal):
                self.visit(value, f"argument {type(value).__name__}")
        found = (self.objects, self.rows, self.tables, self.contents, self.cells)
        self.lasting = [len(f) for f in found]  # type: ignore[arg-type]
        for value in equal:
            self.visit(value, f"argument {type(value).__name__}")

    def own_objects(self) -> frozenset[int]:
        """The ids of what outlives a call: of objects, and of the numbers and strings in them and in the code."""
        objects, rows, tables, contents, cells = self.lasting
        found: set[int] = set(islice(self.objects, objects))
        found.update([id(row[-1]) for row in islice(self.rows, rows)])
        found.update([id(c[-1]) for c in islice(self.cells.values(), cells)])
        for _, _, keys, values in islice(self.tables, tables):
            found.update(map(id, keys), map(id, values))
        for _, _, items in islice(self.contents, contents):
            found.update(map(id, items))
        for value, _ in islice(self.objects.values(), objects):
            if type(value) is tuple:
                found.update(map(id, value))
        for code in self.read:
            found.update(map(id, constants(code)))
        return frozenset(found)

    def _hooks_of_all_modules(self) -> None:
        """Hooks that every module calls."""
        found = getattr(sys.modules.get(f"{PACKAGE}.nn.modules._global_hooks"), "GLOBAL", None)
        if found is None:
            return
        for name in ("forward", "forward_pre", "backward", "backward_pre", "calls"):
            hooks = getattr(found, name)
            self.announced.add(id(hooks))
            self.tables.append((f"{name} hooks", hooks, tuple(hooks), tuple(hooks.values())))
            for hook in hooks.values():
                self.visit(hook, "a hook of all modules")

    def unread(self, ran: Iterable[Any]) -> str | None:
        """Code that ran and that the walk did not come to, so nobody knows what it depends on."""
        for code in ran:
            if code not in self.read:
                return f"{code.co_qualname} at {code.co_filename}:{code.co_firstlineno}"
        return None

    # -- comparing ------------------------------------------------------------------------------

    def intact(self) -> bool:
        """Whether everything is as it was: a quick check, whose False may be a false alarm."""
        return self.quick.unchanged()

    def changed(self) -> str | None:
        """What is no longer as it was, or None."""
        equal = is_ if self.by_identity else alike
        for label, table, key, value in self.rows:
            now = table.get(key, MISSING)
            if now is not value and not equal(now, value):
                return f"{label} changed from {short(value)} to {short(now)}"
        for label, cls, keys, members in self.classes.values():
            if tuple(vars(cls)) != keys:
                return f"{label} has other members"
            if members is not None and not _identical(list(vars(cls).values()), list(members)):
                return f"a member of {label} was replaced"
        for label, table, keys, functions in self.code:
            if not _identical([table.get(k) for k in keys], list(functions)):
                return f"{label} was replaced"
        for label, container, items in self.contents:
            if not _same(container, items, equal):
                return f"the contents of {label} changed"
        for label, table, keys, values in self.tables:
            if not _same(table, keys, alike) or not _same(table.values(), values, equal):
                return f"the contents of {label} changed"
        for label, array, before in self.bytes:
            now = look_of_array(array)
            if now != before:
                return f"the {'layout' if now[:4] != before[:4] else 'values'} of {label} changed"
        for label, table, held in self.states:
            if not _identical(list(table.values()), held):
                return f"{label} has other entries"
        for label, cell, value in self.cells.values():
            now = content(cell)
            if now is not value and not equal(now, value):
                return f"{label} changed from {short(value)} to {short(now)}"
        for o, shape in self.groups:
            if group_shape(o) != shape:
                return f"the options of {type(o).__name__} changed"
        return self._changed_tensor()

    def _changed_tensor(self) -> str | None:
        quick = self.quick
        for t, array, edge in zip(self.held, quick.arrays, quick.edges):
            label = self.tensors[id(t)][1]
            if t._a is not array:
                return f"{label} has new memory"
            if t._edge is not edge:
                return f"requires_grad or the history of {label} changed"
        if any(base._edge is not edge for base, edge in quick.bases):
            return "requires_grad or the history of what a tensor is a view of changed"
        if any(hooks_on(node) != hooks for node, hooks in quick.nodes):
            return "the hooks of a parameter changed"
        return None

    def owned_arrays(self) -> list[Any]:
        """NumPy arrays that the function can reach."""
        return [array for array, _ in self.arrays.values()]

    def owned(self) -> dict[int, str]:
        """Arrays that outlive the call, by id, with their names."""
        found = {id(t._a): label for t, label in self.tensors.values()}
        for array, label in self.arrays.values():
            found.setdefault(id(array), label)
        return found


def _same(now: Any, items: tuple, equal: Callable[[Any, Any], bool]) -> bool:
    """The same entries in the same order."""
    return len(now) == len(items) and all(map(equal, now, items))


def _identical(now: list, before: list) -> bool:
    return len(now) == len(before) and all(a is b for a, b in zip(now, before))
