"""This package's own objects among a function's state: tensors, modules, optimisers, and the rest."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from ...base.spelling import home_of
from ...core.tensor import Tensor
from .found import FoundState
from .kinds import MISSING, Attributes, hooks_on, is_user_module, lookup, other_parts
from .known import PACKAGE
from .names import attributes_used

# Objects of ours that never change, or whose state is part of what every program looks at anyway.
_CONSTANT = frozenset((
    "dtype", "device", "Size", "memory_format", "layout", "Op", "Kernel", "finfo", "iinfo", "Generator",
    "_Default", "no_grad", "enable_grad", "inference_mode", "set_grad_enabled", "Recorder", "Trace",
    "ProcessGroup", "Reducer",
))  # fmt: skip


# Tables of our modules that users fill.
_REGISTRIES = {"distributions.kl": ("_KL_REGISTRY",), "optim.optimizer": ("_global_pre_hooks", "_global_post_hooks")}


class NotReady(Exception):
    """The function depends on a lazy parameter that the call will give its shape."""


class Library(FoundState):
    """The part of a walk that knows this package's classes."""

    def _tensor(self, t: Tensor, label: str) -> None:
        if id(t) in self.tensors:
            return
        if hasattr(t, "materialize"):
            raise NotReady(f"{label} has no shape yet")
        self.tensors[id(t)] = (t, label)
        self._kind(t, label)
        for hooks in hooks_on(None if t._edge is None else t._edge[0]):
            for hook in hooks:
                self.visit(hook[1] if isinstance(hook, tuple) else hook, f"a hook of {label}")
        own = vars(t)
        if own:
            self._dict_of(t, own, label)
        if self._is_whole(t):
            self._all_of(own, label)
        for name in self._names(t).intersection(own):
            self._row(own, name, own[name], f"{label}.{name}")
        for name in self._asked(t):
            if name not in own and not hasattr(type(t), name):
                self._row(own, name, MISSING, f"{label}.{name}")

    def _kind(self, value: Any, label: str) -> None:
        """The class of a module or a tensor, which can be assigned to."""
        kind = Attributes(value)
        self.announced.add(id(kind))
        self.rows.append((f"the class of {label}", kind, "__class__", type(value)))

    def _all_of(self, own: dict, label: str) -> None:
        """All attributes of an object, for code that looks at them without naming them: `vars(o)`, `dir(o)`."""
        self.tables.append((f"the attributes of {label}", own, tuple(own), tuple(own.values())))
        for name, value in list(own.items()):
            self.visit(value, f"{label}.{name}")

    def _our_classes(self, cls: type) -> None:
        """Classes of ours that an object derives from: their code is not read, but somebody may exchange it."""
        for base in cls.__mro__:
            if id(base) not in self.classes and home_of(base).partition(".")[0] == PACKAGE:
                names = vars(base)
                row = (f"class {base.__name__}", base, tuple(names), tuple(names.values()))
                self.classes[id(base)] = row

    def _our_code(self) -> None:
        """Functions and classes in the modules of ours whose code ran, and in those that they look into."""
        self._our_classes(Tensor)
        tables = {} if self.seen is None else dict(self.seen.tables)
        for table in list(tables.values()):
            for value in list(table.values()):
                if isinstance(value, ModuleType) and value.__name__.startswith(PACKAGE + "."):
                    tables[id(vars(value))] = vars(value)
        for table in tables.values():
            held = {k: v for k, v in table.items() if callable(v) and not k.startswith("__")}
            home = table.get("__name__")
            for value in held.values():  # what a class of ours holds may be a setting of the process
                if isinstance(value, type) and home_of(value) == home:
                    self._our_classes(value)
            for name in _REGISTRIES.get(str(home).partition(".")[2], ()):
                self._registry(table[name], f"{home}.{name}")
            label = f"a function in {home}"
            self.code.append((label, table, tuple(held), tuple(held.values())))

    def _registry(self, table: dict, label: str) -> None:
        """A table of ours that users fill, and that decides what our code calls."""
        self.announced.add(id(table))
        self.tables.append((label, table, tuple(table), tuple(table.values())))
        for value in list(table.values()):
            self.visit(value, label)

    def _module(self, m: Any, label: str) -> None:
        own = m.__dict__
        self._our_classes(type(m))
        self.announced.add(id(own))
        self._dict_of(m, own, label, hardly=True)
        cls = type(m)
        self._kind(m, label)
        if self._is_whole(m):
            self._all_of(own, label)
        asked = self._names(m) | _library_names(cls) | {"training", "forward"}
        for name, value in list(own.items()):
            if name in ("_parameters", "_buffers", "_modules"):
                self._table(own, name, value, label)
                for key, item in value.items():
                    self.visit(item, f"{label}.{key}")
            elif name.endswith("hooks") or "_hooks_" in name:
                if "state_dict" not in name or _asks_for_state(self.mentioned):
                    self._table(own, name, value, label)
                    for item in value.values():
                        self.visit(item, f"{label}.{name}")
            elif name in asked:
                self._row(own, name, value, f"{label}.{name}")
        self._own_members(m, cls, own, asked, label)

    def _own_members(self, m: Any, cls: type, own: dict, asked: set[str], label: str) -> None:
        """Members of a module's class, and that no attribute of its own stands before them."""
        if "__class__" in self._names(m) or "type" in self.mentioned:
            self.visit(cls, f"type({label})")
        for name in ("forward", "__call__"):
            self._member(cls, name, lookup(cls, name), f"{label}.{name}")
        for name in sorted({*self._names(m), "forward"}):
            if name not in own:
                member = lookup(cls, name)
                if member is not MISSING or name in self._asked(m):
                    self._row(own, name, MISSING, f"{label}.{name}")
                if member is not MISSING and (other_parts(member) or not (callable(member) or hasattr(member, "fget"))):
                    self._member(cls, name, member, f"{label}.{name}")
        self._methods(m, cls, label)

    def _table(self, own: dict, name: str, value: Any, label: str) -> None:
        """A table of a module: itself, its keys and its values."""
        self.announced.add(id(value))
        self.rows.append((f"{label}.{name}", own, name, value))
        self.tables.append((f"{label}.{name}", value, tuple(value), tuple(value.values())))

    def _whole(self, value: Any, label: str) -> None:
        """All attributes of an object whose code is not read."""
        self._dict_of(value, vars(value), label)
        for name, item in list(vars(value).items()):
            self._row(vars(value), name, item, f"{label}.{name}")

    def _ours(self, value: Any, label: str) -> None:
        """Another object of this package: a scheduler, a distribution, a compiled function."""
        if type(value).__name__ in _CONSTANT:
            return
        self._our_classes(type(value))
        for base in type(value).__mro__:
            for name in getattr(base, "__slots__", ()):
                if isinstance(name, str) and hasattr(value, name):
                    self.visit(getattr(value, name), f"{label}.{name}")
        if type(value).__name__ == "Compiled":
            self.visit(value.fn, label)
        elif hasattr(value, "__dict__"):
            table = vars(value)
            self.tables.append((label, table, tuple(table), tuple(table.values())))
            self._whole(value, label)

    def _optimizer(self, o: Any, label: str) -> None:
        self.optimizers.append(o)
        self._our_classes(type(o))
        self._dict_of(o, o.__dict__, label)
        self.rows.append((f"{label}.state", o.__dict__, "state", o.state))
        self.rows.append((f"{label}.param_groups", o.__dict__, "param_groups", o.param_groups))
        groups = tuple(o.param_groups)
        self.contents.append((f"{label}.param_groups", o.param_groups, groups))
        for i, group in enumerate(groups):
            params = group["params"]
            self.rows.append((f"{label}.param_groups[{i}]['params']", group, "params", params))
            self.contents.append((f"{label}.param_groups[{i}]", params, tuple(params)))
            for j, p in enumerate(params):
                self._tensor(p, f"{label}.param_groups[{i}].params[{j}]")
        self.states.append((f"{label}.state", o.state, list(o.state.values())))
        for held in list(o.state.values()):
            if isinstance(held, dict):
                for name, value in held.items():
                    if isinstance(value, Tensor):
                        self._row(held, name, value, f"{label}.{name}")
        for name in ("_pre_hooks", "_post_hooks"):
            hooks = getattr(o, name, {})
            self.announced.add(id(hooks))
            self.tables.append((f"{label}.{name}", hooks, tuple(hooks), tuple(hooks.values())))
            for hook in hooks.values():
                self.visit(hook, f"{label}.{name}")
        own = o.__dict__
        if self._is_whole(o):
            self._all_of(own, label)
        if "param_groups" in self._names(o):  # the code looks at rates and the like itself
            for i, group in enumerate(o.param_groups):
                at = f"{label}.param_groups[{i}]"
                self.tables.append((at, group, tuple(group), tuple(group.values())))
                for name, value in group.items():
                    if name != "params":
                        self.visit(value, f"{at}[{name!r}]")
        for name in sorted(self._names(o) - _OF_OPTIMIZERS):
            if name in own:
                self._row(own, name, own[name], f"{label}.{name}")
            elif hasattr(type(o), name) or name in self._asked(o):
                self._row(own, name, MISSING, f"{label}.{name}")
        if is_user_module(home_of(type(o))):
            self._instance(o, label)
        elif "step" not in o.__dict__:
            self._row(o.__dict__, "step", MISSING, f"{label}.step")
        else:
            self.visit(o.__dict__["step"], f"{label}.step")


# What is compared in a way of its own.
_OF_OPTIMIZERS = frozenset(("state", "param_groups", "_pre_hooks", "_post_hooks"))


def _asks_for_state(names: set[str]) -> bool:
    """Whether code may save or load modules, whose hooks for that count then."""
    return any("state_dict" in name for name in names)


def _library_names(cls: Any) -> frozenset[str]:
    """Attributes that the code of our own classes looks at on objects of a class."""
    for base in cls.__mro__:
        if not is_user_module(home_of(base)):
            return attributes_used(base, "Module")
    return frozenset()
