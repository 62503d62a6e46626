"""The .pth format before PyTorch 1.6: four pickles in a row, then the raw storages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import dtypes
from .errors import CorruptFileError
from .machine import Machine
from .names import STORAGE_DTYPES, StorageType

_MAGIC = 0x1950A86A20F9469CFC6C
_VERSION = 1001


def is_legacy(head: bytes) -> bool:
    """Whether a file starts like a pickle of protocol 2."""
    return head[:2] == b"\x80\x02"


def _refuse(*args: Any) -> Any:
    raise CorruptFileError("the header of the file is not plain data")


def load_legacy(data: bytes, reader: Callable[[Callable], Any]) -> Any:
    """Read header, object, keys and storages; the storages come last, so the object waits for them."""
    view = memoryview(data)
    at = 0
    header = []
    for _ in range(3):
        machine = Machine(view, _refuse, _refuse, _refuse, _refuse, at)
        header.append(machine.run())
        at = machine.at
    if header[0] != _MAGIC or header[1] != _VERSION:
        raise CorruptFileError("the file is a pickle, but not one that torch.save wrote")
    start = at
    sizes: dict[str, tuple[dtypes.dtype, int]] = {}
    scout = Machine(
        view, _name, _shape_only, lambda pid: _remember(sizes, pid), lambda o, s: None, at
    )
    scout.run()
    at = scout.at
    machine = Machine(view, _refuse, _refuse, _refuse, _refuse, at)
    keys = machine.run()
    storages = _storages(view, machine.at, keys, sizes)
    final = reader(lambda key, d, n: _found(storages, key))
    return final.run(view, start)


def _name(module: str, name: str) -> Any:
    """First pass: nothing is looked up but storage types; calls answer empty containers."""
    return StorageType(name) if name in STORAGE_DTYPES else (module, name)


def _shape_only(fn: Any, args: tuple) -> Any:
    return {} if fn == ("collections", "OrderedDict") else None


def _remember(sizes: dict, pid: Any) -> None:
    """First pass: note what the storages at the end of the file will be."""
    if not isinstance(pid, tuple) or len(pid) < 5 or not isinstance(pid[1], StorageType):
        raise CorruptFileError("the file holds an unknown persistent id")
    key, numel = pid[2], pid[4]
    if not isinstance(key, str) or not isinstance(numel, int) or not 0 <= numel < 1 << 48:
        raise CorruptFileError(f"storage {key!r} claims {numel} elements")
    sizes[key] = (pid[1].dtype, numel)


def _storages(view: memoryview, at: int, keys: Any, sizes: dict) -> dict[str, np.ndarray]:
    storages = {}
    for key in keys if isinstance(keys, list) else []:
        if key not in sizes:
            raise CorruptFileError(f"the file holds a storage {key!r} nobody uses")
        d, numel = sizes[key]
        count = int.from_bytes(view[at : at + 8], "little")
        end = at + 8 + numel * d.itemsize
        if count != numel or end > len(view):
            raise CorruptFileError(f"storage {key} is truncated")
        storages[key] = (
            np.frombuffer(bytearray(view[at + 8 : end]), d.np) if numel else np.empty(0, d.np)
        )
        at = end
    return storages


def _found(storages: dict[str, np.ndarray], key: str) -> np.ndarray:
    if key not in storages:
        raise CorruptFileError(f"storage {key} is missing")
    return storages[key]
