"""`torch.classes`: classes of compiled extensions, of which there are none."""

from __future__ import annotations

from typing import Any

from .base.errors import NotYet


def load_library(path: Any) -> None:
    """Refused: extensions are compiled against PyTorch's own C++ library."""
    raise NotYet(f"{path}: rushlight cannot load classes that were compiled for PyTorch")


class _ClassesOfLibrary:
    """The classes of one library."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(
            f"Tried to instantiate class '{self.name}.{name}', but it does not exist! Ensure that it is "
            "registered via torch::class_"
        )


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _ClassesOfLibrary(name)
