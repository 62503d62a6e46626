"""The orthogonal parametrization: a matrix with orthonormal columns from a free one."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

import numpy as np

from ...core.modes import no_grad
from ...core.public import NAMESPACES
from ...core.tensor import Tensor
from ...operators.create.from_data import from_numpy
from ..modules.module import Module


class _OrthMaps(Enum):
    matrix_exp = auto()
    cayley = auto()
    householder = auto()


def _linalg(name: str) -> Any:
    return NAMESPACES["linalg"][name]


def _eye(n: int, like: Tensor) -> Tensor:
    return NAMESPACES["torch"]["eye"](n, dtype=like.dtype, device=like.device)


def _tall(x: Tensor) -> tuple[Tensor, bool]:
    """The matrix, transposed if it has fewer rows than columns, and whether it was."""
    turned = x.size(-2) < x.size(-1)
    return (x.mT if turned else x), turned


def _make_orthogonal(a: Tensor) -> Tensor:
    """The orthogonal factor of a tall matrix, with the signs that make it unique."""
    q, r = _linalg("qr")(a)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


def _is_orthogonal(q: Tensor) -> bool:
    n, k = q.size(-2), q.size(-1)
    if n < k:
        return False
    gram = q.mH @ q
    eps = 10.0 * n * {2: 1e-3, 4: 1.1920929e-07, 8: 2.220446049250313e-16}.get(q.itemsize, 1e-7)
    return bool(((gram - _eye(k, gram)).abs() <= eps).all())


class _Orthogonal(Module):
    """Maps an unconstrained matrix to one with orthonormal columns (rows, when it is wide)."""

    base: Tensor

    def __init__(
        self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True
    ) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == _OrthMaps.householder:
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, x: Tensor) -> Tensor:
        x, turned = _tall(x)
        if self.orthogonal_map == _OrthMaps.householder:
            q = self._householder(x)
        else:
            q = self._from_skew(x)
        if hasattr(self, "base") and self.base is not None:
            q = self.base @ q
        return q.mT if turned else q

    def _householder(self, x: Tensor) -> Tensor:
        a = x.tril(diagonal=-1)
        tau = 2.0 / (1.0 + (a * a).sum(dim=-2))
        q = _linalg("householder_product")(a, tau)
        # the diagonal has signs, which reflections cannot produce and training must not change
        return q * x.detach().diagonal(dim1=-2, dim2=-1).unsqueeze(-2)

    def _from_skew(self, x: Tensor) -> Tensor:
        """The exponential, or Cayley's transform, of the skew matrix below the diagonal."""
        n, k = x.size(-2), x.size(-1)
        lower = x.tril()
        if n != k:
            pad = x.new_zeros((*x.shape[:-1], n - k))
            lower = NAMESPACES["torch"]["cat"]([lower, pad], dim=-1)
        skew = lower - lower.mH
        if self.orthogonal_map == _OrthMaps.matrix_exp:
            q = _linalg("matrix_exp")(skew)
        else:
            identity = _eye(n, skew)
            q = _linalg("solve")(identity - 0.5 * skew, identity + 0.5 * skew)
        return q[..., :k] if n != k else q

    def right_inverse(self, q: Tensor) -> Tensor:
        """A free matrix that `forward` maps to `q`, or to its orthogonal part."""
        if q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {q.shape}."
            )
        with no_grad():
            tall, turned = _tall(q)
            if not hasattr(self, "base"):
                return self._untrivialised(q, tall, turned)
            orthogonal = tall if _is_orthogonal(tall) else _make_orthogonal(tall)
            # With a base, zero is mapped to the base: keep Q as the base and begin at zero.
            self.base = self._completed(orthogonal)
            start = tall.new_zeros(tall.shape)
            if self.orthogonal_map == _OrthMaps.householder:
                start.diagonal(dim1=-2, dim2=-1).fill_(-1.0)  # cancels the signs of the reflections
            return start.mT if turned else start

    def _completed(self, q: Tensor) -> Tensor:
        """Add columns until the matrix is square, so that it can be the base."""
        n, k = q.size(-2), q.size(-1)
        if n == k:
            return q.clone()
        noise = q.new_empty((*q.shape[:-1], n - k)).normal_()
        full = _make_orthogonal(NAMESPACES["torch"]["cat"]([q, noise], dim=-1))
        full[..., :k] = q
        return full

    def _untrivialised(self, q: Tensor, tall: Tensor, turned: bool) -> Tensor:
        if self.orthogonal_map != _OrthMaps.householder:
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        # runs once, when the weight is set: LAPACK's reflections, on the host
        packed, tau = np.linalg.qr(tall.detach().cpu().numpy(), mode="raw")
        a = packed.swapaxes(-2, -1).copy()
        k = np.arange(a.shape[-1])
        # where LAPACK makes no reflection (tau is 0), forward makes one: undo its sign
        a[..., k, k] = np.sign(a[..., k, k]) * np.where(tau == 0, -1, 1)
        a = from_numpy(a).to(tall.device)
        a = a.tril()
        return a.mT if turned else a
