"""Tensors that carry a mask: `masked_tensor` and what operators do with them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, ClassVar

from ..base import dtypes
from ..base.formats import strided
from ..core.gradients.function import Function
from ..core.public import NAMESPACES
from ..core.tensor import Tensor

_DTYPES = (
    dtypes.float16, dtypes.float32, dtypes.float64, dtypes.bool_, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64,
)  # fmt: skip
_PROTOTYPE = (
    "The PyTorch API of MaskedTensors is in prototype stage and will change in the near future. Please open a Github "
    "issue for features requests and see our documentation on the torch.masked module for further information about "
    "the project."
)
_NEEDS_GRAD = (
    "It is not recommended to create a MaskedTensor with a tensor that requires_grad. To avoid this, you can use "
    "data.detach().clone()"
)


def _check(data: Any, mask: Any) -> None:
    if data.layout is not mask.layout:
        raise TypeError("data and mask must have the same layout.")
    if data.layout is not strided:
        raise TypeError(f"data layout of {data.layout} is not supported.")
    if mask.dtype is not dtypes.bool_:
        raise TypeError("mask must have dtype bool.")
    if data.dtype not in _DTYPES:
        raise TypeError(f"{data.dtype} is not supported in MaskedTensor.")
    if data.dim() != mask.dim():
        raise ValueError("data.dim() must equal mask.dim()")
    if data.size() != mask.size():
        raise ValueError("data.size() must equal mask.size()")


class MaskedTensor(Tensor):
    """A tensor, and which of its elements count. Made by `masked_tensor`.

    Args:
        data: the numbers.
        mask: True where an element counts.
        requires_grad: record what is computed from it.

    Raises:
        TypeError: if one of them is not a tensor, or of a dtype that is not allowed.
        ValueError: if their shapes differ.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> torch.masked.MaskedTensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False]))
        MaskedTensor(
          [  1.0000,       --]
        )
    """

    _masked_data: Tensor
    _masked_mask: Tensor
    _called: ClassVar[Callable]  # both are given by calls.py, which knows the reductions
    _dispatched: ClassVar[Callable]

    @staticmethod
    def __new__(cls: Any, data: Any, mask: Any, requires_grad: bool = False) -> Any:
        if is_masked_tensor(data) or not isinstance(data, Tensor):
            raise TypeError("data must be a Tensor")
        if is_masked_tensor(mask) or not isinstance(mask, Tensor):
            raise TypeError("mask must be a Tensor")
        warnings.warn(_PROTOTYPE, UserWarning, stacklevel=2)
        if data.requires_grad:
            warnings.warn(_NEEDS_GRAD, UserWarning, stacklevel=2)
        return _wrapped(cls, data, requires_grad)

    def __init__(self, data: Any, mask: Any, requires_grad: bool = False) -> None:
        _check(data, mask)
        self._set(data.detach().clone(), mask.clone())

    def _set(self, data: Tensor, mask: Tensor) -> None:
        self._masked_data, self._masked_mask = data, mask

    def get_data(self) -> Tensor:
        """The numbers; what is computed from them is differentiated."""
        return GetData.apply(self)

    def get_mask(self) -> Tensor:
        """Which elements count."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Tensor:
        """A plain tensor, with `value` where the mask is False."""
        return self.get_data().masked_fill(~self._masked_mask, value)

    def is_sparse_coo(self) -> bool:
        """Whether the numbers are sparse: never here."""
        return False

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return _text(self._masked_data, self._masked_mask)

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __lt__(self, other: Any) -> Any:
        right = other.get_data() if is_masked_tensor(other) else other
        return _quietly(self._masked_data < right, self._masked_mask)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls._called(func, args, kwargs or {})

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return cls._dispatched(func, args, kwargs or {})


def _wrapped(cls: Any, data: Tensor, requires_grad: bool) -> Any:
    return Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
        cls, data.shape, strides=data.stride(), dtype=data.dtype, device=data.device, requires_grad=requires_grad
    )


def _quietly(data: Tensor, mask: Tensor) -> MaskedTensor:
    """A masked tensor that an operator makes: no warning, no copies."""
    _check(data, mask)
    made = _wrapped(MaskedTensor, data, False)
    made._set(data, mask)
    return made


class GetData(Function):
    @staticmethod
    def forward(ctx: Any, masked: Any) -> Any:
        ctx.mask = masked._masked_mask
        return masked._masked_data.detach()

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g if is_masked_tensor(g) else _quietly(g, ctx.mask)


class _Filled(Function):
    @staticmethod
    def forward(ctx: Any, masked: Any, value: Any) -> Any:
        ctx.mask = masked._masked_mask
        return NAMESPACES["torch"]["where"](ctx.mask, masked._masked_data, value)

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return _quietly(g._masked_data if is_masked_tensor(g) else g, ctx.mask), None


class _DataWithMask(Function):
    @staticmethod
    def forward(ctx: Any, data: Any, mask: Any) -> Any:
        return _quietly(data.detach().clone(), mask.clone())

    @staticmethod
    def backward(ctx: Any, g: Any) -> Any:
        return g, None


def with_filled_gaps(masked: MaskedTensor, value: Any) -> Tensor:
    """The numbers, with `value` where the mask is False."""
    return _Filled.apply(masked, value)


def joined(data: Tensor, mask: Tensor) -> Any:
    """A masked tensor on the tape of its numbers."""
    return _DataWithMask.apply(data, mask)


def _element(value: Any) -> str:
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _lines(data: Tensor, mask: Tensor) -> str:
    if data.dim() == 1:
        shown = [_element(v) for v in data.tolist()]
        kept = mask.tolist()
        width = max(len(text) if keep else 8 for text, keep in zip(shown, kept))
        return "[" + ", ".join(t if k else "--".rjust(width) for t, k in zip(shown, kept)) + "]"
    parts = [_lines(d, m).replace("\n", "\n  ") for d, m in zip(data, mask)]
    return "[\n" + ",\n".join("  " + part for part in parts) + "\n]"


def _text(data: Tensor, mask: Tensor) -> str:
    if data.dim() == 0:
        keep = mask.item()
        return f"MaskedTensor({_element(data.item()) if keep else '--'}, {keep})"
    return "MaskedTensor(\n  " + _lines(data, mask).replace("\n", "\n  ") + "\n)"


def masked_tensor(data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
    """A tensor of numbers and of which of them count; a leaf of the graph.

    Args:
        data: the numbers, which are copied.
        mask: True where an element counts.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> x = torch.masked.masked_tensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False]))
        >>> x.sum()
        MaskedTensor(  1.0000, True)
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Any, mask: Any) -> MaskedTensor:
    """As `masked_tensor`, but gradients flow into `data`.

    Args:
        data: the numbers.
        mask: True where an element counts.

    Example:
        >>> import warnings
        >>> warnings.simplefilter("ignore")
        >>> x = torch.masked.as_masked_tensor(torch.tensor([1.0, 2.0]), torch.tensor([True, False]))
        >>> x.to_tensor(0.0)
        tensor([1., 0.])
    """
    if is_masked_tensor(data) or not isinstance(data, Tensor):
        raise TypeError("data must be a Tensor")
    if is_masked_tensor(mask) or not isinstance(mask, Tensor):
        raise TypeError("mask must be a Tensor")
    warnings.warn(_PROTOTYPE, UserWarning, stacklevel=2)
    return joined(data, mask)


def is_masked_tensor(obj: Any, /) -> bool:
    """Whether something is a tensor with a mask.

    Args:
        obj: anything.

    Example:
        >>> torch.masked.is_masked_tensor(torch.ones(2))
        False
    """
    return isinstance(obj, MaskedTensor)
