"""`save` and `load`: PyTorch's zip file of a pickle and raw storages, written whole, read safely."""

from __future__ import annotations

import io
import os
import pickle
import struct
import sys
import warnings
import zipfile
import zlib
from collections import OrderedDict
from collections.abc import Callable
from os import PathLike
from types import ModuleType
from typing import IO, Any

import numpy as np

from ..base import dtypes
from ..base.device import device
from ..base.errors import only
from ..base.formats import memory_format
from ..base.spelling import is_torch, ours
from ..core.tensor import Tensor, wrap
from ..operators.memory.storage import TypedStorage, UntypedStorage
from . import names
from .atomic import atomic_write
from .budget import Budget, Noted
from .errors import CorruptFileError, UntrustedFileWarning
from .locations import Placer
from .machine import Machine
from .pickler import Pickler, storage_bytes
from .rebuild import rebuilders

Storage = Callable[[str, dtypes.dtype, int], np.ndarray]


class Storages:
    """The storages of one file, each read and placed once; `storage(key, dtype, numel)` gives memory."""

    def __init__(self, storage: Storage, place: Placer) -> None:
        self.storage = storage
        self.place = place
        self.held: dict[str, Tensor] = {}

    def __call__(self, pid: Any) -> UntypedStorage:
        """The storage that a persistent id names."""
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
        own = UntypedStorage if kind.name == "UntypedStorage" else TypedStorage
        return own((held if view is None else _part(held, view))._a)


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
        machine = Machine(data, self.find, self.call, self.storages, self.build, at, self.new, keys)
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
            raise CorruptFileError(f"the pickle cannot be read ({type(error).__name__}: {error})") from error
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


_ALIGN = 64


def save(
    obj: object,
    f: str | PathLike[str] | IO[bytes],
    pickle_module: ModuleType | None = None,
    pickle_protocol: int = 2,
    **options: Any,
) -> None:
    """Write tensors, state dicts, containers or modules to a file that PyTorch can read; the file is whole or not there.

    Args:
        obj: what to write.
        f: a path, or a binary file that is open for writing.
        pickle_module, pickle_protocol: how PyTorch writes; what is read is the same.
        options: those of PyTorch whose names begin with an underscore, which change nothing.

    Raises:
        TypeError: if `obj` holds something that files cannot hold.

    Example:
        >>> import io
        >>> file = io.BytesIO()
        >>> torch.save({"step": 3, "w": torch.ones(2)}, file)
        >>> _ = file.seek(0)
        >>> torch.load(file)
        {'step': 3, 'w': tensor([1., 1.])}
    """
    only("save", options, "_use_new_zipfile_serialization _disable_byteorder_record")
    if isinstance(f, (str, os.PathLike)):
        stem = os.path.splitext(os.path.basename(os.fspath(f)))[0] or "archive"
        with atomic_write(f) as target:
            _write(obj, target, stem)
    else:
        _write(obj, f, "archive")


def _write(obj: object, target: Any, folder: str) -> None:
    buffer = io.BytesIO()
    pickler = Pickler(buffer)
    pickler.dump(obj)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        _record(archive, f"{folder}/data.pkl", buffer.getbuffer())
        _record(archive, f"{folder}/.format_version", b"1")
        _record(archive, f"{folder}/.storage_alignment", b"64")
        _record(archive, f"{folder}/byteorder", b"little")
        for key, array in pickler.storages:
            _record(archive, f"{folder}/data/{key}", storage_bytes(array))
        _record(archive, f"{folder}/version", b"3\n")
        _record(archive, f"{folder}/.data/serialization_id", b"0" * 40)


def _record(archive: zipfile.ZipFile, name: str, data: Any) -> None:
    """One stored record whose data starts at a multiple of 64 bytes."""
    info = zipfile.ZipInfo(name)
    size = len(data)
    assert archive.fp is not None
    wide = 20 if size >= 0x7FFFFFFF else 0  # the zip64 field that zipfile will add itself
    start = archive.fp.tell() + 30 + len(name.encode()) + wide
    padding = -(start + 4) % _ALIGN
    info.extra = b"FB" + padding.to_bytes(2, "little") + b"Z" * padding
    with archive.open(info, "w", force_zip64=bool(wide)) as record:
        view = memoryview(data)
        for at in range(0, size, 1 << 24):  # zipfile wants bytes-like pieces it can count
            record.write(view[at : at + (1 << 24)])


def load(
    f: str | PathLike[str] | IO[bytes],
    map_location: Callable[[Any, str], Any] | device | str | dict[str, str] | None = None,
    pickle_module: ModuleType | None = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **options: Any,
) -> Any:
    """Read what `save` (ours or PyTorch's) wrote.

    By default only data is ever built: tensors, containers, numbers, text and names of an allow-list, with
    memory and time in proportion to the file. `weights_only=False` runs the pickle as Python does: it
    loads every object that `save` can write, and executes whatever code the file asks for. A file that is
    damaged, or wants more than it may, raises CorruptFileError, whatever is wrong with it.

    Args:
        f: a path, or a binary file that is open for reading.
        map_location: where tensors go: a device, a dict of device names, or a function.
        pickle_module: whose reader PyTorch takes; ours reads here.
        mmap, options: hints and arguments of that reader, which change nothing.
        weights_only: False trusts the file.

    Raises:
        CorruptFileError: if the file is damaged, or asks for a name that is not allowed.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     torch.save(nn.Linear(2, 1).state_dict(), folder + "/net.pth")
        ...     list(torch.load(folder + "/net.pth"))
        ['weight', 'bias']
    """
    only("load", options, "encoding errors fix_imports buffers")
    if pickle_module is not None and weights_only:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    place = Placer(map_location)
    kind = TrustingReader if weights_only is False else SafeReader
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as opened:
            return _load(opened, place, kind)
    return _load(f, place, kind)


def _load(f: Any, place: Placer, kind: Callable[[Storages], Any]) -> Any:
    start = f.tell()
    head = f.read(4)
    f.seek(start)
    try:
        if head[:4] == b"PK\x03\x04":
            with zipfile.ZipFile(f) as archive:
                return _Archive(archive, place, kind).read()
        if is_legacy(head):
            return load_legacy(f.read(), place, kind)
    except CorruptFileError:
        raise
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, EOFError, OSError,
            NotImplementedError, ValueError, LookupError, OverflowError, MemoryError) as error:  # fmt: skip
        raise CorruptFileError(f"the file is damaged ({type(error).__name__}: {error})") from None
    except RuntimeError as error:
        if "deserialize" in str(error) or kind is TrustingReader:  # PyTorch's words about CUDA
            raise
        raise CorruptFileError(f"the file is damaged ({type(error).__name__}: {error})") from None
    raise CorruptFileError(f"{getattr(f, 'name', 'the file')} is not a PyTorch file (it starts with {head!r})")


class _Archive:
    """The records of one zip file."""

    def __init__(self, archive: zipfile.ZipFile, place: Placer, kind: Callable[[Storages], Any]) -> None:
        self.archive = archive
        self.infos = {i.filename: i for i in archive.infolist()}
        self.whole = _size_of(archive.fp)
        self.left = self.whole  # records may overlap: together they are no larger than the file
        if len({i.header_offset for i in self.infos.values()}) < len(self.infos):
            raise CorruptFileError("records of the file lie over each other")
        pickles = [n for n in self.infos if n.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise CorruptFileError("the file holds no data.pkl")
        self.folder = pickles[0][: -len("data.pkl")]
        if self.folder + "constants.pkl" in self.infos:
            raise CorruptFileError("this is a TorchScript archive; save the state_dict() instead")
        order = self.folder + "byteorder"
        if order in self.infos and bytes(self.record(order)) != b"little":
            raise CorruptFileError("big-endian files are not supported")
        self.reader = kind(Storages(self.storage, place))

    def read(self) -> Any:
        found, _ = self.reader.run(memoryview(self.record(self.folder + "data.pkl")))
        return found

    def record(self, name: str) -> Any:
        """The bytes of a record, in fresh memory that is no larger than the file itself."""
        info = self.infos.get(name)
        if info is None:
            raise CorruptFileError(f"the file has no record {name}")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise CorruptFileError(f"record {name} is compressed, which PyTorch never does")
        self.left -= info.file_size
        if self.left < 0:
            raise CorruptFileError(f"record {name} claims to be larger than the file")
        with self.archive.open(info) as record:
            data = _read_exactly(record, info.file_size)
        if len(data) != info.file_size:
            raise CorruptFileError(f"record {name} is truncated")
        return data

    def storage(self, key: str, d: dtypes.dtype, numel: int) -> np.ndarray:
        data = self.record(f"{self.folder}data/{key}")
        return _typed(data, d, numel, key)


def _size_of(f: Any) -> int:
    here = f.tell()
    size = f.seek(0, os.SEEK_END)
    f.seek(here)
    return size


def _read_exactly(record: Any, size: int) -> bytearray:
    data = bytearray(size)
    view = memoryview(data)
    at = 0
    while at < size:
        n = record.readinto(view[at : at + (1 << 24)])
        if not n:
            break
        at += n
    return data if at == size else data[:at]


def _typed(data: Any, d: dtypes.dtype, numel: int, key: str) -> np.ndarray:
    if not isinstance(numel, int) or numel < 0 or numel * d.itemsize > len(data):
        raise CorruptFileError(f"storage {key} has {len(data)} bytes, {numel} x {d.itemsize} are claimed")
    return np.frombuffer(data, d.np, numel) if numel else np.empty(0, d.np)
