"""The checks before every replay, gathered so that an unchanged state is seen in a few calls of C."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ...core.changes import changes
from .kinds import group_shape, hooks_on

_LOOK_EVERY = 16  # calls after which modules are looked at though nobody announced a change
_NUMERIC = (int, float, complex, tuple, frozenset)


class Quick:
    """What a watch has found, in the form in which it is checked fastest.

    Whatever changes a module or a hook raises a number (`core.changes`); as long as it stands still their
    tables need no look. A change behind that number's back (a write into a module's `__dict__`) is
    found some calls later, and told.
    """

    def __init__(self, watch: Any) -> None:
        announced = watch.announced
        self.groups = watch.groups
        self.arrays = [t._a for t in watch.held]
        self.edges = [t._edge for t in watch.held]
        self.nodes = [(e[0], hooks_on(e[0])) for e in self.edges if e is not None]
        self.seen = [list(g.values()) for o, _ in self.groups for g in o.param_groups]
        modules, rest = Checks(), Checks()
        for _, table, key, value in watch.rows:
            (modules if id(table) in announced else rest).entry(table, key, value)
        for _, container, n in watch.lengths:
            (modules if id(container) in announced else rest).length(container, n)
        for node, hooks in self.nodes:
            modules.hooks(node, hooks)
        rest.tensors(watch)
        for _, cell, value in watch.cells:
            rest.add(f"{rest.name(cell)}.cell_contents is {rest.name(value)}")
        for _, table, held in watch.states:
            rest.add(f"[*{rest.name(table)}.values()] == {rest.name(held)}")
        for _, container, items in watch.contents:
            same = container.__class__(items)
            rest.add(f"{rest.name(container)} == {rest.name(same)}")
        self.modules, self.rest = modules.function(), rest.function()
        self.generation, self.left = -1, 0

    def unchanged(self) -> bool:
        """Whether everything is as it was; False may be a false alarm."""
        try:
            if self.generation != changes[0] or not self.left:
                if not self._modules_unchanged():
                    return False
            self.left -= 1
            return self.rest() and self._options_unchanged()
        except Exception:  # noqa: BLE001 - a missing key, or arrays compared by value: changed
            return False

    def _modules_unchanged(self) -> bool:
        try:
            same = self.modules()
        except Exception:  # noqa: BLE001 - tensors compared by value: others than before
            same = False
        if same:
            self.generation, self.left = changes[0], _LOOK_EVERY
        elif self.generation == changes[0]:
            self.generation = -1
            warnings.warn(
                "compile: a module was changed behind its own back (by writing into its __dict__ or "
                f"a table of it), which is looked for every {_LOOK_EVERY} calls only: calls since then "
                "have not seen it. Assign attributes instead.",
                stacklevel=2,
            )
        return same

    def _options_unchanged(self) -> bool:
        i = 0
        for o, shape in self.groups:
            for g in o.param_groups:
                now = list(g.values())
                if now != self.seen[i]:  # most often the learning rate
                    if group_shape(o) != shape:
                        return False
                    self.seen[i] = now
                i += 1
        return True


class Checks:
    """Comparisons written as one expression: a tenth of a microsecond each is too much for a loop."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {}
        self.known: dict[int, str] = {}
        self.parts: list[str] = []

    def name(self, value: Any) -> str:
        """The variable that holds an object."""
        found = self.known.get(id(value))
        if found is None:
            found = self.known[id(value)] = f"v{len(self.names)}"
            self.names[found] = value
        return found

    def add(self, text: str) -> None:
        self.parts.append(text)

    def entry(self, table: Any, key: Any, value: Any) -> None:
        """What a table holds under a key."""
        t, k, v = self.name(table), self.name(key), self.name(value)
        if not isinstance(table, dict):
            self.add(f"{t}.get({k}, None) is {v}")
        elif isinstance(value, _NUMERIC):  # 2 equals 2.0, but what is computed with it does not
            self.add(f"{t}[{k}] is {v}")
        else:
            self.add(f"({t}[{k}] is {v} or {t}[{k}] == {v})")

    def length(self, container: Any, n: int) -> None:
        name = self.name(container)
        self.add(f"len({name}) == {n}" if n else f"not {name}")

    def hooks(self, node: Any, hooks: tuple) -> None:
        """A node has as many hooks as it had."""
        name = self.name(node)
        if hooks == (0, 0) and hasattr(node, "post_hooks"):
            self.add(f"not {name}.pre_hooks and not {name}.post_hooks")
        else:
            self.add(f"{self.name(hooks_on)}({name}) == {self.name(hooks)}")

    def tensors(self, watch: Any) -> None:
        """The memory of every tensor, and its history but for optimisers' states."""
        dicts = [s for o in watch.optimizers for s in o.state.values() if isinstance(s, dict)]
        states = {id(v) for s in dicts for v in s.values()}
        for t in watch.held:
            name = self.name(t)
            self.add(f"{name}._a is {self.name(t._a)}")
            if id(t) not in states or t._edge is not None:
                self.add(f"{name}._edge is {self.name(t._edge)}")

    def function(self) -> Callable[[], bool]:
        """All comparisons at once; the objects are its variables, which are quickest to reach."""
        variables = ", ".join([f"{n}={n}" for n in self.names])
        source = f"def check({variables}):\n    return {' and '.join(self.parts) or True}\n"
        exec(compile(source, "<checks of a program>", "exec"), self.names)
        return self.names.pop("check")
