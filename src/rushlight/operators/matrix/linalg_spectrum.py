"""Singular values and eigenvalues, with what is computed from them: pinv, rank, least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule, Shaped
from ...base.shapes import broadcast_shapes
from ...core.op import Op
from ...core.public import into, into_same, public
from ...core.tensor import Tensor, wrap
from ...core.views import current_edge
from ...runtime.facts import Facts
from ...runtime.thread import GRAD, TAPE, here
from ..made_of.return_types import named
from .linalg_rules import LinAlgError, adjoint, check_matrix, check_square, columns, eye_like
from .linalg_solve import solve_op, solve_triangular

# -- singular values ----------------------------------------------------------------------------


def _converged(xp: ArrayModule, x: Array, fn: Any, name: str) -> Any:
    """`fn()`, with PyTorch's error. LAPACK on the CPU may never return if the matrix holds an infinity."""
    if xp is np and not xp.isfinite(x).all():
        if name == "linalg.eig":
            raise RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs.")
        raise LinAlgError(
            f"{name}: The algorithm failed to converge because the input matrix contained non-finite values."
        )
    try:
        return fn()
    except np.linalg.LinAlgError:
        raise LinAlgError(
            f"{name}: The algorithm failed to converge because the input matrix is ill-conditioned "
            "or has too many repeated values."
        ) from None


def _svd(xp: ArrayModule, x: Array, *, full: bool) -> Any:
    return tuple(_converged(xp, x, lambda: xp.linalg.svd(x, full_matrices=full), "linalg.svd"))


def _real_dtype(dtype: Any) -> Any:
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def _svd_meta(x: Shaped, *, full: bool) -> list:
    *batch, m, n = x.shape
    k = min(m, n)
    return [
        ((*batch, m, m if full else k), x.dtype),
        ((*batch, k), _real_dtype(x.dtype)),
        ((*batch, n if full else k, n), x.dtype),
    ]


svd_op = Op(
    _svd,
    "linalg_svd",
    grad_name="LinalgSvdBackward0",
    meta=_svd_meta,
    facts=Facts(refuses=True, vmap="as_it_is", layout="columns", autocast={"cpu": "float32"}),
)


@svd_op.backward
def _svd_backward(gs: list, out: Tensor, out1: Tensor, out2: Tensor, x_shape: tuple) -> tuple:
    k = min(x_shape[-2:])
    u, s, vh = out[..., :k], out1, out2[..., :k, :]
    gu = None if gs[0] is None else gs[0][..., :k]
    gvh = None if gs[2] is None else gs[2][..., :k, :]
    inner = _singular_terms(u, s, vh, gu, gs[1], gvh)
    total = u @ inner @ vh
    if gu is not None and x_shape[-2] > k:
        side = gu / s.unsqueeze(-2)
        total = total + (side - u @ (adjoint(u) @ side)) @ vh
    if gvh is not None and x_shape[-1] > k:
        side = gvh / s.unsqueeze(-1)
        total = total + u @ (side - (side @ adjoint(vh)) @ vh)
    return (total,)


def _singular_terms(u: Tensor, s: Tensor, vh: Tensor, gu: Any, g: Any, gvh: Any) -> Tensor:
    """What stands between U and V^H in the gradient."""
    k = s._a.shape[-1]
    eye = eye_like(s, k)
    squares = s * s
    gaps = squares.unsqueeze(-2) - squares.unsqueeze(-1) + eye
    total = None
    if gu is not None:
        skew = adjoint(u) @ gu
        skew = skew - adjoint(skew)
        total = (skew / gaps) * s.unsqueeze(-2)
        if u.is_complex():  # the phase of a singular pair moves with it
            total = total - (skew * eye) / (gaps * 1.0) * s.unsqueeze(-2)
            total = total + (skew * eye) / (2 * s).unsqueeze(-2)
    if gvh is not None:
        skew = vh @ adjoint(gvh)
        skew = skew - adjoint(skew)
        if u.is_complex():
            skew = skew - skew * eye
        term = s.unsqueeze(-1) * (skew / gaps)
        total = term if total is None else total + term
    if g is not None:
        term = g.unsqueeze(-1) * eye
        total = term if total is None else total + term
    assert total is not None
    return total.to(u.dtype)


def _check_svd(name: str, A: Tensor, driver: str | None) -> None:
    check_matrix(A, name)
    if driver is not None and not A.is_cuda:
        raise RuntimeError(
            "torch.linalg.svd: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


_LINALG_SVD = named("linalg_svd", "U", "S", "Vh")


@public("linalg")
def svd(A: Tensor, full_matrices: bool = True, *, driver: str | None = None, out: Any = None) -> Any:
    """A matrix as `U @ diag(S) @ Vh`: orthogonal columns, singular values (the largest first), orthogonal rows.

    Args:
        A: (*, m, n).
        full_matrices: square U and Vh; otherwise only the columns and rows that count.
        driver: PyTorch's choice of a GPU method; there is one here, and none may be named on the CPU.

    Example:
        >>> U, S, Vh = torch.linalg.svd(torch.tensor([[3.0, 0.0], [0.0, 2.0]]))
        >>> S
        tensor([3., 2.])
    """
    _check_svd("linalg.svd", A, driver)
    return into_same(out, _LINALG_SVD(*svd_op(A, full=bool(full_matrices))))


@public("linalg")
def svdvals(A: Tensor, *, driver: str | None = None, out: Any = None) -> Tensor:
    """As `svd`, without vectors: the singular values alone, the largest first."""
    _check_svd("linalg.svdvals", A, driver)
    if here.state & TAPE != GRAD or current_edge(A) is None:  # nobody asks for the vectors
        return into_same(out, _values_op(A))
    return into_same(out, svd_op(A, full=False)[1])


def _svd_values(xp: ArrayModule, x: Array) -> Any:
    return _converged(xp, x, lambda: xp.linalg.svd(x, compute_uv=False), "linalg.svd")


_values_op = Op(
    _svd_values,
    "linalg_svdvals",
    grad_name="LinalgSvdBackward0",
    meta=lambda x: ((*x.shape[:-2], min(x.shape[-2:])), _real_dtype(x.dtype)),
    facts=Facts(refuses=True, vmap="as_it_is", autocast={"cpu": "float32"}),
)


def _values_dx(g: Tensor, x: Tensor) -> Tensor:
    u, _, vh = svd_op(x, full=False)
    return (u * g.unsqueeze(-2)) @ vh


_values_op.derivative(x=_values_dx)


_SVD = named("svd", "U", "S", "V")


@public(name="svd")
def _torch_svd(input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """As `torch.linalg.svd`: the older name; it returns V and not its conjugate transpose.

    Args:
        some: only the columns that count.
        compute_uv: False for singular values, with zeros for U and V.
    """
    u, s, vh = svd(input, full_matrices=not some)
    if not compute_uv:
        u, vh = u.detach() * 0, vh.detach() * 0
    return into_same(out, _SVD(u, s, adjoint(vh)))


# -- eigenvalues --------------------------------------------------------------------------------


def _eigh(xp: ArrayModule, x: Array, *, uplo: str) -> Any:
    return tuple(_converged(xp, x, lambda: xp.linalg.eigh(x, UPLO=uplo), "linalg.eigh"))


eigh_op = Op(
    _eigh, "linalg_eigh", grad_name="LinalgEighBackward0",
    meta=lambda x, *, uplo: [(x.shape[:-1], _real_dtype(x.dtype)), (x.shape, x.dtype)], facts=Facts(refuses=True, vmap="as_it_is", layout="columns", autocast={"cpu": "float32"}),
)  # fmt: skip


@eigh_op.backward
def _eigh_backward(gs: list, out: Tensor, out1: Tensor) -> tuple:
    values, v = out, out1
    eye = eye_like(values, values._a.shape[-1])
    inner = None
    if gs[1] is not None:
        gaps = values.unsqueeze(-2) - values.unsqueeze(-1) + eye
        inner = (adjoint(v) @ gs[1]) / gaps * (1 - eye)
    if gs[0] is not None:
        term = (gs[0].unsqueeze(-1) * eye).to(v.dtype)
        inner = term if inner is None else inner + term
    if inner is None:
        return (None,)
    return (v @ ((inner + adjoint(inner)) * 0.5) @ adjoint(v),)


_LINALG_EIGH = named("linalg_eigh", "eigenvalues", "eigenvectors")


@public("linalg")
def eigh(A: Tensor, UPLO: str = "L", *, out: Any = None) -> Any:
    """Eigenvalues, in growing order, and eigenvectors of a matrix that equals its conjugate transpose.

    Args:
        A: (*, n, n); only one triangle is read.
        UPLO: "L" for the lower triangle, "U" for the upper one.

    Example:
        >>> L, Q = torch.linalg.eigh(torch.tensor([[2.0, 1.0], [1.0, 2.0]]))
        >>> L
        tensor([1., 3.])
    """
    check_square(A, "linalg.eigh")
    _check_uplo(UPLO)
    pair = eigh_op(A, uplo=UPLO.upper())
    return into_same(out, _LINALG_EIGH(*pair))


@public("linalg")
def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Any = None) -> Tensor:
    """As `eigh`, without vectors: the eigenvalues alone, in growing order."""
    check_square(A, "linalg.eigvalsh")
    _check_uplo(UPLO)
    return into_same(out, eigh_op(A, uplo=UPLO.upper())[0])


def _check_uplo(uplo: str) -> None:
    if uplo.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {uplo}")


def _eig(xp: ArrayModule, x: Array) -> Any:
    values, vectors = _converged(xp, x, lambda: xp.linalg.eig(x), "linalg.eig")
    dtype = np.complex64 if x.dtype in (np.float32, np.complex64) else np.complex128
    return values.astype(dtype), vectors.astype(dtype)


def _eig_meta(x: Shaped) -> list:
    dtype = np.dtype(np.complex64 if x.dtype in (np.float32, np.complex64) else np.complex128)
    return [(x.shape[:-1], dtype), (x.shape, dtype)]


eig_op = Op(
    _eig,
    "linalg_eig",
    grad_name="LinalgEigBackward0",
    meta=_eig_meta,
    facts=Facts(refuses=True, vmap="as_it_is", layout="columns", autocast={"cpu": "float32"}),
)


@eig_op.backward
def _eig_backward(gs: list, x: Tensor, out: Tensor, out1: Tensor) -> tuple:
    values, v = out, out1
    vh = adjoint(v)
    eye = eye_like(values, values._a.shape[-1])
    inner = None
    if gs[1] is not None:
        down = vh @ gs[1]
        # Eigenvectors keep length one: the part of the gradient along them does not count.
        along = (vh @ v) * (down * eye).real.sum(-2, keepdim=True)
        gaps = (values.unsqueeze(-2) - values.unsqueeze(-1)).conj() + eye
        inner = (down - along) / gaps * (1 - eye)
    if gs[0] is not None:
        term = gs[0].unsqueeze(-1) * eye
        inner = term if inner is None else inner + term
    if inner is None:
        return (None,)
    total = solve_op(vh, inner @ vh)
    return (total if x.is_complex() else total.real,)


_LINALG_EIG = named("linalg_eig", "eigenvalues", "eigenvectors")


@public("linalg")
def eig(A: Tensor, *, out: Any = None) -> Any:
    """Eigenvalues and eigenvectors of a square matrix, always complex.

    Args:
        A: (*, n, n).

    Example:
        >>> torch.linalg.eig(torch.tensor([[2.0, 0.0], [0.0, 3.0]])).eigenvalues
        tensor([2.+0.j, 3.+0.j])
    """
    check_square(A, "linalg.eig")
    return into_same(out, _LINALG_EIG(*eig_op(A)))


@public("linalg")
def eigvals(A: Tensor, *, out: Any = None) -> Tensor:
    """As `eig`, without vectors: the eigenvalues alone, always complex."""
    check_square(A, "linalg.eigvals")
    return into_same(out, eig_op(A)[0])


# -- pseudo-inverse, rank, least squares --------------------------------------------------------


def _limits(a: Array, atol: float | None, rtol: float | None) -> tuple[float, float]:
    if rtol is None:
        rtol = 0.0 if atol else max(a.shape[-2:], default=0) * float(np.finfo(a.dtype).eps)
    return atol or 0.0, rtol


def _pinv(xp: ArrayModule, x: Array, *, atol: float, rtol: float, hermitian: bool) -> Any:
    """The Moore-Penrose inverse; singular values below max(atol, rtol * largest) count as zero."""
    if 0 in x.shape[-2:]:
        return xp.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    u, s, vh = _svd(xp, x, full=False)
    limit = xp.maximum(atol, rtol * s.max(axis=-1, keepdims=True))
    inverse = xp.where(s > limit, 1 / xp.where(s > limit, s, 1), 0).astype(s.dtype)
    back = xp.matmul(vh.conj().swapaxes(-1, -2) * inverse[..., None, :], u.conj().swapaxes(-1, -2))
    return back.astype(x.dtype, copy=False)


pinv_op = Op(
    _pinv, "linalg_pinv", grad_name="LinalgPinvBackward0",
    meta=lambda x, **attrs: ((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype), facts=Facts(refuses=True, vmap="as_it_is", autocast={"cpu": "float32"}),
)  # fmt: skip


def _pinv_dx(g: Tensor, x: Tensor, out: Tensor) -> Tensor:
    p, ph, gh = out, adjoint(out), adjoint(g)
    first = gh @ p @ ph
    second = ph @ p @ gh
    return -(ph @ g @ ph) + (first - x @ (p @ first)) + (second - (second @ p) @ x)


pinv_op.derivative(x=_pinv_dx)


@public("linalg")
def pinv(A: Tensor, rcond: Any = None, hermitian: bool = False, *, atol: Any = None,
         rtol: Any = None, out: Any = None) -> Tensor:  # fmt: skip
    """The pseudo-inverse of a matrix: its inverse where it has one, the best solution of equations where not.

    Args:
        A: (*, m, n).
        rcond: an older name of `rtol`.
        hermitian: A equals its conjugate transpose, which is quicker.
        atol: singular values below this count as zero.
        rtol: the same, relative to the largest one.

    Example:
        >>> torch.linalg.pinv(torch.tensor([[2.0, 0.0], [0.0, 0.0]]))
        tensor([[0.5000, 0.0000],
                [0.0000, 0.0000]])
    """
    check_matrix(A, "linalg.pinv")
    low, relative = _limits(A._a, _number(atol), _number(rcond if rtol is None else rtol))
    return into(out, pinv_op(A, atol=low, rtol=relative, hermitian=bool(hermitian)))


def _number(value: Any) -> float | None:
    return value.item() if isinstance(value, Tensor) else value


@public()
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """As `torch.linalg.pinv`.

    Args:
        rcond: singular values below this part of the largest one count as zero.
    """
    return pinv(input, rcond)


@public("linalg")
def matrix_rank(A: Tensor, tol: Any = None, hermitian: bool = False, *, atol: Any = None,
                rtol: Any = None, out: Any = None) -> Tensor:  # fmt: skip
    """As `pinv`, which has the same arguments but for `tol`, an older name of `atol`: how many singular values of a matrix are not zero."""
    check_matrix(A, "linalg.matrix_rank")
    if hermitian:  # only what is not above the diagonal is read
        A = A.tril() + A.tril(-1).mH
    low = tol if atol is None else atol
    if tol is not None and rtol is None:
        rtol = 0.0
    if 0 in A._a.shape[-2:]:
        shape = broadcast_shapes(A._a.shape[:-2], *[t._a.shape for t in (low, rtol) if isinstance(t, Tensor)])
        return into(out, wrap(np.zeros(shape, np.int64)).to(A.device))
    s = svd_op(A.detach(), full=False)[1]
    if isinstance(low, Tensor) or isinstance(rtol, Tensor):  # a limit for each matrix
        given, relative = (0.0 if t is None else t for t in (low, rtol))
        given, relative = (A.new_tensor(t, dtype=s.dtype) if not isinstance(t, Tensor) else t.detach() for t in (given, relative))  # fmt: skip
        if rtol is None:
            relative = (given <= 0).to(s.dtype) * _limits(A._a, None, None)[1]
        limit = (s.amax(-1) * relative).maximum(given).unsqueeze(-1)
    else:
        low, relative = _limits(A._a, low, rtol)
        limit = (s.amax(-1, keepdim=True) * relative).clamp(min=low)
    return into(out, (s > limit).sum(-1))


_LINALG_LSTSQ = named("linalg_lstsq", "solution", "residuals", "rank", "singular_values")


@public("linalg")
def lstsq(A: Tensor, B: Tensor, rcond: Any = None, *, driver: str | None = None, out: Any = None) -> Any:
    """X that brings `A @ X` as near to B as possible; also residuals, rank and singular values.

    Args:
        A: (*, m, n).
        B: (*, m, k).
        rcond: singular values below this part of the largest one count as zero.
        driver: the LAPACK method, "gels", "gelsy", "gelsd" or "gelss"; on a GPU "gels", which takes full rank for granted.

    Example:
        >>> A = torch.tensor([[1.0], [1.0]])
        >>> torch.linalg.lstsq(A, torch.tensor([[1.0], [3.0]])).solution
        tensor([[2.0000]])
    """
    known = ("gels",) if A.is_cuda else ("gels", "gelsy", "gelsd", "gelss")
    if driver is not None and driver not in known:
        raise RuntimeError(f"torch.linalg.lstsq: parameter `driver` should be one of ({', '.join(known)})")
    driver = driver or ("gels" if A.is_cuda else "gelsy")
    check_matrix(A, "torch.linalg.lstsq")
    vector = B._a.ndim == A._a.ndim - 1
    b = B.unsqueeze(-1) if vector else B
    if A._a.shape[-2] != b._a.shape[-2]:
        raise RuntimeError("torch.linalg.lstsq: input.size(-2) should match other.size(-2)")
    from ..image.padding import pad

    more = max(0, A._a.shape[-2] - A._a.shape[-1])  # LAPACK leaves as many rows below the solution
    tall = A._a.shape[-2] >= A._a.shape[-1]
    found = _solved_by_factors(A, b) if A.is_cuda and tall else pinv(A, rcond) @ b
    solution = columns(pad(found, (0, 0, 0, more))).narrow(-2, 0, A._a.shape[-1])
    rest = _lstsq_extras(A, b, solution, driver, rcond)
    return into(out, _LINALG_LSTSQ(solution.squeeze(-1) if vector else solution, *rest))


def _solved_by_factors(a: Tensor, b: Tensor) -> Tensor:
    """The same for matrices of full rank with no fewer rows than columns, without their singular values."""
    from .linalg_factor import qr

    q, r = qr(a)
    return solve_triangular(r, adjoint(q) @ b, upper=True)


def _lstsq_extras(a: Tensor, b: Tensor, x: Tensor, driver: str, rcond: Any) -> tuple:
    values = wrap(np.zeros(0, _real_dtype(a._a.dtype))).to(a.device)
    residuals = a.reshape(-1)[:0].abs() * b.reshape(-1)[:0].abs()  # none, and yet of these
    rank = wrap(np.zeros(0, np.int64)).to(a.device)
    if driver != "gels":
        rank = matrix_rank(a.detach(), rtol=rcond)
    if driver in ("gelsd", "gelss"):
        values = svdvals(a.detach())
    if driver != "gelsy" and a._a.shape[-2] > a._a.shape[-1]:
        gap = (a @ x - b).abs()
        residuals = (gap * gap).sum(-2)
        if driver == "gels" and not a._a.shape[-1]:
            residuals = residuals - residuals.detach()  # 0 with a gradient, as PyTorch says
    return residuals, rank, values
