"""Which module of rushlight imports which: every import statement, at module level or inside a function."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import rushlight

ROOT = Path(rushlight.__file__).parent


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imports(name: str, path: Path, known: dict[str, Path]) -> Iterator[tuple[str, int, bool]]:
    """(module, line, whether only type checkers run it) of each import of rushlight in a file."""
    package = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    tree = ast.parse(path.read_text())
    typing = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            typing.update(id(inner) for part in node.body for inner in ast.walk(part))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *(node.module.split(".") if node.module else [])])
            full = [f"{base}.{alias.name}" for alias in node.names]
            targets = [target if target in known else base for target in full]
        else:
            continue
        for target in targets:
            if target in known:
                yield target, node.lineno, id(node) in typing


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
