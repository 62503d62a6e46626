"""The checks before every replay, gathered so that an unchanged state is seen in a few calls of C."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any

from ...core.changes import changes
from ..in_c import native
from .kinds import MISSING, Attributes, content, group_shape, hooks_on, look_of_array


class _Unknown:
    """Stands for `Versions` where it is not built: everything is compared before every call."""

    def __init__(self, dicts: list[dict], classes: list[type], objects: list[Any]) -> None:
        pass

    def same(self) -> bool:
        return False

    def renew(self) -> None:
        pass


Versions: Any = _Unknown if native is None else native.Versions


class Quick:
    """What a watch has found, in the form in which it is checked fastest.

    A network has many tables that hardly ever change. Python counts the changes of each dict, and whoever
    adds a hook raises a number of ours (`core.changes`): while these stand still, the tables of modules need
    no look.
    """

    def __init__(self, watch: Any) -> None:
        announced = watch.announced
        self.groups = watch.groups
        self.arrays = [t._a for t in watch.held]
        self.edges = [t._edge for t in watch.held]
        self.bases = _bases(watch.held)
        self.nodes = [(e[0], hooks_on(e[0])) for e in self.edges if e is not None]
        self.seen = [list(g.values()) for o, _ in self.groups for g in o.param_groups]
        modules, states, rest, code = Group(), Group(), QuickChecks(), Group()
        slow = {id(s) for o in watch.optimizers for s in (o.state, *o.state.values())}

        def group(table: Any) -> QuickChecks:
            return modules if id(table) in announced else states if id(table) in slow else rest

        for _, table, key, value in watch.rows:
            group(table).entry(table, key, value)
        for _, cls, keys, held in watch.classes.values():
            code.class_(cls, keys, held)
        for _, table, keys, held in watch.code:
            code.functions(table, keys, held)
        for _, table, keys, values in watch.tables:
            group(table).table(table, keys, values)
        for node, hooks in self.nodes:
            modules.hooks(node, hooks)
        rest.tensors(watch)
        for _, cell, value in watch.cells.values():
            rest.cell(cell, value)
        for _, table, held in watch.states:
            states.table(table, tuple(table), tuple(held))
        for _, container, items in watch.contents:
            rest.items(rest.name(container), items)
        for _, array, before in watch.bytes:
            rest.add(f"{rest.name(look_of_array)}({rest.name(array)}) == {rest.name(before)}")
        self.modules, self.rest, self.states = (modules.function(), rest.function(), states.function())
        self.versions, self.state_versions = modules.versions(), states.versions()
        self.code, self.code_versions = code.function(), code.versions()
        self.generation, self.state_is_known, self.code_is_known = -1, False, False

    def unchanged(self) -> bool:
        """Whether everything is as it was; False may be a false alarm."""
        try:
            if self.generation != changes[0] or not self.versions.same():
                number = changes[0]
                self.versions.renew()  # before looking: a change meanwhile counts
                self.generation = -1
                if not self.modules():
                    return False
                self.generation = number
            if not self.state_is_known or not self.state_versions.same():
                self.state_versions.renew()
                self.state_is_known = False
                if not self.states():
                    return False
                self.state_is_known = True
            if not self.code_is_known or not self.code_versions.same():
                self.code_versions.renew()
                self.code_is_known = False
                if not self.code():
                    return False
                self.code_is_known = True
            return self.rest() and self._options_unchanged()
        except Exception:  # noqa: BLE001 - a missing key, or a cell without a value: changed
            return False

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


class QuickChecks:
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
        """What a table holds under a key: the identical object; a look at equal ones takes longer."""
        if table.__class__ is Attributes and value is not MISSING:
            self.add(f"{self.name(table.owner)}.{key} is {self.name(value)}")
            return
        t, k = self.name(table), self.name(key)
        if value is MISSING:
            there = f"{k} not in {t}" if isinstance(table, dict) else None
            self.add(there or f"{t}.get({k}, {self.name(MISSING)}) is {self.name(MISSING)}")
        elif isinstance(table, dict):
            self.add(f"{t}[{k}] is {self.name(value)}")
        else:
            self.add(f"{t}.get({k}, None) is {self.name(value)}")

    def cell(self, cell: Any, value: Any) -> None:
        """What a variable of an outer function holds; an empty one raises, which is a change."""
        if value is MISSING:
            self.add(f"{self.name(content)}({self.name(cell)}) is {self.name(MISSING)}")
        else:
            self.add(f"{self.name(cell)}.cell_contents is {self.name(value)}")

    def items(self, container: str, items: tuple) -> None:
        """The identical entries in the same order."""
        self.add(f"len({container}) == {len(items)}" if items else f"not len({container})")
        if items:
            self.add(f"all(map({self.name(is_)}, {container}, {self.name(items)}))")

    def table(self, table: Any, keys: tuple, values: tuple) -> None:
        """A dict as a whole."""
        self.items(self.name(table), keys)
        if values:
            self.add(f"all(map({self.name(is_)}, {self.name(table)}.values(), {self.name(values)}))")

    def hooks(self, node: Any, hooks: tuple) -> None:
        """A node has the hooks that it had."""
        name = self.name(node)
        if hooks == ((), ()) and hasattr(node, "post_hooks"):
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
        for base, edge in _bases(watch.held):
            self.add(f"{self.name(base)}._edge is {self.name(edge)}")

    def function(self) -> Callable[[], bool]:
        """All comparisons at once; the objects are its variables, which are quickest to reach."""
        variables = ", ".join([f"{n}={n}" for n in self.names])
        source = f"def check({variables}):\n    return {' and '.join(self.parts) or True}\n"
        self.names["__name__"] = __name__  # whose code it is
        exec(compile(source, "<checks of a program>", "exec"), self.names)
        return self.names.pop("check")


class Group(QuickChecks):
    """Comparisons of dicts that hardly ever change: while Python counts no change, none is made."""

    def __init__(self) -> None:
        super().__init__()
        self.dicts: dict[int, dict] = {}
        self.classes: list[type] = []
        self.objects: list[Any] = []  # that must stay of their classes

    def class_(self, cls: type, keys: tuple, values: tuple | None) -> None:
        """The members of a class by name, and where `values` are given, by identity."""
        self.classes.append(cls)
        super().table(vars(cls), keys, values or ())

    def functions(self, table: dict, keys: tuple, values: tuple) -> None:
        """What a module has under these names, whatever else it has."""
        self._note(table)
        found = f"map({self.name(table)}.get, {self.name(keys)})"
        self.add(f"all(map({self.name(is_)}, {found}, {self.name(values)}))")

    def entry(self, table: Any, key: Any, value: Any) -> None:
        if isinstance(table, dict):
            self._note(table)
        elif key == "__class__":  # of a module or a tensor
            self.objects.append(table.owner)
        else:  # a module that is given another dict says so
            assert key == "__dict__"
        super().entry(table, key, value)

    def table(self, table: Any, keys: tuple, values: tuple) -> None:
        self._note(table)
        super().table(table, keys, values)

    def _note(self, table: Any) -> None:
        assert isinstance(table, dict)
        self.dicts[id(table)] = table

    def versions(self) -> Any:
        return Versions(list(self.dicts.values()), self.classes, self.objects)


def _bases(held: list[Any]) -> list[tuple[Any, Any]]:
    """What tensors are views of, with its history: a view has it, too, as soon as somebody asks, and refuses writes by it."""
    known = {id(t) for t in held}
    views = [t._ext.base for t in held if t._ext is not None and t._ext.base is not None]
    return [(b, b._edge) for b in {id(b): b for b in views if id(b) not in known}.values()]
