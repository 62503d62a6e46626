"""Sizes of matrices: linalg.norm, matrix_norm and the condition number."""

from __future__ import annotations

from math import inf
from typing import Any

from ...base.dtypes import as_dtype
from ...base.shapes import wrap_dim
from ...core.public import into, into_same, public
from ...core.tensor import Tensor
from ..made_of.spelling import numpy_names
from ..reduce.vector_norm import vector_norm
from .linalg_rules import check_floating, check_square
from .linalg_solve import inv
from .linalg_spectrum import svdvals

_ORDERS = ("fro", "nuc", 1, -1, 2, -2, inf, -inf)


@public("linalg")
def matrix_norm(
    A: Tensor, ord: Any = "fro", dim: Any = (-2, -1), keepdim: bool = False, *, dtype: Any = None, out: Any = None
) -> Tensor:
    """A norm of matrices.

    Args:
        A: (*, m, n).
        ord: "fro" for the square root of the sum of squares, "nuc" for the sum of singular
            values, inf and 1 for the largest sum of a row and of a column, 2 for the largest
            singular value; -inf, -1 and -2 for the smallest ones.
        dim: the two dimensions of the matrices.

    Example:
        >>> torch.linalg.matrix_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]))
        tensor(5.)
    """
    name = "linalg.matrix_norm"
    if A._a.ndim < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if A._a.dtype.kind not in "fcV":
        check_floating(A, name)
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {dim}")
    if ord not in _ORDERS:
        raise RuntimeError(f"{name}: Order {ord} not supported.")
    rows, columns = [wrap_dim(d, A._a.ndim) for d in dim]
    if rows == columns:
        raise RuntimeError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    if dtype is not None:
        A = A.to(as_dtype(dtype))
    return into_same(out, _matrix_norm(A, ord, rows, columns, keepdim))


def _matrix_norm(x: Tensor, ord: Any, rows: int, columns: int, keepdim: bool) -> Tensor:
    if ord == "fro":
        return vector_norm(x, 2, (rows, columns), keepdim)
    if ord in ("nuc", 2, -2):
        values = svdvals(x.movedim((rows, columns), (-2, -1)))
        if ord == "nuc":
            result = values.sum(-1)
        else:
            result = values.amax(-1) if ord == 2 else values.amin(-1)
        if keepdim:
            for d in sorted((rows, columns)):
                result = result.unsqueeze(d)
        return result
    first, second = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = x.abs().sum(first, keepdim=True)
    result = sums.amax(second, keepdim=True) if ord > 0 else sums.amin(second, keepdim=True)
    return result if keepdim else result.squeeze((rows, columns))


@public("linalg")
@numpy_names
def norm(
    A: Tensor, ord: Any = None, dim: Any = None, keepdim: bool = False, *, out: Any = None, dtype: Any = None
) -> Tensor:
    """A norm of vectors or of matrices, by how many dimensions are named.

    Args:
        A: any shape.
        ord: which norm, as for `vector_norm` and `matrix_norm`; None for the square root of the
            sum of squares.
        dim: one dimension for vectors, two for matrices; None for all of them.

    Example:
        >>> torch.linalg.norm(torch.tensor([3.0, 4.0]))
        tensor(5.)
    """
    if dim is not None:
        dims = (dim,) if isinstance(dim, int) else tuple(dim)
        if len(dims) not in (1, 2) and ord is not None:
            raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    elif ord is not None and A._a.ndim not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {A._a.ndim}D."
        )
    if ord is None:
        return vector_norm(A, 2, dim, keepdim, dtype=dtype, out=out)
    if isinstance(ord, str) or (len(dims) == 2 if dim is not None else A._a.ndim == 2):
        both = (0, 1) if dim is None else dims
        return matrix_norm(A, ord, both, keepdim, dtype=dtype, out=out)
    return vector_norm(A, ord, dim, keepdim, dtype=dtype, out=out)


@public("linalg")
def cond(A: Tensor, p: Any = None, *, out: Any = None) -> Tensor:
    """How much solving with a matrix can enlarge an error: its norm times that of its inverse.

    Args:
        A: (*, m, n); square unless `p` is 2, -2 or None.
        p: which norm, as `ord` of `matrix_norm`; None is 2.

    Example:
        >>> torch.linalg.cond(torch.tensor([[4.0, 0.0], [0.0, 2.0]]))
        tensor(2.)
    """
    if p not in (None, "fro", "nuc", 1, -1, 2, -2, inf, -inf):
        raise RuntimeError(f"linalg.cond got an invalid norm type: {p}")
    if p in (None, 2, -2):
        values = svdvals(A)
        first, last = values[..., 0], values[..., -1]
        return into(out, last / first if p == -2 else first / last)
    check_square(A, "linalg.cond")
    from .linalg_rules import LinAlgError

    try:
        return into(out, matrix_norm(A, p) * matrix_norm(inv(A), p))
    except LinAlgError:
        return into(out, matrix_norm(A.detach(), p) * 0 + inf)
