"""`svd_lowrank` and `pca_lowrank`: the largest singular values by random projection.

Halko, Martinsson and Tropp 2009, "Finding structure with randomness", algorithms 4.4 and 5.1.
"""

from __future__ import annotations

from .core.public import NAMESPACES
from .core.tensor import Tensor
from .linalg import qr, svd  # type: ignore[attr-defined]

__all__ = ["pca_lowrank", "svd_lowrank"]


def _basis(a: Tensor, q: int, niter: int | None, m: Tensor | None) -> Tensor:
    """Orthonormal columns that span most of what `a - m` reaches."""

    def apply(x: Tensor) -> Tensor:
        return a @ x if m is None else a @ x - m @ x

    def apply_back(x: Tensor) -> Tensor:
        return a.mH @ x if m is None else a.mH @ x - m.mH @ x

    drawn = NAMESPACES["torch"]["randn"](a.shape[-1], q, dtype=a.dtype, device=a.device)
    basis = qr(apply(drawn)).Q
    for _ in range(2 if niter is None else niter):
        basis = qr(apply_back(basis)).Q
        basis = qr(apply(basis)).Q
    return basis


def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """An approximate singular value decomposition with few columns: `A` is about `U @ diag(S) @ V.mH`.

    Args:
        A: (*, m, n).
        q: how many columns; somewhat more than the rank expected.
        niter: how often to improve the guess.
        M: a matrix that is subtracted from A first.

    Example:
        >>> g = torch.manual_seed(0)
        >>> A = torch.ones(5, 1) @ torch.arange(4.0)[None]
        >>> U, S, V = torch.svd_lowrank(A, q=2)
        >>> torch.allclose(U @ torch.diag(S) @ V.mT, A, atol=1e-4)
        True
    """
    q = 6 if q is None else q
    wide = A.shape[-2] < A.shape[-1]
    m = None if M is None else M.broadcast_to(A.shape)
    a, m = (A.mH, None if m is None else m.mH) if wide else (A, m)
    basis = _basis(a, q, niter, m)
    b = basis.mH @ a if m is None else basis.mH @ (a - m)
    u, s, vh = svd(b, full_matrices=False)
    u, v = basis @ u, vh.mH
    return (v, s, u) if wide else (u, s, v)


def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """The main directions of rows of data, found approximately: `svd_lowrank` of the centred matrix.

    Args:
        A: (*, m, n), one row for every observation.
        q: how many directions; at most 6 if not given.
        center: subtract the mean of every column first.
        niter: how often to improve the guess.

    Example:
        >>> g = torch.manual_seed(0)
        >>> U, S, V = torch.pca_lowrank(torch.arange(12.0).reshape(4, 3), q=1)
        >>> V.abs()
        tensor([[0.5774],
                [0.5774],
                [0.5774]])
    """
    rows, columns = A.shape[-2:]
    if q is None:
        q = min(6, rows, columns)
    elif not 0 <= q <= min(rows, columns):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(rows, columns)}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    centred = A - A.mean(-2, keepdim=True) if center else A
    return svd_lowrank(centred, q, niter=niter)
