"""Writing the pickle of a .pth file: tensors by storage, our names spelt as PyTorch's."""

from __future__ import annotations

import pickle
import types
from collections import OrderedDict
from typing import Any

import numpy as np

from ..base.device import device
from ..base.dtypes import by_name, dtype, from_np
from ..base.formats import SPARSE, layout, memory_format
from ..base.shapes import Size
from ..base.spelling import home_of, theirs
from ..core.memory import data_pointer, root_array
from ..core.tensor import Tensor
from ..operators.memory.interop import wrapper_words
from ..operators.memory.storage import TypedStorage, UntypedStorage
from ..runtime.thread import settle
from ..runtime.wrapped import WrappedArray
from . import nested
from .names import STORAGE_NAMES
from .rebuild import is_parameter, is_spread, is_uninitialized


class GlobalName:
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
        kind = GlobalName("torch", name) if name else GlobalName("torch.storage", "UntypedStorage")
        self.id = ("storage", kind, key, location, numel)


_Base: Any = pickle._Pickler  # type: ignore[attr-defined]  # the one in Python: save_global can be replaced


class Pickler(_Base):
    """Protocol 2; `storages` collects what has to be written beside the pickle."""

    dispatch: dict[Any, Any] = dict(_Base.dispatch)

    def __init__(self, file: Any) -> None:
        super().__init__(file, protocol=2)
        self.storages: list[tuple[str, Any]] = []  # key, raw array that owns the memory
        self._keys: dict[int, str] = {}
        self._kinds: dict[int, Any] = {}  # as which dtype a memory is written

    def persistent_id(self, obj: Any) -> Any:
        if isinstance(obj, UntypedStorage):
            return self._storage(obj).id
        return obj.id if isinstance(obj, _StorageRef) else None

    def _storage(self, storage: UntypedStorage) -> _StorageRef:
        """A storage that is saved for itself, as bytes or as elements of its dtype."""
        settle()
        root = storage._root
        name = from_np(root.dtype).name
        if not isinstance(storage, TypedStorage) or name not in STORAGE_NAMES:
            name = "uint8"
        key = self._key(root_array(root), by_name(name).np, root)
        return _StorageRef(key, name, str(storage.device), root.nbytes // by_name(name).itemsize)

    def _key(self, owner: Any, kind: Any, root: Any) -> str:
        """Under which name `root` is written, the memory of `owner` as elements of one dtype."""
        if self._kinds.setdefault(id(owner), kind) != kind:
            raise RuntimeError("Cannot save multiple tensors or storages that view the same data as different types")
        key = self._keys.get(id(root))
        if key is None:
            key = self._keys[id(root)] = str(len(self.storages))
            self.storages.append((key, root))
        return key

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            if obj.is_nested:
                return nested.described(obj, GlobalName)
            if obj.layout in SPARSE:
                return self._sparse(obj)
            own = is_spread(obj) or _reduces_itself(type(obj))
            return obj.__reduce_ex__(2) if own else self._object(obj)
        if isinstance(obj, Size):
            return GlobalName("torch", "Size"), (tuple(obj),)
        if type(obj) is device:
            args = (obj.type,) if obj.index is None else (obj.type, obj.index)
            return GlobalName("torch", "device"), args
        return NotImplemented

    def _object(self, t: Tensor) -> Any:
        """A tensor as PyTorch describes it: parameters, subclasses and attributes around a plain one."""
        kind = type(t)
        state = {k: v for k, v in vars(t).items() if k != "_is_param"}
        if is_parameter(t):
            args: tuple = (t.detach(), t.requires_grad, OrderedDict())
            if not state:
                return GlobalName("torch._utils", "_rebuild_parameter"), args
            return GlobalName("torch._utils", "_rebuild_parameter_with_state"), (*args, state)
        if is_uninitialized(t):
            return kind, (t.requires_grad, t.device, t.dtype)
        if kind is Tensor and not state:
            return self._tensor(t)
        if t._a.__class__ is WrappedArray:
            words = (GlobalName("torch._utils", "_rebuild_wrapper_subclass"), kind, (kind, *wrapper_words(t)))
            return GlobalName("torch._tensor", "_rebuild_from_type_v2"), (*words, state)
        return GlobalName("torch._tensor", "_rebuild_from_type_v2"), (*_parted(self._tensor(t), kind), state)

    def _tensor(self, t: Tensor) -> Any:
        settle()  # its values may still wait to be computed
        a = t._a
        if t.is_meta:
            words = (t.dtype, tuple(t.shape), t.stride(), t.requires_grad)
            return GlobalName("torch._utils", "_rebuild_meta_tensor_no_storage"), words
        owner = root = root_array(a)
        if root.dtype != a.dtype:  # a view under another dtype is stored on its own
            root = a = a.copy()
        key = self._key(owner, a.dtype, root)
        offset = (data_pointer(a) - data_pointer(root)) // a.itemsize
        strides = tuple(s // a.itemsize for s in a.strides)
        rest: tuple = (offset, tuple(a.shape), strides, t.requires_grad, OrderedDict())
        where = str(t.device)
        if t.dtype.name in STORAGE_NAMES:
            ref = _StorageRef(key, t.dtype.name, where, root.size)
            return GlobalName("torch._utils", "_rebuild_tensor_v2"), (ref, *rest)
        # dtypes younger than typed storages: bytes, and the dtype beside them
        ref = _StorageRef(key, t.dtype.name, where, root.nbytes)
        return GlobalName("torch._utils", "_rebuild_tensor_v3"), (ref, *rest, t.dtype)

    def _sparse(self, t: Any) -> Any:
        if t.is_sparse:
            data = (t._indices(), t._values(), t.shape, t.is_coalesced())
        else:
            data = (t._compressed, t._plain, t.values(), t.shape)
        return GlobalName("torch._utils", "_rebuild_sparse_tensor"), (t.layout, data)

    def save_global(self, obj: Any, name: str | None = None) -> None:
        if getattr(obj, "__module__", None) is not None and _is_ours(obj):
            self._write_name(*theirs(obj, name))
        else:
            super().save_global(obj, name)

    def _write_name(self, module: str, name: str) -> None:
        self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())

    def save_name(self, obj: GlobalName) -> None:
        self._write_name(obj.module, obj.name)

    def save_dtype(self, obj: dtype) -> None:
        self._write_name("torch", obj.name)

    def save_format(self, obj: memory_format) -> None:
        self._write_name("torch", obj.name)

    def save_layout(self, obj: layout) -> None:
        name = GlobalName("torch.serialization", "_get_layout")
        self.save_reduce(name, (f"torch.{obj.name}",), obj=obj)

    def save_type(self, obj: type) -> None:
        if _is_ours(obj):
            return self.save_global(obj)
        return _Base.save_type(self, obj)

    dispatch[GlobalName] = save_name
    dispatch[dtype] = save_dtype
    dispatch[memory_format] = save_format
    dispatch[layout] = save_layout
    dispatch[type] = save_type
    dispatch[types.FunctionType] = save_global


def _reduces_itself(kind: type) -> bool:
    """Whether a class of the user's says how its tensors are written."""
    before = kind.__mro__[: kind.__mro__.index(Tensor)]
    return any("__reduce_ex__" in vars(c) and not _is_ours(c) for c in before)


def _is_ours(obj: Any) -> bool:
    return home_of(obj).partition(".")[0] == "rushlight"


def _parted(reduced: Any, kind: type) -> tuple:
    """Function and arguments of a plain tensor, with the type it had between them."""
    fn, args = reduced
    return fn, kind, args


def storage_bytes(a: Any) -> memoryview:
    """The memory of an owning array, in the order it lies."""
    flat = np.asarray(a if isinstance(a, np.ndarray) else a.get()).ravel(order="K")
    raw: Any = np.ascontiguousarray(flat).view(np.uint8)
    return memoryview(raw).cast("B") if flat.size else memoryview(b"")
