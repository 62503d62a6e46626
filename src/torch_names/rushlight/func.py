"""`torch.func`: derivatives of functions, maps over batches, modules as functions of their parameters."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from .autograd.batched import vmap
from .autograd.transforms import grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, vjp
from .nn.modules.batchnorm import _BatchNorm
from .nn.utils.stateless import call_with as functional_call
from .operators.shape.join import stack

__all__ = [
    "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip


def stack_module_state(models: Sequence[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The parameters and the buffers of several alike modules, each stacked along a new first dim.

    Args:
        models: modules of one class, all in training or all in evaluation mode.

    Raises:
        RuntimeError: if there is none, or they are not alike.

    Example:
        >>> nets = [nn.Linear(2, 1) for _ in range(3)]
        >>> params, buffers = torch.func.stack_module_state(nets)
        >>> {name: tuple(p.shape) for name, p in params.items()}, buffers
        ({'weight': (3, 1, 2), 'bias': (3, 1)}, {})
    """
    models = list(models)
    if not models:
        raise RuntimeError(f"stack_module_state: Expected at least one model, got {len(models)}.")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(m) for m in models}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(name: str) -> dict[str, Any]:
        tables = [dict(getattr(m, name)()) for m in models]
        made = {}
        for key in tables[0]:
            each = [t[key] for t in tables]
            joined = stack([t.detach() for t in each])
            made[key] = joined.requires_grad_(all(t.requires_grad for t in each))
        return made

    return stacked("named_parameters"), stacked("named_buffers")


def replace_all_batch_norm_modules_(root: Any) -> Any:
    """Let batch norm layers keep no running statistics, which maps over batches cannot update.

    Args:
        root: the module that is changed and returned.

    Example:
        >>> net = torch.func.replace_all_batch_norm_modules_(nn.Sequential(nn.BatchNorm1d(2)))
        >>> print(net[0].running_mean)
        None
    """
    for module in root.modules():
        if isinstance(module, _BatchNorm):
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                setattr(module, name, None)
            module.track_running_stats = False
    return root


def functionalize(func: Callable, *, remove: str = "mutations") -> Callable:
    """A function without changes in place: what is recorded of one here has none, so it is called as it is.

    Args:
        remove: "mutations", or "mutations_and_views", which are recorded by copies.

    Raises:
        RuntimeError: if `remove` is neither.

    Example:
        >>> f = torch.func.functionalize(lambda x: x.clone().add_(1))
        >>> f(torch.zeros(2))
        tensor([1., 1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            "functionalize(f, remove='mutations'): received invalid argument for remove= "
            f"Valid options are: 'mutations', 'mutations_and_views'. Got {remove}"
        )

    @functools.wraps(func)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return wrapped
