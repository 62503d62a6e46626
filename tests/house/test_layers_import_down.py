"""The layering test: imports point down, rooms of one floor leave each other alone, nothing imports in a circle.

Every import statement counts, also one inside a function and one that only type checkers read.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from imports import circles, floors, graph, imports, modules, room, rooms

# From the ground up. A module may import from the layers below its own, and from its own room.
LAYERS = (
    "base",
    "futures runtime",
    "core version",
    "_aten operators",  # _aten: PyTorch's inner operators, for who watches the door
    "capture distributed distributions nested profiler",  # nested: tensors made of tensors
    "amp autograd data nn",
    "io optim",
    "torch_names",  # what else PyTorch has public, a folder of its own
    "rushlight vision",  # rushlight: the top module
    "cli dezero",
    "__main__",
)
LEVEL = {name: level for level, names in enumerate(LAYERS, 1) for name in names.split()}
KNOWN = modules()


def short(module: str) -> str:
    return module.removeprefix("rushlight.")


def wrong_imports(name: str, path: Path) -> list[str]:
    """What the layers forbid in one file."""
    here = room(name, path)
    found = {(room(to, KNOWN[to]), to) for to, _, _ in imports(name, path, KNOWN)}
    return [f"{short(name)} -> {short(to)}" for there, to in sorted(found)
            if there != here and LEVEL[there] >= LEVEL[here]]  # fmt: skip


def test_every_room_has_its_floor() -> None:
    edges = rooms(KNOWN)
    assert circles(edges) == []
    assert floors(edges) == LEVEL, "LAYERS has a room on another floor than its imports"
    assert len(edges) <= 25 and max(LEVEL.values()) <= 11


@pytest.mark.parametrize("name", KNOWN, ids=list(KNOWN))
def test_imports_point_down(name: str) -> None:
    assert wrong_imports(name, KNOWN[name]) == []


def test_no_circles() -> None:
    assert circles(graph(KNOWN)) == []


def test_a_circle_is_seen() -> None:
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"e"}, "e": {"e", "f"}, "f": set()}
    assert circles(edges) == [["a", "b", "c"]]


def test_deferred_and_absolute_imports_are_seen(tmp_path: Path) -> None:
    file = tmp_path / "fake.py"
    file.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from ..nn import Module\n"
        "def f():\n    from rushlight.io import pth\n    import rushlight.optim.optimizer\n"
        "from .gradients import tape\n"
    )
    found = set(imports("rushlight.core.fake", file, KNOWN))
    assert found == {
        ("rushlight.nn", 3, True),
        ("rushlight.io.pth", 5, False),
        ("rushlight.optim.optimizer", 6, False),
        ("rushlight.core.gradients.tape", 7, False),
    }
    wrong = {line.partition(" -> ")[2] for line in wrong_imports("rushlight.core.fake", file)}
    assert wrong == {"nn", "io.pth", "optim.optimizer"}


def test_whatever_registers_kernels_is_imported() -> None:
    """A file that nobody imports registers nothing: its kernels would silently be the generic ones."""
    known = modules()
    imported = {to for found in graph(known).values() for to in found}
    bodies = "rushlight.runtime.cuda.bodies."
    backend = known["rushlight.runtime.cuda.backend"].read_text()  # imports families by their names
    lost = {n for n, p in known.items() if "kernel_for(" in p.read_text()} - imported
    lost -= {bodies + family for family in re.findall(r'"([\w.]+)"', backend)}
    assert lost == set()
