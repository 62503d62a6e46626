"""Which module of rushlight imports which: every import statement, at module level or inside a function."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import rushlight

ROOTS = tuple(map(Path, rushlight.__path__))  # the engine and, in a source tree, PyTorch's names


def files(kind: str = "*.py") -> list[Path]:
    """Every file of the package."""
    return [path for root in ROOTS for path in sorted(root.rglob(kind))]


def inside(path: Path) -> Path:
    """Where a file lies in the package."""
    return next(path.relative_to(root) for root in ROOTS if path.is_relative_to(root))


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in files():
        parts = ("rushlight", *inside(path).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def room(name: str, path: Path) -> str:
    """The room of a module: the folder or file at the top of the package; PyTorch's names are one."""
    if any(map(path.is_relative_to, ROOTS[1:])):
        return "torch_names"
    return name.split(".")[1] if "." in name else name


def rooms(known: dict[str, Path]) -> dict[str, set[str]]:
    """For each room the rooms it imports, at module level, inside functions or for type checkers alone."""
    found: dict[str, set[str]] = {room(name, path): set() for name, path in known.items()}
    for name, path in known.items():
        here = room(name, path)
        found[here] |= {room(to, known[to]) for to, _, _ in imports(name, path, known)} - {here}
    return found


def floors(edges: dict[str, set[str]]) -> dict[str, int]:
    """The floor of each room: one above the highest of the rooms it imports. There must be no circles."""
    found: dict[str, int] = {}

    def floor(name: str) -> int:
        if name not in found:
            found[name] = 1 + max(map(floor, edges[name]), default=0)
        return found[name]

    for name in edges:
        floor(name)
    return found


class Statement(NamedTuple):
    """One import statement: what it names, where, and whether only type checkers run it."""

    line: int
    level: int | None  # dots of `from`, None for a plain `import`
    module: str
    names: tuple[str, ...]
    typing: bool


@functools.cache  # several tests read every file of the package
def statements(path: Path) -> tuple[Statement, ...]:
    """Every import statement of a file."""
    found: list[Statement] = []

    def read(node: ast.AST, typing: bool) -> None:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names = tuple(alias.name for alias in node.names)
            level = node.level if isinstance(node, ast.ImportFrom) else None
            module = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
            found.append(Statement(node.lineno, level, module, names, typing))
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            for part in node.body:
                read(part, True)
            for part in node.orelse:
                read(part, typing)
        elif not isinstance(node, ast.expr):  # no expression holds a statement
            for part in ast.iter_child_nodes(node):
                read(part, typing)

    read(ast.parse(path.read_text()), False)
    return tuple(found)


def imports(name: str, path: Path, known: dict[str, Path]) -> Iterator[tuple[str, int, bool]]:
    """(module, line, whether only type checkers run it) of each import of rushlight in a file."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for line, level, module, names, typing in statements(path):
        targets = list(names)
        if level is not None:
            above = package[: len(package) - level + 1] if level else []
            base = ".".join([*above, *(module.split(".") if module else [])])
            full = [f"{base}.{n}" for n in names]
            targets = [target if target in known else base for target in full]
        for target in targets:
            if target in known:
                yield target, line, typing


def graph(known: dict[str, Path]) -> dict[str, set[str]]:
    """For each module the modules it imports when it runs."""
    return {
        name: {to for to, _, typing in imports(name, path, known) if not typing and to != name}
        for name, path in known.items()
    }


def circles(edges: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that import each other, directly or through others (Tarjan's algorithm)."""
    number: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        number[node] = low[node] = len(number)
        stack.append(node)
        for to in sorted(edges[node]):
            if to not in number:
                visit(to)
            if to in stack:
                low[node] = min(low[node], low[to])
        if low[node] == number[node]:
            at = stack.index(node)
            group = stack[at:]
            del stack[at:]
            if len(group) > 1:
                found.append(sorted(group))

    for node in edges:
        if node not in number:
            visit(node)
    return found
