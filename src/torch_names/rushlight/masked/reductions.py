"""Reductions of the elements that a mask lets through."""

from __future__ import annotations

from collections.abc import Callable
from inspect import cleandoc
from math import inf, nan
from textwrap import indent
from typing import Any, Protocol

from ..base import dtypes
from ..base.formats import strided
from ..core.public import NAMESPACES
from ..core.tensor import Tensor
from . import sparse
from .tensors import is_masked_tensor, with_filled_gaps

_LOWEST = ("amax", "argmax", "logaddexp", "logsumexp")
_HIGHEST = ("amin", "argmin")


def _neutral(name: str, x: Tensor, order: Any) -> Any:
    """The value that does not change the result of a reduction, or None if there is none."""
    floating = x.dtype.is_floating_point
    if name in ("sum", "cumsum"):
        return 0
    if name in ("prod", "cumprod"):
        return 1
    if name == "norm":
        if order == -inf and not floating:
            raise AssertionError(f"input must be floating point, got {x.dtype}")
        return inf if order == -inf else 0
    if name == "median":
        return nan
    if name not in (*_LOWEST, *_HIGHEST):
        return None
    low = name in _LOWEST
    if floating or (x.dtype.is_complex and name == "logsumexp"):
        return -inf if low else inf
    if x.dtype.is_complex or x.dtype is dtypes.bool_:
        return None
    limits = dtypes.iinfo(x.dtype)
    return limits.min if low else limits.max


def _reduction_identity(op_name: str, input: Tensor, *args: Any) -> Tensor | None:
    """The neutral element of a reduction, as a tensor without dimensions."""
    name = op_name.rpartition(".")[2]
    if name in ("mean", "var", "std"):
        return None
    value = _neutral(name, input, args[0] if args else 2)
    if value is None:
        raise NotImplementedError(f"identity of {name} on {input.dtype} input")
    dtype = input.dtype
    if name == "median" and not dtype.is_floating_point:
        dtype = dtypes.float32
    return NAMESPACES["torch"]["tensor"](value, dtype=dtype, device=input.device)


def _input_mask(input: Any, *args: Any, **kwargs: Any) -> Tensor:
    """The mask in the shape and the layout of the input, of booleans."""
    mask = kwargs.get("mask")
    if mask is None:
        raise ValueError("_input_mask requires explicit mask")
    return sparse.as_input(mask, input)


def strided_only(name: str, x: Any) -> Any:
    """Refuse sparse tensors where PyTorch does."""
    if x.layout is not strided:
        raise ValueError(f"masked {name} expects strided tensor (got {x.layout} tensor)")
    return x


def _combine_input_and_mask(op: Any, input: Any, mask: Any, *args: Any) -> Tensor:
    """The input, with the neutral element of `op` where the mask is False."""
    name = op if isinstance(op, str) else op.__name__
    if is_masked_tensor(input):
        return with_filled_gaps(input, _reduction_identity(name, input.get_data(), *args))
    if mask is None:
        return input
    inside = _input_mask(input, mask=mask)
    return sparse.where(inside, input, _reduction_identity(name, input, *args))


def _canonical_dim(dim: Any, ndim: int) -> tuple[int, ...]:
    """Dimensions in order, counted from the front; None and () mean all."""
    if dim is None or dim == ():
        return tuple(range(ndim))
    ndim = max(ndim, 1)
    found: list[int] = []
    for d in (dim,) if isinstance(dim, int) else dim:
        if d in found:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if not -ndim <= d < ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})")
        found.append(d % ndim)
    return tuple(sorted(found))


_REDUCTIONS = ("sum", "prod", "amax", "amin", "argmax", "argmin", "mean", "median", "norm", "var", "std", "logsumexp")
_SAME_SHAPE = ("softmax", "log_softmax", "softmin", "normalize", "cumsum", "cumprod")


def _output_mask(op: Any, input: Any, *args: Any, **kwargs: Any) -> Tensor:
    """Which elements of a result come from at least one element that the mask lets through."""
    if not callable(op):
        raise ValueError(f"_output_mask expected masked operation (got {type(op).__name__} object)")
    name = op.__name__
    if name in _SAME_SHAPE:
        return _input_mask(input, *args, **kwargs)
    if name not in _REDUCTIONS:
        raise ValueError(f"_output_mask expected masked operation (got callable {op.__module__}.{name})")
    rest = args[1:] if name == "norm" else args
    found = _input_mask(input, *args, **kwargs)
    for d in reversed(_canonical_dim(rest[0] if rest else kwargs.get("dim"), input.ndim)):
        found = found.any(dim=d, keepdim=bool(kwargs.get("keepdim", False)))
    return found


_SMALL = (dtypes.uint8, dtypes.bool_, dtypes.int8, dtypes.int16, dtypes.int32)
_TORCH = NAMESPACES["torch"]


class _OverDims(Protocol):
    def __call__(
        self, input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
    ) -> Tensor: ...  # fmt: skip


class _AlongOne(Protocol):
    def __call__(self, input: Any, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor: ...


_SAID = """{first}

Args:
    dim: {dim}
{keepdim}    mask: which elements count; all if not given.

Example:
    >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
{example}"""


def _named(made: Any, body: Any, **about: str) -> Any:
    """A function of this module under the name of its body, whose docstring has its first line and its example."""
    first, _, example = cleandoc(body.__doc__).partition("\n\n")
    made.__name__ = made.__qualname__ = body.__name__
    made.__doc__ = _SAID.format(first=first, example=indent(example, "    "), **about)
    return made


def _of_entries(name: str, x: Any, dim: Any, keepdim: Any, dtype: Any, mask: Any) -> Any:
    """A reduction of a sparse tensor, where there is one."""
    if name not in ("sum", "prod", "amax", "amin", "mean"):
        strided_only(name, x)
    neutral = _reduction_identity(name, x) if name in ("amax", "amin") else None
    return sparse.reduced(name, x, _canonical_dim(dim, x.ndim), bool(keepdim), dtype, mask, neutral)


def _over_dims(body: Callable[[Tensor, Any, bool], Tensor]) -> _OverDims:
    """A reduction whose result has the input's dtype, from what it does where the mask has put neutral elements."""
    name = body.__name__

    def reduction(
        input: Any, dim: Any = None, *, keepdim: bool | None = False, dtype: Any = None, mask: Tensor | None = None
    ) -> Tensor:
        if dtype is None:  # integers are added up and multiplied as int64
            dtype = dtypes.int64 if name in ("sum", "prod") and input.dtype in _SMALL else input.dtype
        found = _combine_input_and_mask(name, input, mask)
        if found.layout is not strided:
            return _of_entries(name, found, dim, keepdim, dtype, mask)
        found = found.to(dtype) if name in ("sum", "prod") else found
        return body(found, dim, bool(keepdim)).to(dtype)

    if name.startswith("arg"):
        said = "the dimension; all elements if not given.", "    keepdim: keep it with size 1.\n"
    else:
        said = "the dimensions; all if not given.", "    keepdim: keep them with size 1.\n"
    return _named(reduction, body, dim=said[0], keepdim=said[1])


def _along_one(neutral: str) -> Callable[[Callable[[Tensor, int, Any], Tensor]], _AlongOne]:
    """The same for what keeps the shape; the elements outside of the mask are those of the reduction `neutral`."""

    def decorate(body: Callable[[Tensor, int, Any], Tensor]) -> _AlongOne:
        def along(input: Any, dim: int, *, dtype: Any = None, mask: Tensor | None = None) -> Tensor:
            d = _canonical_dim(dim, input.ndim)[0]
            dtype = input.dtype if dtype is None else dtype
            found = strided_only(body.__name__, _combine_input_and_mask(neutral, input, mask))
            return body(found, d, dtype).to(dtype)

        return _named(along, body, dim="the dimension.", keepdim="")

    return decorate


@_over_dims
def sum(found: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """The sum of the elements that the mask lets through; 0 where there are none.

    >>> torch.masked.sum(x, 1, mask=mask)
    tensor([1., 5.])
    """
    return found.sum(_canonical_dim(dim, found.ndim), keepdim)


@_over_dims
def prod(found: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """The product of the elements that the mask lets through; 1 where there are none.

    >>> torch.masked.prod(x, 1, mask=mask)
    tensor([1., 6.])
    """
    for d in reversed(_canonical_dim(dim, found.ndim)):
        found = found.prod(d, keepdim)
    return found


@_over_dims
def amax(found: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """The largest of the elements that the mask lets through.

    >>> torch.masked.amax(x, 1, mask=mask)
    tensor([1., 3.])
    """
    return found.amax(_canonical_dim(dim, found.ndim), keepdim)


@_over_dims
def amin(found: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """The smallest of the elements that the mask lets through.

    >>> torch.masked.amin(x, 1, mask=mask)
    tensor([1., 2.])
    """
    return found.amin(_canonical_dim(dim, found.ndim), keepdim)


@_over_dims
def argmax(found: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Where the largest of the elements stands that the mask lets through; numbers of the input's dtype, as in PyTorch.

    >>> torch.masked.argmax(x, 1, mask=mask)
    tensor([0., 0.])
    """
    return found.argmax(dim, keepdim)


@_over_dims
def argmin(found: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """Where the smallest of the elements stands that the mask lets through; numbers of the input's dtype, as in PyTorch.

    >>> torch.masked.argmin(x, 1, mask=mask)
    tensor([0., 1.])
    """
    return found.argmin(dim, keepdim)


@_over_dims
def logsumexp(found: Tensor, dim: Any, keepdim: bool) -> Tensor:
    """log(sum(exp)) of the elements that the mask lets through.

    >>> torch.masked.logsumexp(x, 1, mask=mask)
    tensor([1.0000, 3.3133])
    """
    return found.logsumexp(_canonical_dim(dim, found.ndim), keepdim=keepdim)


def median(
    input: Any, dim: int = -1, *, keepdim: bool = False, dtype: Any = None, mask: Tensor | None = None
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
    found = strided_only("median", _combine_input_and_mask("median", input, mask)).nanmedian(d, keepdim).values
    if floating:
        return found
    if found.isnan().any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return found.to(dtype)


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
        mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.norm(x, 1.0, 1, mask=mask)
        tensor([1., 5.])
    """
    found = strided_only("norm", _combine_input_and_mask("norm", input, mask, ord))
    dims = _canonical_dim(dim, input.ndim)
    dtype = input.dtype if dtype is None else dtype
    return NAMESPACES["linalg"]["vector_norm"](found, ord, dims, bool(keepdim), dtype=dtype)


_F = NAMESPACES["functional"]


@_along_one("amax")
def softmax(found: Tensor, d: int, dtype: Any) -> Tensor:
    """Softmax over the elements that the mask lets through; the others are 0.

    >>> torch.masked.softmax(x, 1, mask=mask)
    tensor([[1.0000, 0.0000],
            [0.7311, 0.2689]])
    """
    return _F["softmax"](found, d, dtype=dtype)


@_along_one("amax")
def log_softmax(found: Tensor, d: int, dtype: Any) -> Tensor:
    """The logarithm of `softmax` over the elements that the mask lets through; the others are -inf.

    >>> torch.masked.log_softmax(x, 1, mask=mask)
    tensor([[ 0.0000,    -inf],
            [-0.3133, -1.3133]])
    """
    return _F["log_softmax"](found, d, dtype=dtype)


@_along_one("amin")
def softmin(found: Tensor, d: int, dtype: Any) -> Tensor:
    """Softmin over the elements that the mask lets through; the others are 0.

    >>> torch.masked.softmin(x, 1, mask=mask)
    tensor([[1.0000, 0.0000],
            [0.2689, 0.7311]])
    """
    return _F["softmin"](found, d, dtype=dtype)


@_along_one("sum")
def cumsum(found: Tensor, d: int, dtype: Any) -> Tensor:
    """The running sums of the elements that the mask lets through.

    >>> torch.masked.cumsum(x, 1, mask=mask)
    tensor([[1., 1.],
            [3., 5.]])
    """
    return found.cumsum(d, dtype=dtype)


@_along_one("prod")
def cumprod(found: Tensor, d: int, dtype: Any) -> Tensor:
    """The running products of the elements that the mask lets through.

    >>> torch.masked.cumprod(x, 1, mask=mask)
    tensor([[1., 1.],
            [3., 6.]])
    """
    return found.cumprod(d, dtype=dtype)


def normalize(
    input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Any = None, mask: Tensor | None = None
) -> Tensor:
    """The elements that the mask lets through, divided by their norm.

    Args:
        ord: which norm.
        eps: the least that is divided by.
        mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([[1.0, 5.0], [3.0, 2.0]]), torch.tensor([[True, False], [True, True]])
        >>> torch.masked.normalize(x, 1.0, 1, mask=mask)
        tensor([[1.0000, 0.0000],
                [0.6000, 0.4000]])
    """
    found = strided_only("normalize", _combine_input_and_mask("sum", input, mask))
    dtype = input.dtype if dtype is None else dtype
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return found / NAMESPACES["torch"]["maximum"](length, length.new_full([], eps))


def logaddexp(
    input: Any, other: Any, *, dtype: Any = None, input_mask: Tensor | None = None, other_mask: Tensor | None = None
) -> Tensor:
    """log(exp(input) + exp(other)) of the elements that the masks let through.

    Args:
        input_mask, other_mask: which elements count; all if not given.

    Example:
        >>> x, mask = torch.tensor([1.0, 2.0]), torch.tensor([True, False])
        >>> torch.masked.logaddexp(x, torch.zeros(2), input_mask=mask)
        tensor([1.3133, 0.0000])
    """
    if input.layout is not strided or other.layout is not strided:
        raise ValueError(
            f"masked logaddexp expects strided tensors (got {input.layout} tensor for input, {other.layout} for other)"
        )
    a = _combine_input_and_mask("logaddexp", input, input_mask)
    b = _combine_input_and_mask("logaddexp", other, other_mask)
    return a.logaddexp(b).to(input.dtype if dtype is None else dtype)
