"""The table `.metadata` of a folder that ranks wrote together: PyTorch's pickle, written and read as plain data.

In memory it is a dict of three: "tensors" (for each name dtype, whole shape and parts), "others" (where values that are
no tensors lie) and "paths" (by which keys of nested dicts and lists a name was reached; a place in a list is an int).
A part or value is said by file, place and number of bytes; what lies there is what `save` writes.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from typing import Any

from ..base import dtypes
from ..base.shapes import Size
from .atomic import atomic_write
from .errors import CorruptFileError
from .machine import Machine
from .pickler import GlobalName, Pickler

__all__ = ["TABLE", "read_table", "write_table"]

TABLE = ".metadata"
_HOME = "torch.distributed.checkpoint.metadata"
_FIELDS = {
    "Metadata": ("state_dict_metadata", "planner_data", "storage_data", "storage_meta", "version"),
    "TensorStorageMetadata": ("properties", "size", "chunks"),
    "ChunkStorageMetadata": ("offsets", "sizes"),
    "TensorProperties": ("dtype", "layout", "requires_grad", "memory_format", "pin_memory"),
    "MetadataIndex": ("fqn", "offset", "index"),
    "_StorageInfo": ("relative_path", "offset", "length", "transform_descriptors"),
}


# -- written ----------------------------------------------------------------------------------------


class _Made:
    """An object of PyTorch's as a file says it: a class and its arguments."""

    def __init__(self, name: str, *args: Any, module: str = _HOME) -> None:
        self.reduced = (GlobalName(module, name), args)

    def __reduce__(self) -> Any:
        return self.reduced


def _size(numbers: Any) -> _Made:
    return _Made("Size", tuple(numbers), module="torch")


def _place(row: dict[str, Any]) -> _Made:
    found = (row["file"], row["at"], row["bytes"])
    return _Made("_StorageInfo", *found, module="torch.distributed.checkpoint.filesystem")


def write_table(folder: str, index: dict[str, Any]) -> None:
    """Put a table in its place, at once: before, the folder holds what it held."""
    described: dict[str, Any] = {}
    stored: dict[Any, Any] = {}
    for name, entry in index["tensors"].items():
        properties = _Made("TensorProperties", dtypes.by_name(entry["dtype"]))
        chunks = [_Made("ChunkStorageMetadata", _size(p["offset"]), _size(p["shape"])) for p in entry["parts"]]  # fmt: skip
        described[name] = _Made("TensorStorageMetadata", properties, _size(entry["whole"]), chunks)
        for at, part in enumerate(entry["parts"]):
            stored[_Made("MetadataIndex", name, _size(part["offset"]), at)] = _place(part)
    for name, row in index["others"].items():
        described[name] = _Made("BytesStorageMetadata")
        stored[_Made("MetadataIndex", name)] = _place(row)
    paths = {name: tuple(path) for name, path in index["paths"].items()}
    with atomic_write(os.path.join(folder, TABLE), "wb") as f:
        Pickler(f).dump(_Made("Metadata", described, paths, stored, None, "1.0.0"))


# -- read -------------------------------------------------------------------------------------------


class _Record:
    """An object of PyTorch's as data: the name of its class, and fields."""

    def __init__(self, name: str, args: tuple) -> None:
        self.name = name
        self.fields = dict(zip(_FIELDS.get(name, ()), args))

    def take(self, state: Any) -> None:
        if isinstance(state, tuple):
            state = dict(zip(_FIELDS.get(self.name, ()), state))
        if not isinstance(state, dict):
            raise CorruptFileError(f"the table describes a {self.name} wrongly")
        self.fields.update(state)


class _Class:
    """A class of PyTorch's that the table names; calling it makes a record."""

    def __init__(self, name: str) -> None:
        self.name = name


def _find(module: str, name: str) -> Any:
    if module == "torch":
        return Size if name == "Size" else dtypes.by_name(name)
    if (module, name) == ("collections", "OrderedDict"):
        return OrderedDict
    if module.startswith(("torch.distributed.", "torch.serialization", "pathlib")):
        return _Class(name)
    raise CorruptFileError(f"the table wants {module}.{name}, which no checkpoint needs")


def _call(made: Any, args: tuple) -> Any:
    if isinstance(made, _Class):
        return _Record(made.name, args)
    if made is Size and len(args) == 1 and isinstance(args[0], (tuple, list)):
        if all(type(n) is int and n >= 0 for n in args[0]):
            return tuple(args[0])
    elif made is OrderedDict and not args:
        return OrderedDict()
    raise CorruptFileError("the table calls something that it may not call")


def _build(obj: Any, state: Any) -> None:
    if not isinstance(obj, _Record):
        raise CorruptFileError("the table sets the state of what has none")
    obj.take(state)


def _persistent(key: Any) -> Any:
    raise CorruptFileError("the table refers to a storage")


def read_table(folder: str) -> dict[str, Any]:
    """The table of a folder, PyTorch's or ours."""
    path = os.path.join(folder, TABLE)
    try:
        with open(path, "rb") as f:
            data = f.read()
    except FileNotFoundError:
        raise RuntimeError(f"{folder} has no {TABLE}: it is no checkpoint, or one that was not finished") from None  # fmt: skip
    try:
        found = Machine(memoryview(data), _find, _call, _persistent, _build, keys=(_Record,)).run()
        return _understood(found)
    except CorruptFileError as error:
        raise RuntimeError(f"{path} is damaged: {error}") from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise RuntimeError(f"{path} is damaged ({type(error).__name__}: {error})") from None


def _understood(found: Any) -> dict[str, Any]:
    """PyTorch's records as our dict."""
    places: dict[Any, dict[str, Any]] = {}
    for key, info in found.fields["storage_data"].items():
        row = info.fields
        if row.get("transform_descriptors"):
            raise RuntimeError(f"{row['relative_path']} is compressed ({row['transform_descriptors']}), which is not read")  # fmt: skip
        where = {"file": row["relative_path"], "at": row["offset"], "bytes": row["length"]}
        places[key.fields["fqn"], key.fields.get("offset")] = where
    index: dict[str, Any] = {"tensors": {}, "others": {}, "paths": {}}
    for name, record in found.fields["state_dict_metadata"].items():
        if record.name == "BytesStorageMetadata":
            index["others"][name] = places[name, None]
            continue
        parts = [{"offset": c.fields["offsets"], "shape": c.fields["sizes"], **places[name, c.fields["offsets"]]}
                 for c in record.fields["chunks"]]  # fmt: skip
        kind = record.fields["properties"].fields["dtype"]
        index["tensors"][name] = {"dtype": kind.name, "whole": record.fields["size"], "parts": parts}  # fmt: skip
    for name, path in (found.fields.get("planner_data") or {}).items():
        index["paths"][name] = list(path)
    return index
