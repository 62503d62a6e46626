"""Other frameworks' names for this process: `import torch` finds rushlight, torchvision its vision."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from ..base.config import settings

ALIASES = {"torch": "rushlight", "torchvision": "rushlight.vision", "dezero": "rushlight.dezero"}
_OWN = ("__spec__", "__loader__", "__name__", "__package__", "__path__")


def target_of(name: str) -> str | None:
    """Our module for an aliased name: torch.nn.functional -> rushlight.nn.functional."""
    top, dot, rest = name.partition(".")
    if top not in ALIASES:
        return None
    return ALIASES[top] + dot + rest


class AliasFinder(MetaPathFinder, Loader):
    """Answers imports of aliased names with the very module objects of rushlight."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        ours = target_of(name)
        if ours is None:
            return None
        if ours not in sys.modules and not _exists(ours):
            raise ModuleNotFoundError(
                f"No module named {name!r}: rushlight has no {ours.partition('.')[2] or ours} yet",
                name=name,
            )
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        ours = target_of(spec.name)
        assert ours is not None
        module = import_module(ours)
        # The import system writes these into the module it is handed; ours keeps its own.
        self._kept = {k: module.__dict__.get(k) for k in _OWN}
        return module

    def exec_module(self, module: ModuleType) -> None:
        """The module ran when it was imported under its own name."""
        module.__dict__.update(self._kept)


def _exists(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def install() -> None:
    """Alias torch, torchvision and dezero in this process; dtypes and sizes print `torch.`."""
    if any(isinstance(f, AliasFinder) for f in sys.meta_path):
        return
    for name in ALIASES:
        for loaded in [m for m in sys.modules if m == name or m.startswith(name + ".")]:
            del sys.modules[loaded]
    sys.meta_path.insert(0, AliasFinder())
    settings.module = "torch"
