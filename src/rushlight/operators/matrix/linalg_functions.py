"""Functions of matrices: powers, the exponential, and small relatives."""

from __future__ import annotations

from math import ceil, log2
from typing import Any

import numpy as np

from ...core.op import Op
from ...core.public import into, public
from ...core.tensor import Tensor
from ..shape.diagonal import diagonal
from .linalg_rules import adjoint, check_square, eye_like
from .linalg_solve import inv
from .matmul import matmul


@public("linalg")
def matrix_power(A: Tensor, n: int, *, out: Any = None) -> Tensor:
    """The n-th power of a square matrix; negative powers are those of the inverse."""
    check_square(A, "linalg.matrix_power")
    if n == 0:
        eye = eye_like(A, A._a.shape[-1])
        return into(out, eye.expand(*A._a.shape).clone())
    if n < 0:
        A, n = inv(A), -n
    result, square = None, A
    while n:
        if n % 2:
            result = square if result is None else result @ square
        n //= 2
        square = square @ square if n else square
    return into(out, result.clone() if result is A else result)


@public(name="matrix_power")
def _torch_matrix_power(input: Tensor, n: int, *, out: Any = None) -> Tensor:
    """The n-th power of a square matrix."""
    return matrix_power(input, n, out=out)


# -- exponential --------------------------------------------------------------------------------

_TERMS = 18  # of the series, exact to double precision for norms up to one


def _matrix_exp(xp: Any, x: Any) -> Any:
    """The exponential by scaling, a Taylor series and repeated squaring."""
    n = x.shape[-1]
    if not x.size:
        return x.copy()
    norm = float(xp.abs(x).sum(axis=-1).max())
    squarings = max(0, ceil(log2(norm))) if 0 < norm < np.inf else 0
    small = x / 2.0**squarings
    eye = xp.broadcast_to(xp.eye(n, dtype=x.dtype), x.shape)
    total = eye.copy()
    for k in range(_TERMS, 0, -1):
        total = eye + xp.matmul(small, total) / k
    for _ in range(squarings):
        total = xp.matmul(total, total)
    return total.astype(x.dtype, copy=False)


matrix_exp_op = Op(
    _matrix_exp, "linalg_matrix_exp", grad_name="LinalgMatrixExpBackward0",
    meta=lambda x: (x.shape, x.dtype),
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
    """The matrix exponential."""
    check_square(A, "linalg.matrix_exp")
    return matrix_exp_op(A)


@public(name="matrix_exp")
def _torch_matrix_exp(input: Tensor) -> Tensor:
    """The matrix exponential."""
    return matrix_exp(input)


# -- small relatives ----------------------------------------------------------------------------


@public("linalg")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Any = None) -> Tensor:
    """The inner products of the vectors along `dim`, the first conjugated."""
    left = x.conj() if x.is_complex() else x
    return into(out, (left * y).sum(dim))


@public("linalg")
def vander(x: Tensor, N: int | None = None) -> Tensor:
    """Rows of growing powers of every element of `x`."""
    from ..shape.join import stack

    if N is not None and N <= 1:
        raise RuntimeError("N must be greater than 1.")
    count = x._a.shape[-1] if N is None else N
    powers = [x * 0 + 1]
    for _ in range(count - 1):
        powers.append(powers[-1] * x)
    return stack(powers, -1)


@public("linalg", name="matmul")
def _linalg_matmul(input: Tensor, other: Tensor, *, out: Any = None) -> Tensor:
    """The matrix product."""
    return matmul(input, other, out=out)


@public("linalg", name="diagonal")
def _linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of the matrices along two dims, as a view."""
    return diagonal(A, offset, dim1, dim2)
