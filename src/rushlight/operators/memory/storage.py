"""What lies behind a tensor: its storage, and changing a tensor's size, place or sharing."""

from __future__ import annotations

import warnings
import weakref
from math import prod
from sys import getrefcount
from typing import Any

import numpy as np

from ...base import formats
from ...base.arrays import ArrayModule
from ...base.dtypes import TITLES, as_dtype, dtype, float32, float64, from_np, title
from ...base.errors import NotYet
from ...base.shapes import as_size, by_name, channels_last_strides, check_size, contiguous_strides
from ...core.exposed import take_address
from ...core.inplace import bump
from ...core.memory import data_pointer, in_memory_order, memory_as, root_array
from ...core.public import public, publish
from ...core.tensor import Tensor, wrap
from ...runtime import devices
from ...runtime.door import Kernel, run
from ...runtime.facts import Facts
from ...runtime.thread import here, settle
from ..shape.strided import geometry, strided_over

# -- storages -----------------------------------------------------------------------------------

_SAID: dict[int, int] = {}  # the bytes that `resize_` left, by the array that owns the memory


class UntypedStorage:
    """The memory behind a tensor as bytes; views of one tensor share it.

    Args:
        root: the array that owns the memory.

    Example:
        >>> x = torch.zeros(2)
        >>> x.untyped_storage().nbytes(), x[1:].untyped_storage().nbytes()
        (8, 8)
    """

    def __init__(self, root: Any = 0) -> None:
        """Over an array; PyTorch's own spellings are a number of bytes, or a list of them."""
        if not hasattr(root, "nbytes"):
            root = np.zeros(root, np.uint8) if isinstance(root, int) else np.array(root, np.uint8)
        self._root = root

    def data_ptr(self) -> int:
        """The address of the first byte; 0 where there is none."""
        return take_address(self._root) if self._root.size else 0

    def nbytes(self) -> int:
        """How many bytes there are."""
        return _SAID.get(id(root_array(self._root)), self._root.nbytes)

    def size(self) -> int:
        """How many bytes there are."""
        return self.nbytes()

    def resize_(self, size: int) -> UntypedStorage:
        """Say that there are only so many bytes; returns the storage itself.

        The memory stays until no tensor shows it: programs that give it up before a second forward get it back as it was.
        """
        root = root_array(self._root)
        if not 0 <= size <= root.nbytes:
            raise NotYet(f"{type(self).__name__}.resize_ from {root.nbytes} to {size} bytes")
        if id(root) not in _SAID:
            weakref.finalize(root, _SAID.pop, id(root), None)
        _SAID[id(root)] = size
        return self

    def __sizeof__(self) -> int:
        return super().__sizeof__() + self.nbytes()

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    @property
    def device(self) -> Any:
        return devices.device_of(self._root)

    @property
    def _cdata(self) -> int:
        return id(root_array(self._root))

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    def is_shared(self) -> bool:
        """Whether other processes can see this memory."""
        from ...base.shared_blocks import mapped

        return mapped(self._root) is not None

    def _bytes(self) -> np.ndarray:
        settle()
        host = devices.backend_of_type(self._root.__class__).to_host(self._root)
        return in_memory_order(host).view(np.uint8)

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        return self._bytes().tolist()

    def __len__(self) -> int:
        return self.nbytes()

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):  # a part of the same memory
            return UntypedStorage(self._bytes()[i])
        return self._bytes()[i].tolist()

    def __setitem__(self, i: Any, value: Any) -> None:
        self._writable()[i] = value

    def _elements(self) -> np.ndarray:
        return self._bytes()

    def _in_place(self) -> Any:
        """The elements in the tensors' own memory, in one dim, on whatever device that is."""
        return in_memory_order(self._root).view(np.uint8)

    def _writable(self) -> Any:
        """Those elements as something to write to: an array of the host's, or a tensor elsewhere."""
        if self.device.type == "cpu":
            return self._elements()
        if self.device.type == "meta":
            raise NotYet("a storage without memory cannot be written")
        settle()
        return wrap(self._in_place())

    def fill_(self, value: Any) -> Any:
        """Write one value everywhere; returns the storage itself."""
        self._writable()[...] = value
        return self

    def copy_(self, source: Any, non_blocking: bool = False) -> Any:
        """Take over the elements of another storage of the same length."""
        if len(source) != len(self):
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        mine = self._writable()
        if isinstance(mine, Tensor):
            there = source._in_place() if source.is_cuda else source._elements()
            mine.copy_(wrap(there))
        else:
            mine[...] = source._elements()
        return self

    def clone(self) -> Any:
        """A copy in new memory."""
        return type(self)(self._elements().copy())

    def cpu(self) -> Any:
        """The same bytes in the memory of the CPU; itself if they are there."""
        return self if self.device.type == "cpu" else self.clone()

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """The bytes, sharing memory: what `asarray` takes."""
        return np.array(self._bytes(), dtype, copy=copy)

    @classmethod
    def from_file(cls, filename: Any, shared: bool = False, nbytes: int | None = None) -> Any:
        """The bytes of a file, read as they are looked at; `shared` writes changes back."""
        if nbytes is None:
            raise TypeError("from_file(): how many bytes? nbytes is missing")
        mode = "r+" if shared else "c"
        mapped = np.memmap(filename, np.uint8, mode, shape=(nbytes,))  # type: ignore[call-overload]
        return cls(np.asarray(mapped))

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, UntypedStorage) and data_pointer(self._root) == data_pointer(other._root)

    def __hash__(self) -> int:
        return hash(data_pointer(self._root))

    def __repr__(self) -> str:
        return f"[{type(self).__name__}(device={self.device}) of size {len(self)}]"


class TypedStorage(UntypedStorage):
    """The memory behind a tensor as elements of its dtype.

    Args:
        root: the array that owns the memory.

    Example:
        >>> list(torch.tensor([1.0, 2.0]).storage())
        [1.0, 2.0]
    """

    @property
    def dtype(self) -> dtype:
        return from_np(self._root.dtype)

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return UntypedStorage(self._root)

    def size(self) -> int:
        """How many elements there are."""
        return self.nbytes() // self._root.itemsize

    def resize_(self, size: int) -> UntypedStorage:
        """Say that there are only so many elements; returns the storage itself."""
        return super().resize_(size * self._root.itemsize)

    def element_size(self) -> int:
        """The number of bytes of one element."""
        return self._root.itemsize

    def _elements(self) -> np.ndarray:
        return self._bytes().view(self._root.dtype)

    def _in_place(self) -> Any:
        return in_memory_order(self._root)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self._elements(), dtype, copy=copy)

    def tolist(self) -> list:
        """The elements as Python numbers."""
        return self._elements().tolist()

    def __len__(self) -> int:
        return self.size()

    def __getitem__(self, i: Any) -> Any:
        return self._elements()[i].tolist()

    def type(self, dtype: Any = None) -> Any:
        """The elements in another dtype, as a storage of their own; without one the class's name."""
        if dtype is None:
            return f"torch.{TITLES[self.dtype.name]}Storage"
        return TypedStorage(self._elements().astype(as_dtype(dtype).np))

    def float(self) -> Any:
        """The elements in float32."""
        return self.type(float32)

    def double(self) -> Any:
        """The elements in float64."""
        return self.type(float64)


publish("torch", "UntypedStorage", UntypedStorage)
publish("torch", "TypedStorage", TypedStorage)


@public("Tensor")
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory this tensor shows, as bytes.

    Example:
        >>> torch.arange(6)[2:].untyped_storage().nbytes()
        48
    """
    return UntypedStorage(root_array(self._a))


@public("Tensor")
def storage(self: Tensor) -> TypedStorage:
    """The memory this tensor shows, as elements; `untyped_storage` is the newer way.

    Example:
        >>> len(torch.arange(6)[2:].storage())
        6
    """
    root = root_array(self._a)
    same = root.dtype == self._a.dtype
    return TypedStorage(root if same else memory_as(root, self._a.dtype))


@public("Tensor")
def is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether two tensors show the same memory in the same way.

    Args:
        tensor: the other one.

    Example:
        >>> x = torch.zeros(2)
        >>> x.is_set_to(x.view(2)), x.is_set_to(x.clone())
        (True, False)
    """
    a, b = self._a, tensor._a
    same_root = data_pointer(root_array(a)) == data_pointer(root_array(b))
    return same_root and a.dtype == b.dtype and geometry(a) == geometry(b)


@public("Tensor")
def dim_order(self: Tensor) -> tuple[int, ...]:
    """The dimensions from the outermost in memory to the innermost.

    Example:
        >>> torch.zeros(2, 3).T.dim_order()
        (1, 0)
    """
    strides = self._a.strides
    return tuple(sorted(range(len(strides)), key=lambda d: -strides[d]))


# -- another size or another memory -------------------------------------------------------------


def _resize_body(xp: ArrayModule, x: Any, *, size: tuple[int, ...], strides: Any) -> Any:
    root = memory_as(root_array(x), x.dtype)
    offset = geometry(x)[2]
    needed = offset + prod(size)
    if needed > root.size:
        grown = xp.zeros(needed, x.dtype)  # torch leaves new elements undefined; zeros are kinder
        grown[: root.size] = root
        root = grown
    return strided_over(xp, root, x.dtype, size, strides, offset)


RESIZE = Kernel(
    "resize",
    _resize_body,
    moves_only=True,
    meta=lambda x, *, size, strides: (size, x.dtype),
    facts=Facts(refuses=True, aten="", onnx="reshape"),
)


def _holders(t: Tensor) -> int:
    """How many references there are to a tensor's array, and to the array that owns its memory."""
    array = t._a
    return getrefcount(array) + getrefcount(root_array(array))


def _is_shared(t: Tensor) -> bool:
    """Whether other arrays show the memory of a tensor; told by one that surely is alone."""
    fresh = np.empty(1)
    alone = wrap(fresh if t._a is root_array(t._a) else fresh[:])
    del fresh
    return _holders(t) > _holders(alone)


def _outgrows(array: Any, size: tuple[int, ...]) -> bool:
    """Whether a shape needs more memory than there is, and there is some."""
    return (geometry(array)[2] + prod(size)) * array.itemsize > root_array(array).nbytes > 0


def _strides_in(size: tuple[int, ...], memory_format: Any) -> tuple[int, ...]:
    if memory_format is formats.preserve_format:
        raise RuntimeError("Unsupported memory format Preserve")
    if memory_format in (None, formats.contiguous_format):
        return contiguous_strides(size)
    if len(size) != len(formats.ORDERS[memory_format]):
        raise RuntimeError(f"required rank {len(formats.ORDERS[memory_format])} tensor to use {memory_format} format")
    return channels_last_strides(size)


@public("Tensor")
def resize_(self: Tensor, *sizes: Any, size: Any = None, memory_format: Any = None) -> Tensor:
    """Show this tensor's memory in another shape, with more memory where it is too small; returns the tensor itself.

    New elements have arbitrary values. `reshape` is what one usually wants. Larger memory is new memory here, and
    views of the old one do not see it, which a warning tells; in PyTorch they do.

    Args:
        sizes: the new sizes, one by one or as a tuple.
        size: the same, by name.
        memory_format: the order of the elements, `torch.channels_last` for one; rows by default.

    Raises:
        RuntimeError: if the tensor requires grad.

    Example:
        >>> torch.tensor([1, 2, 3, 4]).resize_(2, 2)
        tensor([[1, 2],
                [3, 4]])
    """
    size = as_size(by_name("size", sizes, size))
    check_size(size)
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if size == self._a.shape and memory_format is None:
        return self
    strides = _strides_in(size, memory_format)
    if self.is_cpu and _outgrows(self._a, size) and _is_shared(self):
        warnings.warn(
            "resize_ took larger memory for this tensor; other tensors that shared its old memory do not share "
            "the new one, as they would in PyTorch",
            UserWarning,
            stacklevel=2,
        )
    self._a = run(RESIZE, self._a.__class__, (self._a,), {"size": size, "strides": strides})
    bump(self)
    return self


@public("torch", "Tensor")
def resize_as_(input: Tensor, the_template: Tensor, *, memory_format: Any = None) -> Tensor:  # noqa: A002
    """As `Tensor.resize_`, to the shape of another tensor.

    Args:
        the_template: the other tensor.
        memory_format: the order of the elements; `torch.preserve_format` for that of the other tensor.

    Example:
        >>> torch.tensor([1, 2, 3, 4]).resize_as_(torch.zeros(2, 2))
        tensor([[1, 2],
                [3, 4]])
    """
    if memory_format is formats.preserve_format:
        orders = {len(order): kind for kind, order in formats.ORDERS.items()}
        kind = orders.get(the_template._a.ndim, formats.contiguous_format)
        ordered = the_template.is_contiguous() or not the_template.is_contiguous(memory_format=kind)
        memory_format = formats.contiguous_format if ordered else kind
    return resize_(input, the_template._a.shape, memory_format=memory_format)


@public("Tensor")
def set_(self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None) -> Tensor:
    """Let this tensor show other memory; returns the tensor itself.

    Args:
        source: a tensor, or a storage.
        storage_offset: where to begin in the storage, in elements.
        size: the sizes.
        stride: the strides, in elements.

    Example:
        >>> x = torch.zeros(2)
        >>> x.set_(torch.tensor([5.0, 6.0, 7.0]))
        tensor([5., 6., 7.])
    """
    if here.grad and self.requires_grad and not self.is_leaf:
        raise RuntimeError("set_() is not allowed on a tensor that autograd has recorded")
    if source is None:
        self._a = self.new_empty((0,))._a
    elif isinstance(source, Tensor) and size is None:
        if source._a.dtype != self._a.dtype:
            raise RuntimeError(f"Could not set tensor of type {source.dtype} to a tensor of type {self.dtype}")
        self._a = source._a
    else:
        if isinstance(source, TypedStorage) and source.dtype is not self.dtype:
            raise RuntimeError(
                f"Expected a Storage of type {title(self.dtype)} or an UntypedStorage, but got type "
                f"{title(source.dtype)} for argument 1 'storage'"
            )
        root = root_array(source._a) if isinstance(source, Tensor) else source._root
        whole = wrap(memory_as(root, self._a.dtype))
        shape = whole._a.shape if size is None else as_size((size,))
        steps = contiguous_strides(shape) if stride is None else as_size((stride,))
        self._a = whole.as_strided(shape, steps, storage_offset)._a
    bump(self)
    return self
