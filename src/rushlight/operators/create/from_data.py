"""Tensors from data: Python numbers and nested lists, NumPy arrays, other tensors, raw buffers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...base import dtypes
from ...base.device import as_device, device
from ...base.dtypes import as_dtype, dtype
from ...base.fits import fitting
from ...base.formats import layout
from ...core.exposed import exposed
from ...core.public import public
from ...core.tensor import Tensor, wrap
from ..memory.casting import cast_to, move_to
from .filled import wants_grad

_PLAIN = frozenset((int, float, bool, complex))


# -- from nested sequences to an array -------------------------------------------------------------


def array_of(data: Any, d: dtype | None) -> np.ndarray:
    """A fresh NumPy array of what the user wrote, in dtype `d` or the one PyTorch would infer."""
    if data.__class__ in _ROWS and 0 < len(data) <= _SHORT:
        plain = _plain(data, data, d)
        if plain is not None:
            return plain
    if isinstance(data, (list, tuple)) and data and isinstance(data[0], np.ndarray):
        stacked = _stacked(data)
        if stacked is not None:
            return stacked if d is None else _cast(stacked, d)
    shape = _measure(data)
    if 0 in shape:
        return np.empty(shape, (d or dtypes.get_default_dtype()).np)
    kinds: set[Any] = set()
    try:
        flat = _flatten(data, shape, kinds)
    except _Several as error:
        _raise_first_misfit(data, shape, 0)
        if (d or error.dtype).category < dtypes.FLOATING:
            whole = "only integer tensors of a single element can be converted to an index"
            raise TypeError(whole) from None
        raise ValueError(str(error)) from None
    except (TypeError, ValueError):
        _raise_first_misfit(data, shape, 0)
        raise
    except _NoDtype as error:
        told = RuntimeError(str(error)) if d is None else _not_one_of(d, error.kind)
        raise told from None
    if d is None:
        d = _infer(kinds)
    return _fill(flat, shape, d)


_ROWS = frozenset((list, tuple))
_SHORT = 4096  # numbers that Python looks at once more in less time than NumPy's setting of its warnings takes
_LONG = 2**63
_WIDEST = 3e38  # what every float32 holds


def _plain(data: Any, numbers: Any, d: dtype | None) -> np.ndarray | None:
    """A number, or a row of numbers, of Python's own types that NumPy takes as they are; None for others."""
    kinds = set(map(type, numbers))
    kind = kinds.pop()
    if kinds:
        return None
    if kind is float:
        d = dtypes.get_default_dtype() if d is None else d
        if d.np.char not in "fd" or not (-_WIDEST < min(numbers) and max(numbers) < _WIDEST):
            return None  # what is rounded twice, or warned of
    elif kind is int:
        if d is not None and d is not dtypes.int64:
            return None
        d = dtypes.int64
        if not (-_LONG <= min(numbers) and max(numbers) < _LONG):
            return None
    elif kind is bool and (d is None or d is dtypes.bool_):
        d = dtypes.bool_
    else:
        return None
    return np.array(data, d.np)


def _stacked(arrays: Any) -> np.ndarray | None:
    """A list of arrays of one shape and dtype, copied at once instead of element by element."""
    first = arrays[0]
    for a in arrays:
        if not isinstance(a, np.ndarray) or a.shape != first.shape or a.dtype != first.dtype:
            return None
    dtypes.from_np(first.dtype)  # raises for strings and objects
    return np.stack(arrays)


def _is_sequence(value: object) -> bool:
    return isinstance(value, (list, tuple, range)) or (
        hasattr(value, "__getitem__")
        and hasattr(value, "__len__")
        and not isinstance(value, (str, bytes, dict, set, Tensor, np.ndarray, np.generic))
    )


def _measure(data: Any) -> tuple[int, ...]:
    """The shape, read along the first elements as PyTorch does."""
    shape: list[int] = []
    while True:
        if isinstance(data, np.ndarray) and data.ndim:
            return (*shape, *data.shape)
        if not _is_sequence(data):
            break
        shape.append(len(data))
        if not len(data):
            break
        data = data[0]
    return tuple(shape)


def _flatten(data: Any, shape: tuple[int, ...], kinds: set) -> list[Any]:
    """All leaves in order; ValueError or TypeError where a row does not fit the shape."""
    rows: list[Any] = [data]
    for depth, want in enumerate(shape):
        below: list[Any] = []
        for row in rows:
            if isinstance(row, np.ndarray):
                if row.dtype.kind in "fiubcV":
                    kinds.add(row.dtype)
            elif not _is_sequence(row):
                raise TypeError("not a sequence")
            if len(row) != want:
                raise ValueError(f"expected sequence of length {want} at dim {depth} (got {len(row)})")
            below.extend(row)
        rows = below
    kinds.update(map(type, rows))
    kinds.discard(np.ndarray)
    for kind in kinds - _PLAIN:
        if isinstance(kind, type):
            _check_leaf(kind, rows, kinds, len(shape))
    return rows


def _raise_first_misfit(node: Any, shape: tuple[int, ...], depth: int) -> None:
    """Of several rows that do not fit, complain of the one PyTorch meets first: depth first."""
    if depth == len(shape):
        if isinstance(node, (list, tuple)):
            raise TypeError(f"must be real number, not {type(node).__name__}")
        return
    if not _is_sequence(node) and not isinstance(node, np.ndarray):
        raise TypeError("not a sequence")
    if len(node) != shape[depth]:
        raise ValueError(f"expected sequence of length {shape[depth]} at dim {depth} (got {len(node)})")
    for child in node:
        _raise_first_misfit(child, shape, depth + 1)


class _NoDtype(RuntimeError):
    """Something that is no number, where a dtype is looked for."""

    def __init__(self, kind: type) -> None:
        super().__init__(f"Could not infer dtype of {kind.__name__}")
        self.kind = kind


class _Several(ValueError):
    """A tensor of several elements, where a number is looked for."""

    def __init__(self, d: dtype) -> None:
        super().__init__("only one element tensors can be converted to Python scalars")
        self.dtype = d


def _not_one_of(d: dtype, kind: type) -> TypeError:
    """The error for the same thing, where the dtype is given."""
    if d.category < dtypes.FLOATING:
        return TypeError(f"'{kind.__name__}' object cannot be interpreted as an integer")
    return TypeError(f"must be real number, not {kind.__name__}")


def _check_leaf(kind: type, rows: list[Any], kinds: set, depth: int) -> None:
    if issubclass(kind, Tensor):
        kinds.discard(kind)
        for i, v in enumerate(rows):
            if isinstance(v, Tensor):
                if v._a.size != 1:
                    raise _Several(v.dtype)
                kinds.add(v._a.dtype)
                rows[i] = v.item()
    elif issubclass(kind, np.generic):
        kinds.discard(kind)
        kinds.add(np.dtype(kind))
    elif issubclass(kind, (list, tuple)):
        raise TypeError(f"'{kind.__name__}' object cannot be interpreted as a number")
    elif issubclass(kind, (str, bytes)):
        if depth:
            raise ValueError(f"too many dimensions '{kind.__name__}'")
        raise TypeError(f"new(): invalid data type '{kind.__name__}'")
    elif hasattr(kind, "__index__") or hasattr(kind, "__float__"):
        return
    else:
        raise _NoDtype(kind)


def _infer(kinds: set) -> dtype:
    found: dtype | None = None
    for kind in kinds:
        if isinstance(kind, np.dtype):
            d = dtypes.from_np(kind)
        elif issubclass(kind, bool):
            d = dtypes.bool_
        elif issubclass(kind, int) or (hasattr(kind, "__index__") and not issubclass(kind, float)):
            d = dtypes.int64
        elif issubclass(kind, complex):
            d = dtypes.get_default_dtype().to_complex()
        else:
            d = dtypes.get_default_dtype()
        found = d if found is None else dtypes.promote_types(found, d)
    return found or dtypes.get_default_dtype()


def _fill(flat: list[Any], shape: tuple[int, ...], d: dtype) -> np.ndarray:
    try:
        if d.category == dtypes.INTEGRAL:
            return _integers(flat, d).reshape(shape)
        if d.category == dtypes.BOOL:
            return np.array([bool(v) for v in flat], np.bool_).reshape(shape)
        with np.errstate(over="ignore"):  # 1e40 is inf in float32
            wide = np.array(flat, np.float64 if d.category == dtypes.FLOATING else d.np)
            return _cast(wide, d).reshape(shape)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None
    except TypeError as error:
        raise TypeError(str(error).replace("float() argument", "argument")) from None


def _cast(a: np.ndarray, d: dtype) -> np.ndarray:
    if d is dtypes.float16 and a.dtype.char == "d":
        a = a.astype(np.float32)  # PyTorch rounds twice
    return a.astype(d.np, copy=False)


def _integers(flat: list[Any], d: dtype) -> np.ndarray:
    """Integers exactly; floats are truncated, and what does not fit is refused."""
    try:
        wide = np.array(flat)
    except OverflowError:
        raise ValueError("Overflow when unpacking long long") from None
    if wide.dtype.kind == "O" or (wide.dtype == np.uint64 and d is not dtypes.uint64):
        raise ValueError("Overflow when unpacking long long")
    if wide.dtype.kind == "c":
        raise TypeError("'complex' object cannot be interpreted as an integer")
    if wide.dtype == d.np or not wide.size:
        return wide.astype(d.np, copy=False)
    for end in (wide.min(), wide.max()):
        fitting(int(end) if np.isfinite(end) else end, d)
    return wide.astype(np.int64 if wide.dtype.kind == "f" else wide.dtype).astype(d.np)


# -- the public ways in ----------------------------------------------------------------------------


def _from_object(data: Any, dtype: dtype | None, device: device | str | int | None, copy: bool) -> Tensor:
    """A tensor without history; shares memory with arrays and tensors unless `copy`."""
    if data.__class__ in _PLAIN:
        d = None if dtype is None else as_dtype(dtype)
        a = _plain(data, (data,), d)
        t = wrap(_fill([data], (), d or dtypes.scalar_dtype(data)) if a is None else a)
        where = as_device(device)
        return t if where.type == "cpu" else move_to(t, where)
    if isinstance(data, Tensor):
        t = wrap(data._a)
        if dtype is not None:
            t = cast_to(t, as_dtype(dtype))
        t = move_to(t, data.device if device is None else device)
        return t.clone() if copy and t._a is data._a else t
    d = None if dtype is None else as_dtype(dtype)
    if data.__class__ in _ROWS:
        t = wrap(array_of(data, d))
    elif isinstance(data, (np.ndarray, np.generic)) or _speaks_array(data):
        a = np.asarray(data)
        own = from_array(a)
        t = wrap(np.array(own) if copy or not a.ndim or not a.flags.writeable else own)
        t = t if d is None else cast_to(t, d)
    else:
        t = wrap(array_of(data, d))
    where = as_device(device)
    return t if where.type == "cpu" else move_to(t, where)


def _has_buffer(data: object) -> bool:
    """Whether it is memory alone, which says nothing of the numbers in it that an array would."""
    if data.__class__ in _PLAIN or isinstance(data, (np.ndarray, np.generic)) or _speaks_array(data):
        return False
    try:
        memoryview(data)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def _speaks_array(data: object) -> bool:
    return hasattr(data, "__array__") and not isinstance(data, (list, tuple))


def from_array(a: np.ndarray) -> np.ndarray:
    """The array when a tensor can hold it, as an object of its own; PyTorch's errors when it cannot.

    The user may give the original another shape or dtype, which is no business of the tensor.
    """
    dtypes.from_np(a.dtype)
    if any(s < 0 for s in a.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative "
            "strides are not currently supported. (You can probably work around this by making a "
            "copy of your array  with array.copy().)"
        )
    if a.itemsize and any(s % a.itemsize for s in a.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the "
            "memory."
        )
    return a.view(np.ndarray)


@public("torch")
def tensor(
    data: Any,
    *,
    dtype: dtype | None = None,
    device: device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A new tensor with a copy of the data.

    Args:
        data: numbers, nested lists of them, a NumPy array, or a tensor (whose history is left
            behind).
        dtype: the type of the elements; by default int64 for integers, the default dtype for
            floats, bool for truth values.
        device: where to put it; the default device if not given.
        requires_grad: record operations on it.
        pin_memory: use page-locked memory, from which copies to a GPU can run in the
            background.

    Raises:
        ValueError: if lists of one level have different lengths.

    Example:
        >>> torch.tensor([[1, 2], [3, 4]])
        tensor([[1, 2],
                [3, 4]])
        >>> torch.tensor([1.5, 2], dtype=torch.float64)
        tensor([1.5000, 2.0000], dtype=torch.float64)
    """
    if isinstance(data, Tensor):
        import warnings

        warnings.warn(
            "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone()"
            " or sourceTensor.detach().clone().requires_grad_(True), rather than "
            "tensor(sourceTensor).",
            UserWarning,
            stacklevel=2,
        )
    t = _from_object(data, dtype, device, copy=True)
    if pin_memory:
        t = t.pin_memory()
    return wants_grad(t) if requires_grad else t


@public("torch")
def as_tensor(data: Any, dtype: dtype | None = None, device: device | str | int | None = None) -> Tensor:
    """The data as a tensor, without a copy where that is possible.

    A tensor of the right dtype and device is returned as it is, a NumPy array shares its
    memory.

    Args:
        data: what `tensor` takes.

    Example:
        >>> a = np.zeros(2)
        >>> x = torch.as_tensor(a)
        >>> a[0] = 1
        >>> x
        tensor([1., 0.], dtype=torch.float64)
    """
    if isinstance(data, Tensor):
        t = data if dtype is None else cast_to(data, as_dtype(dtype))
        return t if device is None else move_to(t, device)
    t = _from_object(data, dtype, device, copy=False)
    exposed.add(t._a)
    return t


@public("torch")
def asarray(
    obj: Any,
    *,
    dtype: dtype | None = None,
    device: device | str | int | None = None,
    copy: bool | None = None,
    requires_grad: bool | None = None,
) -> Tensor:
    """An object as a tensor; shares its memory unless `copy` or another argument says otherwise.

    Args:
        obj: a tensor, an array, an object with a buffer, which is read as numbers of `dtype`, numbers or nested lists.
        requires_grad: whether it collects its gradient; a tensor keeps its own answer if none is given.
        copy: True always copies, False raises rather than copy, None copies where it has to.

    Raises:
        ValueError: if `copy=False` and a copy is needed.

    Example:
        >>> torch.asarray([1, 2, 3])
        tensor([1, 2, 3])
    """
    if isinstance(obj, Tensor):
        t = as_tensor(obj, dtype, device)
        if copy is False and t is not obj:
            raise ValueError("can't alias tensor: a cast or a move to another device needs a copy.")
        t = t.clone() if copy and t is obj else t
        if requires_grad is None and t.requires_grad:
            warnings.warn(
                "torch.asarray: unspecified requires_grad now defaults to obj.requires_grad instead of False. Pass "
                "requires_grad=False explicitly to get the old behavior and silence this warning.",
                UserWarning,
                stacklevel=2,
            )
        elif not requires_grad and t.requires_grad:
            t = t.detach()
    else:
        if _has_buffer(obj):
            whole = frombuffer(obj, dtype=dtypes.get_default_dtype() if dtype is None else dtype)
            obj = whole._a
        t = _from_object(obj, dtype, device, copy=bool(copy))
        exposed.add(t._a)
        source = obj if isinstance(obj, np.ndarray) else None
        if copy is False and (source is None or not np.shares_memory(t._a, source)):
            raise ValueError("can't alias arbitrary sequence into a tensor.")
    return wants_grad(t) if requires_grad and t.is_leaf else t


@public("torch")
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor over the memory of a NumPy array; both see changes of either.

    Args:
        ndarray: an array of a dtype that exists here too.

    Raises:
        TypeError: for other objects and dtypes.

    Example:
        >>> a = np.array([1.0, 2.0])
        >>> x = torch.from_numpy(a)
        >>> x[0] = 9
        >>> a
        array([9., 2.])
    """
    if not isinstance(ndarray, np.ndarray):
        raise TypeError(f"expected np.ndarray (got {type(ndarray).__name__})")
    a = from_array(ndarray)
    exposed.add(a)
    return wrap(a)


@public("torch")
def scalar_tensor(
    s: Any,
    *,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor without dimensions that holds one number, in the default float dtype unless another is given.

    Args:
        s: the number.

    Example:
        >>> torch.scalar_tensor(3)
        tensor(3.)
    """
    d = dtypes.get_default_dtype() if dtype is None else as_dtype(dtype)
    if not isinstance(s, Tensor) and (d.itemsize > 2 or d.category < dtypes.FLOATING):
        s = fitting(s, d)
    return tensor(s, dtype=d, device=device, requires_grad=requires_grad, pin_memory=pin_memory)


@public("torch")
def frombuffer(
    buffer: Any, *, dtype: dtype | None, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A tensor of one dimension over the memory of an object with the buffer protocol.

    Args:
        buffer: bytes, bytearray, memoryview, array.array and the like.
        count: how many elements; -1 for as many as there are.
        offset: how many bytes to leave out at the beginning.

    Raises:
        ValueError: if the buffer is empty or too short.

    Example:
        >>> torch.frombuffer(bytearray([1, 2, 3, 4]), dtype=torch.uint8, offset=1)
        tensor([2, 3, 4], dtype=torch.uint8)
    """
    try:
        length = memoryview(buffer).nbytes
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    kind = as_dtype(dtype)
    after = f"after offset ({offset} bytes) must"
    if count < 0 and (length - offset) % kind.itemsize:
        raise ValueError(
            f"buffer length ({length - offset} bytes) {after} be a multiple of element size ({kind.itemsize})"
        )
    if count * kind.itemsize > length - offset:
        raise ValueError(
            f"requested buffer length ({count} * {kind.itemsize} bytes) {after} not be greater than actual "
            f"buffer length ({length} bytes)"
        )
    t = wrap(np.frombuffer(buffer, kind.np, max(count, -1), offset))
    exposed.add(t._a)
    return wants_grad(t) if requires_grad else t


@public("Tensor")
def new_tensor(
    self: Tensor,
    data: Any,
    *,
    dtype: dtype | None = None,
    device: device | str | int | None = None,
    requires_grad: bool = False,
    layout: layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """As `torch.tensor`, in the dtype and on the device of this tensor.

    Args:
        data: numbers, nested lists, an array or a tensor; it is copied.

    Example:
        >>> torch.zeros(1, dtype=torch.float64).new_tensor([1, 2])
        tensor([1., 2.], dtype=torch.float64)
    """
    t = _from_object(data, self.dtype if dtype is None else dtype, self.device if device is None else device, copy=True)
    if pin_memory:
        t = t.pin_memory()
    return wants_grad(t) if requires_grad else t
