"""`torch.ops`: operators by namespace and name, as libraries that register their own call them.

`rushlight.library.custom_op("mylib::name", ...)` puts them here: `rushlight.ops.mylib.name(...)`.
"""

from __future__ import annotations

from typing import Any

from ._aten.names import packet

OURS = ("aten", __package__)  # PyTorch's operators, and kernels of ours that it has no name for


class _OpNamespace:
    """The operators of one library; a name nobody registered is an AttributeError."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __getattr__(self, op: str) -> Any:
        if self.__dict__.get("name") in OURS and (known := packet(op, self.name)) is not None:
            setattr(self, op, known)
            return known
        raise AttributeError(
            f"'_OpNamespace' '{self.__dict__.get('name')}' object has no attribute '{op}'", name=op, obj=self
        )

    def __repr__(self) -> str:
        return f"<module '{__name__}.{self.name}'>"


_namespaces: dict[str, _OpNamespace] = {}  # those that hold something


def register(namespace: str, name: str, op: Any) -> None:
    """Let `ops.<namespace>.<name>` be `op`."""
    setattr(_namespaces.setdefault(namespace, _OpNamespace(namespace)), name, op)


def load_library(path: Any) -> None:
    """Refused: compiled extensions of PyTorch need PyTorch's own C++ interface."""
    raise OSError(
        f"{path}: rushlight cannot load operators that were compiled for PyTorch. Register a Python "
        "implementation with rushlight.library.custom_op."
    )


def __getattr__(name: str) -> _OpNamespace:
    """Every name is a namespace, empty until somebody registers something, as in PyTorch."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    if name in OURS:  # kept, so that its operators are the same objects each time
        return _namespaces.setdefault(name, _OpNamespace(name))
    return _namespaces.get(name) or _OpNamespace(name)


def __dir__() -> list[str]:
    return sorted([*_namespaces, "load_library"])
