"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from .base.device import device as _device
from .base.dtypes import dtype as _dtype
from .base.formats import layout as _layout
from .base.formats import qscheme as _qscheme
from .base.formats import memory_format as _memory_format
from .base.shapes import Size as _Size
from .core.tensor import Tensor as _Tensor
from . import return_types as _results
from .operators.random.generator import Generator as _Generator

def cholesky(A: _Tensor, *, upper: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The lower triangular matrix L with `A = L @ L.mH`, for a positive-definite matrix."""
def cholesky_ex(A: _Tensor, *, upper: _b.bool = False, check_errors: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """As `torch.linalg.cholesky`, with a number instead of an error: 0, or the first part that is not positive."""
def cond(A: _Tensor, p: Any = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """How much solving with a matrix can enlarge an error: its norm times that of its inverse."""
def cross(input: _Tensor, other: _Tensor, *, dim: _b.int = -1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The cross product of vectors with three elements; other dimensions broadcast."""
def det(A: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The determinant of a square matrix, or of each in a batch."""
def diagonal(A: _Tensor, *, offset: _b.int = 0, dim1: _b.int = -2, dim2: _b.int = -1) -> _Tensor:
    """As `torch.diagonal`, of the last two dimensions unless others are named."""
def eig(A: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """Eigenvalues and eigenvectors of a square matrix, always complex."""
def eigh(A: _Tensor, UPLO: _b.str = 'L', *, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """Eigenvalues, in growing order, and eigenvectors of a matrix that equals its conjugate transpose."""
def eigvals(A: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The eigenvalues of a square matrix, always complex."""
def eigvalsh(A: _Tensor, UPLO: _b.str = 'L', *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The eigenvalues, in growing order, of a matrix that equals its conjugate transpose."""
def householder_product(A: _Tensor, tau: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The first columns of a product of Householder reflections, which LAPACK stores below a diagonal."""
def inv(A: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The inverse of a square matrix, or of each in a batch; `solve` is quicker and more exact for equations."""
def inv_ex(A: _Tensor, *, check_errors: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """As `torch.linalg.inv`, with a number instead of an error: 0, or the place of the first zero pivot."""
def lstsq(A: _Tensor, B: _Tensor, rcond: Any = None, *, driver: _b.str | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """X that brings `A @ X` as near to B as possible; also residuals, rank and singular values."""
def lu(A: _Tensor, *, pivot: _b.bool = True, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """A matrix as `P @ L @ U`: a permutation, a lower and an upper triangular matrix."""
def lu_factor(A: _Tensor, *, pivot: _b.bool = True, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """A matrix as lower times upper triangular, packed into one matrix, and the rows that were exchanged."""
def lu_factor_ex(A: _Tensor, *, pivot: _b.bool = True, check_errors: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """As `torch.linalg.lu_factor`, with a number instead of an error: 0, or the place of the first zero pivot."""
def lu_solve(LU: _Tensor, pivots: _Tensor, B: _Tensor, *, left: _b.bool = True, adjoint: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """X with `A @ X = B`, from what `lu_factor` made of A."""
def matmul(input: _Tensor, other: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `torch.matmul`."""
def matrix_exp(A: _Tensor) -> _Tensor:
    """The exponential of a square matrix: the sum of its powers, each divided by a factorial."""
def matrix_norm(A: _Tensor, ord: Any = 'fro', dim: _b.int | Sequence[_b.int] | None = ..., keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """A norm of matrices."""
def matrix_power(A: _Tensor, n: _b.int, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """A square matrix multiplied by itself; negative powers are those of the inverse."""
def matrix_rank(A: _Tensor, tol: Any = None, hermitian: _b.bool = False, *, atol: Any = None, rtol: Any = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """How many singular values of a matrix are not zero."""
def multi_dot(tensors: Sequence[_Tensor], *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The product of several matrices, in the order that costs the fewest multiplications."""
def norm(A: _Tensor, ord: Any = None, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None, dtype: _dtype | None = None) -> _Tensor:
    """A norm of vectors or of matrices, by how many dimensions are named."""
def pinv(A: _Tensor, rcond: Any = None, hermitian: _b.bool = False, *, atol: Any = None, rtol: Any = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The pseudo-inverse of a matrix: its inverse where it has one, the best solution of equations where not."""
def qr(A: _Tensor, mode: _b.str = 'reduced', *, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """A matrix as `Q @ R`: the columns of Q have length 1 and are orthogonal, R is upper triangular."""
def slogdet(A: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """The sign of the determinant and the logarithm of its absolute value, which neither overflows nor vanishes."""
def solve(A: _Tensor, B: _Tensor, *, left: _b.bool = True, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """X with `A @ X = B`."""
def solve_ex(A: _Tensor, B: _Tensor, *, left: _b.bool = True, check_errors: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """As `torch.linalg.solve`, with a number instead of an error: 0, or the place of the first zero pivot."""
def solve_triangular(A: _Tensor, B: _Tensor, *, upper: _b.bool, left: _b.bool = True, unitriangular: _b.bool = False, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """X with `A @ X = B`, for a triangular A."""
def svd(A: _Tensor, full_matrices: _b.bool = True, *, driver: _b.str | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> Any:
    """A matrix as `U @ diag(S) @ Vh`: orthogonal columns, singular values (the largest first), orthogonal rows."""
def svdvals(A: _Tensor, *, driver: _b.str | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The singular values of a matrix, the largest first."""
def tensorinv(A: _Tensor, ind: _b.int = 2, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The inverse of a tensor seen as a matrix, for `tensordot`."""
def tensorsolve(A: _Tensor, B: _Tensor, dims: _b.int | Sequence[_b.int] | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """X with `tensordot(A, X, X.ndim) = B`."""
def vander(x: _Tensor, N: _b.int | None = None) -> _Tensor:
    """Powers of every element, growing along a new last dimension."""
def vecdot(x: _Tensor, y: _Tensor, *, dim: _b.int = -1, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The inner products of vectors along a dimension, the first ones conjugated."""
def vector_norm(x: _Tensor, ord: _b.float = 2, dim: _b.int | Sequence[_b.int] | None = None, keepdim: _b.bool = False, *, dtype: _dtype | None = None, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The norm of the elements along dimensions, or of all of them."""
