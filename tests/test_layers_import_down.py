"""The layering test: imports point down only."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import rushlight

ROOT = Path(rushlight.__file__).parent
LEVEL = {
    "base": 0, "runtime": 1, "core": 2, "operators": 3, "autograd": 4, "nn": 4, "optim": 4, "data": 4,
    "amp": 4, "capture": 4, "io": 4, "distributed": 4, "distributions": 4, "profiler": 4, "vision": 6,
    "utils": 5, "dezero": 7, "cli": 8,
}  # fmt: skip
MIDDLE = {"autograd", "nn", "optim", "data", "amp", "capture", "io", "distributed"}


def imports(path: Path):
    """(module parts, whether at module level) of every rushlight import in a file."""
    package = list(path.relative_to(ROOT).parts[:-1])
    tree = ast.parse(path.read_text())
    top = set(map(id, tree.body))
    for node in ast.walk(tree):
        at_top = id(node) in top
        if isinstance(node, ast.ImportFrom) and node.level:
            base = package[: len(package) - node.level + 1]
            target = base + (node.module.split(".") if node.module else [])
            if not target:
                for alias in node.names:
                    yield [alias.name], at_top
            else:
                yield target, at_top


FILES = sorted(p for p in ROOT.rglob("*.py") if p.parent != ROOT)


@pytest.mark.parametrize("path", FILES, ids=[str(p.relative_to(ROOT)) for p in FILES])
def test_imports_point_down(path: Path) -> None:
    here = path.relative_to(ROOT).parts[0]
    if here not in LEVEL:
        return
    for target, at_top in imports(path):
        there = target[0]
        if there == here or there not in LEVEL:
            continue
        if at_top:
            assert LEVEL[there] <= LEVEL[here], f"{here} imports {there}"
            assert not (here in MIDDLE and there in MIDDLE), f"siblings {here} -> {there}"
