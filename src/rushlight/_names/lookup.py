"""Names of the public modules that are looked up late: submodules, and what PyTorch has and we lack."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..core.public import NAMESPACES
from ..operators.late import load_late

PACKAGE = __name__.split(".")[0]

# Submodules that `import rushlight` does not load; `rushlight.nn` loads them on first use.
SUBMODULES = (
    "accelerator", "amp", "autograd", "backends", "capture", "cli", "compiler", "cuda", "data",
    "dezero", "distributed", "distributions", "fft", "func", "fx", "hub", "io", "jit", "library", "linalg",
    "multiprocessing", "nested", "nn", "onnx", "ops", "optim", "profiler", "random", "return_types", "serialization", "sparse", "special",
    "testing", "types", "utils", "version", "vision",
)  # fmt: skip

# Functions of the top module that live above it, or that few programs need: name -> module.
LATE = {
    "autocast": "amp", "get_autocast_dtype": "amp", "is_autocast_enabled": "amp",
    "set_autocast_enabled": "amp", "compile": "capture", "load": "io", "save": "io",
    "set_printoptions": "core.printing", "vmap": "func", "_assert": "base.errors",
    "UntypedStorage": "io", "TypedStorage": "io", "FloatStorage": "io",
}  # fmt: skip


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a parent is missing
        return False


def find(name: str) -> Any:
    """A submodule or late function of the top module, imported now and kept there."""
    package = sys.modules[PACKAGE]
    if name in SUBMODULES and _exists(f"{PACKAGE}.{name}"):
        return import_module(f"{PACKAGE}.{name}")
    if name in LATE and _exists(f"{PACKAGE}.{LATE[name]}"):
        found = getattr(import_module(f"{PACKAGE}.{LATE[name]}"), name, None)
        if found is not None:
            setattr(package, name, found)
            return found
    if load_late(name) and name in NAMESPACES["torch"]:
        found = NAMESPACES["torch"][name]
        setattr(package, name, found)
        return found
    raise AttributeError(missing(PACKAGE, vars(package), name))


def missing(module: str, names: Iterable[str], name: str) -> str:
    """What to say of a name that a module does not have."""
    label = module.rpartition(".")[2] if "." in module else "torch"
    said = f"module '{module}' has no attribute '{name}'."
    if name.startswith("_"):
        return said
    from difflib import get_close_matches

    from .torch_names import NAMES

    if name in NAMES.get(label, "").split():
        said += f" PyTorch has it; {PACKAGE} does not implement it yet."
    known = [n for n in names if not n.startswith("_")]
    if label == "torch":
        known += [n for n in SUBMODULES if _exists(f"{PACKAGE}.{n}")]
    close = get_close_matches(name, known, 3, 0.75)
    return said + (f" Did you mean: {', '.join(map(repr, close))}?" if close else "")


def listing(names: Iterable[str]) -> list[str]:
    """What `dir(rushlight)` shows: the names there are, and those that would be loaded."""
    late = [n for n in SUBMODULES if _exists(f"{PACKAGE}.{n}")]
    late += [n for n, home in LATE.items() if _exists(f"{PACKAGE}.{home}")]
    return sorted({*names, *late})
