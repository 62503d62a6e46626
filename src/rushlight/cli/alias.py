"""Other frameworks' names for this process: `import torch` finds rushlight, torchvision its vision."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from ..base.config import settings

ALIASES = {"torch": "rushlight", "torchvision": "rushlight.vision", "dezero": "rushlight.dezero"}
# Scripts compare `torch.__version__` with what they need; this is the one whose API is followed.
TORCH = "2.13.0"


def target_of(name: str) -> str | None:
    """Our module for an aliased name: torch.nn.functional -> rushlight.nn.functional."""
    top, dot, rest = name.partition(".")
    return ALIASES[top] + dot + rest if top in ALIASES else None


def alias_of(module: str) -> str:
    """The name a script knows our module by: rushlight.vision.models -> torchvision.models."""
    for theirs, ours in reversed(ALIASES.items()):  # the longer names first
        if module == ours or module.startswith(ours + "."):
            return theirs + module[len(ours) :]
    return module


class AliasFinder(MetaPathFinder, Loader):
    """Answers imports of aliased names with the very module objects of rushlight."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> Any:
        ours = target_of(name)
        if ours is None:
            return None
        if ours in sys.modules or find_spec(ours) is not None:
            return ModuleSpec(name, self, is_package=True)
        if "." in name:
            return None  # nobody finds it in our folders: the import fails with Python's own words
        # Never the installed package of that name: half of each would be worse than neither.
        raise ModuleNotFoundError(f"No module named {name!r}: {ours} is not here", name=name)

    def create_module(self, spec: ModuleSpec) -> None:
        """An empty module that `exec_module` replaces; ours is never written to."""

    def exec_module(self, module: ModuleType) -> None:
        ours = target_of(module.__name__)
        assert ours is not None
        __import__(ours)  # import_module() would add a line to tracebacks
        sys.modules[module.__name__] = sys.modules[ours]


def install() -> None:
    """Alias torch, torchvision and dezero in this process; dtypes and sizes print `torch.`."""
    if any(isinstance(f, AliasFinder) for f in sys.meta_path):
        return
    for name in ALIASES:
        for loaded in [m for m in sys.modules if m == name or m.startswith(name + ".")]:
            del sys.modules[loaded]
    sys.meta_path.insert(0, AliasFinder())
    settings.module = "torch"
    package = sys.modules[ALIASES["torch"]]
    package.__dict__["__version__"] = f"{TORCH}+rushlight{package.__version__}"
    _follow_spawned_processes()


class _Install:
    """Unpickling it installs the aliases."""

    def __reduce__(self) -> Any:
        return install, ()


def _follow_spawned_processes() -> None:
    """Let processes that multiprocessing starts afresh have the aliases too.

    They unpickle this data before they import the script, which imports torch.
    """
    import multiprocessing
    from multiprocessing import spawn

    plain = spawn.get_preparation_data

    def with_aliases(name: str) -> dict[str, Any]:
        return {**plain(name), "aliases": _Install()}

    spawn.get_preparation_data = with_aliases
    # By default the fork server imports the script before it is told anything.
    multiprocessing.set_forkserver_preload([])
