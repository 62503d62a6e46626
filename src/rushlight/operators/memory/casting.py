"""Changing dtype and device: `to` and its short forms; both are ops, so gradients travel back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base import dtypes
from ...base.arrays import Array, ArrayModule
from ...base.device import CPU, as_device, device
from ...base.dtypes import as_dtype, dtype
from ...base.formats import ORDERS, contiguous_format
from ...core.op import Op, native
from ...core.public import check_no_grad, public
from ...core.tensor import Tensor
from ...runtime import devices
from ...runtime.facts import Facts
from ...runtime.point import Point
from ...runtime.thread import INFERENCE, WATCHED, here


def _cast(xp: ArrayModule, x: Array, *, to: dtype, source: dtype) -> Any:
    if x.dtype.kind == "c" and to.category != dtypes.COMPLEX and to is not dtypes.bool_:
        x = x.real
    if to.name == "float8_e4m3fn":  # it has no infinity: what is too large becomes the largest
        x = x.clip(-448, 448)
    if to.name == "uint8" and x.dtype.kind in "fV":
        x = x.astype("int64")  # C leaves bytes of negative numbers open; PyTorch's -3.0 is 253 everywhere
    if to is dtypes.float16 and x.dtype.char == "d":
        x = x.astype("float32")  # PyTorch rounds twice
    return x.astype(to.np)


cast_op = Op(
    _cast,
    "cast",
    point=Point("x", fiubc="x"),
    grad_name="ToCopyBackward0",
    meta=lambda x, *, to, source: (x.shape, to.np),
    facts=Facts(aten="_to_copy cast", onnx="cast", sparse="values_as_they_are"),
)
cast_op.derivative(x=lambda g, source: cast_to(g, source))


def _cast_to(x: Tensor, d: dtype) -> Tensor:
    """`x` in dtype `d`; x itself when it is already."""
    source = x.dtype
    return x if source is d else cast_op(x, to=d, source=source)


if native is not None:
    native.know_casts(cast_op, dtypes.by_np, dtypes.from_np)
cast_to: Callable[[Tensor, dtype], Tensor] = _cast_to if native is None else native.cast_to


def _move(xp: ArrayModule, x: Any, *, to: device, source: device, non_blocking: bool) -> Any:
    target = devices.backend_of(to)
    here = devices.backend_of_type(x.__class__)
    if target is here and target.check(to) == here.device_of(x):
        return x.copy()
    return target.from_host(here.to_host(x), target.check(to))


# The one op whose result lives on another device than its input.
_move_op = Op(
    _move,
    "move",
    moves_only=True,
    grad_name="ToCopyBackward0",
    facts=Facts(vmap="pointwise", aten="_to_copy", onnx="unary Identity"),
)
_move_op.derivative(x=lambda g, source: move_to(g, source))


_ODD = INFERENCE | WATCHED  # somebody looks on, or wants another kind of tensors


def move_to(x: Tensor, d: Any, non_blocking: bool = False) -> Tensor:
    """`x` on device `d`; x itself when it is there already."""
    tracer = here.tracer
    if tracer is not None and tracer.arrivals is not None and not non_blocking:
        return _arrived(tracer, x, d)
    return _moved(x, d, non_blocking)


def _arrived(tracer: Any, x: Tensor, d: Any) -> Tensor:
    """The same in a traced loop, where an array may stand ready for it."""
    arrivals = tracer.arrivals
    at = arrivals.at
    if not here.state & _ODD:
        out = arrivals.take(tracer.cursor, x, d)
        if out is not None:
            return out
    out = _moved(x, d, False)
    if out is not x:
        arrivals.note(at, x, d, out)
    return out


def _moved(x: Tensor, d: Any, non_blocking: bool) -> Tensor:
    a = x._a
    source = CPU if a.__class__ is np.ndarray else devices.device_of(a)
    if d is source:
        return x
    d = as_device(d)
    target = devices.backend_of(d).check(d)
    if source.type == target.type and source == target:
        return x
    return _move_op(x, to=target, source=source, non_blocking=non_blocking)


def _parse_to(args: tuple, kwargs: dict) -> tuple[Any, Any]:
    """The device and dtype among `to`'s many spellings."""
    d, dt = kwargs.get("device"), kwargs.get("dtype")
    other = kwargs.get("other")
    for arg in args:
        if isinstance(arg, Tensor):
            other = arg
        elif isinstance(arg, (device, str)) or (arg.__class__ is int and d is None):
            d = arg
        elif isinstance(arg, bool) or arg is None:
            continue  # non_blocking, copy by position
        else:
            dt = arg
    if other is not None:
        return other.device, other.dtype
    return d, dt


_DEVICES = (str, device)


@public("Tensor")
def to(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """The tensor in another dtype, on another device, or both; itself if nothing changes.

    Called as `x.to(torch.float64)`, `x.to("cuda")`, `x.to("cuda", torch.float16)` or
    `x.to(other)`.

    Args:
        args: a dtype, a device, or a tensor whose dtype and device are taken.
        kwargs: `dtype`, `device`, `copy` (copy in any case), `non_blocking` (do not wait for a
            copy to or from a GPU), `memory_format`.

    Example:
        >>> torch.tensor([1, 2]).to(torch.float64)
        tensor([1., 2.], dtype=torch.float64)
    """
    if len(args) == 1 and not kwargs:
        if args[0].__class__ is dtype:
            return cast_to(self, args[0])
        if args[0].__class__ in _DEVICES:
            return move_to(self, args[0])
    elif not kwargs:
        if len(args) == 2 and args[1].__class__ is dtype and args[0].__class__ in _DEVICES:
            return move_to(cast_to(self, args[1]), args[0])
    elif not args:
        given = kwargs.get("dtype")
        if len(kwargs) == 1 and given.__class__ is dtype:
            return cast_to(self, given)
        if len(kwargs) == 2 and given.__class__ is dtype and kwargs.get("device").__class__ in _DEVICES:
            return move_to(cast_to(self, given), kwargs["device"])
    unknown = set(kwargs) - {"device", "dtype", "other", "non_blocking", "copy", "memory_format"}
    if unknown:
        raise TypeError(f"to() got an unexpected keyword argument '{unknown.pop()}'")
    d, dt = _parse_to(args, kwargs)
    positional_flags = [a for a in args if isinstance(a, bool)]
    non_blocking = kwargs.get("non_blocking", positional_flags[0] if positional_flags else False)
    result = self
    if dt is not None:
        result = cast_to(result, as_dtype(dt))
    if d is not None:
        result = move_to(result, d, non_blocking)
    if kwargs.get("copy", len(positional_flags) > 1 and positional_flags[1]) and result is self:
        result = self.clone()
    return _in_order(result, kwargs.get("memory_format"), self)


def _in_order(x: Tensor, memory_format: Any, given: Tensor) -> Tensor:
    """`x`, made of `given`, in that order; as in PyTorch `given` itself stays where its strides suggest no other."""
    if memory_format is None:
        return x
    if x is given and memory_format is contiguous_format and not _is_turned(x):
        return x
    return x.contiguous(memory_format=memory_format)


def _is_turned(x: Tensor) -> bool:
    """Whether its strides suggest channels last: they grow from the channels outwards."""
    order = _OUTWARDS.get(x._a.ndim)
    if order is None or x.is_contiguous():
        return False
    least = 0
    for size, step in ((x._a.shape[d], x.stride(d)) for d in order):
        if not size or not step or step < least:
            return False
        least = step * size
    return True


_OUTWARDS = {len(order): order[::-1] for order in ORDERS.values()}


@public("Tensor")
def cpu(self: Tensor, *, memory_format: Any = None) -> Tensor:
    """The tensor in the memory of the CPU; itself if it is there.

    Example:
        >>> torch.zeros(2).cpu().device
        device(type='cpu')
    """
    return _in_order(move_to(self, "cpu"), memory_format, self)


@public("Tensor")
def cuda(self: Tensor, device: Any = None, non_blocking: bool = False, memory_format: Any = None) -> Tensor:
    """The tensor on a GPU; itself if it is there.

    Args:
        device: which GPU; the current one if not given.
        non_blocking: do not wait for the copy, if the tensor is in page-locked memory.
        memory_format: the order of the elements in memory; that of this tensor if not given.

    Raises:
        RuntimeError: if there is no GPU, with the reason.

    Example:
        >>> x = torch.zeros(2)
        >>> x = x.cuda() if torch.cuda.is_available() else x
        >>> x.shape
        torch.Size([2])
    """
    moved = move_to(self, "cuda" if device is None else device, non_blocking)
    return _in_order(moved, memory_format, self)


@public("Tensor")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """The tensor in the dtype and on the device of another one.

    Example:
        >>> torch.tensor([1, 2]).type_as(torch.zeros(1))
        tensor([1., 2.])
    """
    return move_to(cast_to(self, other.dtype), other.device)


def _short(name: str, d: dtype) -> None:
    def method(self: Tensor, *, memory_format: Any = None) -> Tensor:
        return _in_order(cast_to(self, d), memory_format, self)

    method.__name__ = name
    method.__doc__ = (
        f"The elements as {d.name}; the tensor itself if they are already.\n\nExample:\n"
        f"    >>> torch.tensor([0, 1]).{name}().dtype\n    torch.{d.name}\n"
    )
    public("Tensor", name=name)(method)


for _name in ("float", "double", "half", "long", "int", "short", "bool", "cfloat", "cdouble"):
    _short(_name, dtypes.ALIASES[_name])
_short("bfloat16", dtypes.bfloat16)
_short("char", dtypes.int8)
_short("byte", dtypes.uint8)


def dtype_of(dtype: Any, out: Tensor | None, x: Tensor) -> Any:
    """The dtype that a sum of `x` is computed in: the one asked for, or that of `out=`."""
    if dtype is not None:
        return as_dtype(dtype)
    if out is None:
        return None
    check_no_grad(out, x)
    return out.dtype
