"""Reductions that add up: sum, mean, nansum, nanmean, prod, logsumexp."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule, Shaped
from ...base.dtypes import as_dtype, title
from ...base.shapes import as_size, by_name, reduced_shape, wrap_dims
from ...core.op import Op
from ...core.public import into, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.precision import in_float32, rounds
from ..made_of.promotion import promote_unary_float
from ..made_of.spelling import numpy_names, one_of
from ..memory.casting import cast_to, dtype_of
from ..pointwise.arithmetic import conj
from ..shape.expand import _expand
from ..shape.reshape import reshape
from .scan import product_of_others

Dims = Any  # None, an int or a tuple of ints

# -- what reductions share ----------------------------------------------------------------------


def result_shape(shape: tuple[int, ...], dim: Dims, keepdim: bool) -> tuple[int, ...]:
    """The shape after reducing `dim`, a tuple of non-negative ints or None for all."""
    if keepdim:
        return reduced_shape(shape, dim)
    if dim is None:
        return ()
    return tuple([s for i, s in enumerate(shape) if i not in dim])


def same_dtype_meta(x: Shaped, *, dim: Dims, keepdim: bool) -> tuple:
    return result_shape(x.shape, dim, keepdim), x.dtype


def keep(g: Tensor, shape: tuple[int, ...], dim: Dims, keepdim: bool) -> Tensor:
    """A reduction's result with the reduced dims put back as size 1."""
    return g if keepdim or dim is None else reshape(g, reduced_shape(shape, dim))


def spread(g: Tensor, shape: tuple[int, ...], dim: Dims, keepdim: bool) -> Tensor:
    """The gradient of a sum: one number seen by all it was added from, without a copy."""
    return _expand(keep(g, shape, dim, keepdim), shape=shape)


def count(shape: tuple[int, ...], dim: Dims) -> int:
    """How many elements become one."""
    n = 1
    for s in shape if dim is None else [shape[d] for d in dim]:
        n *= s
    return n


def numbered(name: str) -> Callable[[dict], str]:
    """PyTorch's node names: 0 for a reduction of all elements, 1 for one over dims."""
    return lambda attrs: f"{name}Backward{int(attrs['dim'] is not None)}"


_COPY = 1 << 26  # bytes of a copy in a wider dtype


def widened(op: Op, x: Tensor, d: Any, dim: Dims, keepdim: bool) -> Tensor:
    """A sum or a product computed in dtype `d`; of a large tensor never the whole is copied to that dtype."""
    if d is None:
        return op(x, dim=dim, keepdim=keepdim)
    if d.name == "int64" and x._a.dtype.kind in "biu":
        return op(x, dim=dim, keepdim=keepdim)  # its accumulating dtype
    shape = x._a.shape
    if x._a.size * d.itemsize <= _COPY or d.itemsize <= x._a.itemsize:
        return cast_to(op(cast_to(x, d), dim=dim, keepdim=keepdim), d)
    at = shape.index(max(shape))
    length = max(1, _COPY * shape[at] // (x._a.size * d.itemsize))
    from ..shape.join import cat

    parts = []
    for i in range(0, shape[at], length):
        part = cast_to(x.narrow(at, i, min(length, shape[at] - i)), d)
        parts.append(op(part, dim=dim, keepdim=True))
    joined = cat(parts, at)
    if dim is None or at in dim:
        joined = op(joined, dim=(at,), keepdim=True)
    return reshape(cast_to(joined, d), result_shape(shape, dim, keepdim))


# -- sum ----------------------------------------------------------------------------------------

_BLOCK = 128  # rows added one after another before the partial sums are added


def add_up(xp: ArrayModule, x: Array, dim: Dims, keepdim: bool) -> Any:
    """Sum in the accumulating dtype: float32 for half precision, int64 for integers."""
    kind, size = x.dtype.kind, x.dtype.itemsize
    if kind == "f" and size > 2:
        if dim and x.ndim > 1 and size == 4 and dim[0] != x.ndim - 1:
            return _add_rows(xp, x, dim, keepdim)
        return xp.add.reduce(x, axis=dim, keepdims=keepdim)
    if kind in "fV":
        return add_up(xp, x.astype(xp.float32), dim, keepdim)
    return xp.add.reduce(x, axis=dim, keepdims=keepdim, dtype=None if kind == "c" else xp.int64)


def _add_rows(xp: ArrayModule, x: Array, dim: Dims, keepdim: bool) -> Any:
    """A sum over leading dims in blocks: NumPy is pairwise along the last dim only."""
    n = x.shape[dim[0]]
    if n <= _BLOCK:
        return xp.add.reduce(x, axis=dim, keepdims=keepdim)
    d = dim[0]
    whole = n - n % _BLOCK
    at = (slice(None),) * d
    blocks = x[at + (slice(0, whole),)]
    blocks = blocks.reshape(x.shape[:d] + (whole // _BLOCK, _BLOCK) + x.shape[d + 1 :])
    parts = _add_rows(xp, xp.add.reduce(blocks, axis=d + 1), (d,), True)
    if whole < n:
        parts = parts + xp.add.reduce(x[at + (slice(whole, n),)], axis=d, keepdims=True)
    if len(dim) > 1 or not keepdim:
        return xp.add.reduce(parts, axis=dim, keepdims=keepdim)
    return parts


@rounds("0")
def _sum_body(xp: ArrayModule, x: Array, *, dim: Dims, keepdim: bool) -> Any:
    if dim is None and x.dtype.char in "fd" and not keepdim:
        out = xp.empty((), x.dtype)  # given one, NumPy makes no scalar that has to be wrapped again
        return xp.add.reduce(x, None, None, out)
    out = add_up(xp, x, dim, keepdim)
    if out.dtype != x.dtype and x.dtype.kind in "fV":
        return out.astype(x.dtype)
    return out


def _sum_meta(x: Any, *, dim: Dims, keepdim: bool) -> tuple:
    dtype = x.dtype if x.dtype.kind in "fcV" else np.dtype(np.int64)
    return result_shape(x.shape, dim, keepdim), dtype


sum_op = Op(
    _sum_body,
    "sum",
    meta=_sum_meta,
    grad_name=numbered("Sum"),
    facts=Facts(
        vmap="reduction",
        layout="plain",
        autocast={"cuda": "float32"},
        onnx="reduce ReduceSum",
        aten="sum reduced dim_IntList",
        family="reduction plus",
        sparse="summed",
    ),
)
sum_op.derivative(x=lambda g, x_shape, dim, keepdim: spread(g, x_shape, dim, keepdim))


@public()
def sum(  # noqa: A001
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """The sum over dimensions, or of all elements.

    Args:
        keepdim: keep the summed dimensions with size 1.
        dtype: the type to add in; integers and truth values add up in int64 unless this is
            given.

    Raises:
        IndexError: if a dimension is out of range.

    Example:
        >>> x = torch.tensor([[1, 2], [3, 4]])
        >>> x.sum(), x.sum(0), x.sum(1, keepdim=True)
        (tensor(10), tensor([4, 6]), tensor([[3],
                [7]]))
    """
    if axis is not None:
        dim = one_of("sum", dim, axis)
    if dim is not None:
        dim = wrap_dims(dim, input._a.ndim)
    result = widened(sum_op, input, dtype_of(dtype, out, input), dim, keepdim or keepdims)
    return result if out is None else into(out, result)


def _sum_to_body(xp: ArrayModule, x: Array, *, shape: tuple[int, ...]) -> Any:
    lead = x.ndim - len(shape)
    dims = tuple([i for i, s in enumerate(x.shape) if i < lead or (shape[i - lead] == 1 != s)])
    return _sum_body(xp, x, dim=dims, keepdim=True).reshape(shape)


sum_to_op = Op(
    _sum_to_body,
    "sum_to_size",
    grad_name="SumBackward1",
    meta=lambda x, *, shape: (shape, x.dtype),
    facts=Facts(vmap="sum_to_size", layout="plain", family="reduction plus", sparse="summed_to"),
)
sum_to_op.derivative(x=lambda g, x_shape: _expand(g, shape=x_shape))


@public("Tensor")
def sum_to_size(self: Tensor, *sizes: Any, size: Any = None) -> Tensor:
    """The sum over the dimensions in which `size` would have to be expanded to reach this tensor's shape.

    Args:
        sizes: a shape that broadcasts to this one, one by one or as a tuple.
        size: the same, by name.

    Raises:
        RuntimeError: if it does not.

    Example:
        >>> torch.ones(2, 3).sum_to_size(1, 3)
        tensor([[2., 2., 2.]])
    """
    target = as_size(by_name("size", sizes, size))
    shape = self._a.shape
    if not target:
        return self.sum()
    if target == shape:
        return self
    lead = len(shape) - len(target)
    if lead < 0 or any(t not in (1, s) for t, s in zip(target, shape[lead:])):
        raise RuntimeError(f"size {{{list(target)}}} is not expandable to size {{{list(shape)}}}.")
    return sum_to_op(self, shape=target)


# -- mean ---------------------------------------------------------------------------------------


@rounds("0")
def _mean_body(xp: ArrayModule, x: Array, *, dim: Dims, keepdim: bool) -> Any:
    out = add_up(xp, x, dim, keepdim) / (x.size if dim is None else count(x.shape, dim))
    return out if out.dtype == x.dtype else out.astype(x.dtype)


def _mean_dx(g: Tensor, x_shape: tuple, dim: Dims, keepdim: bool) -> Tensor:
    return spread(g / count(x_shape, dim), x_shape, dim, keepdim)


mean_op = Op(
    _mean_body,
    "mean",
    meta=same_dtype_meta,
    grad_name=numbered("Mean"),
    facts=Facts(
        vmap="reduction", layout="plain", onnx="reduce ReduceMean", aten="mean reduced dim", family="reduction average"
    ),
)
mean_op.derivative(x=_mean_dx)


@public()
def mean(
    input: Tensor,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
    axis: Any = None,
    keepdims: bool = False,
) -> Tensor:
    """The mean over dimensions, or of all elements.

    Args:
        dtype: the type to compute in; needed for integers.

    Raises:
        RuntimeError: for integers without `dtype`.

    Example:
        >>> torch.tensor([[1.0, 2.0], [3.0, 4.0]]).mean(0)
        tensor([2., 3.])
    """
    if axis is not None:
        dim = one_of("mean", dim, axis)
    if dim is not None:
        dim = wrap_dims(dim, input._a.ndim)
    if dtype is not None:
        d = as_dtype(dtype)
        if d.itemsize > input._a.itemsize and input._a.size * d.itemsize > _COPY and d.is_floating_point:
            total = widened(sum_op, input, d, dim, keepdim or keepdims)
            return into(out, total / count(input._a.shape, dim))
        input = cast_to(input, d)
    if input._a.dtype.kind not in "fcV":
        raise RuntimeError(
            f"mean(): could not infer output dtype. {'Input' if dtype is None else 'Optional'} dtype must "
            "be either a floating point or "
            f"complex dtype. Got: {title(input.dtype)}"
        )
    if out is not None and out._a.dtype.kind in "fcV" and input._a.dtype.kind != "c":
        input = cast_to(input, dtype_of(None, out, input))
    result = mean_op(input, dim=dim, keepdim=keepdim or keepdims)
    return result if out is None else into(out, result)


# -- nansum and nanmean -------------------------------------------------------------------------


def _nansum_body(xp: ArrayModule, x: Array, *, dim: Dims, keepdim: bool) -> Any:
    held = x if x.dtype.kind in "biu" else xp.where(x != x, x.dtype.type(0), x)
    return _sum_body(xp, held, dim=dim, keepdim=keepdim)


_nansum = Op(_nansum_body, "nansum", meta=_sum_meta, facts=Facts(vmap="reduction", layout="plain"))
_nansum.derivative(
    x=lambda g, x, dim, keepdim: keep(g, x._a.shape, dim, keepdim) * (x == x)  # nan: 0
)


@public()
@numpy_names
def nansum(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Tensor:
    """The sum over dimensions with nan counted as 0.

    Example:
        >>> torch.tensor([1.0, torch.nan, 2.0]).nansum()
        tensor(3.)
    """
    if input._a.dtype.kind == "c":
        raise RuntimeError("nansum on CPU does not support complex inputs")
    dims = wrap_dims(dim, input._a.ndim)
    return into(out, widened(_nansum, input, dtype_of(dtype, out, input), dims, keepdim))


@public()
@numpy_names
def nanmean(input: Tensor, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Tensor:
    """The mean over dimensions of the elements that are not nan.

    Example:
        >>> torch.tensor([1.0, torch.nan, 2.0]).nanmean()
        tensor(1.5000)
    """
    if input._a.dtype.kind not in "fcV":
        raise RuntimeError(
            f"nanmean(): expected input to have floating point or complex dtype but got {title(input.dtype)}"
        )
    counted = sum(input == input, dim, keepdim)
    return into(out, nansum(input, dim, keepdim, dtype=dtype) / counted)


# -- prod ---------------------------------------------------------------------------------------


@in_float32
def _prod_body(xp: ArrayModule, x: Array, *, dim: Dims, keepdim: bool) -> Any:
    wide = xp.int64 if x.dtype.kind in "biu" else x.dtype
    return xp.multiply.reduce(x, axis=dim, keepdims=keepdim, dtype=wide)


def _prod_dx(g: Tensor, x: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    shape = x._a.shape
    if not shape:
        return g
    if dim is None:
        return g * conj(reshape(product_of_others(reshape(x, (-1,)), 0), shape))
    return keep(g, shape, dim, keepdim) * conj(product_of_others(x, dim[0]))


_prod = Op(
    _prod_body,
    "prod",
    meta=_sum_meta,
    grad_name=numbered("Prod"),
    facts=Facts(vmap="reduction", layout="plain", autocast="float32", onnx="reduce ReduceProd"),
)
_prod.derivative(x=_prod_dx)


@public()
@numpy_names
def prod(input: Tensor, dim: int | None = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None) -> Tensor:
    """The product over a dimension, or of all elements; integers multiply in int64.

    Args:
        dim: one dimension; all of them if not given.

    Example:
        >>> torch.tensor([2, 3, 4]).prod()
        tensor(24)
    """
    if dim is not None and not hasattr(dim, "__index__"):
        raise TypeError(f"prod(): argument 'dim' must be int, not {type(dim).__name__}")
    dims = wrap_dims(dim, input._a.ndim)
    return into(out, widened(_prod, input, dtype_of(dtype, out, input), dims, keepdim))


# -- logsumexp ----------------------------------------------------------------------------------


@in_float32
def _logsumexp_body(xp: ArrayModule, x: Array, *, dim: Dims, keepdim: bool) -> Any:
    if not x.size:
        return xp.full(result_shape(x.shape, dim, keepdim), -xp.inf, x.dtype)
    top = x.real.max(axis=dim, keepdims=True)  # of complex numbers the angle stays where log puts it
    top = xp.where(xp.isinf(top), top.dtype.type(0), top)  # inf - inf would be nan
    total = xp.log(add_up(xp, xp.exp(x - top), dim, True)) + top
    return total if keepdim else total.reshape(result_shape(x.shape, dim, False))


def _logsumexp_dx(g: Tensor, x: Tensor, out: Tensor, dim: Dims, keepdim: bool) -> Tensor:
    shape = x._a.shape
    return keep(g, shape, dim, keepdim) * (x - keep(out, shape, dim, keepdim)).exp().conj()


_logsumexp = Op(
    _logsumexp_body,
    "logsumexp",
    rule=promote_unary_float,
    meta=same_dtype_meta,
    facts=Facts(
        vmap="reduction",
        layout="plain",
        autocast={"cuda": "float32"},
        onnx="reduce ReduceLogSumExp",
        family="reduction log_plus",
    ),
)
_logsumexp.derivative(x=_logsumexp_dx)


@public("torch", "Tensor", "special")
@numpy_names
def logsumexp(input: Tensor, dim: Any, keepdim: bool = False, *, out: Any = None) -> Tensor:
    """The logarithm of the sum of exponentials over dimensions, computed so that nothing overflows.

    Args:
        dim: one dimension or several.

    Example:
        >>> torch.tensor([1000.0, 1000.0]).logsumexp(0)
        tensor(1000.6932)
    """
    if dim is None:
        raise TypeError("logsumexp(): argument 'dim' (position 2) must be tuple of ints, not NoneType")
    dims = wrap_dims(dim, input._a.ndim)
    return into(out, _logsumexp(input, dim=dims, keepdim=keepdim))
