"""What the pickle of a .pth file stands for: tensors over storages, by a safe reader or a trusting one."""

from __future__ import annotations

import io
import pickle
import sys
import warnings
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.formats import memory_format
from ..base.spelling import is_torch, ours
from ..core.tensor import Tensor, wrap
from . import names
from .budget import Budget, Noted
from .errors import CorruptFileError, UntrustedFileWarning
from .locations import Placer
from .machine import Machine
from .rebuild import rebuilders

Storage = Callable[[str, dtypes.dtype, int], np.ndarray]


class Storages:
    """The storages of one file, each read and placed once; `storage(key, dtype, numel)` gives memory."""

    def __init__(self, storage: Storage, place: Placer) -> None:
        self.storage = storage
        self.place = place
        self.held: dict[str, Tensor] = {}

    def __call__(self, pid: Any) -> Tensor:
        """The storage that a persistent id names, as a flat tensor."""
        if not isinstance(pid, tuple) or len(pid) < 5 or pid[0] != "storage":
            raise CorruptFileError("the file holds an unknown persistent id")
        _, kind, key, location, numel = pid[:5]
        if (
            not isinstance(kind, names.StorageType)
            or type(key) is not str
            or type(location) is not str
            or type(numel) is not int
        ):
            raise CorruptFileError("the file describes a storage wrongly")
        if key not in self.held:
            raw = self.storage(key, kind.dtype, numel)
            self.held[key] = self.place(wrap(raw), location)
        held = self.held[key]
        if held.dtype is not kind.dtype:
            raise CorruptFileError(f"storage {key} is used with two dtypes")
        view = pid[5] if len(pid) > 5 else None
        return held if view is None else _part(held, view)


def _part(held: Tensor, view: Any) -> Tensor:
    """Part of a storage, as files before PyTorch 0.4 describe it."""
    if not isinstance(view, tuple) or len(view) != 3:
        raise CorruptFileError("the file describes part of a storage wrongly")
    _, offset, size = view
    if type(offset) is not int or type(size) is not int or offset < 0 or size < 0:
        raise CorruptFileError("the file describes part of a storage wrongly")
    if offset + size > held.numel():
        raise CorruptFileError("the file describes a part beyond its storage")
    return held[offset : offset + size]


class SafeReader:
    """`weights_only=True`: a pickle machine that can only build data, of names on a list."""

    def __init__(self, storages: Storages) -> None:
        self.storages = storages

    def run(self, data: memoryview, at: int = 0) -> tuple[Any, int]:
        """The object, and where its pickle ends."""
        users = names.user_types()
        keys = (*users, Tensor, dtypes.dtype, names.device)
        machine = Machine(
            data, self.find, self.call, self.storages, self.build, at, self.new, keys
        )  # fmt: skip
        make = names.Containers(machine.budget, keys)
        self.users = users
        self.names = names.allowed(rebuilders(self.call), make)
        self.callable = {id(v) for v in self.names.values() if not isinstance(v, _NEVER_CALLED)}
        self.callable -= {id(int), id(float), id(Tensor)}
        self.callable |= {id(v) for v in names.get_safe_globals()}
        return machine.run(), machine.at

    def find(self, module: str, name: str) -> Any:
        found = self.names.get((module, name))
        if found is None:
            raise CorruptFileError(
                f"the file wants {module}.{name}, which is not on the list of safe names. If you trust "
                "it, allow it with serialization.add_safe_globals, or load a state_dict instead."
            )
        return found

    def call(self, fn: Any, args: tuple) -> Any:
        if id(fn) not in self.callable:
            raise CorruptFileError(f"the file calls a {type(fn).__name__} that it may not call")
        return fn(*args)

    def new(self, cls: Any, args: tuple) -> Any:
        """An instance without `__init__`, as Python's pickles make them."""
        if any(cls is user for user in self.users):
            return cls.__new__(cls, *args)
        return self.call(cls, args)

    def build(self, obj: Any, state: Any) -> None:
        if type(obj) is OrderedDict:
            _set_metadata(obj, state)
        elif isinstance(obj, self.users):
            set_state(obj, state)
        elif not isinstance(obj, (Tensor, Noted)):
            raise CorruptFileError(f"the file sets the state of a {type(obj).__name__}")


_NEVER_CALLED = (dtypes.dtype, names.StorageType, memory_format)


def _set_metadata(obj: OrderedDict, state: Any) -> None:
    """The versions of a state_dict's modules, the only attribute that such a dict has."""
    if not isinstance(state, dict):
        raise CorruptFileError("the file sets the state of a dict wrongly")
    metadata = state.get("_metadata")
    if isinstance(metadata, dict):
        obj.__dict__["_metadata"] = metadata


def set_state(obj: Any, state: Any) -> None:
    """What the pickle protocol does with the state of an instance."""
    setter = getattr(obj, "__setstate__", None)
    if setter is not None:
        setter(state)
        return
    state, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
    if state:
        vars(obj).update(state)
    for name, value in (slots or {}).items():
        setattr(obj, name, value)


_told = False


def _tell() -> None:
    """Once in a process, where whoever calls `load` can see it."""
    global _told
    if not _told:
        _told = True
        warnings.warn(
            "load(..., weights_only=False) runs the pickle in the file, which can execute any code: "
            "only do this with files you trust.",
            UntrustedFileWarning,
            stacklevel=_outside(),
        )


def _outside() -> int:
    """How many frames lie between here and the caller of `load`."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    return level


class TrustingReader:
    """`weights_only=False`: Python's own unpickler, with PyTorch's names found in rushlight."""

    def __init__(self, storages: Storages) -> None:
        self.storages = storages
        _tell()

    def run(self, data: memoryview, at: int = 0) -> tuple[Any, int]:
        """The object, and where its pickle ends."""
        stream = io.BytesIO(data[at:])
        unpickler = _Unpickler(stream, self.storages)
        try:
            found = unpickler.load()
        except CorruptFileError:
            raise
        except (pickle.UnpicklingError, EOFError, IndexError, KeyError, ValueError, MemoryError,
                OverflowError, RecursionError, TypeError) as error:  # fmt: skip
            raise CorruptFileError(
                f"the pickle cannot be read ({type(error).__name__}: {error})"
            ) from error
        return found, at + stream.tell()


def _called(fn: Callable, args: tuple) -> Any:
    return fn(*args)


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: Any, storages: Storages) -> None:
        super().__init__(stream, encoding="utf-8")
        self.storages = storages
        budget = Budget(sys.maxsize >> 4)  # names that mean data are built as the safe reader does
        known = names.allowed(rebuilders(_called), names.Containers(budget, (object,)))
        self.known = {k: v for k, v in known.items() if is_torch(k[0])}

    def persistent_load(self, pid: Any) -> Any:
        return self.storages(pid)

    def find_class(self, module: str, name: str) -> Any:
        if not is_torch(module):
            return super().find_class(module, name)
        found = self.known.get((module, name))
        return ours(module, name) if found is None else found
