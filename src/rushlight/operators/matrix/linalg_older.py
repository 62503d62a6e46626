"""Older and finer-grained spellings of linear algebra: lu_unpack, solve_ex, triangular_solve, orgqr."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base import dtypes
from ...core.public import into, public
from ...core.tensor import Tensor, wrap
from ..made_of.return_types import named
from .linalg_factor import lu_factor, lu_solve, permutation_matrix, swap_order_op, unpacked
from .linalg_rules import LinAlgError, adjoint, check_matrix, eye_like
from .linalg_solve import solve, solve_triangular


@public("torch")
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True, *,
    out: Any = None,
) -> Any:  # fmt: skip
    """P, L and U from the packed result of `linalg.lu_factor`."""
    lower, upper = unpacked(LU_data)
    order = swap_order_op(LU_pivots, m=LU_data._a.shape[-2])
    p = permutation_matrix(order, LU_data.detach())
    empty = LU_data.detach().reshape((-1,))[:0]
    parts = (p if unpack_pivots else empty, *((lower, upper) if unpack_data else (empty, empty)))
    return into(out, named("lu_unpack", "P", "L", "U")(*parts))


@public("torch", "Tensor", name="lu_solve")
def _lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Any = None) -> Tensor:
    """The older spelling of `linalg.lu_solve`, the right-hand side first."""
    return lu_solve(LU_data, LU_pivots, b, out=out)


@public("linalg")
def lu_factor_ex(
    A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Any = None
) -> Any:
    """`lu_factor` and the number of the first zero pivot."""
    packed, swaps = lu_factor(A, pivot=pivot)
    zero = (packed.detach().diagonal(0, -2, -1) == 0).to(dtypes.int32)
    info = (zero.amax(-1) * (zero.argmax(-1) + 1)).to(dtypes.int32)
    kind = named("linalg_lu_factor_ex", "LU", "pivots", "info")
    return into(out, kind(packed, swaps, info))


@public("linalg")
def solve_ex(
    A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Any = None
) -> Any:
    """`solve` and, instead of an error, the number of the first zero pivot."""
    info = lu_factor_ex(A.detach()).info
    try:
        result = solve(A, B, left=left)
    except LinAlgError:
        if check_errors:
            raise
        result = B.detach() * float("nan")
    return into(out, named("linalg_solve_ex", "result", "info")(result, info))


@public()
def triangular_solve(
    b: Tensor, A: Tensor, upper: bool = True, transpose: bool = False, unitriangular: bool = False,
    *, out: Any = None,
) -> Any:  # fmt: skip
    """The older spelling of `linalg.solve_triangular`, the right-hand side first."""
    matrix = A.transpose(-2, -1) if transpose else A
    solution = solve_triangular(
        matrix, b, upper=bool(upper) != bool(transpose), unitriangular=unitriangular
    )
    kind = named("triangular_solve", "solution", "cloned_coefficient")
    return into(out, kind(solution, A.clone()))


@public("linalg")
def householder_product(A: Tensor, tau: Tensor, *, out: Any = None) -> Tensor:
    """The first columns of the product of Householder reflections stored below A's diagonal."""
    check_matrix(A, "linalg.householder_product")
    m, n = A._a.shape[-2:]
    if m < n:
        raise RuntimeError(
            "linalg.householder_product: input.shape[-2] must be greater than or equal to "
            "input.shape[-1]"
        )
    q = wrap(np.eye(m, n, dtype=A._a.dtype)).to(A.device).expand(*A._a.shape)
    eye = eye_like(A, m)
    below = A.tril(-1)
    for i in reversed(range(tau._a.shape[-1])):
        v = below[..., i : i + 1] + eye[:, i : i + 1]
        q = q - tau[..., i : i + 1].unsqueeze(-1) * (v @ (adjoint(v) @ q))
    return into(out, q)


@public()
def orgqr(input: Tensor, input2: Tensor, *, out: Any = None) -> Tensor:
    """The other name of `linalg.householder_product`."""
    return householder_product(input, input2, out=out)
