"""Lets PyTorch's own test files run on rushlight: `torch.testing` is PyTorch's own, and parts of PyTorch's inside stand empty.

Loaded by `tools/suites.py` for the suites `pytorch/...`. While test files are imported every missing name stands empty, afterwards
those that begin with an underscore: a test that needs one fails by itself, and a public name that is missing is seen as missing.
"""

from __future__ import annotations

import functools
import re
import sys
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

# Files of PyTorch's that need nothing but Python.
PLAIN = ("testing", "_vendor", "utils._import_utils", "utils._dtype_abbrs")
# What the databases ask for and leave alone if it is missing.
ASKED = re.compile(r"_foreach_\w*|zero|copy|parametrize_fn|slow_test|pytestmark|d?_?dtypes|__\w+__")
INSIDE = re.compile(r"(^|\.)(_|(xnnpack|python_native|cpp_extension|onnx|ao)(\.|$))")


class Nothing(ModuleType):
    """A part of PyTorch's inside that is not here."""

    __path__: list[str] = []
    __file__ = ""
    __all__ = ()

    def __getattr__(self, name: str) -> Any:
        if ASKED.fullmatch(name):
            raise AttributeError(name)
        return nothing(f"{self.__name__}.{name}")

    def __call__(self, *args: Any, **_: Any) -> Any:
        return args[0] if args and callable(args[0]) else self

    def _same(self, *_: Any) -> Any:
        return self

    def _no(self, *_: Any) -> bool:
        return False

    def _none(self, *_: Any) -> int:
        return 0

    __enter__ = __or__ = __ror__ = __getitem__ = __add__ = __radd__ = __sub__ = __deepcopy__ = _same
    __bool__ = __exit__ = __lt__ = __gt__ = __le__ = __ge__ = _no
    __index__ = __len__ = _none

    def __iter__(self) -> Any:
        return iter(())

    def __mro_entries__(self, bases: tuple) -> tuple:
        return ()

    def __reduce__(self) -> Any:
        return Nothing, (self.__name__,)


class _Class(type):
    def __getattr__(cls, name: str) -> Any:
        return Nothing.__getattr__(Nothing(cls.__name__), name)


@functools.cache
def nothing(name: str) -> Any:
    """An empty class where the name reads like one, otherwise an empty module."""
    last = name.rpartition(".")[2]
    if not re.match("_?[A-Z][a-z]", last):
        return Nothing(name)
    body: dict[str, Any] = {key: lambda self, *a, **k: None for key in ("__init__", "__enter__", "__exit__")}
    body["__getattr__"] = lambda self, name: Nothing.__getattr__(Nothing(last), name)
    return _Class(last, (), body)


class Finder:
    """Finds PyTorch's plain files in `folder`, and makes empty modules of its inside."""

    def __init__(self, folder: str) -> None:
        self.folder, self.importing = folder, True

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        top, _, rest = name.partition(".")
        if top != "torch" or not rest:
            return None
        if any(rest == plain or rest.startswith(f"{plain}.") for plain in PLAIN):
            place = Path(self.folder, *name.split(".")[:-1])
            return PathFinder.find_spec(name, [str(place)])
        ours = f"rushlight.{rest}"
        if not (self.importing or INSIDE.search(rest)) or ours in sys.modules or _found(ours):
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return Nothing(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to fill it with."""

    def complete(self, module: ModuleType) -> None:
        """Let a module of ours answer for the names that it lacks."""
        if INSIDE.search(module.__name__.partition(".")[2]) and "__path__" not in vars(module):
            module.__path__ = []  # PyTorch's has files in it
        first = vars(module).get("__getattr__")

        def answer(name: str) -> Any:
            try:
                if first is not None:
                    return first(name)
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")
            except AttributeError:
                inside = name.startswith("_") or module.__name__.rpartition(".")[2].startswith("_")
                submodule = "__path__" in vars(module) and _found(f"{module.__spec__.name}.{name}")  # type: ignore[union-attr]
                if ASKED.fullmatch(name) or submodule or not (self.importing or inside):
                    raise
                return nothing(f"{module.__name__}.{name}")

        module.__getattr__ = answer  # type: ignore[method-assign]


def _found(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):
        return False


def install(folder: str) -> Finder:
    """After `rushlight.as_torch()`: make the test files of the PyTorch in `folder` importable."""
    import torch

    from rushlight.cli.scripts import alias

    finder = Finder(folder)
    sys.meta_path.insert(0, finder)
    load = alias._Respelling.exec_module

    def load_and_complete(self: Any, module: ModuleType) -> None:
        load(self, module)
        finder.complete(module)

    alias._Respelling.exec_module = load_and_complete  # type: ignore[method-assign]
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == "rushlight":
            finder.complete(module)
    for name in [n for n in sys.modules if n.startswith(("rushlight.testing", "torch.testing"))]:
        del sys.modules[name]
    import torch.testing

    vars(torch)["testing"] = sys.modules["rushlight.testing"] = sys.modules["torch.testing"]
    spaces = type(torch.ops.aten)
    inner = spaces.__getattr__

    def operator(self: Any, name: str) -> Any:
        try:
            return inner(self, name)
        except AttributeError:
            if not finder.importing or ASKED.fullmatch(name):
                raise
            return nothing(f"torch.ops.{name}")

    spaces.__getattr__ = operator
    torch._dynamo.config.__dict__["compiled_autograd"] = False
    return finder
