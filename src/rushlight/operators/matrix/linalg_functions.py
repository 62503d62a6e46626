"""Functions of matrices: powers, the exponential, and small relatives."""

from __future__ import annotations

from math import ceil, log2
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.formats import contiguous_format
from ...base.shapes import check_size, whole
from ...core.op import Op
from ...core.public import into_same, public, row_major
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..shape.diagonal import diagonal
from .linalg_rules import adjoint, check_floating, check_square, eye_like
from .linalg_solve import inv
from .matmul import matmul


@public("linalg")
def matrix_power(A: Tensor, n: int, *, out: Any = None) -> Tensor:
    """A square matrix multiplied by itself; negative powers are those of the inverse.

    Args:
        A: (*, n, n).
        n: the power.

    Example:
        >>> torch.linalg.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
        tensor([[1., 3.],
                [0., 1.]])
    """
    check_square(A, "linalg.matrix_power", any_dtype=True)
    if whole(n, "n") == 0:
        eye = eye_like(A, A._a.shape[-1])
        return into_same(out, A.clone(memory_format=contiguous_format).copy_(eye.expand(*A._a.shape)))
    if n < 0:
        A, n = inv(A), -n
    result, square = None, A
    while n:
        if n % 2:
            result = square if result is None else result @ square
        n //= 2
        square = square @ square if n else square
    assert result is not None
    return into_same(out, row_major(out, result.clone() if result is A else result))


@public(name="matrix_power")
def _torch_matrix_power(input: Tensor, n: int, *, out: Any = None) -> Tensor:
    """As `torch.linalg.matrix_power`.

    Args:
        n: the power.
    """
    return matrix_power(input, n, out=out)


# -- exponential --------------------------------------------------------------------------------

_TERMS = 18  # of the series, exact to double precision for norms up to one


def _matrix_exp(xp: ArrayModule, x: Array) -> Any:
    """The exponential by scaling, a Taylor series and repeated squaring."""
    n = x.shape[-1]
    if not x.size:
        return x.copy()
    narrow, x = x.dtype, x.astype(xp.float32) if x.dtype.itemsize == 2 else x
    norm = float(xp.abs(x).sum(axis=-1).max())
    squarings = max(0, ceil(log2(norm))) if 0 < norm < np.inf else 0
    small = x / 2.0**squarings
    eye = xp.broadcast_to(xp.eye(n, dtype=x.dtype), x.shape)
    total = eye.copy()
    for k in range(_TERMS, 0, -1):
        total = eye + xp.matmul(small, total) / k
    for _ in range(squarings):
        total = xp.matmul(total, total)
    return total.astype(narrow, copy=False)


matrix_exp_op = Op(
    _matrix_exp, "linalg_matrix_exp", grad_name="LinalgMatrixExpBackward0",
    meta=lambda x: (x.shape, x.dtype), facts=Facts(refuses=True, vmap="as_it_is"),
)  # fmt: skip


def _matrix_exp_dx(g: Tensor, x: Tensor) -> Tensor:
    """exp of [[A^H, g], [0, A^H]] holds the derivative in its upper right corner."""
    from ..shape.join import cat

    n = x._a.shape[-1]
    ah = adjoint(x)
    block = cat([cat([ah, g], -1), cat([g * 0, ah], -1)], -2)
    return matrix_exp_op(block)[..., :n, n:]


matrix_exp_op.derivative(x=_matrix_exp_dx)


@public("linalg")
def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of a square matrix: the sum of its powers, each divided by a factorial.

    Args:
        A: (*, n, n).

    Example:
        >>> torch.linalg.matrix_exp(torch.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """
    check_square(A, "linalg.matrix_exp", halves=True)
    return matrix_exp_op(A)


@public(name="matrix_exp")
def _torch_matrix_exp(input: Tensor) -> Tensor:
    """As `torch.linalg.matrix_exp`."""
    return matrix_exp(input)


# -- small relatives ----------------------------------------------------------------------------


@public("linalg")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Any = None) -> Tensor:
    """The inner products of vectors along a dimension, the first ones conjugated.

    Args:
        x: any shape.
        y: another; shapes broadcast.
        dim: the dimension of the vectors.

    Example:
        >>> torch.linalg.vecdot(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.tensor([1.0, 1.0]))
        tensor([3., 7.])
    """
    check_floating(x, "linalg.vecdot", halves=True)
    left = x.conj() if x.is_complex() else x
    return into_same(out, (left * y).sum(dim))


@public("linalg")
def vander(x: Tensor, N: int | None = None) -> Tensor:
    """Powers of every element, growing along a new last dimension.

    Args:
        x: any shape with at least one dimension.
        N: how many powers; as many as the last dimension has elements if not given.

    Example:
        >>> torch.linalg.vander(torch.tensor([2, 3]), N=3)
        tensor([[1, 2, 4],
                [1, 3, 9]])
    """
    from ..reduce.scan import cumprod
    from ..shape.join import cat

    if N is not None and whole(N, "N") <= 1:
        raise RuntimeError("N must be greater than 1.")
    x = x if x._a.ndim else x.reshape(1)
    count = x._a.shape[-1] if N is None else N
    check_size((*x._a.shape, count), x._a.itemsize)
    if x._a.dtype.kind in "biu":
        x = x.long()
    last = x.unsqueeze(-1)
    powers = cumprod(last.expand(*x._a.shape, count - 1), -1)
    return cat([last.new_ones(last._a.shape), powers], -1)


@public("linalg", name="matmul")
def _linalg_matmul(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """As `torch.matmul`."""
    return matmul(input, other, out=out)


@public("linalg", name="diagonal")
def _linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """As `torch.diagonal`, of the last two dimensions unless others are named.

    Args:
        A: at least two dimensions.
        offset: which diagonal; 0 is the main one.
        dim1: the dimension of the rows.
        dim2: the dimension of the columns.
    """
    return diagonal(A, offset, dim1, dim2)
