"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .base.device import device as _device
from .base.dtypes import dtype as _dtype
from .base.formats import layout as _layout
from .base.formats import memory_format as _memory_format
from .base.shapes import Size as _Size
from .core.tensor import Tensor as _Tensor
from .operators.random.generator import Generator as _Generator

def cholesky(A: _Tensor, *, upper: _b.bool = False, out: Any = None) -> _Tensor:
    """The triangular factor L of a positive-definite matrix `A = L L^H`."""
def cholesky_ex(A: _Tensor, *, upper: _b.bool = False, check_errors: _b.bool = False, out: Any = None) -> Any:
    """The factor and, instead of an error, the order of the first minor that is not positive."""
def cond(A: _Tensor, p: Any = None, *, out: Any = None) -> _Tensor:
    """The condition number: the norm of A times the norm of its inverse."""
def cross(input: _Tensor, other: _Tensor, *, dim: _b.int = -1, out: Any = None) -> _Tensor:
    """The cross product of 3-vectors along `dim`."""
def det(A: _Tensor, *, out: Any = None) -> _Tensor:
    """The determinant of a square matrix, or of each in a batch."""
def diagonal(A: _Tensor, *, offset: _b.int = 0, dim1: _b.int = -2, dim2: _b.int = -1) -> _Tensor:
    """The diagonals of the matrices along two dims, as a view."""
def eig(A: _Tensor, *, out: Any = None) -> Any:
    """Eigenvalues and eigenvectors of a square matrix, complex always."""
def eigh(A: _Tensor, UPLO: _b.str = 'L', *, out: Any = None) -> Any:
    """Eigenvalues (ascending) and eigenvectors of a Hermitian matrix, read from one triangle."""
def eigvals(A: _Tensor, *, out: Any = None) -> _Tensor:
    """The eigenvalues of a square matrix."""
def eigvalsh(A: _Tensor, UPLO: _b.str = 'L', *, out: Any = None) -> _Tensor:
    """The eigenvalues of a Hermitian matrix."""
def householder_product(A: _Tensor, tau: _Tensor, *, out: Any = None) -> _Tensor:
    """The first columns of the product of Householder reflections stored below A's diagonal."""
def inv(A: _Tensor, *, out: Any = None) -> _Tensor:
    """The inverse of a square matrix, or of each in a batch."""
def inv_ex(A: _Tensor, *, check_errors: _b.bool = False, out: Any = None) -> Any:
    """The inverse and, instead of an error, the number of the first zero pivot."""
def lstsq(A: _Tensor, B: _Tensor, rcond: Any = None, *, driver: _b.str | None = None) -> Any:
    """X that minimises the length of `A X - B`, with residuals, rank and singular values."""
def lu(A: _Tensor, *, pivot: _b.bool = True, out: Any = None) -> Any:
    """P, L and U with `A = P L U`."""
def lu_factor(A: _Tensor, *, pivot: _b.bool = True, out: Any = None) -> Any:
    """L and U packed into one matrix, and the row swaps."""
def lu_factor_ex(A: _Tensor, *, pivot: _b.bool = True, check_errors: _b.bool = False, out: Any = None) -> Any:
    """`lu_factor` and the number of the first zero pivot."""
def lu_solve(LU: _Tensor, pivots: _Tensor, B: _Tensor, *, left: _b.bool = True, adjoint: _b.bool = False, out: Any = None) -> _Tensor:
    """X with `A X = B` from the result of `lu_factor`."""
def matmul(input: _Tensor, other: _Tensor, *, out: Any = None) -> _Tensor:
    """The matrix product."""
def matrix_exp(A: _Tensor) -> _Tensor:
    """The matrix exponential."""
def matrix_norm(A: _Tensor, ord: Any = 'fro', dim: _b.int | Sequence[_b.int] | None = ..., keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: Any = None) -> _Tensor:
    """A norm of the matrices along two dims: 'fro', 'nuc', 1, -1, 2, -2, inf or -inf."""
def matrix_power(A: _Tensor, n: _b.int, *, out: Any = None) -> _Tensor:
    """The n-th power of a square matrix; negative powers are those of the inverse."""
def matrix_rank(A: _Tensor, tol: Any = None, hermitian: _b.bool = False, *, atol: Any = None, rtol: Any = None, out: Any = None) -> _Tensor:
    """How many singular values count as non-zero."""
def multi_dot(tensors: Sequence[_Tensor], *, out: Any = None) -> _Tensor:
    """The product of a chain of matrices in the order that costs least; vectors may end it."""
def norm(A: _Tensor, ord: Any = None, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: Any = None, dtype: _dtype | None = None) -> _Tensor:
    """A vector norm for one dim, a matrix norm for two; without `ord` the 2-norm of everything."""
def pinv(A: _Tensor, rcond: Any = None, hermitian: _b.bool = False, *, atol: Any = None, rtol: Any = None, out: Any = None) -> _Tensor:
    """The pseudo-inverse of a matrix, or of each in a batch."""
def qr(A: _Tensor, mode: _b.str = 'reduced', *, out: Any = None) -> Any:
    """Q with orthonormal columns and upper triangular R with `A = Q R`."""
def slogdet(A: _Tensor, *, out: Any = None) -> Any:
    """The sign and the logarithm of the absolute value of the determinant."""
def solve(A: _Tensor, B: _Tensor, *, left: _b.bool = True, out: Any = None) -> _Tensor:
    """X with `A X = B`, or `X A = B` when `left` is False."""
def solve_ex(A: _Tensor, B: _Tensor, *, left: _b.bool = True, check_errors: _b.bool = False, out: Any = None) -> Any:
    """`solve` and, instead of an error, the number of the first zero pivot."""
def solve_triangular(A: _Tensor, B: _Tensor, *, upper: _b.bool, left: _b.bool = True, unitriangular: _b.bool = False, out: Any = None) -> _Tensor:
    """`solve` for a triangular A; the other triangle is not looked at."""
def svd(A: _Tensor, full_matrices: _b.bool = True, *, driver: _b.str | None = None, out: Any = None) -> Any:
    """U, S and V^H with `A = U diag(S) V^H`."""
def svdvals(A: _Tensor, *, driver: _b.str | None = None, out: Any = None) -> _Tensor:
    """The singular values, largest first."""
def tensorinv(A: _Tensor, ind: _b.int = 2, *, out: Any = None) -> _Tensor:
    """The inverse of `A` seen as a matrix from its dims behind `ind` to those before."""
def tensorsolve(A: _Tensor, B: _Tensor, dims: _b.int | Sequence[_b.int] | None = None, *, out: Any = None) -> _Tensor:
    """X with `tensordot(A, X, X.ndim) = B`."""
def vander(x: _Tensor, N: _b.int | None = None) -> _Tensor:
    """Rows of growing powers of every element of `x`."""
def vecdot(x: _Tensor, y: _Tensor, *, dim: _b.int = -1, out: Any = None) -> _Tensor:
    """The inner products of the vectors along `dim`, the first conjugated."""
def vector_norm(x: _Tensor, ord: _b.float = 2, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: Any = None) -> _Tensor:
    """The `ord`-norm of the elements over `dim`, or of all of them."""
