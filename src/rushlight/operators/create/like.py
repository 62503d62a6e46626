"""New tensors after the pattern of another: `zeros_like` and its siblings, `new_zeros` and its."""

from __future__ import annotations

from typing import Any

from ...base.dtypes import as_dtype
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.door import Kernel
from .filled import EMPTY, FULL, check_fill, create, dim_order, full, number, only_size, sizes


def like(
    kernel: Kernel,
    input: Tensor,
    dtype: Any,
    layout: Any,
    device: Any,
    requires_grad: bool,
    pin_memory: bool,
    memory_format: Any,
    **attrs: Any,
) -> Tensor:
    """A new tensor with the size, dtype, device and dim order of `input`."""
    if not isinstance(input, Tensor):
        raise TypeError(
            f"{kernel.name}_like(): argument 'input' (position 1) must be Tensor, not "
            f"{type(input).__name__}"
        )
    a = input._a
    d = input.dtype if dtype is None else as_dtype(dtype)
    if "value" in attrs:
        attrs["value"] = check_fill(number(attrs["value"]), d)
    where = input.device if device is None else device
    return create(kernel, where, requires_grad, None, pin_memory, layout, size=tuple(a.shape),
                  dtype=d, order=dim_order(a, memory_format), **attrs)  # fmt: skip


@public("torch")
def zeros_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Zeros of the size of `input`."""
    return like(FULL, input, dtype, layout, device, requires_grad, pin_memory, memory_format,
                value=0)  # fmt: skip


@public("torch")
def ones_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Ones of the size of `input`."""
    return like(FULL, input, dtype, layout, device, requires_grad, pin_memory, memory_format,
                value=1)  # fmt: skip


@public("torch")
def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """`fill_value` in the size of `input`."""
    return like(FULL, input, dtype, layout, device, requires_grad, pin_memory, memory_format,
                value=fill_value)  # fmt: skip


@public("torch")
def empty_like(
    input: Tensor,
    *,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """Uninitialised memory of the size of `input`."""
    return like(EMPTY, input, dtype, layout, device, requires_grad, pin_memory, memory_format)


# -- new_*: another size, the same dtype and device ------------------------------------------------


def _define_new(name: str, kernel: Kernel, **fixed: Any) -> None:
    def method(
        self: Tensor,
        *size: Any,
        dtype: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        layout: Any = None,
        pin_memory: bool = False,
        **keyword: Any,
    ) -> Tensor:
        shape = sizes(name, size, only_size(name, keyword))
        d = self.dtype if dtype is None else as_dtype(dtype)
        where = self.device if device is None else device
        return create(kernel, where, requires_grad, None, pin_memory, layout, size=shape, dtype=d,
                      **fixed)  # fmt: skip

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"`{name[4:]}` in this tensor's dtype and on its device."
    public("Tensor", name=name)(method)


_define_new("new_zeros", FULL, value=0)
_define_new("new_ones", FULL, value=1)
_define_new("new_empty", EMPTY)


@public("Tensor")
def new_full(
    self: Tensor,
    size: Any,
    fill_value: Any,
    *,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    layout: Any = None,
    pin_memory: bool = False,
) -> Tensor:
    """`full` in this tensor's dtype and on its device."""
    return full(size, fill_value, dtype=self.dtype if dtype is None else dtype,
                device=self.device if device is None else device, requires_grad=requires_grad,
                layout=layout, pin_memory=pin_memory)  # fmt: skip
