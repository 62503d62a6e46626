"""Ready parametrizations: weight norm, spectral norm and orthogonality."""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

import numpy as np

from ...core.modes import no_grad
from ...core.public import NAMESPACES
from ...core.tensor import Tensor
from ...operators.create.from_data import from_numpy
from .. import functional as F
from ..modules import conv
from ..modules.module import Module
from . import parametrize
from ._norms import as_matrix, norm_except_dim, power_steps, scaled_to_norm

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]


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

    def __init__(self, weight: Tensor, orthogonal_map: _OrthMaps, *, use_trivialization: bool = True) -> None:
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
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of shape {q.shape}."
            )
        with no_grad():
            tall, turned = _tall(q)
            if not hasattr(self, "base"):
                return self._untrivialised(q, tall, turned)
            orthogonal = tall if _is_orthogonal(tall) else _make_orthogonal(tall)
            # keep Q as the base and begin at what is mapped to the identity
            self.base = self._completed(orthogonal)
            start = tall.new_zeros(tall.shape)
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
        return a.mT if turned else a


_TRANSPOSED = (conv.ConvTranspose1d, conv.ConvTranspose2d, conv.ConvTranspose3d)


class _WeightNorm(Module):
    """A weight from its norm (original0) and direction (original1)."""

    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Tensor, weight_v: Tensor) -> Tensor:
        return scaled_to_norm(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Tensor) -> tuple[Tensor, Tensor]:
        return norm_except_dim(weight, 2, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a weight into its length and its direction, and train both.

    Args:
        module: a module with the weight.
        name: the weight's name.
        dim: lengths are taken over all other dimensions; None for one length.

    Returns:
        the module; `module.parametrizations.weight` has `original0` (lengths) and `original1`
        (directions).

    Example:
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(4, 2))
        >>> for name, p in layer.named_parameters():
        ...     print(name, tuple(p.shape))
        bias (2,)
        parametrizations.weight.original0 (2, 1)
        parametrizations.weight.original1 (2, 4)
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_old_names(
        state_dict: dict, prefix: str, metadata: dict, strict: bool, missing: list, unexpected: list, errors: list
    ) -> None:
        g, v = f"{prefix}{name}_g", f"{prefix}{name}_v"
        # A checkpoint of the older weight_norm, which used hooks.
        if g in state_dict and v in state_dict:
            state_dict[f"{prefix}parametrizations.{name}.original0"] = state_dict.pop(g)
            state_dict[f"{prefix}parametrizations.{name}.original1"] = state_dict.pop(v)

    module._register_load_state_dict_pre_hook(take_old_names)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value."""

    def __init__(self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but got {dim})")
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.dim = dim if dim >= 0 else dim + ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight.detach(), self.dim)
            h, w = matrix.size()
            u = F.normalize(matrix.new_empty(h).normal_(0, 1), dim=0, eps=eps)
            v = F.normalize(matrix.new_empty(w).normal_(0, 1), dim=0, eps=eps)
            u, v = power_steps(matrix, u, v, 15, eps)
            self.register_buffer("_u", u)
            self.register_buffer("_v", v)

    def forward(self, weight: Tensor) -> Tensor:
        if weight.ndim == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            with no_grad():
                u, v = power_steps(matrix, self._u, self._v, self.n_power_iterations, self.eps)
                self._u.copy_(u)
                self._v.copy_(v)
        sigma = self._u.clone().vdot(matrix.mv(self._v.clone()))
        return weight / sigma

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Module:
    """Divide a weight by its largest singular value, so that this becomes 1.

    Args:
        module: a module with the weight.
        name: the weight's name.
        n_power_iterations: steps by which the estimate gets better in every training call.
        eps: the smallest norm that is divided by.
        dim: the dimension of outputs; 1 for transposed convolutions, else 0, if None.

    Example:
        >>> layer = nn.utils.parametrizations.spectral_norm(nn.Linear(4, 4), n_power_iterations=20)
        >>> bool((torch.linalg.matrix_norm(layer.weight, 2) - 1).abs() < 0.1)
        True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if dim is None:
        dim = 1 if isinstance(module, _TRANSPOSED) else 0
    parametrization = _SpectralNorm(weight, n_power_iterations, dim, eps)
    parametrize.register_parametrization(module, name, parametrization)
    return module


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *, use_trivialization: bool = True
) -> Module:
    """Keep the rows of a weight (or its columns, if they are fewer) orthonormal.

    Args:
        module: a module with the weight.
        name: the weight's name.
        orthogonal_map: how a free matrix becomes an orthogonal one: "matrix_exp", "cayley" or
            "householder"; if None, "matrix_exp" for square matrices, else "householder".
        use_trivialization: begin at the weight as it is, for the first two maps.

    Raises:
        ValueError: if the weight has less than two dimensions, or the map is not known.

    Example:
        >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
        >>> bool((layer.weight @ layer.weight.T - torch.eye(3)).abs().max() < 1e-5)
        True
    """
    weight: Any = getattr(module, name, None)
    if not isinstance(weight, Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions.")
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    orth = getattr(_OrthMaps, orthogonal_map, None)
    if orth is None:
        raise ValueError(
            f'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: {orthogonal_map}'
        )
    parametrization = _Orthogonal(weight, orth, use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, parametrization, unsafe=True)
    return module
