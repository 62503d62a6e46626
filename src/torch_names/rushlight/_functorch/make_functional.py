"""`torch._functorch.make_functional`: modules split into a function and their tensors, functorch's older way.

`torch.func.functional_call` is the newer one, and does the work here.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from ..core.tensor import Tensor
from ..func import functional_call, stack_module_state
from ..nn.modules.module import Module

__all__ = [
    "FunctionalModule", "FunctionalModuleWithBuffers", "combine_state_for_ensemble", "make_functional",
    "make_functional_with_buffers",
]  # fmt: skip


class FunctionalModule(Module):
    """A module without tensors of its own: it is called with its parameters first."""

    def __init__(self, stateless_model: Module, param_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names = tuple(param_names)

    def forward(self, params: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """What the module gives with these parameters."""
        given = dict(zip(self.param_names, params, strict=True))
        return functional_call(self.stateless_model, given, args, kwargs)


class FunctionalModuleWithBuffers(Module):
    """A module without tensors of its own: it is called with its parameters and its buffers first."""

    def __init__(self, stateless_model: Module, param_names: Sequence[str], buffer_names: Sequence[str]) -> None:
        super().__init__()
        self.stateless_model = stateless_model
        self.param_names, self.buffer_names = tuple(param_names), tuple(buffer_names)

    def forward(self, params: Sequence[Tensor], buffers: Sequence[Tensor], *args: Any, **kwargs: Any) -> Any:
        """What the module gives with these parameters and buffers."""
        given = dict(zip(self.param_names, params, strict=True))
        given.update(zip(self.buffer_names, buffers, strict=True))
        return functional_call(self.stateless_model, given, args, kwargs)


def _apart(model: Module, disable_autograd_tracking: bool) -> tuple[Module, dict, dict]:
    """A copy of a module without values, and copies of its parameters and buffers by name."""
    other = copy.deepcopy(model)
    params, buffers = dict(other.named_parameters()), dict(other.named_buffers())
    if disable_autograd_tracking:
        for param in params.values():
            param.requires_grad_(False)
    return copy.deepcopy(other).to("meta"), params, buffers


def make_functional(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModule, tuple[Tensor, ...]]:
    """A module as a function of its parameters, and copies of these.

    Args:
        model: the module; it stays as it is, and must have no buffers.
        disable_autograd_tracking: the parameters take no gradients.

    Raises:
        RuntimeError: if it has buffers.

    Example:
        >>> from rushlight._functorch.make_functional import make_functional
        >>> function, params = make_functional(nn.Linear(2, 1))
        >>> function([torch.ones(1, 2), torch.zeros(1)], torch.ones(2)), len(params)
        (tensor([2.]), 2)
    """
    empty, params, buffers = _apart(model, disable_autograd_tracking)
    if buffers:
        raise RuntimeError(
            "make_functional(model): `model` has buffers. Please use make_functional_with_buffers(model) instead."
        )
    return FunctionalModule(empty, tuple(params)), tuple(params.values())


def make_functional_with_buffers(
    model: Module, disable_autograd_tracking: bool = False
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """A module as a function of its parameters and buffers, and copies of these.

    Args:
        model: the module; it stays as it is.
        disable_autograd_tracking: the parameters take no gradients.

    Example:
        >>> from rushlight._functorch.make_functional import make_functional_with_buffers
        >>> function, params, buffers = make_functional_with_buffers(nn.BatchNorm1d(2))
        >>> function(params, buffers, torch.ones(3, 2)).shape, len(params), len(buffers)
        (torch.Size([3, 2]), 2, 3)
    """
    empty, params, buffers = _apart(model, disable_autograd_tracking)
    function = FunctionalModuleWithBuffers(empty, tuple(params), tuple(buffers))
    return function, tuple(params.values()), tuple(buffers.values())


def combine_state_for_ensemble(
    models: Sequence[Module],
) -> tuple[FunctionalModuleWithBuffers, tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Several alike modules as one function, and their tensors, each stacked along a new first dim.

    Args:
        models: modules of one class, all in training or all in evaluation mode.

    Example:
        >>> from rushlight._functorch.make_functional import combine_state_for_ensemble
        >>> function, params, buffers = combine_state_for_ensemble([nn.Linear(2, 1) for _ in range(3)])
        >>> torch.vmap(function, in_dims=(0, 0, None))(params, buffers, torch.ones(2)).shape
        torch.Size([3, 1])
    """
    if not models:
        raise RuntimeError(f"combine_state_for_ensemble: Expected at least one model, got {len(models)}.")
    params, buffers = stack_module_state(models)
    empty, _, _ = _apart(models[0], False)
    function = FunctionalModuleWithBuffers(empty, tuple(params), tuple(buffers))
    return (function, tuple(p.requires_grad_(False) for p in params.values()), tuple(buffers.values()))
