"""Ready parametrizations: weight norm, spectral norm and orthogonality."""

from __future__ import annotations

from typing import Any

from ...core.modes import no_grad
from ...core.tensor import Tensor
from .. import functional as F
from ..modules import conv
from ..modules.module import Module
from . import parametrize
from ._norms import as_matrix, norm_except_dim, power_steps, scaled_to_norm
from ._orthogonal import _OrthMaps, _Orthogonal

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

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
        state_dict: dict, prefix: str, metadata: dict, strict: bool,
        missing: list, unexpected: list, errors: list,
    ) -> None:  # fmt: skip
        g, v = f"{prefix}{name}_g", f"{prefix}{name}_v"
        # A checkpoint of the older weight_norm, which used hooks.
        if g in state_dict and v in state_dict:
            state_dict[f"{prefix}parametrizations.{name}.original0"] = state_dict.pop(g)
            state_dict[f"{prefix}parametrizations.{name}.original1"] = state_dict.pop(v)

    module._register_load_state_dict_pre_hook(take_old_names)
    return module


class _SpectralNorm(Module):
    """A weight divided by its largest singular value."""

    def __init__(
        self, weight: Tensor, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.ndim
        if dim >= ndim or dim < -ndim:
            raise IndexError(
                "Dimension out of range (expected to be in range of "
                f"[-{ndim}, {ndim - 1}] but got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
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
        sigma = self._u.clone().dot(matrix.mv(self._v.clone()))
        return weight / sigma

    def right_inverse(self, value: Tensor) -> Tensor:
        return value


def spectral_norm(
    module: Module,
    name: str = "weight",
    n_power_iterations: int = 1,
    eps: float = 1e-12,
    dim: int | None = None,
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
    module: Module,
    name: str = "weight",
    orthogonal_map: str | None = None,
    *,
    use_trivialization: bool = True,
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
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    orth = getattr(_OrthMaps, orthogonal_map, None)
    if orth is None:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
            f"{orthogonal_map}"
        )
    parametrization = _Orthogonal(weight, orth, use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, parametrization, unsafe=True)
    return module
