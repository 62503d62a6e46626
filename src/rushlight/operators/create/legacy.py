"""The old tensor types: FloatTensor and its siblings, their names, and `Tensor(...)` as a constructor."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import dtypes
from ...base.config import settings
from ...base.device import CPU, device, get_default_device, set_default_device
from ...base.dtypes import as_dtype, dtype, title
from ...base.errors import NoGpuError
from ...core.gradients.tape import AccumulateGrad
from ...core.overriding import notice
from ...core.public import public, publish
from ...core.tensor import Tensor, wrap
from ...runtime import devices
from .filled import EMPTY, create, sizes
from .from_data import _from_object, array_of


class _LegacyType(type):
    """The type of the old types: an instance is any tensor of the dtype and the device type."""

    dtype: dtype
    on: str
    is_cuda: bool

    def __instancecheck__(cls, value: object) -> bool:
        if not isinstance(value, Tensor):
            return False
        return value.dtype is cls.dtype and value.device.type == cls.on

    def __call__(cls, *args: Any, **kwargs: Any) -> Tensor:
        where = device(cls.on)
        try:
            devices.backend_of(where)
        except NoGpuError as error:
            raise TypeError(f"type {settings.module}.cuda.{cls.__name__} not available. {error}") from None
        return _construct(cls.dtype, where, args, kwargs)

    def __repr__(cls) -> str:
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def _kind(d: dtype, on: str) -> _LegacyType:
    space = {"dtype": d, "on": on, "is_cuda": on == "cuda", "__module__": _module(on)}
    space["__doc__"] = _type_text(d, on)
    return _LegacyType(title(d) + "Tensor", (), space)


def _type_text(d: dtype, on: str) -> str:
    """The docstring of an old type."""
    if on != "cpu":
        return f"See `torch.FloatTensor`: the same for {d.name} on the device type {on}."
    name = f"torch.{title(d)}Tensor"
    return f"""The old type of {d.name} tensors on the CPU: makes them from sizes or from data, and stands in `isinstance`.

    Args:
        args: sizes, for memory that is not filled; or one list with the values.
        kwargs: `device=`, which has to be of this type.

    Example:
        >>> {name}([1, 0]).dtype, isinstance(torch.zeros(2, dtype=torch.{d.name}), {name})
        (torch.{d.name}, True)
    """


def _module(on: str) -> str:
    return settings.module if on == "cpu" else f"{settings.module}.{on}"


def _kinds(on: str) -> dict[str, _LegacyType]:
    found = [_kind(dtypes.by_name(name), on) for name in dtypes.TITLES]
    return {kind.__name__: kind for kind in found}


TYPES, CUDA_TYPES = _kinds("cpu"), _kinds("cuda")
for _name, _type in TYPES.items():
    if not _type.dtype.is_complex:
        publish("torch", _name, _type)


# -- constructing ----------------------------------------------------------------------------------


def legacy_tensor(cls: type, *args: Any, **kwargs: Any) -> Tensor:
    """`Tensor(2, 3)`, `Tensor([1, 2])`, `Tensor(other)`: the constructor of Tensor and subclasses."""
    if len(args) == 1 and isinstance(args[0], Tensor):
        t = wrap(args[0]._a)  # whatever its dtype
    else:
        t = _construct(dtypes.get_default_dtype(), get_default_device(), args, kwargs)
    return t if cls is Tensor else of_class(t, cls)


publish("Tensor", "__new__", staticmethod(legacy_tensor))


def _construct(d: dtype, where: device, args: tuple, kwargs: dict) -> Tensor:
    where = device(kwargs["device"]) if kwargs.get("device") is not None else where
    if "data" in kwargs:
        args = (kwargs["data"],)
    if not args:
        return create(EMPTY, where, size=(0,), dtype=d)
    first = args[0]
    if len(args) == 1 and not isinstance(first, (int, np.integer)):
        return _of_value(first, d, where)
    return create(EMPTY, where, size=sizes("new", args), dtype=d)


def _of_value(value: Any, d: dtype, where: device) -> Tensor:
    if isinstance(value, Tensor):
        if value.dtype is not d:
            raise TypeError(f"expected {title(d)}Tensor (got {type_name(value)}); convert it with .to({d})")
        return wrap(value._a)  # shares memory, as PyTorch's does
    if isinstance(value, tuple) and type(value).__name__ == "Size":
        return create(EMPTY, where, size=tuple(value), dtype=d)
    if isinstance(value, np.ndarray):
        return _from_object(value, d, where, copy=True)
    if not isinstance(value, (list, tuple, range)) and not hasattr(value, "__getitem__"):
        raise TypeError(f"new(): data must be a sequence (got {type(value).__name__})")
    t = wrap(array_of(value, d))
    return t if where.type == "cpu" else t.to(where)


@public("Tensor")
def new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """A tensor of this one's dtype and device, from sizes or from data; the `new_` methods are clearer.

    Args:
        args: sizes, for memory that is not filled; or one list with the values.
        kwargs: `device=`.

    Example:
        >>> torch.zeros(1, dtype=torch.float64).new([1, 2])
        tensor([1., 2.], dtype=torch.float64)
    """
    return _construct(self.dtype, self.device, args, kwargs)


@public("Tensor")
def as_subclass(self: Tensor, cls: type) -> Tensor:
    """The same memory and history as an object of a subclass of Tensor.

    Args:
        cls: the subclass.

    Example:
        >>> type(torch.zeros(2).as_subclass(nn.Parameter)).__name__
        'Parameter'
    """
    if not issubclass(cls, Tensor):
        raise TypeError(f"{cls.__name__} is not a subclass of Tensor")
    from ..index.indexing import alias

    made = of_class(alias(self), cls)
    if made._edge is None and self._edge is not None:  # nothing is recorded; no method is asked
        made._edge = (AccumulateGrad(made), 0)
    return made


def of_class(t: Tensor, cls: type) -> Tensor:
    """A tensor that nobody else holds as an object of a subclass."""
    notice(cls)
    made: Any = object.__new__(cls)
    made._a, made._edge, made._grad, made._ver, made._ext = t._a, t._edge, None, t._ver, t._ext
    if t._edge is not None and isinstance(t._edge[0], AccumulateGrad):
        made._edge = (AccumulateGrad(made), 0)  # no method of a subclass is asked
    return made


def _make_subclass(cls: type, data: Tensor, require_grad: bool = False) -> Tensor:
    t = of_class(data.detach(), cls)
    return t.requires_grad_() if require_grad else t


publish("Tensor", "_make_subclass", staticmethod(_make_subclass))


# -- names -----------------------------------------------------------------------------------------


def type_name(t: Tensor) -> str:
    """The old name of a tensor's type: "torch.FloatTensor", "torch.cuda.LongTensor"."""
    where = t.device.type
    middle = "" if where == "cpu" else f"{where}."
    return f"{settings.module}.{middle}{title(t.dtype)}Tensor"


def legacy_dtype(value: Any) -> tuple[dtype, device | None]:
    """The dtype and device behind a dtype, an old type or its name."""
    if isinstance(value, _LegacyType):
        return value.dtype, device(value.on)
    if not isinstance(value, str):
        return as_dtype(value), None
    *middle, last = value.split(".")
    found = (CUDA_TYPES if "cuda" in middle else TYPES).get(last)
    if found is None or middle[:1] not in (["torch"], ["rushlight"]):
        raise ValueError(f"invalid type: '{value}'")
    return found.dtype, device(found.on)


@public("Tensor", name="type")
def type_(self: Tensor, dtype: dtype | type | str | None = None, non_blocking: bool = False, **kwargs: Any) -> Any:
    """The name of the old type, or the elements in another dtype.

    Args:
        dtype: a dtype, or an old type such as `torch.FloatTensor`; None asks for the name.
        non_blocking: do not wait for a copy to or from a GPU.
        kwargs: `async`, an old name of `non_blocking`.

    Example:
        >>> torch.zeros(2).type()
        'torch.FloatTensor'
        >>> torch.zeros(2).type(torch.int64)
        tensor([0, 0])
    """
    if unknown := kwargs.keys() - {"async"}:
        raise TypeError(f"type() got an unexpected keyword argument '{min(unknown)}'")
    if dtype is None:
        return type_name(self)
    dt, on = legacy_dtype(dtype)
    return self.to(dtype=dt) if on is None else self.to(on, dt)


@public("torch")
def set_default_tensor_type(t: Any) -> None:
    """Set the default dtype by the name of an old type; `set_default_dtype` is the newer way.

    Args:
        t: such as `torch.FloatTensor` or "torch.DoubleTensor".

    Example:
        >>> torch.set_default_tensor_type(torch.FloatTensor)
    """
    d, where = legacy_dtype(t)
    dtypes.set_default_dtype(d)
    set_default_device(where or CPU)


@public("torch")
def typename(obj: object) -> str:
    """The name of an object's type; for tensors the old one, such as "torch.FloatTensor".

    Args:
        obj: anything.

    Example:
        >>> torch.typename(torch.zeros(2))
        'torch.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return type_name(obj)
    kind = obj if isinstance(obj, type) else type(obj)
    module = kind.__module__
    return kind.__qualname__ if module in (None, "builtins") else f"{module}.{kind.__qualname__}"


@public("Tensor")
def resize(self: Tensor, *sizes: Any) -> Tensor:
    """As `Tensor.reshape`: an old name. The number of elements has to stay the same.

    Args:
        sizes: the new sizes.
    """
    import math
    import warnings

    warnings.warn("non-inplace resize is deprecated", UserWarning, stacklevel=2)
    size = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    if math.prod(size) != self.numel():
        raise RuntimeError(
            f"requested resize to {'x'.join(map(str, size))} ({math.prod(size)} elements in total), but "
            f"the given tensor has a size of {'x'.join(map(str, self.shape))} ({self.numel()} elements). "
            "autograd's resize can only change the shape of a given tensor, while preserving the number "
            "of elements. "
        )
    return self.reshape(size)
