"""`save` and `load`: PyTorch's zip file of a pickle and raw storages, written whole, read safely."""

from __future__ import annotations

import io
import os
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base import dtypes
from ..core.tensor import Tensor, wrap
from . import names
from .atomic import atomic_write
from .errors import CorruptFileError
from .legacy import is_legacy, load_legacy
from .locations import Placer
from .machine import Machine
from .pickler import Pickler, storage_bytes

_ALIGN = 64


def save(
    obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2, **options: Any
) -> None:
    """Write `obj` (tensors, state dicts, containers, modules) to a path or a file, as PyTorch does."""
    if isinstance(f, (str, os.PathLike)):
        stem = os.path.splitext(os.path.basename(os.fspath(f)))[0] or "archive"
        with atomic_write(f) as target:
            _write(obj, target, stem)
    else:
        _write(obj, f, "archive")


def _write(obj: Any, target: Any, folder: str) -> None:
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
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool | None = None,
    mmap: bool | None = None,
    **options: Any,
) -> Any:
    """Read what `save` (ours or PyTorch's) wrote.

    Only data is ever built: tensors, containers, numbers, text and names of an allow-list. With
    `weights_only=False` also Module objects of classes that are already imported; never anything else.
    """
    place = Placer(map_location)
    if isinstance(f, (str, os.PathLike)):
        with open(f, "rb") as opened:
            return _load(opened, place, weights_only is False)
    return _load(f, place, weights_only is False)


def _load(f: Any, place: Placer, modules: bool) -> Any:
    start = f.tell()
    head = f.read(4)
    f.seek(start)
    if head[:4] != b"PK\x03\x04":
        if is_legacy(head):
            return load_legacy(f.read(), lambda storage: _Reader(storage, place, modules))
        raise CorruptFileError(
            f"{getattr(f, 'name', 'the file')} is not a PyTorch file (it starts with {head!r})"
        )
    try:
        with zipfile.ZipFile(f) as archive:
            return _Archive(archive, place, modules).read()
    except (
        zipfile.BadZipFile,
        EOFError,
        NotImplementedError,
        OSError,
        zipfile.LargeZipFile,
    ) as error:
        raise CorruptFileError(f"the file is damaged ({error})") from None
    except (ValueError, KeyError, OverflowError, UnicodeDecodeError, RuntimeError) as error:
        if isinstance(error, CorruptFileError) or (
            type(error) is RuntimeError and "deserialize" in str(error)
        ):
            raise
        raise CorruptFileError(f"the file is damaged ({type(error).__name__}: {error})") from None


class _Archive:
    """The records of one zip file."""

    def __init__(self, archive: zipfile.ZipFile, place: Placer, modules: bool) -> None:
        self.archive = archive
        self.infos = {i.filename: i for i in archive.infolist()}
        pickles = [n for n in self.infos if n.endswith("/data.pkl")]
        if len(pickles) != 1:
            raise CorruptFileError("the file holds no data.pkl")
        self.folder = pickles[0][: -len("data.pkl")]
        if self.folder + "constants.pkl" in self.infos:
            raise CorruptFileError("this is a TorchScript archive; save the state_dict() instead")
        order = self.folder + "byteorder"
        if order in self.infos and bytes(self.record(order)) != b"little":
            raise CorruptFileError("big-endian files are not supported")
        self.reader = _Reader(self.storage, place, modules)

    def read(self) -> Any:
        return self.reader.run(memoryview(self.record(self.folder + "data.pkl")))

    def record(self, name: str) -> Any:
        """The bytes of a record, in fresh memory that is no larger than the file itself."""
        info = self.infos.get(name)
        if info is None:
            raise CorruptFileError(f"the file has no record {name}")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size:
            raise CorruptFileError(f"record {name} is compressed, which PyTorch never does")
        fp: Any = self.archive.fp
        whole = os.fstat(fp.fileno()).st_size if _has_fileno(fp) else None
        if whole is not None and info.file_size > whole:
            raise CorruptFileError(f"record {name} claims to be larger than the file")
        with self.archive.open(info) as record:
            data = record.read() if whole is None else _read_exactly(record, info.file_size)
        if len(data) != info.file_size:
            raise CorruptFileError(f"record {name} is truncated")
        return data

    def storage(self, key: str, d: dtypes.dtype, numel: int) -> np.ndarray:
        data = self.record(f"{self.folder}data/{key}")
        return _typed(data, d, numel, key)


def _has_fileno(f: Any) -> bool:
    try:
        f.fileno()
    except (AttributeError, OSError, io.UnsupportedOperation):
        return False
    return True


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
        raise CorruptFileError(
            f"storage {key} has {len(data)} bytes, {numel} x {d.itemsize} are claimed"
        )
    writable = data if isinstance(data, bytearray) else bytearray(data)
    return np.frombuffer(writable, d.np, numel) if numel else np.empty(0, d.np)


class _Reader:
    """Builds tensors from a pickle; `storage(key, dtype, numel)` gives raw memory."""

    def __init__(self, storage: Callable[..., np.ndarray], place: Placer, modules: bool) -> None:
        self.storage = storage
        self.place = place
        self.modules = modules
        self.held: dict[str, Any] = {}
        self.callable: set[int] = set()
        self.names = names.allowed({
            "torch._utils._rebuild_tensor_v2": self.tensor,
            "torch._utils._rebuild_tensor": self.tensor,
            "torch._utils._rebuild_tensor_v3": self.tensor_of_bytes,
            "torch._utils._rebuild_parameter": self.parameter,
            "torch._utils._rebuild_parameter_with_state": self.parameter,
            "torch._tensor._rebuild_from_type_v2": self.typed_tensor,
            "torch.nn.parameter.Parameter": self.parameter,
        })  # fmt: skip

    def run(self, data: memoryview, at: int = 0) -> Any:
        self.machine = Machine(data, self.find, self.call, self.persistent, self.build, at)
        return self.machine.run()

    def find(self, module: str, name: str) -> Any:
        found = self.names.get((module, name))
        if found is None and self.modules:
            found = names.loaded_class(module, name)
            if not (_is_module_class(found) or _is_our_function(found)):
                found = None
        if found is None:
            raise CorruptFileError(
                f"the file wants {module}.{name}, which is not on the list of safe names. If you trust "
                "it, allow it with serialization.add_safe_globals, or load a state_dict instead."
            )
        return found

    def call(self, fn: Any, args: tuple) -> Any:
        if _is_module_class(fn):
            if args:
                raise CorruptFileError("a Module in the file is constructed with arguments")
            return fn.__new__(fn)
        if not any(fn is allowed for allowed in self.names.values()) or isinstance(
            fn, (dtypes.dtype, names.StorageType)
        ):
            raise CorruptFileError(f"the file calls {fn!r}, which is not allowed")
        return fn(*args)

    def persistent(self, pid: Any) -> Any:
        if not isinstance(pid, tuple) or len(pid) < 5 or pid[0] != "storage":
            raise CorruptFileError("the file holds an unknown persistent id")
        _, kind, key, location, numel = pid[:5]
        if (
            not isinstance(kind, names.StorageType)
            or not isinstance(key, str)
            or not isinstance(location, str)
        ):
            raise CorruptFileError("the file describes a storage wrongly")
        if key not in self.held:
            raw = self.storage(key, kind.dtype, numel)
            self.held[key] = self.place(wrap(raw), location)
        held = self.held[key]
        if held.dtype is not kind.dtype:
            raise CorruptFileError(f"storage {key} is used with two dtypes")
        return held

    def tensor(self, storage: Any, offset: int, size: tuple, stride: tuple, requires_grad: bool = False,
               *rest: Any) -> Tensor:  # fmt: skip
        """A view of a storage, after its bounds were checked."""
        ints = [offset, *size, *stride]
        if not isinstance(storage, Tensor) or not all(type(i) is int and i >= 0 for i in ints):
            raise CorruptFileError("the file describes a tensor wrongly")
        if len(size) != len(stride) or len(size) > 64:
            raise CorruptFileError(
                "the file describes a tensor whose sizes and strides differ in number"
            )
        if 0 not in size:
            last = offset + sum((n - 1) * s for n, s in zip(size, stride))
            if last >= storage.numel():
                raise CorruptFileError(f"a tensor of size {list(size)} reaches beyond its storage")
        elif offset > storage.numel():
            raise CorruptFileError("a tensor starts beyond its storage")
        t = _strided(storage, size, stride, offset) if 0 not in size else storage.new_empty(size)
        return t.requires_grad_() if requires_grad else t

    def tensor_of_bytes(self, storage: Any, offset: int, size: tuple, stride: tuple, grad: bool,
                        hooks: Any, d: Any, *rest: Any) -> Tensor:  # fmt: skip
        """A tensor over an untyped storage, whose dtype stands beside it."""
        if not isinstance(storage, Tensor) or not isinstance(d, dtypes.dtype):
            raise CorruptFileError("the file describes a tensor wrongly")
        if storage.numel() % d.itemsize:
            raise CorruptFileError("the bytes of a storage do not make whole elements")
        return self.tensor(storage.view(d), offset, size, stride, grad)

    def parameter(self, data: Any, requires_grad: Any = True, *rest: Any) -> Any:
        from ..nn.parameter import Parameter

        if not isinstance(data, Tensor):
            raise CorruptFileError("the file describes a parameter wrongly")
        return Parameter(data, bool(requires_grad))

    def typed_tensor(self, fn: Any, kind: Any, args: tuple, state: Any) -> Any:
        return self.call(fn, args)

    def build(self, obj: Any, state: Any) -> None:
        if isinstance(obj, OrderedDict) and isinstance(state, dict):
            obj.__dict__.update({k: v for k, v in state.items() if k == "_metadata"})
        elif self.modules and _is_module_class(type(obj)) and isinstance(state, dict):
            obj.__setstate__(state)
        elif (
            type(obj) in [type(o) for o in names.get_safe_globals()]
            or type(obj) in names.get_safe_globals()
        ):
            setter = getattr(obj, "__setstate__", None)
            setter(state) if setter else obj.__dict__.update(state)
        elif not isinstance(obj, Tensor):
            raise CorruptFileError(f"the file sets the state of a {type(obj).__name__}")


def _strided(storage: Tensor, size: tuple, stride: tuple, offset: int) -> Tensor:
    """A window into a flat storage, sharing its memory."""
    if not storage.is_cpu:
        return storage.as_strided(size, stride, offset).detach()
    steps = [s * storage.itemsize for s in stride]
    return wrap(np.lib.stride_tricks.as_strided(storage._a[offset:], size, steps))


def _is_module_class(found: Any) -> bool:
    from ..nn.modules.module import Module

    return isinstance(found, type) and issubclass(found, Module)


def _is_our_function(found: Any) -> bool:
    module = getattr(found, "__module__", "") or ""
    return callable(found) and not isinstance(found, type) and module.split(".")[0] == "rushlight"
