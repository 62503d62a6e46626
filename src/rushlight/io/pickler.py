"""Writing the pickle of a .pth file: tensors by storage, our names spelt as PyTorch's."""

from __future__ import annotations

import pickle
import types
from collections import OrderedDict
from typing import Any

import numpy as np

from ..base.device import device
from ..base.dtypes import dtype
from ..base.shapes import Size
from ..core.memory import data_pointer, root_array
from ..core.tensor import Tensor
from .names import STORAGE_NAMES, theirs


class _Name:
    """A global name to be written as it is."""

    def __init__(self, module: str, name: str) -> None:
        self.module = module
        self.name = name

    def __call__(self) -> None:
        """The pickler asks that reducers be callable; this one is only ever written down."""
        raise TypeError(f"{self.module}.{self.name} is a name in a file")


class _StorageRef:
    """Stands for a storage in the pickle; becomes a persistent id."""

    def __init__(self, key: str, dtype_name: str, location: str, numel: int) -> None:
        name = STORAGE_NAMES.get(dtype_name)
        kind = _Name("torch", name) if name else _Name("torch.storage", "UntypedStorage")
        self.id = ("storage", kind, key, location, numel)


_Base: Any = pickle._Pickler  # type: ignore[attr-defined]  # the one in Python: save_global can be replaced


class Pickler(_Base):
    """Protocol 2; `storages` collects what has to be written beside the pickle."""

    dispatch: dict[Any, Any] = dict(_Base.dispatch)

    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=2)
        self.storages: list[tuple[str, Any]] = []  # key, raw array that owns the memory
        self._keys: dict[int, str] = {}

    def persistent_id(self, obj: Any) -> Any:
        return obj.id if isinstance(obj, _StorageRef) else None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            return self._tensor(obj)
        if isinstance(obj, Size):
            return _Name("torch", "Size"), (tuple(obj),)
        if type(obj) is device:
            args = (obj.type,) if obj.index is None else (obj.type, obj.index)
            return _Name("torch", "device"), args
        return NotImplemented

    def _tensor(self, t: Tensor) -> Any:
        if type(t).__name__ == "Parameter":
            plain = t.detach()
            return _Name("torch._utils", "_rebuild_parameter"), (
                plain,
                t.requires_grad,
                OrderedDict(),
            )
        a = t._a
        root = root_array(a)
        if root.dtype != a.dtype:  # a view under another dtype is stored on its own
            root = a = a.copy()
        key = self._keys.get(id(root))
        if key is None:
            key = self._keys[id(root)] = str(len(self.storages))
            self.storages.append((key, root))
        offset = (data_pointer(a) - data_pointer(root)) // a.itemsize
        strides = tuple(s // a.itemsize for s in a.strides)
        rest: tuple = (
            offset,
            tuple(a.shape),
            strides,
            t.requires_grad and t.is_leaf,
            OrderedDict(),
        )
        where = str(t.device)
        if t.dtype.name in STORAGE_NAMES:
            ref = _StorageRef(key, t.dtype.name, where, root.size)
            return _Name("torch._utils", "_rebuild_tensor_v2"), (ref, *rest)
        # dtypes younger than typed storages: bytes, and the dtype beside them
        ref = _StorageRef(key, t.dtype.name, where, root.nbytes)
        return _Name("torch._utils", "_rebuild_tensor_v3"), (ref, *rest, t.dtype)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        module = getattr(obj, "__module__", None)
        if module is not None and module.split(".")[0] == "rushlight":
            self._write_name(theirs(module), name or obj.__qualname__)
        else:
            super().save_global(obj, name)

    def _write_name(self, module: str, name: str) -> None:
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())

    def save_name(self, obj: _Name) -> None:
        self._write_name(obj.module, obj.name)

    def save_dtype(self, obj: dtype) -> None:
        self._write_name("torch", obj.name)

    def save_type(self, obj: type) -> None:
        if obj.__module__.split(".")[0] == "rushlight":
            return self.save_global(obj)
        return _Base.save_type(self, obj)

    dispatch[_Name] = save_name
    dispatch[dtype] = save_dtype
    dispatch[type] = save_type
    dispatch[types.FunctionType] = save_global


def storage_bytes(a: Any) -> memoryview:
    """The memory of an owning array, in the order it lies."""
    flat = np.asarray(a if isinstance(a, np.ndarray) else a.get()).ravel(order="K")
    raw: Any = np.ascontiguousarray(flat).view(np.uint8)
    return memoryview(raw).cast("B") if flat.size else memoryview(b"")
