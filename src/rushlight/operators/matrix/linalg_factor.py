"""Triangular factorisations: Cholesky, QR and LU."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule, Shaped
from ...base.dtypes import int32, title
from ...base.errors import NotYet
from ...core.op import Op
from ...core.public import into, into_same, public, row_major
from ...core.tensor import Tensor, wrap
from ...runtime.facts import Facts
from ..made_of.guards import unsupported
from ..made_of.return_types import named
from .linalg_rules import (
    LinAlgError,
    adjoint,
    batch_label,
    check_matrix,
    check_square,
    columns,
    eye_like,
    in_numpy,
    lu_raw,
)
from .linalg_solve import solve, triangular_op


def _geqrf_body(xp: ArrayModule, x: Array) -> Any:
    packed, tau = xp.linalg.qr(x, mode="raw")  # the packed matrix comes transposed
    return packed.swapaxes(-2, -1), tau


def _geqrf_meta(x: Shaped) -> list:
    *batch, m, n = x.shape
    return [((*batch, m, n), x.dtype), ((*batch, min(m, n)), x.dtype)]


_geqrf = Op(_geqrf_body, "geqrf", grad_name="GeqrfBackward0", meta=_geqrf_meta)


@_geqrf.backward
def _geqrf_backward(gs: list) -> tuple:
    raise NotImplementedError("the derivative for 'geqrf' is not implemented.")


_GEQRF = named("geqrf", "a", "tau")


@public()
def geqrf(input: Tensor, *, out: Any = None) -> Any:
    """A QR decomposition as LAPACK packs it: R, the reflections below its diagonal, and their factors.

    `torch.linalg.qr` gives Q and R themselves; `torch.linalg.householder_product` makes Q of this,
    `torch.ormqr` multiplies by it.

    Example:
        >>> a, tau = torch.geqrf(torch.tensor([[3.0, 1.0], [4.0, 2.0]]))
        >>> a.triu()
        tensor([[-5.0000, -2.2000],
                [ 0.0000,  0.4000]])
    """
    if input._a.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    if input._a.dtype.kind not in "fc" or input._a.dtype.itemsize < 4:
        raise unsupported("geqrf_cpu", input.dtype)
    if not (input.is_cpu or input.is_meta):
        raise NotYet("geqrf is on the CPU only; use torch.linalg.qr")
    packed, tau = _geqrf(input)
    return into_same(out, _GEQRF(columns(packed), tau))


@public()
def ormqr(
    input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False, *, out: Any = None
) -> Tensor:
    """The product of the whole (m, m) Q that `geqrf` packed and another matrix.

    Args:
        input: (*, m, k), the reflections below the diagonal.
        tau: (*, k), their factors.
        other: (*, m, n), or (*, n, m) if not `left`.
        left: `Q @ other`; False for `other @ Q`.
        transpose: Q's adjoint instead of Q.

    Example:
        >>> A = torch.tensor([[3.0], [4.0]])
        >>> torch.ormqr(*torch.geqrf(A), A, transpose=True)
        tensor([[-5.],
                [ 0.]])
    """
    _check_ormqr(input, tau, other, left)
    below, eye = input.tril(-1), eye_like(input, input._a.shape[-2])
    result = other
    # Q = H_1 H_2 ... H_k: from the left the last one comes first, its adjoint turns that around.
    order = range(tau._a.shape[-1])
    for i in order if bool(left) == bool(transpose) else reversed(order):
        v = below[..., i : i + 1] + eye[:, i : i + 1]
        factor = tau[..., i : i + 1].unsqueeze(-1)
        factor = factor.conj() if transpose else factor
        if left:
            result = result - factor * (v @ (adjoint(v) @ result))
        else:
            result = result - factor * ((result @ v) @ adjoint(v))
    return into(out, columns(result.clone() if result is other else result))


def _check_ormqr(input: Tensor, tau: Tensor, other: Tensor, left: bool) -> None:
    for t, name in ((input, "input"), (other, "other")):
        if t._a.ndim < 2:
            raise RuntimeError(f"torch.ormqr: {name} must have at least 2 dimensions.")
    side = -2 if left else -1
    m, k = input._a.shape[-2:]
    rows, dims = other._a.shape[side], input._a.ndim
    if rows != m:
        raise RuntimeError(f"torch.ormqr: other.shape[{side}] must be equal to input.shape[-2]")
    if tau._a.shape[-1] != min(rows, k):
        raise RuntimeError(f"torch.ormqr: tau.shape[-1] must be equal to min(other.shape[{side}], input.shape[-1])")
    if tau._a.ndim != dims - 1:
        raise RuntimeError(
            "torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim "
            f"equal to {tau._a.ndim} and input.ndim is equal to {dims}"
        )
    if other._a.ndim != dims:
        raise RuntimeError(
            "torch.ormqr: Expected other to have the same number of dimensions as input, but got "
            f"other.ndim equal to {other._a.ndim} and input.ndim is equal to {dims}"
        )
    for t, name in ((tau, "tau"), (other, "other")):
        if t.dtype != input.dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {name} to have the same dtype, but input has dtype "
                f"{input.dtype} and {name} has dtype {t.dtype}"
            )


# -- Cholesky -----------------------------------------------------------------------------------


def _cholesky(xp: ArrayModule, x: Array) -> Any:
    """The lower factor of every matrix; only lower triangles are read."""
    try:
        return xp.linalg.cholesky(x) if xp is not np else _without_nan(np.asarray(x))
    except np.linalg.LinAlgError:
        number, order = _first_bad_minor(in_numpy(x))
        raise LinAlgError(
            f"linalg.cholesky: {batch_label(x.shape[:-2], number)}The factorization could not be "
            "completed because the input is not positive-definite (the leading minor of order "
            f"{order} is not positive-definite)."
        ) from None


def _without_nan(x: np.ndarray) -> np.ndarray:
    """The factor; some builds of LAPACK go on with NaN where PyTorch's says that there is none."""
    out = np.linalg.cholesky(x)
    if np.isnan(np.diagonal(out, axis1=-2, axis2=-1)).any():
        raise np.linalg.LinAlgError
    return out


def _first_bad_minor(x: np.ndarray) -> tuple[int, int]:
    for number, a in enumerate(x.reshape(prod(x.shape[:-2]), *x.shape[-2:])):
        for order in range(1, a.shape[0] + 1):
            try:
                _without_nan(a[:order, :order])
            except np.linalg.LinAlgError:
                return number, order
    return 0, 0


cholesky_op = Op(
    _cholesky, "linalg_cholesky", grad_name="LinalgCholeskyExBackward0",
    meta=lambda x: (x.shape, x.dtype), facts=Facts(refuses=True, vmap="as_it_is", layout="columns", autocast={"cpu": "float32"}),
)  # fmt: skip


def _upper(x: Tensor, y: Tensor) -> Tensor:
    """X with x X = y, for an upper triangle."""
    return triangular_op(x, y, upper=True, left=True, unitriangular=False)


def _cholesky_dx(g: Tensor, out: Tensor) -> Tensor:
    """L^-H phi(L^H g) L^-1, made Hermitian; phi takes the lower half with half the diagonal."""
    whole = adjoint(out) @ g
    phi = whole.tril() + whole.tril(-1)  # doubled, as the rest is once more
    left = _upper(adjoint(out), phi)
    both = triangular_op(out, left, upper=False, left=False, unitriangular=False)
    return (both + adjoint(both)) * 0.25


cholesky_op.derivative(x=_cholesky_dx)


@public("linalg")
def cholesky(A: Tensor, *, upper: bool = False, out: Any = None) -> Tensor:
    """The lower triangular matrix L with `A = L @ L.mH`, for a positive-definite matrix.

    Args:
        A: (*, n, n), equal to its conjugate transpose; only one triangle is read.
        upper: return the upper triangular `L.mH`.

    Raises:
        LinAlgError: if a matrix is not positive-definite.

    Example:
        >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
        tensor([[2., 0.],
                [1., 2.]])
    """
    check_square(A, "linalg.cholesky")
    if upper:
        return into_same(out, columns(adjoint(cholesky_op(adjoint(A)))))
    return into_same(out, cholesky_op(A))


@public(name="cholesky")
def _torch_cholesky(input: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """As `torch.linalg.cholesky`: the older name.

    Args:
        upper: return the upper triangular factor.
    """
    found = cholesky(input, upper=upper)
    return into_same(out, row_major(out, found))


_LINALG_CHOLESKY_EX = named("linalg_cholesky_ex", "L", "info")


@public("linalg")
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """As `torch.linalg.cholesky`, with a number instead of an error: 0, or the first part that is not positive.

    Args:
        A: (*, n, n).
        upper: return the upper triangular factor.
        check_errors: raise an error after all.

    Example:
        >>> torch.linalg.cholesky_ex(torch.tensor([[4.0, 2.0], [2.0, 5.0]])).info
        tensor(0, dtype=torch.int32)
    """
    check_square(A, "linalg.cholesky_ex")
    info = A.new_zeros(A._a.shape[:-2], dtype=int32)
    try:
        result = cholesky(A, upper=upper)
    except LinAlgError:
        if check_errors:
            raise
        flat = A._host().reshape(prod(A._a.shape[:-2]), *A._a.shape[-2:])
        orders = [_first_bad_minor(a[None])[1] for a in flat]
        info = wrap(np.asarray(orders, np.int32).reshape(A._a.shape[:-2])).to(A.device)
        result = A.triu() if upper else A.tril()
    pair = _LINALG_CHOLESKY_EX(result, info)
    return into_same(out, pair)


# -- QR -----------------------------------------------------------------------------------------


def _qr(xp: ArrayModule, x: Array, *, mode: str) -> Any:
    q, r = xp.linalg.qr(x, mode=mode)
    return q, r


def _qr_meta(x: Shaped, *, mode: str) -> list:
    *batch, m, n = x.shape
    k = min(m, n) if mode == "reduced" else m
    return [((*batch, m, k), x.dtype), ((*batch, k, n), x.dtype)]


qr_op = Op(
    _qr,
    "linalg_qr",
    grad_name="LinalgQrBackward0",
    meta=_qr_meta,
    facts=Facts(refuses=True, vmap="as_it_is", layout="columns", autocast={"cpu": "float32"}),
)


@qr_op.backward
def _qr_backward(gs: list, out: Tensor, out1: Tensor, x_shape: tuple, mode: str) -> tuple:
    m, n = x_shape[-2:]
    if mode == "complete" and m > n:
        raise RuntimeError("The QR decomposition is not differentiable when mode='complete' and nrows > ncols.")
    gq, gr = gs
    if m >= n:
        return (_tall_qr_grad(gq, gr, out, out1),)
    # A = [X Y], R = [U V] with X = Q U: the right part only sees Y = Q V.
    from ..shape.join import cat

    q, u, v = out, out1[..., :m], out1[..., m:]
    gu = gv = None
    if gr is not None:
        gu, gv = gr[..., :m], gr[..., m:]
        extra = q @ v @ adjoint(gv)
        gq = extra if gq is None else gq + extra
    gx = _tall_qr_grad(gq, gu, q, u)
    gy = q @ gv if gv is not None else (q @ v) * 0
    return (cat([gx, gy], -1),)


def _tall_qr_grad(gq: Any, gr: Any, q: Tensor, r: Tensor) -> Tensor:
    middle = None
    if gr is not None:
        middle = r @ adjoint(gr)
    if gq is not None:
        term = adjoint(gq) @ q
        middle = -term if middle is None else middle - term
    assert middle is not None
    lower = middle.tril(-1)
    n = middle._a.shape[-1]
    diagonal = middle * eye_like(middle, n)
    if middle._a.dtype.kind == "c":
        diagonal = diagonal.real.to(middle.dtype)
    total = q @ (lower + adjoint(lower) + diagonal)
    if gq is not None:
        total = total + gq
    return adjoint(_upper(r, adjoint(total)))


_LINALG_QR = named("linalg_qr", "Q", "R")


@public("linalg")
def qr(A: Tensor, mode: str = "reduced", *, out: Any = None) -> Any:
    """A matrix as `Q @ R`: the columns of Q have length 1 and are orthogonal, R is upper triangular.

    Args:
        A: (*, m, n).
        mode: "reduced" for as many columns of Q as there have to be, "complete" for a square Q,
            "r" for R alone.

    Example:
        >>> Q, R = torch.linalg.qr(torch.tensor([[3.0, 1.0], [4.0, 2.0]]))
        >>> torch.allclose(Q @ R, torch.tensor([[3.0, 1.0], [4.0, 2.0]]))
        True
    """
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    check_matrix(A, "linalg.qr")
    if mode != "r":
        return into_same(out, _LINALG_QR(*qr_op(A, mode=mode)))
    if A.requires_grad:
        _, r = qr_op(A, mode="reduced")
        return into_same(out, _LINALG_QR(A.detach().reshape((-1,))[:0], r))
    _, r = qr_op(A, mode="reduced")
    return into_same(out, _LINALG_QR(r.reshape((-1,))[:0], r))


_QR = named("qr", "Q", "R")


@public(name="qr")
def _torch_qr(input: Tensor, some: bool = True, *, out: Any = None) -> Any:
    """As `torch.linalg.qr`: the older name.

    Args:
        some: False for a square Q.
    """
    pair = qr(input, "reduced" if some else "complete")
    return into_same(out, _QR(*pair))


# -- LU -----------------------------------------------------------------------------------------


def _lu(xp: ArrayModule, x: Array) -> Any:
    """The packed factors, the swaps and the permutation they add up to."""
    packed, swaps = lu_raw(xp, x)
    return packed, swaps, _permutation(xp, swaps, x.shape[-2])


def _permutation(xp: ArrayModule, swaps: Array, m: int) -> Any:
    """order with A[order] = L U."""
    flat = swaps.reshape(prod(swaps.shape[:-1]), swaps.shape[-1])
    order = xp.broadcast_to(xp.arange(m), (flat.shape[0], m)).copy()
    rows = xp.arange(flat.shape[0])
    for i in range(flat.shape[1]):
        at = flat[:, i] - 1
        kept = order[rows, at].copy()
        order[rows, at] = order[:, i]
        order[:, i] = kept
    return order.reshape(*swaps.shape[:-1], m)


lu_op = Op(
    _lu, "linalg_lu_factor", grad_name="LinalgLuFactorExBackward0",
    meta=lambda x: [
        (x.shape, x.dtype),
        ((*x.shape[:-2], min(x.shape[-2:])), np.dtype(np.int32)),
        ((*x.shape[:-2], x.shape[-2]), np.dtype(np.int64)),
    ], facts=Facts(refuses=True, vmap="as_it_is", layout="columns", autocast={"cpu": "float32"}),
)  # fmt: skip


@lu_op.backward
def _lu_backward(g: Tensor, out: Tensor, out2: Tensor, x_shape: tuple) -> tuple:
    from ..shape.join import cat

    m, n = x_shape[-2:]
    k = min(m, n)  # the square part; rows below it are of L alone, columns beside it of U alone
    lower, upper = unpacked(out)
    top, left = lower[..., :k, :], upper[..., :k]
    square = g[..., :k, :k]
    inner = adjoint(top) @ square.tril(-1)
    outer = square.triu() @ adjoint(left)
    if n > k:
        inner = inner - g[..., k:] @ adjoint(upper[..., k:])
    if m > k:
        outer = outer - adjoint(lower[..., k:, :]) @ g[..., k:, :]
    total = _upper(adjoint(top), inner.tril(-1) + outer.triu())
    total = adjoint(_upper(left, adjoint(total)))
    if n > k:
        total = cat([total, _upper(adjoint(top), g[..., k:])], -1)
    if m > k:
        total = cat([total, adjoint(_upper(left, adjoint(g[..., k:, :])))], -2)
    p = permutation_matrix(out2.detach(), total)
    return (p @ total,)


def unpacked(packed: Tensor) -> tuple[Tensor, Tensor]:
    m, n = packed._a.shape[-2:]
    k = min(m, n)
    lower = packed[..., :k].tril(-1)
    unit = wrap(np.eye(m, k, dtype=packed._a.dtype)).to(packed.device)
    return lower + unit, packed[..., :k, :].triu()


def permutation_matrix(order: Tensor, like: Tensor) -> Tensor:
    """P with `A = P L U`."""
    eye = eye_like(like, order._a.shape[-1])
    return eye[order].transpose(-2, -1).contiguous()


_LINALG_LU_FACTOR = named("linalg_lu_factor", "LU", "pivots")


@public("linalg")
def lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """A matrix as lower times upper triangular, packed into one matrix, and the rows that were exchanged.

    Args:
        A: (*, m, n).
        pivot: exchange rows; without it only on a GPU.

    Raises:
        RuntimeError: if a matrix has no such factors, because a pivot is zero.

    Example:
        >>> LU, pivots = torch.linalg.lu_factor(torch.tensor([[2.0, 4.0], [1.0, 5.0]]))
        >>> LU
        tensor([[2.0000, 4.0000],
                [0.5000, 3.0000]])
    """
    check_matrix(A, "linalg.lu_factor")
    _check_pivot(pivot)
    packed, swaps, _ = lu_op(A)
    return into_same(out, _LINALG_LU_FACTOR(packed, swaps))


_LINALG_LU = named("linalg_lu", "P", "L", "U")


@public("linalg")
def lu(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """A matrix as `P @ L @ U`: a permutation, a lower and an upper triangular matrix.

    Args:
        A: (*, m, n).
        pivot: exchange rows, which is what P says.

    Example:
        >>> P, L, U = torch.linalg.lu(torch.tensor([[2.0, 4.0], [1.0, 5.0]]))
        >>> U
        tensor([[2., 4.],
                [0., 3.]])
    """
    check_matrix(A, "linalg.lu")
    _check_pivot(pivot)
    packed, _, order = lu_op(A)
    lower, upper = unpacked(packed)
    p = permutation_matrix(order, packed.detach())
    return into_same(out, _LINALG_LU(p, lower, upper))


def _check_pivot(pivot: bool) -> None:
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


def _swap_order(xp: ArrayModule, swaps: Array, *, m: int) -> Any:
    return _permutation(xp, swaps, m)


swap_order_op = Op(
    _swap_order, "lu_swap_order",
    meta=lambda swaps, *, m: ((*swaps.shape[:-1], m), np.dtype(np.int64)), facts=Facts(refuses=True),
)  # fmt: skip


@public("linalg")
def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False, out: Any = None
) -> Tensor:
    """X with `A @ X = B`, from what `lu_factor` made of A.

    Args:
        LU: the packed factors.
        pivots: the exchanged rows.
        B: (*, n, k).
        left: False for `X @ A = B`.
        adjoint: use the conjugate transpose of A.

    Example:
        >>> factors = torch.linalg.lu_factor(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
        >>> torch.linalg.lu_solve(*factors, torch.tensor([[2.0], [4.0]]))
        tensor([[1.],
                [1.]])
    """
    check_square(LU, "torch.linalg.lu_solve", any_dtype=True)
    if LU._a.dtype != B._a.dtype:
        kinds = f"LU of type {title(LU.dtype)} and B of type {title(B.dtype)} instead"
        raise RuntimeError(f"linalg.lu_solve: Expected LU and B to have the same dtype, but found {kinds}")
    if LU._a.dtype.itemsize == 2:
        raise unsupported("linalg.lu_solve_cpu", LU.dtype)
    lower, upper = unpacked(LU)
    order = swap_order_op(pivots, m=LU._a.shape[-2])
    a = permutation_matrix(order, LU.detach()) @ lower @ upper
    if adjoint:
        a = a.transpose(-2, -1).conj() if a.is_complex() else a.transpose(-2, -1)
    return into_same(out, solve(a, B, left=left))
