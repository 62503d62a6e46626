"""Other frameworks' names for this process and those it starts: `import torch` finds rushlight, torchvision its vision."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import find_spec
from types import ModuleType
from typing import Any

from ...base.config import adopt, launcher, settings
from ...base.spelling import respell
from .children.sitecustomize import ALIASES, HERE

# Scripts compare `torch.__version__` with what they need; this is the one whose API is followed.
TORCH = "2.13.0"
TORCHVISION = "0.28.0"  # the torchvision that belongs to it
VERSIONS = {"torch": TORCH, "torchvision": TORCHVISION}
# Packages whose compiled parts call PyTorch's own library, or (torchdata) that are made of the inner parts of its
# loader. Where they are installed beside it they count as missing under the alias: libraries ask whether they are
# there, and do without them.
COMPILED_FOR_PYTORCH = (
    "apex", "bitsandbytes", "deepspeed", "fbgemm_gpu", "flash_attn", "flash_attn_interface", "pyg_lib",
    "torch_cluster", "torch_scatter", "torch_sparse", "torch_spline_conv", "torchao", "torchaudio", "torchcodec", "torchdata",
    "torchtext", "transformer_engine", "xformers",
)  # fmt: skip

# Modules that start MPI only to ask whether mpiexec started this process, and take an ImportError for "no". Started alone
# here, MPI could not become a part of the world that ranks make later.
ASK_FOR_RANKS = ("lightning.fabric.plugins.environments.mpi", "lightning_fabric.plugins.environments.mpi")


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


def _exists(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # a parent is missing, which somebody else supplied
        return False


def _asker() -> str:
    """The module whose import statement is being carried out."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("importlib."):
        frame = frame.f_back
    return frame.f_globals.get("__name__", "")


def _is_alone() -> bool:
    from ...distributed import mpiexec  # 78 modules, which most scripts do not need

    return mpiexec.place() is None


class _Respelling(SourceFileLoader):
    """Loads one of our modules; its classes then name the modules in which PyTorch has them."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        _show_as_theirs(module)


def _show_as_theirs(module: ModuleType) -> None:
    """Make one of our modules known under PyTorch's name, which its classes then say, too."""
    respell(module)
    assert module.__spec__ is not None
    # `typing` and `inspect` look for the module that a class names, without importing it.
    sys.modules.setdefault(alias_of(module.__spec__.name), module)


def _spelt_as_theirs(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """How a module of ours is loaded under the aliases; None for other packages."""
    if not name.startswith(ALIASES["torch"] + "."):
        return None
    spec = PathFinder.find_spec(name, path)
    if spec is not None and type(spec.loader) is SourceFileLoader:
        spec.loader = _Respelling(spec.loader.name, spec.loader.path)
    return spec


class AliasFinder(MetaPathFinder, Loader):
    """Answers imports of aliased names with the very module objects of rushlight."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        ours = target_of(name)
        if name == "mpi4py.MPI" and _asker() in ASK_FOR_RANKS and _is_alone():
            raise ModuleNotFoundError("no mpiexec started this process", name=name)
        if ours is None:
            return _spelt_as_theirs(name, path)
        if ours in sys.modules or _exists(ours):
            return ModuleSpec(name, self, is_package=True)
        if "." in name:
            return None  # others may supply it; if nobody does, the import fails in Python's words
        # Never the installed package of that name: half of each would be worse than neither.
        raise ModuleNotFoundError(f"No module named {name!r}: {ours} is not here", name=name)

    def create_module(self, spec: ModuleSpec) -> None:
        """An empty module that `exec_module` replaces; ours is never written to."""

    def exec_module(self, module: ModuleType) -> None:
        ours = target_of(module.__name__)
        assert ours is not None
        __import__(ours)  # import_module() would add a line to tracebacks
        sys.modules[module.__name__] = sys.modules[ours]
        if module.__name__ == "torchvision":
            sys.modules[ours].__dict__["__version__"] = _stands_for(TORCHVISION)

    def find_distributions(self, context: Any = None) -> Iterable[Any]:
        """What `importlib.metadata` finds: the versions of PyTorch and torchvision we stand for."""
        from .metadata import standing_for  # importlib.metadata takes 10 ms to load

        asked = getattr(context, "name", None)
        names = VERSIONS if asked is None else {asked.lower()} & VERSIONS.keys()
        return [standing_for(name, VERSIONS[name]) for name in names]


def installed() -> bool:
    """Whether `import torch` finds rushlight in this process."""
    return any(isinstance(f, AliasFinder) for f in sys.meta_path)


def as_torch() -> None:
    """Let `import torch`, `torchvision` and `dezero` find rushlight from here on, as `rushlight run` does.

    Call it before anything imports PyTorch: two frameworks under one name would share nothing.

    Raises:
        RuntimeError: if PyTorch has been imported.

    Example:
        >>> import subprocess, sys
        >>> code = "import rushlight; rushlight.as_torch(); import torch; print(torch is rushlight)"
        >>> print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip())
        True
    """
    if installed():
        return
    real = [name for name in ALIASES if name in sys.modules]
    if real:
        raise RuntimeError(
            f"as_torch(): {', '.join(real)} has been imported already, and what holds it would not "
            "work with rushlight's tensors. Call rushlight.as_torch() first, in a fresh interpreter."
        )
    install()


def _stands_for(version: str) -> Any:
    """Their version followed by ours: 2.13.0+rushlight0.1.0."""
    from ...base.version import __version__
    from ...torch_version import TorchVersion

    return TorchVersion(f"{version}+rushlight{__version__}")


def install() -> None:
    """Alias torch, torchvision and dezero here and in processes started from here; dtypes and sizes print `torch.`."""
    if installed():
        return
    for name in ALIASES:
        for loaded in [m for m in sys.modules if m == name or m.startswith(name + ".")]:
            del sys.modules[loaded]
    sys.meta_path.insert(0, AliasFinder())
    _hide_compiled_packages()
    settings.module = "torch"
    package = sys.modules[ALIASES["torch"]]
    package.__dict__["__version__"] = package.version.__version__ = _stands_for(TORCH)
    package.__name__ = "torch"  # array libraries ask for it; imports go by __spec__ and __package__
    package.__dict__["torch"] = package
    ours = ALIASES["torch"]
    for name in [m for m in sys.modules if m == ours or m.startswith(ours + ".")]:
        _show_as_theirs(sys.modules[name])
    _follow_started_processes()


def _hide_compiled_packages() -> None:
    """Let packages that were compiled for PyTorch count as not installed."""
    for name in COMPILED_FOR_PYTORCH:
        # With None there `find_spec` answers None, and importing raises ModuleNotFoundError.
        if name not in sys.modules and find_spec(name) is not None:
            sys.modules[name] = None  # type: ignore[assignment]


def _follow_started_processes() -> None:
    """Let processes that this one starts have the aliases too, however they are started."""
    folders = launcher("PYTHONPATH")
    if HERE not in (folders or "").split(os.pathsep):
        adopt({"PYTHONPATH": f"{HERE}{os.pathsep}{folders}" if folders else HERE})
