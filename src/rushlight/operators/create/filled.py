"""New tensors of a given size: constants, ranges and uninitialised memory, on any device."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ...base import dtypes
from ...base.arrays import Array, ArrayModule
from ...base.config import settings
from ...base.device import as_device, device
from ...base.dtypes import as_dtype, dtype
from ...base.errors import HostMemoryError, NotYet
from ...base.fits import fitting
from ...base.formats import ORDERS, dense_order, layout, memory_format, order_of, preserve_format, strided
from ...base.shapes import MOST, as_size, check_size, in_range, strided_view
from ...core.public import into, public
from ...core.tensor import Tensor, tensor_over
from ...core.views import extra
from ...runtime import devices
from ...runtime.batch.arrays import samples
from ...runtime.door import Kernel, run
from ...runtime.facts import Facts
from ...runtime.thread import INFERENCE, here
from ..memory.copies import FILL_INTO

# -- what every creation function does -----------------------------------------------------------


def create(
    kernel: Kernel,
    d: Any = None,
    requires_grad: bool = False,
    out: Any = None,
    pin_memory: bool = False,
    layout: Any = None,
    **attrs: Any,
) -> Tensor:
    """Run a kernel that has no inputs on device `d` and finish as the keywords say."""
    if layout is not None and layout is not strided:
        raise NotImplementedError(f"layout={layout}: rushlight has strided tensors only")
    if out is not None and d is None:
        d = out.device
    if d.__class__ is not device:
        d = as_device(d)
    backend = devices.backend_of(d)
    cls = backend.array_type
    attrs["device"] = backend.check(d)
    try:
        if kernel.random and here.vmaps:
            a = samples.drawn(kernel, cls, (), attrs)
        else:
            a = run(kernel, cls, (), attrs)
    except (ValueError, MemoryError) as error:
        raise _no_memory(error, attrs.get("size"), attrs.get("dtype")) from None
    t = tensor_over(a, cls)
    if settings.deterministic and settings.fill_uninitialized and kernel in (EMPTY, EMPTY_STRIDED):
        run(FILL_INTO, cls, (a,), {"value": _unwritten(attrs["dtype"])})
    if out is not None:
        return into(out, t)
    if pin_memory:
        t = t.pin_memory()
    if here.state & INFERENCE:
        extra(t).inference = True
    if requires_grad:
        wants_grad(t)
    return t


def _no_memory(error: Exception, size: Any, d: Any) -> Exception:
    """The error for a tensor that is too large for the machine, in PyTorch's words; others as they are."""
    if size is None or not isinstance(d, dtype):
        return error
    try:
        check_size(size, d.itemsize)
    except RuntimeError as wrong:
        return wrong
    wanted = math.prod(size) * d.itemsize
    if not isinstance(error, MemoryError):
        return error
    return HostMemoryError(
        f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {wanted} bytes. "
        "Error code 12 (Cannot allocate memory)"
    )


def _unwritten(d: dtype) -> Any:
    """What memory that nobody has written holds in deterministic mode."""
    if d.is_floating_point or d.is_complex:
        return math.nan
    return True if d.name == "bool" else dtypes.iinfo(d).max


def wants_grad(t: Tensor) -> Tensor:
    """Mark a new tensor as a leaf that collects its gradient."""
    if t._a.dtype.kind not in "fcV":
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return t.requires_grad_()


def sizes(name: str, size: Any, keyword: Any = None) -> tuple[int, ...]:
    """The size among the spellings `f(2, 3)`, `f((2, 3))` and `f(size=(2, 3))`."""
    if keyword is not None:
        size = (keyword,)
    elif not size:
        raise TypeError(f'{name}() missing 1 required positional arguments: "size"')
    if len(size) == 1 and isinstance(size[0], (tuple, list)):
        size = size[0]
    for s in size:
        if s.__class__ is not int or not 0 <= s <= MOST:
            break
    else:
        return tuple(size)
    for i, s in enumerate(size):  # PyTorch looks for a bool in the first place alone
        if isinstance(s, (float, str)) or (i == 0 and s.__class__ is bool) or not hasattr(s, "__index__"):
            raise TypeError(f"{name}(): argument 'size' (position 1) must be tuple of ints, not {type(s).__name__}")
    result = tuple([s.__index__() for s in size])
    try:
        in_range("size", result)
    except TypeError as error:
        raise TypeError(f"{name}(): {error}") from None
    check_size(result)
    return result


def float_dtype(d: Any) -> dtype:
    return dtypes.get_default_dtype() if d is None else as_dtype(d)


def number(value: Any) -> Any:
    """A Python number from a number or a one-element tensor."""
    return value.item() if hasattr(value, "item") else value


def _size_meta(*, size: tuple, dtype: dtype, order: Any = None, **attrs: Any) -> Any:
    if order is None:
        return size, dtype.np
    from ...runtime.meta_array import MetaArray

    dense = MetaArray.of(tuple([size[i] for i in order]), dtype.np)
    return MetaArray(dense.ghost.transpose(_inverse(order)))


# -- constants -----------------------------------------------------------------------------------


def _full(xp: ArrayModule, *, size: tuple, value: Any, dtype: dtype, device: device, order: Any = None) -> Any:
    shape = size if order is None else tuple([size[i] for i in order])
    a = xp.zeros(shape, dtype.np) if value == 0 else xp.full(shape, value, dtype.np)
    return a if order is None else a.transpose(_inverse(order))


def _empty(xp: ArrayModule, *, size: tuple, dtype: dtype, device: device, order: Any = None) -> Any:
    if order is None:
        return xp.empty(size, dtype.np)
    return xp.empty(tuple([size[i] for i in order]), dtype.np).transpose(_inverse(order))


def _inverse(order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(range(len(order)), key=order.__getitem__))


FULL = Kernel("full", _full, moves_only=True, meta=_size_meta, facts=Facts(onnx="full", aten="full made"))
EMPTY = Kernel("empty", _empty, moves_only=True, meta=_size_meta, facts=Facts(onnx="full", aten="empty empty"))


def dim_order(a: Array, memory_format: memory_format | None) -> tuple[int, ...] | None:
    """The dims from outermost to innermost in memory; None for plain row-major."""
    n = a.ndim
    if memory_format in ORDERS:
        return order_of(memory_format, n)
    if memory_format is not None and memory_format is not preserve_format:
        return None
    if a.flags.c_contiguous or n < 2:
        return None
    order = dense_order(a.shape, [(a.shape, a.strides)])
    return None if order == list(range(n)) else tuple(order)


_NO_NUMBERS = frozenset({type(None), str, bytes, list, tuple, dict})


def check_fill(value: Any, d: dtype) -> Any:
    """The value as the dtype holds it, or PyTorch's error when it does not fit."""
    if value.__class__ in _NO_NUMBERS:  # of None, NumPy would make a NaN
        kind = type(value).__name__
        raise TypeError(f"full(): argument 'fill_value' (position 2) must be Number, not {kind}")
    return fitting(value, d)


def no_names(function: str, names: Any) -> None:
    if names is not None:
        raise NotYet(f"{function}: dimensions with names (names=) are not there")


def _constant(name: str, value: int, example: str) -> Callable[..., Tensor]:
    """`zeros` or `ones`."""

    def make(
        *size: Any,
        out: Tensor | None = None,
        dtype: dtype | None = None,
        layout: layout | None = None,
        device: device | str | int | None = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        names: Any = None,
        **keyword: Any,
    ) -> Tensor:
        if names is not None:
            no_names(name, names)
        shape = sizes(name, size, only_size(name, keyword) if keyword else None)
        d = out.dtype if out is not None and dtype is None else float_dtype(dtype)
        return create(FULL, device, requires_grad, out, pin_memory, layout, size=shape, value=value, dtype=d)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""A tensor of {name}.

    Args:
        size: the size of every dimension, one by one or as a tuple.
        keyword: `size=`, the sizes as a keyword.

    Example:
        {example}
    """
    return public("torch")(make)


zeros = _constant(
    "zeros",
    0,
    """>>> torch.zeros(2, 3)
        tensor([[0., 0., 0.],
                [0., 0., 0.]])""",
)
ones = _constant(
    "ones",
    1,
    """>>> torch.ones(2, dtype=torch.int64)
        tensor([1, 1])""",
)


@public("torch")
def empty(
    *size: Any,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: memory_format | None = None,
    names: Any = None,
    **keyword: Any,
) -> Tensor:
    """A tensor whose values are whatever the memory held before.

    Args:
        size: the size of every dimension, one by one or as a tuple.
        keyword: `size=`, the sizes as a keyword.

    Example:
        >>> torch.empty(2, 3).shape
        torch.Size([2, 3])
    """
    if names is not None:
        no_names("empty", names)
    shape = sizes("empty", size, only_size("empty", keyword) if keyword else None)
    d = out.dtype if out is not None and dtype is None else float_dtype(dtype)
    order = None
    if memory_format is not None and memory_format in ORDERS:
        order = order_of(memory_format, len(shape))
    return create(EMPTY, device, requires_grad, out, pin_memory, layout, size=shape, dtype=d, order=order)


def only_size(name: str, keyword: dict[str, Any]) -> Any:
    """The `size=` keyword of a function that takes its size as `*size`."""
    if not keyword:
        return None
    size = keyword.pop("size", None)
    if keyword:
        raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(keyword))}'")
    return size


def _empty_strided(xp: ArrayModule, *, size: tuple, stride: tuple, dtype: dtype, device: device) -> Any:
    reach = 1 + sum((n - 1) * step for n, step in zip(size, stride)) if 0 not in size else 0
    memory = xp.empty(reach, dtype.np)
    steps = [step * memory.itemsize for step in stride]
    return strided_view(xp, memory, size, steps)


# A view for the meta device's sake, where views keep their strides.
EMPTY_STRIDED = Kernel("empty_strided", _empty_strided, is_view=True)


@public("torch")
def empty_strided(
    size: Any,
    stride: Sequence[int],
    *,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor of the given sizes and strides whose values are whatever the memory held before.

    Args:
        size: the size of every dimension.
        stride: for each dimension, how many elements in memory lie between neighbours.

    Example:
        >>> torch.empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    shape, steps = tuple(size), as_size((tuple(stride),))
    if len(shape) != len(steps):
        raise RuntimeError(
            f"dimensionality of sizes ({len(shape)}) must match dimensionality of strides ({len(steps)})"
        )
    if min(steps, default=0) < 0:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)} and strides={list(steps)}")
    return create(EMPTY_STRIDED, device, requires_grad, None, pin_memory, layout,
                  size=sizes("empty_strided", (shape,)), stride=steps,
                  dtype=float_dtype(dtype))  # fmt: skip


@public("torch")
def empty_permuted(
    size: Any,
    physical_layout: Sequence[int],
    *,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor without gaps in memory, its dimensions stored in the given order; values are whatever the memory held.

    Args:
        size: the size of every dimension.
        physical_layout: the dimensions from the outermost in memory to the innermost.

    Example:
        >>> torch.empty_permuted((2, 3, 4), (0, 2, 1)).stride()
        (12, 1, 3)
    """
    order = tuple(physical_layout)
    if len(order) != len(size):
        raise RuntimeError(
            "Number of dimensions in size does not match the length of the physical_layout; i.e. "
            f"len(size) = {len(size)} is not equal to len(physical_layout) = {len(order)}"
        )
    for place, dim in enumerate(order):
        if not 0 <= dim < len(size):
            raise RuntimeError(
                f"Dimension out of range (expected to be between 0 and {len(size) - 1}, but got {dim} at "
                f"index {place}).  NB: negative dims not currently supported; file an issue if you want it."
            )
    if len(set(order)) != len(order):
        raise RuntimeError("Duplicate dim not allowed")
    return create(EMPTY, device, requires_grad, None, pin_memory, layout,
                  size=sizes("empty_permuted", (tuple(size),)), order=order,
                  dtype=float_dtype(dtype))  # fmt: skip


@public("torch")
def full(
    size: Any,
    fill_value: Any,
    *,
    out: Tensor | None = None,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    names: Any = None,
) -> Tensor:
    """A tensor filled with one value.

    Args:
        size: a tuple with the size of every dimension.
        fill_value: the value; its kind decides the dtype unless `dtype` is given.

    Example:
        >>> torch.full((2, 2), 7)
        tensor([[7, 7],
                [7, 7]])
        >>> torch.full((2,), 0.5)
        tensor([0.5000, 0.5000])
    """
    no_names("full", names)
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"full(): argument 'size' (position 1) must be tuple of ints, not {type(size).__name__}")
    value = number(fill_value)
    if dtype is not None:
        d = as_dtype(dtype)
    else:
        d = out.dtype if out is not None else dtypes.scalar_dtype(value)
    return create(FULL, device, requires_grad, out, pin_memory, layout,
                  size=sizes("full", (size,)), value=check_fill(value, d), dtype=d)  # fmt: skip
