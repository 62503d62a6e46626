"""Which names of modules change while a program runs: dicts that are filled, names that are bound again.

Found are values of modules that a function changes, containers that begin empty (somebody will fill them),
counters, objects of a thread, and caches of functions that nothing bounds. A memo is none of them: what it has
forgotten is made again, so that nobody sees whether it was there (`memos`).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path

CHANGING = {
    "add", "append", "appendleft", "clear", "discard", "extend", "insert", "move_to_end", "pop",
    "popitem", "popleft", "remove", "setdefault", "update",
}  # fmt: skip


def _home(name: str, path: Path, node: ast.ImportFrom) -> str:
    """The module that an import statement takes names from."""
    if not node.level:
        return node.module or ""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    above = package[: len(package) - node.level + 1]
    return ".".join([*above, *((node.module or "").split(".") if node.module else [])])


class Module:
    """What one file defines, imports and changes."""

    def __init__(self, name: str, path: Path) -> None:
        self.name = name
        self.tree = ast.parse(path.read_text())
        self.nodes = list(ast.walk(self.tree))  # walking is most of the work: once
        self.values: set[str] = set()  # names bound to values, not to classes and functions
        self.taken: dict[str, tuple[str, str]] = {}  # local name -> (module, name there)
        for node in _top(self.tree.body):
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                self.values.update(t.id for t in targets if isinstance(t, ast.Name))
        for node in self.nodes:
            if isinstance(node, ast.ImportFrom):
                home = _home(name, path, node)
                for alias in node.names:
                    self.taken[alias.asname or alias.name] = (home, alias.name)

    def changed(self) -> Iterator[tuple[str, str]]:
        """(module, name) of everything a function of this file changes."""
        for fn in self.nodes:
            if not isinstance(fn, (ast.FunctionDef, ast.Lambda)):
                continue
            inside = list(ast.walk(fn))
            own = _locals(fn, inside)
            for node in inside:
                if isinstance(node, ast.Global):
                    yield from ((self.name, bound) for bound in node.names)
                for base in _bases(node):
                    if isinstance(base, ast.Name) and base.id not in own:
                        yield self._resolved(base.id)
                    elif isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
                        module, name = self._resolved(base.value.id)
                        yield f"{module}.{name}", base.attr  # `module.name[key] = ...`
                        if base.value.id not in own:  # `value.name[key] = ...`
                            yield module, name

        for node in self.tree.body:  # what an import does to the names of other modules
            if isinstance(node, (ast.Assign, ast.Expr)):
                for base in (base for inner in ast.walk(node) for base in _bases(inner)):
                    if isinstance(base, ast.Name) and base.id in self.taken:
                        yield self._resolved(base.id)

    def _resolved(self, name: str) -> tuple[str, str]:
        return self.taken.get(name, (self.name, name))


def _top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a module, those inside `if`, `try` and `for` too."""
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Try, ast.For, ast.With)):
            for part in ("body", "orelse", "handlers", "finalbody"):
                yield from _top(getattr(node, part, []))


def _called(node: ast.expr) -> str:
    """The last part of the name of what a call or a decorator calls."""
    called = node.func if isinstance(node, ast.Call) else node
    return getattr(called, "attr", getattr(called, "id", ""))


def _has_bound(fn: ast.FunctionDef, decorator: ast.expr) -> bool:
    """Whether a cache has a size, or a function without parameters, which has one answer."""
    if isinstance(decorator, ast.Call) and (decorator.args or decorator.keywords):
        size = decorator.args[0] if decorator.args else decorator.keywords[0].value
        return not (isinstance(size, ast.Constant) and size.value is None)
    a = fn.args
    return not (a.posonlyargs or a.args or a.kwonlyargs or a.vararg or a.kwarg)


def _locals(fn: ast.FunctionDef | ast.Lambda, inside: list[ast.AST]) -> set[str]:
    """Parameters and variables of a function; a name it declares `global` is none."""
    a = fn.args
    found = {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if p}
    found.update(n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    return found.difference(name for n in inside if isinstance(n, ast.Global) for name in n.names)


def _bases(node: ast.AST) -> Iterator[ast.expr]:
    """What a statement or call changes: `base[...] = `, `base.attribute = `, `base.append()`."""
    targets: list[ast.expr] = []
    if isinstance(node, (ast.Assign, ast.Delete)):
        targets = list(node.targets)
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    for target in targets:
        for part in target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]:
            if isinstance(part, (ast.Subscript, ast.Attribute)):
                yield part.value
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        if node.func.attr in CHANGING:
            yield node.func.value


EMPTY = {
    "Counter", "OrderedDict", "WeakKeyDictionary", "WeakSet", "WeakValueDictionary", "count",
    "defaultdict", "deque", "dict", "list", "local", "set",
}  # fmt: skip


def _begins_empty(value: ast.expr | None, threads: set[str]) -> bool:
    """`{}`, `[]`, `deque()`, `itertools.count()`, or an object of a class of thread-local state."""
    if isinstance(value, (ast.Dict, ast.List)):
        return not (value.keys if isinstance(value, ast.Dict) else value.elts)
    if not isinstance(value, ast.Call):
        return False
    called = _called(value)
    return called in threads or (called in EMPTY and not value.args)


def _states(module: Module) -> Iterator[str]:
    """Names of a module whose value is there to be changed."""
    threads = {
        node.name
        for node in module.tree.body
        if isinstance(node, ast.ClassDef) and any("local" in ast.unparse(b) for b in node.bases)
    }
    for node in _top(module.tree.body):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and _begins_empty(node.value, threads):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (t.id for t in targets if isinstance(t, ast.Name))


def _caches(module: Module) -> Iterator[tuple[str, bool]]:
    """Functions with a cache, and whether it has a bound."""
    for node in module.nodes:
        if isinstance(node, ast.FunctionDef):
            for decorator in node.decorator_list:
                if _called(decorator) in ("cache", "lru_cache"):
                    yield node.name, _has_bound(node, decorator)


def _bounded(module: Module) -> Iterator[str]:
    for node in _top(module.tree.body):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Call):
            if _called(node.value) == "Bounded":
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield from (t.id for t in targets if isinstance(t, ast.Name))


def memos(modules: Iterable[Module]) -> set[str]:
    """`module.name` of every `Bounded`, and of every function whose cache has a bound."""
    found = set()
    for module in modules:
        found.update(f"{module.name}.{memo}" for memo in _bounded(module))
        found.update(f"{module.name}.{cache}" for cache, bound in _caches(module) if bound)
    return found


def mutable_globals(known: dict[str, Path]) -> set[str]:
    """`module.name` of every module-level value that changes and is no memo, and of every cache without a bound."""
    modules = {name: Module(name, path) for name, path in known.items()}
    found: set[str] = set()
    for module in modules.values():
        endless = (name for name, bound in _caches(module) if not bound)
        found.update(f"{module.name}.{name}" for name in (*_states(module), *endless))
        for home, name in module.changed():
            if home in modules and name in modules[home].values:
                found.add(f"{home}.{name}")
    return found - memos(modules.values())
