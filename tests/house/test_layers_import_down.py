"""The layering test: imports point down, siblings leave each other alone, and nothing imports in a circle.

Every import statement counts, also one inside a function and one that only type checkers read.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from imports import circles, graph, imports, modules

# From the ground up. A module may import from the layers below its own, and from its own layer only
# within its package, except in the layer of public names, where one facade may be built on another.
LAYERS = (
    "base",
    "runtime",
    "core",
    "operators",
    "_names futures",
    "_symbols",
    "nested",  # tensors made of tensors; files hold them
    "_aten",  # PyTorch's inner operators, for who watches the door
    "distributed profiler",
    "autograd nn optim data io amp capture distributions",
    "utils",  # and every other name at the top: what else PyTorch has public, see FACADES
    "vision",
    "rushlight",  # the top module
    "dezero",
    "cli",
    "__main__",
)
LEVEL = {package: level for level, names in enumerate(LAYERS) for package in names.split()}
FACADES = LEVEL["utils"]


def level(package: str) -> int:
    return LEVEL.get(package, FACADES)


# Imports that point up or aside, each with its reason; a line that is not needed any more fails a test.
ALLOWED = {
    "nn.functional -> overrides": "has_torch_function and the like, which layers of other libraries take from there",
    "distributed.checkpoint.format_utils -> io.pth": "one file of a checkpoint, under PyTorch's path",
    "distributed.checkpoint.format_utils -> io.sharded": "the folder it is made from",
    "distributed.checkpoint.saving -> io.sharded": "checkpoints of ranks, under PyTorch's path",
    "distributed.fsdp -> nn.parallel.fsdp": "FullyShardedDataParallel, under PyTorch's path",
    "distributed.fsdp -> nn.parallel.fsdp_options": "its options",
    "distributed.fsdp -> nn.parallel.fully_shard": "fully_shard, under PyTorch's path",
    "distributed.fsdp.api -> nn.parallel.fsdp_options": "its options, under their longer path",
    "distributed.fsdp.fully_sharded_data_parallel -> nn.parallel.fsdp": "the class, under its longer path",
    "distributed.fsdp.fully_sharded_data_parallel -> nn.parallel.fsdp_options": "its options, there, too",
    "distributed.fsdp.sharded_grad_scaler -> amp.grad_scaler": "the scaler under FSDP's path",
    "distributed.fsdp.wrap -> nn.parallel.fsdp_wrap": "which parts are wrapped, under PyTorch's path",
    "distributed.optim -> optim.zero": "ZeroRedundancyOptimizer, under PyTorch's path",
    "distributed.optim.zero_redundancy_optimizer -> optim.zero": "the same, under its longer one",
    "io.rebuild -> nn.parameter": "a file may hold a Parameter, which is an nn name",
    "optim.swa_utils -> nn.averaged_model": "AveragedModel, under PyTorch's path",
    "optim.swa_utils -> nn.modules.batchnorm": "update_bn resets these layers",
}

KNOWN = modules()


def package_of(module: str) -> str:
    """The layer's name of a module: the part behind `rushlight`, or the top module itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def short(module: str) -> str:
    return module.removeprefix("rushlight.")


def wrong_imports(name: str, path: Path) -> list[str]:
    """What the layers forbid in one file, as `ALLOWED` spells it."""
    here = package_of(name)
    found = []
    for target, _, _ in imports(name, path, KNOWN):
        there = package_of(target)
        aside = level(there) == level(here) != FACADES
        if there != here and (level(there) > level(here) or aside):
            found.append(f"{short(name)} -> {short(target)}")
    return found


def test_every_layer_is_there() -> None:
    assert set(LEVEL) <= {package_of(name) for name in KNOWN}


@pytest.mark.parametrize("name", KNOWN, ids=list(KNOWN))
def test_imports_point_down(name: str) -> None:
    assert set(wrong_imports(name, KNOWN[name])) <= set(ALLOWED)


def test_what_is_allowed_is_needed() -> None:
    found = {wrong for name, path in KNOWN.items() for wrong in wrong_imports(name, path)}
    assert set(ALLOWED) <= found
    assert all(reason.strip() for reason in ALLOWED.values())


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
