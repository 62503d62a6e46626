"""Reductions of the elements that a mask lets through."""

from __future__ import annotations

from typing import Any

from ..base import dtypes
from ..core.public import NAMESPACES
from ..core.tensor import Tensor
from .identity import _canonical_dim, _combine_input_and_mask

_SMALL = (dtypes.uint8, dtypes.bool_, dtypes.int8, dtypes.int16, dtypes.int32)
_TORCH = NAMESPACES["torch"]


def _summed_dtype(input: Tensor, dtype: Any) -> Any:
    """Integers are added up and multiplied as int64."""
    if dtype is not None:
        return dtype
    return dtypes.int64 if input.dtype in _SMALL else input.dtype


def sum(
    input: Any,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The sum of the elements that the mask lets through; 0 where there are none.

    Args:
        dim: the dimensions; all if not given.
        keepdim: keep them with size 1.
        mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.sum(x, 1, mask=mask)
        tensor([1., 5.])
    """
    dtype = _summed_dtype(input, dtype)
    dims = _canonical_dim(dim, input.ndim)
    return _combine_input_and_mask("sum", input, mask).sum(dims, bool(keepdim), dtype=dtype)


def prod(
    input: Any,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The product of the elements that the mask lets through; 1 where there are none.

    Args:
        dim: the dimensions; all if not given.
        keepdim: keep them with size 1.
        mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.prod(x, 1, mask=mask)
        tensor([1., 6.])
    """
    dtype = _summed_dtype(input, dtype)
    found = _combine_input_and_mask("prod", input, mask).to(dtype)
    for d in reversed(_canonical_dim(dim, input.ndim)):
        found = found.prod(d, bool(keepdim))
    return found


def amax(
    input: Any,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The largest of the elements that the mask lets through.

    Args:
        dim: the dimensions; all if not given.
        keepdim: keep them with size 1.
        mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.amax(x, 1, mask=mask)
        tensor([1., 3.])
    """
    found = _combine_input_and_mask("amax", input, mask)
    dims = _canonical_dim(dim, found.ndim)
    return found.amax(dims, bool(keepdim)).to(input.dtype if dtype is None else dtype)


def amin(
    input: Any,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The smallest of the elements that the mask lets through.

    Args:
        dim: the dimensions; all if not given.
        keepdim: keep them with size 1.
        mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.amin(x, 1, mask=mask)
        tensor([1., 2.])
    """
    found = _combine_input_and_mask("amin", input, mask)
    dims = _canonical_dim(dim, found.ndim)
    return found.amin(dims, bool(keepdim)).to(input.dtype if dtype is None else dtype)


def argmax(
    input: Any,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the largest of the elements stands that the mask lets through; numbers of the input's dtype, as in PyTorch.

    Args:
        dim: the dimension; all elements if not given.
        keepdim: keep it with size 1.
        mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.argmax(x, 1, mask=mask)
        tensor([0., 0.])
    """
    found = _combine_input_and_mask("argmax", input, mask)
    return found.argmax(dim, bool(keepdim)).to(input.dtype if dtype is None else dtype)


def argmin(
    input: Any,
    dim: int | None = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the smallest of the elements stands that the mask lets through; numbers of the input's dtype, as in PyTorch.

    Args:
        dim: the dimension; all elements if not given.
        keepdim: keep it with size 1.
        mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.argmin(x, 1, mask=mask)
        tensor([0., 1.])
    """
    found = _combine_input_and_mask("argmin", input, mask)
    return found.argmin(dim, bool(keepdim)).to(input.dtype if dtype is None else dtype)


def median(
    input: Any,
    dim: int = -1,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The lower median of the elements that the mask lets through.

    Args:
        dim: the dimension; all elements if not given.
        keepdim: keep it with size 1.
        mask: which elements count; all if not given.

    Raises:
        ValueError: if a row of integers has no element.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.median(x, 1, mask=mask)
        tensor([1., 2.])
    """
    dtype = input.dtype if dtype is None else dtype
    d = _canonical_dim(dim, input.ndim)[0]
    floating = input.dtype.is_floating_point
    input = input if floating else input.to(dtypes.float32)
    found = _combine_input_and_mask("median", input, mask).nanmedian(d, keepdim).values
    if floating:
        return found
    if found.isnan().any():
        raise ValueError(
            "masked median expects no fully masked out rows if dtype is not floating point"
        )
    return found.to(dtype)


def logsumexp(
    input: Tensor,
    dim: Any = None,
    *,
    keepdim: bool = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """log(sum(exp)) of the elements that the mask lets through.

    Args:
        dim: the dimensions; all if not given.
        keepdim: keep them with size 1.
        mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.logsumexp(x, 1, mask=mask)
        tensor([1.0000, 3.3133])
    """
    dims = _canonical_dim(dim, input.ndim)
    found = _combine_input_and_mask("logsumexp", input, mask).logsumexp(dims, keepdim=keepdim)
    return found.to(input.dtype if dtype is None else dtype)


def norm(
    input: Any,
    ord: float | None = 2.0,
    dim: Any = None,
    *,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The norm of the elements that the mask lets through.

    Args:
        ord: which norm.
        dim: the dimensions; all if not given.
        keepdim: keep them with size 1.
        mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.norm(x, 1.0, 1, mask=mask)
        tensor([1., 5.])
    """
    found = _combine_input_and_mask("norm", input, mask, ord)
    dims = _canonical_dim(dim, input.ndim)
    dtype = input.dtype if dtype is None else dtype
    return NAMESPACES["linalg"]["vector_norm"](found, ord, dims, bool(keepdim), dtype=dtype)
