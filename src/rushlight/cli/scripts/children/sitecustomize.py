"""What Python imports first in processes that an aliased program starts: `import torch` finds rushlight there, too.

Launchers (Lightning, accelerate, Ray) start ranks by `python script.py`. Nothing of rushlight is loaded before one of
the aliased names is asked for, so other programs that a script starts are as quick as ever.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any

ALIASES = {
    "torch": "rushlight", "torchvision": "rushlight.vision", "dezero": "rushlight.dezero",
    "functorch": "rushlight.functorch",
}  # fmt: skip
HERE = os.path.dirname(os.path.abspath(__file__))


OURS = ALIASES["torch"]
ALIAS = f"{OURS}.cli.scripts.alias"  # loaded when it is needed: it reads this file for the names


class _Installing(SourceFileLoader):
    """Loads rushlight, and installs the aliases."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        import_module(ALIAS).install()


class _WaitingFinder:
    """Waits until rushlight, one of its aliases or their version is asked for; then the aliases' own finder answers."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name == OURS:
            sys.meta_path.remove(self)
            spec = find_spec(name)
            if spec is not None and type(spec.loader) is SourceFileLoader:
                spec.loader = _Installing(spec.loader.name, spec.loader.path)
            return spec
        finder = _installed() if name in ALIASES else None
        if finder is None:
            return None
        sys.modules.pop(name, None)  # of what is there by now importlib would take the spec, and load it again
        return finder.find_spec(name, path, target)

    def find_distributions(self, context: Any = None) -> Iterable[Any]:
        finder = _installed() if getattr(context, "name", None) in ALIASES else None
        return finder.find_distributions(context) if finder else []


def _installed() -> Any:
    """The aliases' finder; None in a Python that has no rushlight."""
    try:
        alias = import_module(ALIAS)
    except ImportError:
        return None
    return next((f for f in sys.meta_path if isinstance(f, alias.AliasFinder)), None)


def _run_other() -> None:
    """What the environment's own file of this name does."""
    spec = PathFinder.find_spec(__name__)
    if spec is not None and spec.loader is not None:
        module = sys.modules[__name__] = module_from_spec(spec)
        spec.loader.exec_module(module)


if __name__ == "sitecustomize":  # not where the aliases themselves import it
    sys.path[:] = [folder for folder in sys.path if folder != HERE]
    sys.meta_path.insert(0, _WaitingFinder())
    _run_other()
