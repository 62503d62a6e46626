"""Mean, variance and standard deviation of the elements that a mask lets through."""

from __future__ import annotations

from typing import Any

from ..base import dtypes
from ..base.formats import strided
from ..core.public import NAMESPACES
from ..core.tensor import Tensor
from .reductions import _combine_input_and_mask, _input_mask, _of_entries, strided_only
from .reductions import sum as _sum


def _count(input: Any, dim: Any, keepdim: Any, mask: Any) -> Tensor:
    """How many elements are reduced into each."""
    if mask is not None:
        return mask.sum(dim=dim, keepdim=bool(keepdim))
    ones = NAMESPACES["torch"]["ones"](input.shape, dtype=dtypes.int64, device=input.device)
    return _sum(ones, dim, keepdim=keepdim)


def mean(
    input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The mean of the elements that the mask lets through; nan where there are none.

    Args:
        dim: the dimensions; all if not given.
        mask: which elements count; all if not given.

    Raises:
        ValueError: if the numbers are integers.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.mean(x, 1, mask=mask)
        tensor([1.0000, 2.5000])
    """
    source = "Input" if dtype is None else "Optional"
    dtype = input.dtype if dtype is None else dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(
            f"mean(): Could not infer output dtype. {source} dtype must be either "
            f"a floating point or complex dtype. Got: {dtype}"
        )
    if input.layout is not strided:
        return _of_entries("mean", _combine_input_and_mask("mean", input, mask), dim, keepdim, dtype, mask)
    inside = None if mask is None else _input_mask(input, mask=mask)
    total = _sum(input, dim, keepdim=keepdim, dtype=dtype, mask=inside)
    return total / _count(input, dim, keepdim, inside)


def _correction(unbiased: bool | None, correction: float | None) -> float:
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is not None:
        return float(correction)
    return 0.0 if unbiased is False else 1.0


def _variance(input: Any, dim: Any, less: float, keepdim: Any, dtype: Any, mask: Tensor | None) -> Tensor:
    floating = input.dtype.is_floating_point or input.dtype.is_complex
    dtype = (input.dtype if floating else dtypes.float32) if dtype is None else dtype
    inner = dtype if dtype.is_floating_point or dtype.is_complex else dtypes.float32
    strided_only("std/var", input)
    inside = None if mask is None else _input_mask(input, mask=mask)
    count = _count(input, dim, True, inside)
    middle = _sum(input, dim, keepdim=True, dtype=dtype, mask=inside) / count
    x = input - middle
    total = _sum(x * x.conj(), dim, keepdim=keepdim, dtype=inner, mask=inside)
    count = count if keepdim else count.reshape(total.shape)
    if less != 0:
        count = (count.to(inner.to_real() if inner.is_complex else inner) - less).clamp(min=0)
    return (total / count).to(dtype)


def var(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of the elements that the mask lets through.

    Args:
        dim: the dimensions; all if not given.
        unbiased: divide by one less than the number of elements; so if not given.
        correction: how many less, instead.
        mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.var(x, 0, mask=mask)
        tensor([2., nan])
    """
    less = _correction(unbiased, correction)
    return _variance(input, dim, less, keepdim, dtype, mask)


def std(
    input: Any,
    dim: Any = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool | None = False,
    dtype: Any = None,
    mask: Tensor | None = None,
) -> Tensor:
    """As `var`: its square root."""
    less = _correction(unbiased, correction)
    return _variance(input, dim, less, keepdim, dtype, mask).sqrt()
