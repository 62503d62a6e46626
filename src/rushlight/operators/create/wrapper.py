"""`Tensor._make_wrapper_subclass`: a tensor without memory, whose class computes with the tensors it is made of."""

from __future__ import annotations

from types import MemberDescriptorType
from typing import Any

from ...base import formats
from ...base.device import as_device
from ...base.dtypes import as_dtype, get_default_dtype
from ...base.shapes import as_size
from ...core.overriding import notice
from ...core.public import publish
from ...core.tensor import Tensor
from ...runtime.thread import here
from ...runtime.wrapped import WrappedArray, answer, open_wrapped


def _make_wrapper_subclass(
    cls: type, size: Any, strides: Any = None, storage_offset: int | None = None, memory_format: Any = None,
    dtype: Any = None, layout: Any = formats.strided, device: Any = None, pin_memory: bool = False,
    requires_grad: bool = False, dispatch_sizes_strides_policy: Any = None, dispatch_device: bool = False,
    dispatch_layout: bool = False, _extra_dispatch_keys: Any = None, storage_size: Any = None,
) -> Any:  # fmt: skip
    """A tensor of a class with `__torch_dispatch__` that has a shape, a dtype and a device, and no memory.

    Attributes that the class gives it are what it is made of. The options for PyTorch's dispatcher change nothing here.
    """
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise TypeError(f"cls must be a subclass of Tensor, but got {cls!r}")
    if not hasattr(cls, "__torch_dispatch__"):
        raise TypeError(f"{cls.__name__} must define __torch_dispatch__")
    if here.tracer is not None:
        here.tracer.interrupt("a tensor is made of others")
    if not answer.active:
        open_wrapped()
    notice(cls)
    _without_slots(cls)
    kind = get_default_dtype() if dtype is None else as_dtype(dtype)
    shape = as_size(tuple(size) if isinstance(size, tuple | list) else (size,))
    t: Any = object.__new__(cls)
    steps = None if strides is None else as_size(tuple(strides))
    t._a = WrappedArray.shaped(shape, steps, kind.np, as_device(device))
    t._a.kind, t._a.parts = cls, t.__dict__
    t._edge = t._grad = t._ver = t._ext = None
    return t.requires_grad_() if requires_grad else t


def _without_slots(cls: type) -> None:
    """Let what a class keeps in slots be attributes as others are, which stay with the array when the tensor goes."""
    for base in cls.__mro__[: cls.__mro__.index(Tensor)]:
        for name in [n for n, v in vars(base).items() if isinstance(v, MemberDescriptorType)]:
            delattr(base, name)


publish("Tensor", "_make_wrapper_subclass", staticmethod(_make_wrapper_subclass))
