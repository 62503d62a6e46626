"""Checkpoints that all ranks write together: PyTorch's folder with a file per rank and a table of what is where.

    step-100/
        __0_<key>.distcp   this rank's parts, one after the other, each as `save` writes a tensor; each save has its own key
        .metadata          for every name its parts: where in the whole tensor, in which file, at which place

The table is written last, by replacing the old one at once: until then the folder holds what it held before.

Every part of a tensor says where it lies in the whole, so a reader takes what overlaps with what it wants, whatever
the number of ranks that wrote or read. Values that are no tensors are in the file of rank 0.
"""

from __future__ import annotations

import io
import os
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..base import dtypes
from ..base.shapes import Size
from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..operators.create.from_data import from_numpy
from . import pth
from .atomic import atomic_write
from .errors import CorruptFileError
from .machine import Machine
from .pickler import GlobalName, Pickler

__all__ = ["Piece", "CheckpointReader", "file_name", "merge", "publish", "write_pieces"]


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
        chunks = [_Made("ChunkStorageMetadata", _size(p["offset"]), _size(p["shape"])) for p in entry["parts"]]
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
        raise RuntimeError(f"{folder} has no {TABLE}: it is no checkpoint, or one that was not finished") from None
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
        index["tensors"][name] = {"dtype": kind.name, "whole": record.fields["size"], "parts": parts}
    for name, path in (found.fields.get("planner_data") or {}).items():
        index["paths"][name] = list(path)
    return index


class Piece(NamedTuple):
    """A rank's part of a tensor: where it begins in the whole, and its values."""

    name: str
    whole: tuple[int, ...]
    offset: tuple[int, ...]
    values: Tensor


def file_name(rank: int, key: str) -> str:
    """What a rank's file is called."""
    return f"__{rank}_{key}.distcp"


def write_pieces(folder: str, file: str, pieces: list[Piece], others: dict[str, Any]) -> list[dict[str, Any]]:
    """Write one rank's file; the rows that belong into the table. `others` are values that are no tensors."""
    rows: list[dict[str, Any]] = []
    with open(os.path.join(folder, file), "wb") as f:
        for piece in pieces:
            values = piece.values.detach().cpu().contiguous()
            if values._a.base is not None:
                values = values.clone()  # a view's file would hold the whole that it looks at
            place = {"file": file, "at": f.tell(), "bytes": f.write(_packed(values))}
            rows.append({
                "name": piece.name, "dtype": values.dtype.name, "whole": list(piece.whole),
                "offset": list(piece.offset), "shape": list(values.shape), **place,
            })  # fmt: skip
        for name, value in others.items():
            rows.append({"name": name, "file": file, "at": f.tell(), "bytes": f.write(_packed(value))})
        f.flush()
        os.fsync(f.fileno())
    return rows


def _packed(value: object) -> bytes:
    """A tensor or any other value, as a file of `save` would hold it."""
    buffer = io.BytesIO()
    pth.save(value, buffer)
    return buffer.getvalue()


def merge(tables: list[list[dict[str, Any]]], paths: dict[str, list[Any]]) -> dict[str, Any]:
    """One table of all ranks' rows; two ranks with the same part of a tensor are one row."""
    names: dict[str, Any] = {}
    others: dict[str, Any] = {}
    for table in tables:
        for row in table:
            if "whole" not in row:
                others[row["name"]] = {k: row[k] for k in ("file", "at", "bytes")}
                continue
            entry = names.setdefault(row["name"], {"dtype": row["dtype"], "whole": row["whole"], "parts": []})
            if entry["whole"] != row["whole"] or entry["dtype"] != row["dtype"]:
                raise RuntimeError(
                    f"checkpoint: {row['name']} is {entry['dtype']} {entry['whole']} on one rank and "
                    f"{row['dtype']} {row['whole']} on another"
                )
            part = {k: row[k] for k in ("offset", "shape", "file", "at", "bytes")}
            if not any(p["offset"] == part["offset"] and p["shape"] == part["shape"] for p in entry["parts"]):
                entry["parts"].append(part)
    return {"tensors": names, "others": others, "paths": paths}


def publish(folder: str, index: dict[str, Any]) -> None:
    """Put the table in its place: from here on the checkpoint is there, and files of older ones go."""
    write_table(folder, index)
    used = {part["file"] for entry in index["tensors"].values() for part in entry["parts"]}
    used |= {row["file"] for row in index["others"].values()}
    for name in os.listdir(folder):
        if name.startswith("__") and name.endswith(".distcp") and name not in used:
            os.remove(os.path.join(folder, name))


class CheckpointReader:
    """A checkpoint that is being read, PyTorch's or ours."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.index = read_table(folder)

    def names(self) -> list[str]:
        return [*self.index["tensors"], *self.index["others"]]

    def other(self, name: str) -> Any:
        """A value that is no tensor."""
        return self._unpacked(self.index["others"][name])

    def shape(self, name: str) -> tuple[int, ...]:
        return tuple(self.index["tensors"][name]["whole"])

    def whole(self, name: str) -> Tensor:
        """A whole tensor."""
        entry = self.index["tensors"][name]
        out = np.zeros(entry["whole"], getattr(dtypes, entry["dtype"]).np)
        self._fill(entry, name, out, (0,) * out.ndim)
        return from_numpy(out)

    def nested(self) -> dict[Any, Any]:
        """Everything, in the dicts and lists that were saved."""
        root: dict[Any, Any] = {}
        paths = self.index.get("paths", {})
        for name in self.names():
            value = self.whole(name) if name in self.index["tensors"] else self.other(name)
            _put(root, paths.get(name, [name]), value)
        return _with_lists(root)

    def into(self, name: str, offset: tuple[int, ...], target: Tensor) -> None:
        """Fill a tensor with the part of `name` that begins at `offset`."""
        entry = self.index["tensors"].get(name)
        if entry is None:
            raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
        out = np.zeros(tuple(target.shape), getattr(dtypes, entry["dtype"]).np)
        self._fill(entry, name, out, offset)
        with no_grad():
            target.copy_(from_numpy(out).to(target.dtype))

    def _fill(self, entry: dict[str, Any], name: str, out: np.ndarray, offset: tuple[int, ...]) -> None:
        missing = out.size
        for part in entry["parts"]:
            common = list(_overlap(offset, out.shape, part["offset"], part["shape"]))
            if any(n <= 0 for _, _, n in common):
                continue
            a = self._part(part, out.dtype)
            to = tuple(slice(t, t + n) for t, _, n in common)
            of = tuple(slice(s, s + n) for _, s, n in common)
            out[to] = a[of]
            missing -= int(np.prod([n for _, _, n in common], dtype=np.int64))
        if missing > 0:
            raise RuntimeError(f"checkpoint {self.folder}: {missing} values of {name} are in no file")

    def _part(self, part: dict[str, Any], dtype: Any) -> np.ndarray:
        found = self._unpacked(part)
        if not isinstance(found, Tensor) or list(found.shape) != list(part["shape"]) or found._a.dtype != dtype:
            raise RuntimeError(f"{self.folder}/{part['file']} holds something else than its table says")
        return found._a

    def _unpacked(self, row: dict[str, Any]) -> Any:
        """What lies at a place of a file."""
        raw = self._bytes(row)
        try:
            return pth.load(io.BytesIO(raw), map_location="cpu", weights_only=True)
        except CorruptFileError as error:
            raise RuntimeError(f"{self.folder}/{row['file']} is damaged: {error}") from None

    def _bytes(self, row: dict[str, Any]) -> bytes:
        path = os.path.join(self.folder, row["file"])
        if os.path.basename(path) != row["file"]:
            raise RuntimeError(f"{self.folder}/{TABLE} names a file outside of the checkpoint")
        with open(path, "rb") as f:
            f.seek(row["at"])
            raw = f.read(row["bytes"])
        if len(raw) != row["bytes"]:
            raise RuntimeError(f"{path} is too short: it was cut off")
        return raw


class _List(dict):
    """A list that is being put together, by places."""


def _put(root: dict[Any, Any], path: list[Any], value: Any) -> None:
    """Put a value where a path leads; a step in a list is a number."""
    here = root
    for step, after in zip(path, [*path[1:], None]):
        if after is None:
            here[step] = value
        else:
            here = here.setdefault(step, _List() if isinstance(after, int) else {})


def _with_lists(tree: Any) -> Any:
    if not isinstance(tree, dict):
        return tree
    made = {key: _with_lists(value) for key, value in tree.items()}
    return [made[i] for i in sorted(made)] if isinstance(tree, _List) else made


def _overlap(
    at: Sequence[int], shape: Sequence[int], other_at: Sequence[int], other_shape: Sequence[int]
) -> Iterator[tuple[int, int, int]]:
    """For each dim: where the common part begins in the first, in the second, and its length."""
    for a, n, b, m in zip(at, shape, other_at, other_shape):
        first, last = max(a, b), min(a + n, b + m)
        yield first - a, first - b, last - first
