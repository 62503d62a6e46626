"""Older and finer-grained spellings of linear algebra: lu_unpack, solve_ex, triangular_solve, orgqr."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ...base import dtypes
from ...core.public import into, into_same, public
from ...core.tensor import Tensor, wrap
from ..made_of.return_types import named
from .linalg_factor import lu_factor, lu_solve, permutation_matrix, swap_order_op, unpacked
from .linalg_rules import LinAlgError, adjoint, check_matrix, columns, eye_like
from .linalg_solve import solve, solve_triangular

_LU_UNPACK = named("lu_unpack", "P", "L", "U")


@public("torch")
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True, *, out: Any = None
) -> Any:
    """The permutation and the two triangular matrices of what `lu_factor` packed.

    Args:
        LU_data: the packed factors.
        LU_pivots: the exchanged rows.
        unpack_data: make the triangular matrices.
        unpack_pivots: make the permutation.

    Example:
        >>> A = torch.tensor([[1.0, 5.0], [2.0, 4.0]])
        >>> P, L, U = torch.lu_unpack(*torch.linalg.lu_factor(A))
        >>> torch.equal(P @ L @ U, A)
        True
    """
    lower, upper = unpacked(LU_data)
    order = swap_order_op(LU_pivots, m=LU_data._a.shape[-2])
    p = permutation_matrix(order, LU_data.detach())
    empty = LU_data.detach().reshape((-1,))[:0]
    parts = (p if unpack_pivots else empty, *((lower, upper) if unpack_data else (empty, empty)))
    return into_same(out, _LU_UNPACK(*parts))


@public("torch", "Tensor", name="lu_solve")
def _lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = None) -> Tensor:
    """As `torch.linalg.lu_solve`: the older name, with the right-hand side first.

    Args:
        b: (*, n, k).
        LU_data: the packed factors.
        LU_pivots: the exchanged rows.
    """
    return lu_solve(LU_data, LU_pivots, b, out=out)


_LINALG_LU_FACTOR_EX = named("linalg_lu_factor_ex", "LU", "pivots", "info")


@public("linalg")
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """As `torch.linalg.lu_factor`, with a number instead of an error: 0, or the place of the first zero pivot.

    Args:
        A: (*, m, n).
        pivot: exchange rows.
        check_errors: raise an error after all.
    """
    packed, swaps = lu_factor(A, pivot=pivot)
    zero = (packed.detach().diagonal(0, -2, -1) == 0).to(dtypes.int32)
    if zero._a.shape[-1]:
        info = (zero.amax(-1) * (zero.argmax(-1) + 1)).to(dtypes.int32)
    else:
        info = zero.sum(-1, dtype=dtypes.int32)
    if check_errors and info.any():
        raise LinAlgError(
            f"torch.linalg.lu_factor_ex: U[{int(info.max())},{int(info.max())}] is zero and using it on lu_solve would result in a "
            "division by zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or "
            "linalg.lu_factor_ex(A, pivot)"
        )
    return into_same(out, _LINALG_LU_FACTOR_EX(packed, swaps, info))


@public("torch", name="lu")
def _older_lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> tuple[Tensor, ...]:
    """As `torch.linalg.lu_factor`, or as `lu_factor_ex` with `get_infos`: the older name, deprecated.

    Args:
        A: (*, m, n).
        pivot: exchange rows.
        get_infos: a third result instead of an error, 0 or the place of the first zero pivot.
    """
    warnings.warn(
        "torch.lu is deprecated in favor of torch.linalg.lu_factor / torch.linalg.lu_factor_ex and "
        "will be removed in a future PyTorch release.",
        UserWarning,
        stacklevel=2,
    )
    found = lu_factor_ex(A, pivot=pivot) if get_infos else tuple(lu_factor(A, pivot=pivot))
    if out is None:
        return found
    for place, part in zip(out, found):
        place.resize_(part._a.shape).copy_(part)
    return tuple(out)


@public("Tensor", name="lu")
def _lu_method(self: Tensor, pivot: bool = True, get_infos: bool = False) -> tuple[Tensor, ...]:
    """As `torch.lu`.

    Args:
        pivot: exchange rows.
        get_infos: a third result instead of an error.
    """
    return tuple(_older_lu(self, pivot, get_infos))


_LINALG_SOLVE_EX = named("linalg_solve_ex", "result", "info")


@public("linalg")
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """As `torch.linalg.solve`, with a number instead of an error: 0, or the place of the first zero pivot.

    Args:
        A: (*, n, n).
        B: (*, n, k).
        left: False for `X @ A = B`.
        check_errors: raise an error after all.
    """
    info = lu_factor_ex(A.detach()).info
    try:
        result = solve(A, B, left=left)
    except LinAlgError:
        if check_errors:
            raise
        result = B.detach() * float("nan")
    return into_same(out, _LINALG_SOLVE_EX(result, info))


_TRIANGULAR_SOLVE = named("triangular_solve", "solution", "cloned_coefficient")


@public()
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False, *, out: Any = None
) -> Any:
    """As `torch.linalg.solve_triangular`: the older name, with the right-hand side first; returns A, too.

    Args:
        b: (*, n, k).
        A: (*, n, n).
        upper: A is upper triangular.
        transpose: solve with the transpose of A.
        unitriangular: the diagonal of A is taken to be ones.
    """
    matrix = A.transpose(-2, -1) if transpose else A
    solution = solve_triangular(matrix, b, upper=bool(upper) != bool(transpose), unitriangular=unitriangular)
    return into_same(out, _TRIANGULAR_SOLVE(solution, columns(A.clone())))


@public("linalg")
def householder_product(A: Tensor, tau: Tensor, *, out: Any = None) -> Tensor:
    """The first columns of a product of Householder reflections, which LAPACK stores below a diagonal.

    Args:
        A: (*, m, n), the reflections below the diagonal.
        tau: (*, k), their factors.

    Example:
        >>> torch.linalg.householder_product(torch.tensor([[1.0], [1.0]]), torch.tensor([0.5]))
        tensor([[ 0.5000],
                [-0.5000]])
    """
    check_matrix(A, "linalg.householder_product")
    m, n = A._a.shape[-2:]
    if m < n:
        raise RuntimeError(
            "linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1]"
        )
    q = wrap(np.eye(m, n, dtype=A._a.dtype)).to(A.device).expand(*A._a.shape)
    eye = eye_like(A, m)
    if not tau._a.shape[-1]:  # of no reflections: what it is made of stays known
        q = q + (A[..., :0] * tau.unsqueeze(-2)) @ A[..., :0, :]
    below = A.tril(-1)
    for i in reversed(range(tau._a.shape[-1])):
        v = below[..., i : i + 1] + eye[:, i : i + 1]
        q = q - tau[..., i : i + 1].unsqueeze(-1) * (v @ (adjoint(v) @ q))
    return into(out, columns(q))


@public()
def orgqr(input: Tensor, input2: Tensor, *, out: Any = None) -> Tensor:
    """As `torch.linalg.householder_product`.

    Args:
        input2: the factors.
    """
    return householder_product(input, input2, out=out)
