"""New tensors after the pattern of another: `zeros_like` and its siblings, `new_zeros` and its."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...base.device import device
from ...base.dtypes import as_dtype, dtype
from ...base.formats import layout, memory_format
from ...core.public import public
from ...core.tensor import Tensor, tensor_over
from ...runtime.batch.arrays import BatchedArray, levels_of, make, without
from ...runtime.door import Kernel, run
from ...runtime.sparse_array import sparse
from ...runtime.wrapped import WrappedArray, answer
from ..memory.copies import clone_op
from .filled import EMPTY, FULL, check_fill, create, dim_order, empty_strided, full, number, only_size, sizes


def like(
    kernel: Kernel,
    input: Tensor,
    dtype: dtype | None,
    layout: layout | None,
    device: device | str | int | None,
    requires_grad: bool,
    pin_memory: bool,
    memory_format: memory_format | None,
    **attrs: Any,
) -> Tensor:
    """A new tensor with the size, dtype, device and dim order of `input`."""
    if not isinstance(input, Tensor):
        raise TypeError(
            f"{kernel.name}_like(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    if sparse.active and sparse.among(input) and layout in (None, input.layout):
        return sparse.like(kernel.name, input, dtype, device, attrs)
    a = input._a
    if a.__class__ is BatchedArray and not kernel.random:
        every = tensor_over(a.held, a.held.__class__)
        made = like(kernel, every, dtype, layout, device, False, pin_memory, memory_format, **attrs)
        mine = tensor_over(make(a.level, made._a), BatchedArray)
        return mine.requires_grad_() if requires_grad else mine
    d = input.dtype if dtype is None else as_dtype(dtype)
    if "value" in attrs:
        attrs["value"] = check_fill(number(attrs["value"]), d)
    if a.__class__ is WrappedArray:
        named = {"dtype": dtype, "device": device, "memory_format": memory_format}
        given = {name: value for name, value in named.items() if value is not None}
        fills = (attrs["value"],) if attrs.get("value", 0) not in (0, 1) else ()
        made = answer.of_tensor(_operator(kernel.name, attrs), input, *fills, **given)
        return made.requires_grad_() if requires_grad else made
    where = input.device if device is None else device
    return create(kernel, where, requires_grad, None, pin_memory, layout, size=tuple(a.shape),
                  dtype=d, order=dim_order(a, memory_format), **attrs)  # fmt: skip


def for_each_sample(made: Tensor, beside: Tensor) -> Tensor:
    """A new tensor with memory for every sample that `beside` has, so that it can be written into."""
    if made.requires_grad:
        return made
    a, levels = made._a, levels_of(beside._a)
    for level in levels:
        a = without(a, level)
    a = run(clone_op.kernel, a.__class__, (a,), {"order": "C"})
    for level in reversed(levels):
        a = make(level, a)
    return tensor_over(a, BatchedArray)


def _operator(kernel: str, attrs: dict[str, Any]) -> str:
    """PyTorch's inner operator for a new tensor like another."""
    if kernel == "full":
        kernel = {0: "zeros", 1: "ones"}.get(attrs["value"], "full")
    names = {"normal": "randn", "uniform": "rand"}
    return f"{names.get(attrs.get('kind', ''), kernel)}_like.default"


def _define_like(name: str, kernel: Kernel, what: str, example: str, **fixed: Any) -> Callable[..., Tensor]:
    """`zeros_like`, `ones_like` or `empty_like`."""

    def make(
        input: Tensor,
        *,
        dtype: dtype | None = None,
        layout: layout | None = None,
        device: device | str | int | None = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        memory_format: memory_format | None = None,
    ) -> Tensor:
        return like(kernel, input, dtype, layout, device, requires_grad, pin_memory, memory_format, **fixed)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"{what}\n\nExample:\n    >>> {example}\n"
    return public("torch")(make)


zeros_like = _define_like(
    "zeros_like",
    FULL,
    "Zeros in the shape and, unless given, the dtype and device of another tensor.",
    "torch.zeros_like(torch.tensor([[1, 2]]))\n    tensor([[0, 0]])",
    value=0,
)
ones_like = _define_like(
    "ones_like",
    FULL,
    "Ones in the shape and, unless given, the dtype and device of another tensor.",
    "torch.ones_like(torch.tensor([1.5, 2.5]))\n    tensor([1., 1.])",
    value=1,
)
empty_like = _define_like(
    "empty_like",
    EMPTY,
    "A tensor with the shape and, unless given, the dtype and device of another one; its values are arbitrary.",
    "torch.empty_like(torch.zeros(2, 3)).shape\n    torch.Size([2, 3])",
)


@public("torch")
def full_like(
    input: Tensor,
    fill_value: Any,
    *,
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | str | int | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
    memory_format: memory_format | None = None,
) -> Tensor:
    """One value in the shape and, unless given, the dtype and device of another tensor.

    Args:
        fill_value: the value.

    Example:
        >>> torch.full_like(torch.zeros(3), 0.5)
        tensor([0.5000, 0.5000, 0.5000])
    """
    return like(FULL, input, dtype, layout, device, requires_grad, pin_memory, memory_format, value=fill_value)


# -- new_*: another size, the same dtype and device ------------------------------------------------


def _define_new(name: str, kernel: Kernel, **fixed: Any) -> None:
    """`new_zeros`, `new_ones` or `new_empty`: what the function without `new_` makes."""

    def method(
        self: Tensor,
        *size: Any,
        dtype: dtype | None = None,
        device: device | str | int | None = None,
        requires_grad: bool = False,
        layout: layout | None = None,
        pin_memory: bool = False,
        **keyword: Any,
    ) -> Tensor:
        shape = sizes(name, size, only_size(name, keyword))
        d = self.dtype if dtype is None else as_dtype(dtype)
        if self._a.__class__ is WrappedArray:
            named = {"dtype": dtype, "device": device}
            given = {name: value for name, value in named.items() if value is not None}
            mine = answer.of_tensor(f"{name}.default", self, list(shape), **given)
            return mine.requires_grad_() if requires_grad else mine
        where = self.device if device is None else device
        made = create(kernel, where, requires_grad, None, pin_memory, layout, size=shape, dtype=d, **fixed)
        return for_each_sample(made, self) if self._a.__class__ is BatchedArray else made

    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"As `torch.{name[4:]}`, in the dtype and on the device of this tensor."
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
    dtype: dtype | None = None,
    device: device | str | int | None = None,
    requires_grad: bool = False,
    layout: layout | None = None,
    pin_memory: bool = False,
) -> Tensor:
    """As `torch.full`, in the dtype and on the device of this tensor.

    Args:
        size: a tuple with the size of every dimension.
        fill_value: the value.

    Example:
        >>> torch.zeros(1, dtype=torch.float64).new_full((2,), 3)
        tensor([3., 3.], dtype=torch.float64)
    """
    return full(size, fill_value, dtype=self.dtype if dtype is None else dtype,
                device=self.device if device is None else device, requires_grad=requires_grad,
                layout=layout, pin_memory=pin_memory)  # fmt: skip


@public("Tensor")
def new_empty_strided(
    self: Tensor,
    size: Any,
    stride: Sequence[int],
    dtype: dtype | None = None,
    layout: layout | None = None,
    device: device | str | int | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """As `torch.empty_strided`, in the dtype and on the device of this tensor.

    Example:
        >>> torch.zeros(1).new_empty_strided((2, 3), (1, 2)).stride()
        (1, 2)
    """
    return empty_strided(size, stride, dtype=self.dtype if dtype is None else dtype, layout=layout,
                         device=self.device if device is None else device, requires_grad=requires_grad,
                         pin_memory=pin_memory)  # fmt: skip
