"""Names of the top module that are looked up late: submodules, and what PyTorch has and we lack."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

# Submodules that `import rushlight` does not load; `rushlight.nn` loads them on first use.
SUBMODULES = (
    "accelerator", "amp", "autograd", "backends", "cuda", "data", "distributed", "distributions",
    "fft", "func", "futures", "hub", "io", "jit", "linalg", "multiprocessing", "nn", "onnx",
    "optim", "profiler", "random", "special", "testing", "utils", "version", "vision", "dezero",
    "return_types", "types", "capture", "cli",
)  # fmt: skip


def find(name: str) -> Any:
    """A submodule, imported now; AttributeError with the nearest names otherwise."""
    package = sys.modules[__package__]
    if name in SUBMODULES and find_spec(f"{__package__}.{name}") is not None:
        return import_module(f"{__package__}.{name}")
    raise AttributeError(missing(package, name))


def missing(package: Any, name: str) -> str:
    """What to say of a name the module does not have."""
    from difflib import get_close_matches

    known = [n for n in (*vars(package), *SUBMODULES) if not n.startswith("_")]
    close = get_close_matches(name, known, 3, 0.75)
    hint = f" Did you mean: {', '.join(repr(c) for c in close)}?" if close else ""
    return f"module '{package.__name__}' has no attribute '{name}'.{hint}"
