"""Functions along a dimension that leave out what a mask does not let through."""

from __future__ import annotations

from typing import Any

from ..core.public import NAMESPACES
from ..core.tensor import Tensor
from .identity import _canonical_dim, _combine_input_and_mask, strided_only
from .reductions import norm

_F = NAMESPACES["functional"]


def softmax(input: Any, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Softmax over the elements that the mask lets through; the others are 0.

    Args:
        dim: the dimension.
        mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.softmax(x, 1, mask=mask)
        tensor([[1.0000, 0.0000],
                [0.7311, 0.2689]])
    """
    d = _canonical_dim(dim, input.ndim)[0]
    found = _combine_input_and_mask("amax", input, mask)
    return _F["softmax"](found, d, dtype=input.dtype if dtype is None else dtype)


def log_softmax(input: Any, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of `softmax` over the elements that the mask lets through; the others are -inf.

    Args:
        dim: the dimension.
        mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.log_softmax(x, 1, mask=mask)
        tensor([[ 0.0000,    -inf],
                [-0.3133, -1.3133]])
    """
    d = _canonical_dim(dim, input.ndim)[0]
    found = _combine_input_and_mask("amax", input, mask)
    return _F["log_softmax"](found, d, dtype=input.dtype if dtype is None else dtype)


def softmin(input: Any, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """Softmin over the elements that the mask lets through; the others are 0.

    Args:
        dim: the dimension.
        mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.softmin(x, 1, mask=mask)
        tensor([[1.0000, 0.0000],
                [0.2689, 0.7311]])
    """
    d = _canonical_dim(dim, input.ndim)[0]
    found = _combine_input_and_mask("amin", input, mask)
    return _F["softmin"](found, d, dtype=input.dtype if dtype is None else dtype)


def cumsum(input: Any, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The running sums of the elements that the mask lets through.

    Args:
        dim: the dimension.
        mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.cumsum(x, 1, mask=mask)
        tensor([[1., 1.],
                [3., 5.]])
    """
    d = _canonical_dim(dim, input.ndim)[0]
    dtype = input.dtype if dtype is None else dtype
    return _combine_input_and_mask("sum", input, mask).cumsum(d, dtype=dtype).to(dtype)


def cumprod(input: Any, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
    """The running products of the elements that the mask lets through.

    Args:
        dim: the dimension.
        mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.cumprod(x, 1, mask=mask)
        tensor([[1., 1.],
                [3., 6.]])
    """
    d = _canonical_dim(dim, input.ndim)[0]
    dtype = input.dtype if dtype is None else dtype
    return _combine_input_and_mask("prod", input, mask).cumprod(d, dtype=dtype).to(dtype)


def normalize(
    input: Any,
    ord: float,
    dim: int,
    *,
    eps: float = 1e-12,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The elements that the mask lets through, divided by their norm.

    Args:
        ord: which norm.
        dim: the dimension.
        eps: the least that is divided by.
        mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.normalize(x, 1.0, 1, mask=mask)
        tensor([[1.0000, 0.0000],
                [0.6000, 0.4000]])
    """
    found = _combine_input_and_mask("sum", input, mask)
    dtype = input.dtype if dtype is None else dtype
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return found / NAMESPACES["torch"]["maximum"](length, length.new_full([], eps))


def logaddexp(
    input: Any,
    other: Any,
    *,
    dtype: Any = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """log(exp(input) + exp(other)) of the elements that the masks let through.

    Args:
        input_mask, other_mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([1.0, 2.0]), torch.tensor([True, False])
        >>> torch.masked.logaddexp(x, torch.zeros(2), input_mask=mask)
        tensor([1.3133, 0.0000])
    """
    strided_only(input, other)
    a = _combine_input_and_mask("logaddexp", input, input_mask)
    b = _combine_input_and_mask("logaddexp", other, other_mask)
    return a.logaddexp(b).to(input.dtype if dtype is None else dtype)
