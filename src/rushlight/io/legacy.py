"""The .pth format before PyTorch 1.6: four pickles in a row, then the raw storages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import dtypes
from ..core.tensor import Tensor, wrap
from .errors import CorruptFileError
from .locations import Placer
from .machine import Machine
from .reader import Storages

_MAGIC = 0x1950A86A20F9469CFC6C
_VERSION = 1001


def is_legacy(head: bytes) -> bool:
    """Whether a file starts like a pickle of protocol 2."""
    return head[:2] == b"\x80\x02"


def _refuse(*args: object) -> Any:
    raise CorruptFileError("the header of the file is not plain data")


def _plain(view: memoryview, at: int) -> tuple[Any, int]:
    machine = Machine(view, _refuse, _refuse, _refuse, _refuse, at)
    return machine.run(), machine.at


def load_legacy(data: bytes, place: Placer, reader: Callable[[Storages], Any]) -> Any:
    """Read header, object, keys and storages.

    The storages come last, so tensors are made over memory that is filled at the end. The file must hold
    every byte of it: what the pickle claims is counted before any memory is taken.
    """
    view = memoryview(data)
    magic, at = _plain(view, 0)
    version, at = _plain(view, at)
    if magic != _MAGIC or version != _VERSION:
        raise CorruptFileError("the file is a pickle, but not one that torch.save wrote")
    _, at = _plain(view, at)
    left = len(view)

    def empty(key: str, d: dtypes.dtype, numel: int) -> np.ndarray:
        nonlocal left
        left -= max(numel, 0) * d.itemsize
        if numel < 0 or left < 0:
            raise CorruptFileError(f"storage {key} claims {numel} elements")
        return np.zeros(numel, d.np)

    storages = Storages(empty, place)
    found, at = reader(storages).run(view, at)
    keys, at = _plain(view, at)
    _fill(view, at, keys, storages.held)
    return found


def _fill(view: memoryview, at: int, keys: Any, held: dict[str, Tensor]) -> None:
    if not isinstance(keys, list) or not all(type(key) is str for key in keys):
        raise CorruptFileError("the file does not list its storages")
    if set(keys) != set(held):
        raise CorruptFileError("the file lists other storages than it uses")
    for key in keys:
        storage = held[key]
        count = int.from_bytes(view[at : at + 8], "little")
        end = at + 8 + count * storage.itemsize
        if count != storage.numel() or end > len(view):
            raise CorruptFileError(f"storage {key} is truncated")
        if count and not storage.is_meta:
            raw = np.frombuffer(bytearray(view[at + 8 : end]), storage.dtype.np)
            storage.copy_(wrap(raw))
        at = end
