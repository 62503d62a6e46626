"""Lengths of vectors: linalg.vector_norm, norm, dist."""

from __future__ import annotations

import math
from typing import Any

from ...base import dtypes
from ...base.arrays import Array, ArrayModule, Shaped
from ...base.dtypes import as_dtype, title
from ...base.shapes import wrap_dims
from ...core.op import Op
from ...core.public import NAMESPACES, into_same, public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.precision import in_float32
from ..made_of.spelling import numpy_names
from ..memory.casting import cast_to
from .sums import Dims, add_up, keep, result_shape

# -- vector norm --------------------------------------------------------------------------------


@in_float32
def _vector_norm_body(xp: ArrayModule, x: Array, *, ord: float, dim: Dims, keepdim: bool) -> Any:
    if ord == 2:
        square = x.real * x.real + x.imag * x.imag if x.dtype.kind == "c" else x * x
        return xp.sqrt(add_up(xp, square, dim, keepdim))
    size = xp.abs(x)
    if ord == 1:
        return add_up(xp, size, dim, keepdim)
    if ord == 0:
        return add_up(xp, (x != 0).astype(size.dtype), dim, keepdim)
    if math.isinf(ord):
        pick = size.max if ord > 0 else size.min
        return pick(axis=dim, keepdims=keepdim)
    return add_up(xp, size**ord, dim, keepdim) ** (1.0 / ord)


def _vector_norm_meta(x: Shaped, *, ord: float, dim: Dims, keepdim: bool) -> tuple:
    dtype = x.dtype
    if dtype.kind == "c":
        dtype = dtypes.from_np(dtype).to_real().np
    return result_shape(x.shape, dim, keepdim), dtype


_vector_norm = Op(
    _vector_norm_body,
    "vector_norm",
    meta=_vector_norm_meta,
    grad_name="LinalgVectorNormBackward0",
    facts=Facts(
        vmap="reduction", layout="plain", autocast={"cuda": "float32"}, aten="linalg_vector_norm", onnx="vector_norm"
    ),
)


def norm_slopes(g: Tensor, x: Tensor, out: Tensor, ord: float, dim: Dims, keepdim: bool) -> Tensor:
    """PyTorch's subgradients: 0 at the origin, shared equally by ties of the infinity norms."""
    shape = x._a.shape
    g, out = keep(g, shape, dim, keepdim), keep(out, shape, dim, keepdim)
    origin = out == 0
    size_there = out.masked_fill(origin, 1.0)  # nobody divides by zero, nor does a derivative of this
    if ord == 0:
        return x.detach().new_zeros(shape)
    if ord == 1:
        return x.sgn() * g
    if ord == 2:
        return x * (g / size_there).masked_fill(origin, 0.0)
    size = x.abs()
    if math.isinf(ord):
        ties = (size == out) | (size.isnan() & out.isnan())
        return x.sgn() * ties * (g / ties.sum(dim, keepdim=True))
    scaled = x.sgn() * size.pow(ord - 1)
    if ord < 2:
        scaled = scaled.masked_fill(x == 0, 0.0)
    return scaled * (g / size_there.pow(ord - 1)).masked_fill(origin, 0.0)


def _norm_dx(g: Tensor, x: Tensor, out: Tensor, ord: float, dim: Dims, keepdim: bool) -> Tensor | None:
    """None of a count, as in PyTorch."""
    return None if ord == 0 else norm_slopes(g, x, out, ord, dim, keepdim)


_vector_norm.derivative(x=_norm_dx)


def _check_dtype(x: Tensor, dtype: Any) -> Tensor:
    if x._a.dtype.kind not in "fcV":
        raise RuntimeError(
            f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {title(x.dtype)}"
        )
    if dtype is None:
        return x
    d = as_dtype(dtype)
    if d.category < dtypes.FLOATING:
        raise RuntimeError(f"linalg.vector_norm: dtype should be floating point or complex, but got {title(d)}")
    if dtypes.promote_types(x.dtype, d) is not d:
        raise RuntimeError(
            f"linalg.vector_norm: the dtype of the input ({title(x.dtype)}) should be convertible "
            f"without narrowing to the specified dtype ({title(d)})"
        )
    return cast_to(x, d)


@public("linalg")
@numpy_names
def vector_norm(
    x: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """The norm of the elements along dimensions, or of all of them.

    Args:
        x: any shape, floating point or complex.
        ord: which norm; 2 is the square root of the sum of squares, 1 the sum of absolute
            values, inf the largest absolute value, 0 how many are not zero.

    Example:
        >>> torch.linalg.vector_norm(torch.tensor([[3.0, 4.0], [6.0, 8.0]]), dim=1)
        tensor([ 5., 10.])
    """
    if isinstance(ord, str):
        raise TypeError("linalg_vector_norm(): argument 'ord' (position 2) must be Number, not str")
    x = _check_dtype(x, dtype)
    dims = wrap_dims(dim, x._a.ndim)
    if ord < 0 or ord == math.inf:
        shape = x._a.shape
        if 0 in (shape if dims is None else [shape[d] for d in dims]):
            raise RuntimeError(
                f"linalg.vector_norm cannot compute the {ord} norm on an empty tensor because the "
                "operation does not have an identity"
            )
    return into_same(out, _vector_norm(x, ord=float(ord), dim=dims, keepdim=keepdim))


# -- norm and dist ------------------------------------------------------------------------------


@public("torch")
def norm(
    input: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, out: Any = None, dtype: Any = None
) -> Tensor:
    """The length of a tensor seen as one vector, or of the vectors along dimensions; other norms by `p`.

    Args:
        p: which norm; "fro" and 2 are the square root of the sum of squares, 1 the sum of
            absolute values, inf the largest absolute value, "nuc" the sum of a matrix's
            singular values.

    Example:
        >>> torch.norm(torch.tensor([3.0, 4.0]))
        tensor(5.)
    """
    if isinstance(p, str) and p != "fro":
        matrix = input if dtype is None else cast_to(input, as_dtype(dtype))
        dims = (-2, -1) if dim is None else dim
        return into_same(out, NAMESPACES["linalg"]["matrix_norm"](matrix, p, dims, keepdim))
    order = 2.0 if p is None or isinstance(p, str) else p
    if input.is_sparse:
        return input.norm(order, dim, keepdim, dtype)
    return vector_norm(input, order, dim, keepdim, dtype=dtype, out=out)


@public("Tensor", name="norm")
def _norm_method(self: Tensor, p: Any = "fro", dim: Any = None, keepdim: bool = False, dtype: Any = None) -> Tensor:
    """As `torch.norm`."""
    return norm(self, p, dim, keepdim, dtype=dtype)


@public()
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The length of the difference of two tensors.

    Args:
        p: which norm; 2 is the usual one.

    Example:
        >>> torch.dist(torch.tensor([1.0, 1.0]), torch.tensor([4.0, 5.0]))
        tensor(5.)
    """
    return vector_norm(input - other, p)
