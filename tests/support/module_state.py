"""Which names of modules change while a program runs: dicts that are filled, names that are bound again.

Found are values of modules that a function changes, containers that begin empty (somebody will fill them),
counters, objects of a thread, and caches of functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
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
        self.values: set[str] = set()  # names bound to values, not to classes and functions
        self.taken: dict[str, tuple[str, str]] = {}  # local name -> (module, name there)
        for node in _top(self.tree.body):
            if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                self.values.update(t.id for t in targets if isinstance(t, ast.Name))
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                home = _home(name, path, node)
                for alias in node.names:
                    self.taken[alias.asname or alias.name] = (home, alias.name)

    def changed(self) -> Iterator[tuple[str, str]]:
        """(module, name) of everything a function of this file changes."""
        for fn in ast.walk(self.tree):
            if not isinstance(fn, (ast.FunctionDef, ast.Lambda)):
                continue
            own = _locals(fn)
            for node in ast.walk(fn):
                if isinstance(node, ast.Global):
                    yield from ((self.name, bound) for bound in node.names)
                for base in _bases(node):
                    if isinstance(base, ast.Name) and base.id not in own:
                        yield self._resolved(base.id)
                    elif isinstance(base, ast.Attribute) and isinstance(base.value, ast.Name):
                        module, name = self._resolved(base.value.id)
                        yield f"{module}.{name}", base.attr  # `module.name[key] = ...`

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


def _is_cache(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return getattr(called, "attr", getattr(called, "id", "")) in ("cache", "lru_cache")


def _locals(fn: ast.FunctionDef | ast.Lambda) -> set[str]:
    """Parameters and variables of a function; a name it declares `global` is none."""
    a = fn.args
    found = {p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs, a.vararg, a.kwarg) if p}
    for node in ast.walk(fn):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
    for node in ast.walk(fn):
        if isinstance(node, ast.Global):
            found.difference_update(node.names)
    return found


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
    "Bounded", "Counter", "OrderedDict", "WeakKeyDictionary", "WeakSet", "WeakValueDictionary", "count",
    "defaultdict", "deque", "dict", "list", "local", "set",
}  # fmt: skip


def _begins_empty(value: ast.expr | None, threads: set[str]) -> bool:
    """`{}`, `[]`, `deque()`, `itertools.count()`, or an object of a class of thread-local state."""
    if isinstance(value, (ast.Dict, ast.List)):
        return not (value.keys if isinstance(value, ast.Dict) else value.elts)
    if not isinstance(value, ast.Call):
        return False
    called = getattr(value.func, "attr", getattr(value.func, "id", ""))
    return called in threads or (called in EMPTY and not (value.args and called != "Bounded"))


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


def _caches(module: Module) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef) and any(map(_is_cache, node.decorator_list)):
            yield node.name


def mutable_globals(known: dict[str, Path]) -> set[str]:
    """`module.name` of every module-level value that changes, and of every cache."""
    modules = {name: Module(name, path) for name, path in known.items()}
    found = set()
    for module in modules.values():
        found.update(f"{module.name}.{name}" for name in (*_states(module), *_caches(module)))
        for home, name in module.changed():
            if home in modules and name in modules[home].values:
                found.add(f"{home}.{name}")
    return found
