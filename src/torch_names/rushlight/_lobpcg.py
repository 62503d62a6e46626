"""`lobpcg`: a few eigenpairs of a large symmetric matrix, from its products with blocks of vectors alone.

Each step looks for the best vectors among those of the last step, their residuals and the last direction (Knyazev 2001), in a
basis that is orthonormal in B: its Gram matrix is decomposed, and directions that say nothing new are left out, twice over.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._linalg_utils import matmul, qform
from .base import dtypes
from .core.gradients.function import Function
from .core.public import NAMESPACES
from .core.tensor import Tensor
from .operators.shape.join import cat, stack

__all__ = ["LOBPCG", "lobpcg"]
_LINALG = NAMESPACES["linalg"]


class LOBPCG:
    """The state of an iteration, which a tracker is given after each step.

    Args:
        A, B: the matrices; B may be None.
        X: the vectors it starts from.
        iK: the preconditioner, or None.
        iparams, fparams, bparams: sizes and limits, tolerances, choices.
        method: "ortho" or "basic".
        tracker: called after each step.

    Example:
        >>> seen = []
        >>> _ = torch.lobpcg(torch.eye(9), 1, tracker=lambda state: seen.append(state.ivars["istep"]))
        >>> seen
        [1]
    """

    def __init__(
        self, A: Any, B: Any, X: Tensor, iK: Any, iparams: dict[str, int], fparams: dict[str, float],
        bparams: dict[str, bool], method: str, tracker: Callable | None,
    ) -> None:  # fmt: skip
        self.A, self.B, self.iK, self.X = A, B, iK, X
        self.iparams, self.fparams, self.bparams, self.method, self.tracker = iparams, fparams, bparams, method, tracker
        self.E, self.S = X.new_zeros(X.shape[1]), self._orthonormal(X)
        self.R = X.new_zeros(X.shape)
        self.tvars: dict[str, Tensor] = {}
        self.ivars: dict[str, int] = {"istep": 0, "iterations_left": iparams["niter"], "converged_count": 0}
        size = X.norm()
        self.fvars: dict[str, float] = {
            name: float(matmul(M, X).norm() / size) for name, M in (("A_norm", A), ("B_norm", B))
        }
        self.bvars: dict[str, bool] = {}

    def run(self) -> None:
        """Steps, until enough pairs are known."""
        while True:
            self.update()
            if self.tracker is not None:
                self.tracker(self)
            if self.stop_iteration():
                return

    def stop_iteration(self) -> bool:
        """Whether enough pairs are known, no step is left, or the tracker has said `bvars["force_stop"]`."""
        enough = self.ivars["converged_count"] >= self.iparams["k"]
        return enough or self.ivars["iterations_left"] == 0 or self.bvars.get("force_stop", False)

    def update(self) -> None:
        """One step: the best vectors in the span of S, their residuals, and the next S."""
        n, last = self.X.shape[1], self.X
        values, Z = _LINALG["eigh"](qform(self.A, self.S))
        if self.bparams["largest"]:
            values, Z = values.flip(-1), Z.flip(-1)
        self.E, self.X = values[:n], self.S @ Z[:, :n]
        self.update_residual()
        self.update_converged_count()
        first = self.ivars["istep"] == 0
        direction = self.X[:, :0] if first else last - self.X @ (self.X.mH @ matmul(self.B, last))
        open_ = self.ivars["converged_count"]
        W = self._orthonormal(matmul(self.iK, self.R[:, open_:]), self.X)
        P = self._orthonormal(direction[:, open_:], cat([self.X, W], 1))
        self.S = cat([self.X, W, P], 1)
        self.ivars["istep"] += 1
        self.ivars["iterations_left"] -= 1

    def update_residual(self) -> None:
        """What is left of `A X - B X E`."""
        self.R = matmul(self.A, self.X) - matmul(self.B, self.X) * self.E

    def update_converged_count(self) -> int:
        """How many of the first pairs have a residual below the tolerance, each beside the size of its terms."""
        scale = self.X.norm(dim=0) * (self.fvars["A_norm"] + self.E.abs() * self.fvars["B_norm"])
        self.tvars["rerr"] = error = self.R.norm(dim=0) / scale
        self.ivars["converged_count"] = int((error < self.fparams["tol"]).cumprod(0).sum())
        return self.ivars["converged_count"]

    def _orthonormal(self, V: Tensor, beside: Tensor | None = None) -> Tensor:
        """A basis of the span of V, less that of `beside`, orthonormal in B."""
        eps = dtypes.finfo(V.dtype).eps
        for _ in range(3):  # what rounding has left of the first time goes with the next ones
            V = V / V.norm(dim=0).clamp(min=dtypes.finfo(V.dtype).tiny)
            before = V
            if beside is not None:
                V = V - beside @ (beside.mH @ matmul(self.B, V))
            V = V[:, V.norm(dim=0) > 10 * eps * before.norm(dim=0)]
            if not V.shape[1]:
                return V
            size, Z = _LINALG["eigh"](qform(self.B, V))
            keep = size > 100 * eps * size[-1]
            V = V @ (Z[:, keep] / size[keep].sqrt())
        return V


class _OfMatrix(Function):
    """Eigenpairs that carry gradients to the matrix, by all of its eigenvectors."""

    @staticmethod
    def forward(ctx: Any, A: Tensor, args: tuple, options: dict[str, Any]) -> Any:
        E, X = _solved(A.detach(), *args, **options)
        ctx.save_for_backward(A, E, X)
        return E, X

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        A, E, X = ctx.saved_tensors
        to_values, to_vectors = grads
        values, V = _LINALG["eigh"](A)
        apart = E.unsqueeze(-2) - values.unsqueeze(-1)
        near = apart.abs() == apart.abs().amin(-2, keepdim=True)  # each beside itself
        inner = (V.mH @ to_vectors) / apart.masked_fill(near, 1.0)
        return X @ (to_values.unsqueeze(-1) * X.mH) + V @ inner.masked_fill(near, 0.0) @ X.mH, None, None


def _solved(
    A: Any, k: int | None, B: Any, X: Tensor | None, n: int | None, iK: Any, niter: int | None, tol: float | None,
    largest: bool | None, method: str | None, tracker: Callable | None, **parameters: dict[str, Any],
) -> tuple[Tensor, Tensor]:  # fmt: skip
    m = A.shape[-1]
    if A.shape[-2] != m:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and A.shape != B.shape:
        raise AssertionError(f"A and B must have same shape, got {A.shape} vs {B.shape}")
    k = (1 if X is None else X.shape[-1]) if k is None else k
    n = (k if n is None else n) if X is None else X.shape[-1]
    if m < 3 * n:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of "
            f"requested eigenpairs (={n})"
        )
    if A.dim() > 2:
        lead = A.shape[:-2]
        flat: list[Any] = [None if t is None else t.reshape(-1, *t.shape[-2:]) for t in (A, B, X)]
        pairs = []
        for i in range(flat[0].shape[0]):
            a, b, x = (None if t is None else t[i] for t in flat)
            told: dict[str, Any] = {
                **parameters,
                "ortho_iparams": {**(parameters.get("ortho_iparams") or {}), "batch_index": i},
            }
            pairs.append(_solved(a, k, b, x, n, iK, niter, tol, largest, method, tracker, **told))
        E, V = (stack(list(found)) for found in zip(*pairs))
        return E.reshape(*lead, k), V.reshape(*lead, m, k)
    dtype = A.dtype if A.dtype.is_floating_point else dtypes.float32
    start = NAMESPACES["torch"]["randn"]((m, n), dtype=dtype, device=A.device) if X is None else X
    if tuple(start.shape) != (m, n):
        raise AssertionError(f"X shape mismatch: got {start.shape}, expected {(m, n)}")
    tol = dtypes.finfo(dtype).eps ** 0.5 if tol is None else tol
    given = {name: parameters.get(f"ortho_{name}") or {} for name in ("iparams", "fparams", "bparams")}
    state = LOBPCG(
        A, B, start, iK, {"m": m, "n": n, "k": k, "niter": 1000 if niter is None else niter, **given["iparams"]},
        {"tol": tol, **given["fparams"]}, {"largest": largest is not False, **given["bparams"]}, method or "ortho", tracker,
    )  # fmt: skip
    state.run()
    return state.E[:k], state.X[:, :k]


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The `k` largest or smallest eigenvalues of a symmetric matrix, and their vectors, by its products alone.

    Args:
        A: the matrix, dense or sparse, or several dense ones.
        k: how many pairs.
        B: the matrix of a generalised problem `A x = e B x`.
        X: vectors to begin with; random ones if not given.
        n: how many of them, at most a third of the rows.
        iK: a matrix near the inverse of A, which residuals are multiplied by.
        niter: how many steps at most; 1,000 if not given.
        tol: how small a residual is, beside the size of its terms.
        largest: whether the largest values are wanted; so if not given.
        method: "ortho" and "basic" are the same way here.
        tracker: called with the `LOBPCG` after each step.
        ortho_iparams, ortho_fparams, ortho_bparams: more parameters that the tracker sees.

    Raises:
        ValueError: if the matrix has fewer than 3 n rows.

    Example:
        >>> E, V = torch.lobpcg(torch.diag(torch.arange(1.0, 10.0)), 2)
        >>> E
        tensor([9., 8.])
    """
    args = k, B, X, n, iK, niter, tol, largest, method, tracker
    options: dict[str, Any] = {
        "ortho_iparams": ortho_iparams,
        "ortho_fparams": ortho_fparams,
        "ortho_bparams": ortho_bparams,
    }
    if not (A.requires_grad or (B is not None and B.requires_grad)):
        return _solved(A, *args, **options)
    if A.layout.name != "strided" or B is not None:
        raise ValueError(
            "lobpcg.backward does not support sparse input yet." if B is None
            else "lobpcg.backward does not support backward with B != I yet."
        )  # fmt: skip
    return _OfMatrix.apply((A + A.mT) / 2, args, options)
