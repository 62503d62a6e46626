"""Linear systems: the inverse, and solutions of linear equations."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import int32, title
from ...base.shapes import broadcast_shapes, whole
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

# -- inverse ------------------------------------------------------------------------------------


def _inv(xp: ArrayModule, x: Array) -> Any:
    """The inverse of every matrix; LinAlgError when one is exactly singular."""
    try:
        return xp.linalg.inv(x)
    except np.linalg.LinAlgError:
        singular = _first_singular(in_numpy(x))
        if singular is None:
            return _substituted(xp, x, xp.broadcast_to(xp.eye(x.shape[-1], dtype=x.dtype), x.shape))
        number, pivot = singular
        raise LinAlgError(
            f"linalg.inv: {batch_label(x.shape[:-2], number)}The diagonal element {pivot} is zero, "
            "the inversion could not be completed because the input matrix is singular."
        ) from None


def _first_singular(x: np.ndarray) -> tuple[int, int] | None:
    """The batch number of the first singular matrix, and its first zero pivot (from 1).

    None where no pivot is zero: some LAPACKs take NaN for a singular matrix, too.
    """
    factored, _ = lu_raw(np, x)  # type: ignore[arg-type]
    pivots = np.diagonal(factored, axis1=-2, axis2=-1).reshape(-1, x.shape[-1])
    found = np.argwhere(pivots == 0)
    return (int(found[0][0]), int(found[0][1]) + 1) if len(found) else None


def _substituted(xp: ArrayModule, x: Any, y: Any) -> Any:
    """X with x X = y, by elimination and substitution: what is no number spreads as far as it is met."""
    factored, swaps = lu_raw(xp, x)
    out = xp.array(y)
    n = x.shape[-1]
    for at in np.ndindex(*x.shape[:-2]):
        a, b = factored[at], out[at]
        for i, j in enumerate(np.asarray(swaps[at]).tolist()):
            if j - 1 != i:
                b[[i, j - 1]] = b[[j - 1, i]]
        for i in range(n):
            b[i + 1 :] -= a[i + 1 :, i, None] * b[i]
        for i in reversed(range(n)):
            b[i] /= a[i, i]
            b[:i] -= a[:i, i, None] * b[i]
    return out


inv_op = Op(
    _inv,
    "linalg_inv",
    grad_name="LinalgInvExBackward0",
    meta=lambda x: (x.shape, x.dtype),
    facts=Facts(refuses=True, vmap="as_it_is", layout="columns", autocast={"cpu": "float32"}),
)
inv_op.derivative(x=lambda g, out: -(adjoint(out) @ g @ adjoint(out)))


@public("linalg")
def inv(A: Tensor, *, out: Any = None) -> Tensor:
    """The inverse of a square matrix, or of each in a batch; `solve` is quicker and more exact for equations.

    Args:
        A: (*, n, n).

    Raises:
        LinAlgError: if a matrix has no inverse.

    Example:
        >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.2500]])
    """
    check_square(A, "linalg.inv")
    return into_same(out, inv_op(A))


@public()
def inverse(input: Tensor, *, out: Any = None) -> Tensor:
    """As `torch.linalg.inv`."""
    return inv(input, out=out)


_LINALG_INV_EX = named("linalg_inv_ex", "inverse", "info")


@public("linalg")
def inv_ex(A: Tensor, *, check_errors: bool = False, out: Any = None) -> Any:
    """As `torch.linalg.inv`, with a number instead of an error: 0, or the place of the first zero pivot.

    Args:
        A: (*, n, n).
        check_errors: raise an error after all.
    """
    check_square(A, "linalg.inv_ex")
    try:
        result, info = inv_op(A), A.new_zeros(A._a.shape[:-2], dtype=int32)
    except LinAlgError:
        if check_errors:
            raise
        factored, _ = lu_raw(np, A._host())  # type: ignore[arg-type]
        zero = np.diagonal(factored, axis1=-2, axis2=-1) == 0
        place = np.where(zero.any(-1), zero.argmax(-1) + 1, 0).astype(np.int32)
        info = wrap(np.asarray(place)).to(A.device)
        result = A * float("nan")
    pair = _LINALG_INV_EX(result, info)
    return into_same(out, pair)


# -- linear equations ---------------------------------------------------------------------------


def _solve(xp: ArrayModule, x: Array, y: Array) -> Any:
    """X with x X = y, y a batch of matrices."""
    batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    y = xp.broadcast_to(y, (*batch, *y.shape[-2:]))
    wide = xp.broadcast_to(x, (*batch, *x.shape[-2:]))
    try:
        return xp.linalg.solve(wide, y)
    except np.linalg.LinAlgError:
        singular = _first_singular(in_numpy(x))
        if singular is None:
            return _substituted(xp, wide, y)
        number, _ = singular
        raise LinAlgError(
            f"torch.linalg.solve: {batch_label(x.shape[:-2], number)}The solver failed because the input "
            "matrix is singular."
        ) from None


solve_op = Op(
    _solve, "linalg_solve", broadcasts=True, grad_name="LinalgSolveExBackward0",
    meta=lambda x, y: (
        (*broadcast_shapes(x.shape[:-2], y.shape[:-2]), *y.shape[-2:]), y.dtype), facts=Facts(refuses=True, vmap="solve", layout="columns", autocast={"cpu": "float32"}),
)  # fmt: skip
solve_op.viewed = ("x",)
solve_op.derivative(
    x=lambda g, x, out: -(solve_op(adjoint(x), g) @ adjoint(out)), y=lambda g, x: solve_op(adjoint(x), g)
)


def _is_vector(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """PyTorch takes B as one vector, or as a batch of them when it fits A without its last dim."""
    return len(b) == 1 or (len(a) - 1 == len(b) and b == a[:-1])


@public("linalg")
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Any = None) -> Tensor:
    """X with `A @ X = B`.

    Args:
        A: (*, n, n).
        B: (*, n, k), or (*, n) for one vector per matrix.
        left: False for `X @ A = B`.

    Raises:
        LinAlgError: if a matrix has no inverse.

    Example:
        >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 4.0]))
        tensor([1., 1.])
    """
    check_square(A, "linalg.solve")
    if A._a.dtype != B._a.dtype:
        raise RuntimeError(
            "linalg.solve: Expected A and B to have the same dtype, but found A of type "
            f"{title(A.dtype)} and B of type {title(B.dtype)} instead"
        )
    a, b = A._a.shape, B._a.shape
    if _is_vector(a, b) and left:
        _check_fits(a, (*b, 1), True)
        return into_same(out, columns(solve_op(A, B.unsqueeze(-1)).squeeze(-1)))
    _check_fits(a, b, left)
    if left:
        return into_same(out, solve_op(A, B))
    flipped = solve_op(A.transpose(-2, -1), B.transpose(-2, -1))
    return into_same(out, flipped.transpose(-2, -1))


def _check_fits(a: tuple[int, ...], b: tuple[int, ...], left: bool) -> None:
    if a[-1] != (b[-2] if left else b[-1]):
        equation = "AX = B" if left else "XA = B"
        raise RuntimeError(
            f"linalg.solve: Incompatible shapes of A and B for the equation {equation} "
            f"({a[-2]}x{a[-1]} and {b[-2]}x{b[-1]})"
        )


# -- triangular equations -----------------------------------------------------------------------


def _solve_triangular(xp: Any, x: Any, y: Any, *, upper: bool, left: bool, unitriangular: bool) -> Any:
    """X with x X = y, or X x = y, where one triangle of x is read; inf and NaN where its diagonal has zeros."""
    if not left:
        flipped = x.swapaxes(-2, -1), y.swapaxes(-2, -1)
        found = _solve_triangular(xp, *flipped, upper=not upper, left=True, unitriangular=unitriangular)
        return found.swapaxes(-2, -1)
    batch = broadcast_shapes(x.shape[:-2], y.shape[:-2])
    if xp is not np:
        half = xp.triu(x, int(unitriangular)) if upper else xp.tril(x, -int(unitriangular))
        if unitriangular:
            half = half + xp.eye(x.shape[-1], dtype=x.dtype)
        wide = (*batch, *y.shape[-2:])
        return xp.linalg.solve(xp.broadcast_to(half, (*batch, *x.shape[-2:])), xp.broadcast_to(y, wide))
    out: Any = np.array(np.broadcast_to(y, (*batch, *y.shape[-2:])))
    n = x.shape[-1]
    for i in reversed(range(n)) if upper else range(n):
        known = slice(i + 1, n) if upper else slice(0, i)
        row = out[..., i : i + 1, :]
        row -= x[..., i : i + 1, known] @ out[..., known, :]
        if not unitriangular:
            row /= x[..., i : i + 1, i : i + 1]
    return out


triangular_op = Op(
    _solve_triangular, "linalg_solve_triangular", broadcasts=True,
    grad_name="LinalgSolveTriangularBackward0",
    meta=lambda x, y, **_: (
        (*broadcast_shapes(x.shape[:-2], y.shape[:-2]), *y.shape[-2:]), y.dtype), facts=Facts(refuses=True, vmap="solve", layout="columns"),
)  # fmt: skip


def _triangular_dy(g: Tensor, x: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    return triangular_op(adjoint(x), g, upper=not upper, left=left, unitriangular=unitriangular)


def _of_triangle(gy: Tensor, out: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    """The gradient of the triangle that was read."""
    whole = gy @ adjoint(out) if left else adjoint(out) @ gy
    return -(whole.triu(int(unitriangular)) if upper else whole.tril(-int(unitriangular)))


def _triangular_dx(g: Tensor, x: Tensor, out: Tensor, upper: bool, left: bool, unitriangular: bool) -> Tensor:
    return _of_triangle(_triangular_dy(g, x, upper, left, unitriangular), out, upper, left, unitriangular)


triangular_op.derivative(x=_triangular_dx, y=_triangular_dy)


@triangular_op.together("x", "y")
def _triangular_both(
    g: Tensor, x: Tensor, out: Tensor, upper: bool, left: bool, unitriangular: bool, x_shape: tuple, y_shape: tuple
) -> tuple[Tensor, Tensor]:
    gy = _triangular_dy(g, x, upper, left, unitriangular)
    return _to(_of_triangle(gy, out, upper, left, unitriangular), x_shape), _to(gy, y_shape)


def _to(g: Tensor, shape: tuple) -> Tensor:
    return g if g._a.shape == shape else g.sum_to_size(shape)


@public("linalg")
def solve_triangular(
    A: Tensor, B: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False, out: Any = None
) -> Tensor:
    """X with `A @ X = B`, for a triangular A.

    Args:
        A: (*, n, n); the other triangle is not read.
        B: (*, n, k).
        upper: A is upper triangular, otherwise lower.
        left: False for `X @ A = B`.
        unitriangular: the diagonal of A is taken to be ones.

    Example:
        >>> A = torch.tensor([[1.0, 1.0], [0.0, 2.0]])
        >>> torch.linalg.solve_triangular(A, torch.tensor([[3.0], [4.0]]), upper=True)
        tensor([[1.],
                [2.]])
    """
    check_square(A, "linalg.solve_triangular", any_dtype=True)
    check_matrix(B, "linalg.solve_triangular", any_dtype=True)
    if A._a.dtype.kind not in "fc" or A._a.dtype.itemsize == 2:
        raise unsupported("triangular_solve_cpu", A.dtype)
    B = B.to(A.dtype)
    _check_fits(A._a.shape, B._a.shape, left)
    solution = triangular_op(A, B, upper=bool(upper), left=bool(left), unitriangular=bool(unitriangular))
    return into_same(out, solution)


@public("torch", "Tensor")
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """X with `A @ X = B`, from the Cholesky factor of A.

    Args:
        B: (*, n, k).
        L: the factor.
        upper: it is the upper triangular one.

    Example:
        >>> L = torch.linalg.cholesky(torch.tensor([[4.0, 0.0], [0.0, 9.0]]))
        >>> torch.cholesky_solve(torch.tensor([[4.0], [9.0]]), L)
        tensor([[1.],
                [1.]])
    """
    for name, t in (("b", B), ("u", L)):
        if t._a.ndim < 2:
            raise RuntimeError(f"{name} should have at least 2 dimensions, but has {t._a.ndim} dimensions instead")
    _check_factor(B, L)
    return into(out, row_major(out, factored_op(B, L, upper=bool(upper))))


def _check_factor(B: Tensor, L: Tensor) -> None:
    (m, n), (rows, columns) = L._a.shape[-2:], B._a.shape[-2:]
    if B._a.dtype != L._a.dtype:
        raise RuntimeError(
            f"Expected b and A to have the same dtype, but found b of type {title(B.dtype)} and A of "
            f"type {title(L.dtype)} instead."
        )
    if m != n:
        raise RuntimeError(f"A must be batches of square matrices, but they are {m} by {n} matrices")
    if n != rows:
        raise RuntimeError(
            f"Incompatible matrix sizes for cholesky_solve: each A matrix is {m} by {n} but each b "
            f"matrix is {rows} by {columns}"
        )
    if L._a.dtype.kind not in "fc" or L._a.dtype.itemsize == 2:
        raise unsupported("cholesky_solve_cpu", L.dtype)


def _cholesky_solve(xp: ArrayModule, y: Array, x: Array, *, upper: bool) -> Any:
    """X with A X = y, x the Cholesky factor of A."""
    plain = {"left": True, "unitriangular": False}
    turned = x.conj().swapaxes(-2, -1)
    lower, above = (turned, x) if upper else (x, turned)
    first = _solve_triangular(xp, lower, y, upper=False, **plain)
    return _solve_triangular(xp, above, first, upper=True, **plain)


factored_op = Op(
    _cholesky_solve, "linalg_cholesky_solve", broadcasts=True, grad_name="CholeskySolveBackward0",
    meta=lambda y, x, **_: (
        (*broadcast_shapes(x.shape[:-2], y.shape[:-2]), *y.shape[-2:]), y.dtype), facts=Facts(refuses=True, vmap="solve", layout="columns", autocast={"cpu": "float32"}),
)  # fmt: skip


def _factored_dy(g: Tensor, x: Tensor, upper: bool) -> Tensor:
    return factored_op(g, x, upper=upper)


def _of_factor(gy: Tensor, x: Tensor, out: Tensor, upper: bool) -> Tensor:
    """As in PyTorch, the gradient of both triangles."""
    both = gy @ adjoint(out)
    both = both + adjoint(both)
    return -(x @ both if upper else both @ x)


def _factored_dx(g: Tensor, x: Tensor, out: Tensor, upper: bool) -> Tensor:
    return _of_factor(_factored_dy(g, x, upper), x, out, upper)


factored_op.derivative(y=_factored_dy, x=_factored_dx)


@factored_op.together("y", "x")
def _factored_both(
    g: Tensor, x: Tensor, out: Tensor, upper: bool, x_shape: tuple, y_shape: tuple
) -> tuple[Tensor, Tensor]:
    gy = _factored_dy(g, x, upper)
    return _to(gy, y_shape), _to(_of_factor(gy, x, out, upper), x_shape)


@public("torch", "Tensor")
def cholesky_inverse(L: Tensor, upper: bool = False, *, out: Any = None) -> Tensor:
    """The inverse of a matrix from its Cholesky factor.

    Args:
        L: the factor.
        upper: it is the upper triangular one.

    Example:
        >>> torch.cholesky_inverse(torch.tensor([[2.0, 0.0], [2.0, 4.0]]))
        tensor([[ 0.3125, -0.0625],
                [-0.0625,  0.0625]])
    """
    check_square(L, "cholesky_inverse")
    n = L._a.shape[-1]
    eye = eye_like(L, n).expand(*L._a.shape)
    return into(out, cholesky_solve(eye, L, upper))


@public("linalg")
def tensorsolve(A: Tensor, B: Tensor, dims: Any = None, *, out: Any = None) -> Tensor:
    """X with `tensordot(A, X, X.ndim) = B`.

    Args:
        A: its dimensions behind those of B have as many elements as B.
        B: the right-hand side.
        dims: dimensions of A to move to the end first.

    Example:
        >>> A = torch.eye(4).reshape(2, 2, 2, 2)
        >>> torch.linalg.tensorsolve(A, torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
        tensor([[1., 2.],
                [3., 4.]])
    """
    if dims is not None:
        rest = [d for d in range(A._a.ndim) if d not in [x % A._a.ndim for x in dims]]
        A = A.permute(*rest, *[x % A._a.ndim for x in dims])
    shape = A._a.shape[B._a.ndim :]
    n = B._a.size
    if A._a.size != n * n:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == "
            f"prod(self.shape[:other.ndim]), but got {A._a.size // max(n, 1)} != {n}"
        )
    return into(out, solve(A.reshape((n, n)), B.reshape((n,))).reshape(shape))


@public("linalg")
def tensorinv(A: Tensor, ind: int = 2, *, out: Any = None) -> Tensor:
    """The inverse of a tensor seen as a matrix, for `tensordot`.

    Args:
        A: as many elements in the first `ind` dimensions as in the others.
        ind: how many dimensions are the rows.

    Example:
        >>> torch.linalg.tensorinv(torch.eye(6).reshape(2, 3, 6)).shape
        torch.Size([6, 2, 3])
    """
    if whole(ind, "ind") <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    lead, tail = A._a.shape[:ind], A._a.shape[ind:]
    if prod(lead) != prod(tail):
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == "
            f"prod(self.shape[:ind]), but got {prod(tail)} != {prod(lead)}"
        )
    found = inv(A.reshape((prod(lead), prod(tail)))).reshape((*tail, *lead))
    return into(out, row_major(out, found))
