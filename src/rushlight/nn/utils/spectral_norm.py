"""Spectral normalisation by hooks: the older form of `parametrizations.spectral_norm`."""

from __future__ import annotations

from typing import Any

from ...core.modes import no_grad
from ...core.tensor import Tensor
from .. import functional as F
from ..modules import conv
from ..parameter import Parameter, is_lazy
from ._norms import as_matrix, power_steps

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]

_TRANSPOSED = (conv.ConvTranspose1d, conv.ConvTranspose2d, conv.ConvTranspose3d)


class SpectralNorm:
    """The hook that divides a weight by an estimate of its largest singular value."""

    _version = 1

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        if n_power_iterations <= 0:
            raise ValueError(
                f"Expected n_power_iterations to be positive, but got n_power_iterations={n_power_iterations}"
            )
        self.name = name
        self.dim = dim
        self.n_power_iterations = n_power_iterations
        self.eps = eps

    def reshape_weight_to_matrix(self, weight: Tensor) -> Tensor:
        """Return the weight as a matrix whose rows run along `dim`."""
        return as_matrix(weight, self.dim)

    def compute_weight(self, module: Any, do_power_iteration: bool) -> Tensor:
        """Return the divided weight; in training the estimate gets better first."""
        weight = getattr(module, self.name + "_orig")
        u = getattr(module, self.name + "_u")
        v = getattr(module, self.name + "_v")
        matrix = as_matrix(weight, self.dim)
        if do_power_iteration:
            with no_grad():
                new_u, new_v = power_steps(matrix, u, v, self.n_power_iterations, self.eps, v_first=True)
                u.copy_(new_u)
                v.copy_(new_v)
                # Copies for backward, because the buffers change at the next call.
                u, v = u.clone(), v.clone()
        sigma = u.dot(matrix.mv(v))
        return weight / sigma

    def remove(self, module: Any) -> None:
        """Make the weight a plain parameter again."""
        with no_grad():
            weight = self.compute_weight(module, do_power_iteration=False)
        delattr(module, self.name)
        delattr(module, self.name + "_u")
        delattr(module, self.name + "_v")
        delattr(module, self.name + "_orig")
        module.register_parameter(self.name, Parameter(weight.detach()))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module, module.training))

    @staticmethod
    def apply(module: Any, name: str, n_power_iterations: int, dim: int, eps: float) -> SpectralNorm:
        """Split `module.<name>` and register the hook; return it."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, SpectralNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two spectral_norm hooks on the same parameter {name}")
        fn = SpectralNorm(name, n_power_iterations, dim, eps)
        weight = module._parameters[name]
        if weight is None:
            raise ValueError(f"`SpectralNorm` cannot be applied as parameter `{name}` is None")
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `SpectralNorm` can't have uninitialized parameters. Make "
                "sure to run the dummy forward before applying spectral normalization"
            )
        with no_grad():
            h, w = as_matrix(weight, dim).size()
            u = F.normalize(weight.detach().new_empty(h).normal_(0, 1), dim=0, eps=eps)
            v = F.normalize(weight.detach().new_empty(w).normal_(0, 1), dim=0, eps=eps)
        delattr(module, name)
        module.register_parameter(name + "_orig", weight)
        setattr(module, name, weight.data)
        module.register_buffer(name + "_u", u)
        module.register_buffer(name + "_v", v)
        module.register_forward_pre_hook(fn)
        return fn


def spectral_norm(
    module: Any, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12, dim: int | None = None
) -> Any:
    """As `nn.utils.parametrizations.spectral_norm`, by a hook: the weight is computed from `name_orig` before every call."""
    if dim is None:
        dim = 1 if isinstance(module, _TRANSPOSED) else 0
    SpectralNorm.apply(module, name, n_power_iterations, dim, eps)
    return module


def remove_spectral_norm(module: Any, name: str = "weight") -> Any:
    """Make a weight that `spectral_norm` divided a plain parameter again; return the module.

    Args:
        name: the weight's name.

    Raises:
        ValueError: if there is no such spectral norm.

    Example:
        >>> layer = nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(4, 2)))
        >>> sorted(layer.state_dict())
        ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, SpectralNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"spectral_norm of '{name}' not found in {module}")
