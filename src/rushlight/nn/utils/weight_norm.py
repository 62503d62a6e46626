"""Weight normalisation by hooks: the older form of `parametrizations.weight_norm`."""

from __future__ import annotations

import warnings
from typing import Any

from ...core.tensor import Tensor
from ..parameter import Parameter, is_lazy
from ._norms import norm_except_dim, scaled_to_norm

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


class WeightNorm:
    """The hook that computes a weight from its length `name_g` and its direction `name_v`."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, module: Any) -> Tensor:
        """Return the weight, from length and direction."""
        g = getattr(module, self.name + "_g")
        v = getattr(module, self.name + "_v")
        return scaled_to_norm(v, g, self.dim)

    @staticmethod
    def apply(module: Any, name: str, dim: int | None) -> WeightNorm:
        """Split `module.<name>` and register the hook; return it."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(f"Cannot register two weight_norm hooks on the same parameter {name}")
        fn = WeightNorm(name, dim)
        weight = getattr(module, name)
        if is_lazy(weight):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. Make sure "
                "to run the dummy forward before applying weight normalization"
            )
        del module._parameters[name]
        norm = norm_except_dim(weight, 2, fn.dim).detach()
        module.register_parameter(name + "_g", Parameter(norm))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, fn.compute_weight(module))
        module.register_forward_pre_hook(fn)
        return fn

    def remove(self, module: Any) -> None:
        """Make the weight a plain parameter again."""
        weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"]
        del module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module: Any, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: Any, name: str = "weight", dim: int | None = 0) -> Any:
    """As `nn.utils.parametrizations.weight_norm`, by a hook; deprecated.

    The weight is computed from `name_g` (lengths) and `name_v` (directions) before every call.
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module: Any, name: str = "weight") -> Any:
    """Make a weight that `weight_norm` split a plain parameter again; return the module.

    Args:
        name: the weight's name.

    Raises:
        ValueError: if there is no such weight norm.

    Example:
        >>> import warnings
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("ignore")
        ...     layer = nn.utils.weight_norm(nn.Linear(4, 2))
        >>> [name for name, _ in nn.utils.remove_weight_norm(layer).named_parameters()]
        ['bias', 'weight']
    """
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
