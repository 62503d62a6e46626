"""Folders with a `hubconf.py`: the models they offer, run as the Python code they are."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from .base.errors import NotYet


class _Quiet:
    """Counts without showing anything: what stands for tqdm where that is not installed."""

    def __init__(self, iterable: Iterable[Any] = (), total: int | None = None, **options: Any) -> None:
        self.iterable, self.total, self.n = iterable, total, 0

    def __iter__(self) -> Any:
        return iter(self.iterable)

    def update(self, n: int = 1) -> None:
        self.n += n

    def set_description(self, *args: Any, **kwargs: Any) -> None:
        pass

    def close(self) -> None:
        pass

    def __enter__(self) -> _Quiet:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.close()


try:
    from tqdm import tqdm
except ImportError:
    tqdm = _Quiet


def _entries(folder: Any, source: str) -> dict[str, Callable[..., Any]]:
    """What the folder's hubconf.py offers, which is run for it."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise NotYet(
            f'hub: rushlight fetches no code from GitHub. Clone {folder} and give the folder, with source="local".'
        )
    folder = os.fspath(folder)
    path = os.path.join(folder, "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf", path)
    if spec is None or spec.loader is None or not os.path.exists(path):
        raise FileNotFoundError(f"{path}: there is no hubconf.py in this folder")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, folder)  # hubconf.py imports what lies beside it
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    for name in getattr(module, "dependencies", ()):
        if importlib.util.find_spec(name) is None:
            raise RuntimeError(f"Missing dependencies: {name}")
    return {n: v for n, v in vars(module).items() if callable(v) and not n.startswith("_")}


def _entry(entries: dict[str, Callable[..., Any]], model: str) -> Callable[..., Any]:
    if model not in entries:
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return entries[model]


def local_load(
    repo_or_dir: Any, model: str, *args: Any, source: str = "github", trust_repo: Any = "check",
    force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """`torch.hub.load`: call a model of a folder's hubconf.py.

    Args:
        repo_or_dir: the folder.
        model: the name of a function there; what follows is given to it.
        source: "local"; rushlight fetches no code from GitHub.

    Raises:
        RuntimeError: if hubconf.py has no such function.
    """
    return _entry(_entries(repo_or_dir, source), model)(*args, **kwargs)


def local_names(github: Any, force_reload: bool = False, skip_validation: bool = False,
                trust_repo: Any = "check", verbose: bool = True) -> list[str]:  # fmt: skip
    """`torch.hub.list`: the models that a folder's hubconf.py offers."""
    return list(_entries(github, "local" if os.path.isdir(github) else "github"))


def local_help(github: Any, model: str, force_reload: bool = False, skip_validation: bool = False,
               trust_repo: Any = "check") -> str | None:  # fmt: skip
    """`torch.hub.help`: the docstring of a model."""
    return _entry(_entries(github, "local" if os.path.isdir(github) else "github"), model).__doc__
