"""Which global names a file may use, what they stand for here, and how ours are spelt in files."""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict
from contextlib import contextmanager
from typing import Any

from ..base import dtypes
from ..base.device import device
from ..base.shapes import Size
from .errors import CorruptFileError

STORAGE_NAMES = {name: f"{title}Storage" for name, title in dtypes.TITLES.items()}
STORAGE_DTYPES = {**{v: k for k, v in STORAGE_NAMES.items()}, "UntypedStorage": "uint8"}


class StorageType:
    """A storage class named in a file; only its dtype matters."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.dtype = dtypes.by_name(STORAGE_DTYPES[name])


_user_globals: dict[tuple[str, str], Any] = {}


def add_safe_globals(safe_globals: list[Any]) -> None:
    """Let files use these classes or functions too."""
    for item in safe_globals:
        obj, name = (
            item if isinstance(item, tuple) else (item, f"{item.__module__}.{item.__qualname__}")
        )
        module, _, attr = name.rpartition(".")
        _user_globals[(module, attr)] = obj


def get_safe_globals() -> list[Any]:
    """What `add_safe_globals` has added."""
    return list(_user_globals.values())


def clear_safe_globals() -> None:
    """Forget what `add_safe_globals` has added."""
    _user_globals.clear()


@contextmanager
def safe_globals(extra: list[Any]) -> Any:
    """`add_safe_globals` for one block."""
    before = dict(_user_globals)
    add_safe_globals(extra)
    try:
        yield
    finally:
        _user_globals.clear()
        _user_globals.update(before)


def _bytes_of(text: str, encoding: str = "latin1") -> bytes:
    """`_codecs.encode` as protocol 2 uses it for bytes objects."""
    if encoding not in ("latin1", "latin-1") or not isinstance(text, str):
        raise CorruptFileError("the file encodes bytes in an unknown way")
    return text.encode("latin-1")


def _ordered_dict(items: Any = ()) -> OrderedDict:
    return OrderedDict(items)


def _size(items: Any) -> Size:
    return Size([int(i) for i in items])


def _device(kind: str, index: int | None = None) -> device:
    return device(kind, index)


# name in the file -> (what it stands for, whether REDUCE may call it)
def allowed(rebuild: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """The allow-list; `rebuild` maps PyTorch's `_rebuild_*` names to functions of the reader."""
    names: dict[tuple[str, str], Any] = {
        ("collections", "OrderedDict"): _ordered_dict,
        ("collections", "Counter"): Counter,
        ("collections", "defaultdict"): lambda factory=None, *a: defaultdict(_factory(factory)),
        ("builtins", "set"): set,
        ("__builtin__", "set"): set,
        ("builtins", "dict"): dict,
        ("builtins", "list"): list,
        ("builtins", "int"): int,
        ("builtins", "float"): float,
        ("builtins", "complex"): complex,
        ("__builtin__", "complex"): complex,
        ("_codecs", "encode"): _bytes_of,
        ("torch", "Size"): _size,
        ("torch", "device"): _device,
        ("torch.serialization", "_get_layout"): lambda name: "strided",
    }
    for name in STORAGE_DTYPES:
        names[("torch", name)] = StorageType(name)
    names[("torch.storage", "UntypedStorage")] = StorageType("UntypedStorage")
    for d in dtypes.ALL:
        names[("torch", d.name)] = d
    for name, fn in rebuild.items():
        module, _, attr = name.rpartition(".")
        names[(module, attr)] = fn
    names.update(_user_globals)
    return names


def _factory(factory: Any) -> Any:
    return factory if factory in (dict, list, int, float, set) else None


def loaded_class(module: str, name: str) -> Any:
    """A Module class or function of an already imported module, for whole pickled models."""
    here = ours(module)
    found: Any = sys.modules.get(here)
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def ours(module: str) -> str:
    """PyTorch's module path as ours."""
    for theirs, mine in (("torchvision", "rushlight.vision"), ("torch", "rushlight")):
        if module == theirs or module.startswith(theirs + "."):
            return mine + module[len(theirs) :]
    return module


def theirs(module: str) -> str:
    """Our module path as PyTorch's, so that files can be exchanged."""
    for mine, other in (("rushlight.vision", "torchvision"), ("rushlight", "torch")):
        if module == mine or module.startswith(mine + "."):
            return other + module[len(mine) :]
    return module
