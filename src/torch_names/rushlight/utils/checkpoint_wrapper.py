"""Modules around modules whose activations are computed a second time by backward, or wait on the host."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import Any

from ..autograd.graph import save_on_cpu
from ..nn.modules.module import Module
from ..nn.parallel.fsdp_wrap import lambda_auto_wrap_policy, wrap_parts
from .checkpoint import checkpoint

__all__ = [
    "ActivationWrapper", "CheckpointImpl", "CheckpointWrapper", "OffloadWrapper",
    "apply_activation_checkpointing", "checkpoint_wrapper", "offload_wrapper",
]  # fmt: skip

_INSIDE = "_checkpoint_wrapped_module"


class CheckpointImpl(enum.Enum):
    """PyTorch's two ways to compute twice, which are one here."""

    REENTRANT = enum.auto()
    NO_REENTRANT = enum.auto()


class ActivationWrapper(Module):
    """A module around another one, of which nothing is seen in names and state dicts."""

    def __init__(self, mod: Module) -> None:
        super().__init__()
        self._checkpoint_wrapped_module: Any = mod
        self.register_state_dict_post_hook(_without)
        self.register_load_state_dict_pre_hook(_with)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError("Subclasses should implement forward().")

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == _INSIDE:
                raise
            return getattr(self._checkpoint_wrapped_module, name)

    def __getitem__(self, key: Any) -> Any:
        return self._checkpoint_wrapped_module[key]

    def named_parameters(self, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        """Parameters by the names that they have without the wrapper."""
        for name, param in super().named_parameters(*args, **kwargs):
            yield name.replace(f"{_INSIDE}.", ""), param


def _without(module: Any, state: dict[str, Any], prefix: str, *rest: Any) -> None:
    _renamed(state, f"{prefix}{_INSIDE}.", prefix)


def _with(module: Any, state: dict[str, Any], prefix: str, *rest: Any) -> None:
    _renamed(state, prefix, f"{prefix}{_INSIDE}.")


def _renamed(state: dict[str, Any], old: str, new: str) -> None:
    for key in [k for k in state if k.startswith(old)]:
        state[new + key[len(old) :]] = state.pop(key)


class OffloadWrapper(ActivationWrapper):
    """A module whose activations are kept on the host until backward comes."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        with save_on_cpu(pin_memory=True):
            return self._checkpoint_wrapped_module(*args, **kwargs)


class CheckpointWrapper(ActivationWrapper):
    """A module whose activations backward computes again."""

    def __init__(
        self,
        mod: Module,
        checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
        checkpoint_fn: Callable[..., Any] | None = None,
        **checkpoint_fn_kwargs: Any,
    ) -> None:
        super().__init__(mod)
        self.checkpoint_impl, self.checkpoint_fn = checkpoint_impl, checkpoint_fn
        self._options = checkpoint_fn_kwargs

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        inside = self._checkpoint_wrapped_module
        if self.checkpoint_fn is not None:
            return self.checkpoint_fn(inside, *args, **self._options, **kwargs)
        return checkpoint(inside, *args, use_reentrant=False, **self._options, **kwargs)


def offload_wrapper(module: Module) -> Module:
    """A module around `module` that keeps activations on the host.

    Example:
        >>> from rushlight.distributed.algorithms._checkpoint.checkpoint_wrapper import offload_wrapper
        >>> offload_wrapper(nn.Linear(2, 1)).in_features
        2
    """
    return OffloadWrapper(module)


def checkpoint_wrapper(
    module: Module,
    checkpoint_impl: CheckpointImpl = CheckpointImpl.NO_REENTRANT,
    checkpoint_fn: Callable[..., Any] | None = None,
    **checkpoint_fn_kwargs: Any,
) -> Module:
    """A module around `module` whose backward computes the inside a second time.

    Args:
        checkpoint_impl: accepted; both of PyTorch's ways are one here.
        checkpoint_fn: instead of `utils.checkpoint.checkpoint`.
        checkpoint_fn_kwargs: its options, such as `preserve_rng_state` and `context_fn`.

    Example:
        >>> from rushlight.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
        >>> list(checkpoint_wrapper(nn.Linear(2, 1)).state_dict())
        ['weight', 'bias']
    """
    return CheckpointWrapper(module, checkpoint_impl, checkpoint_fn, **checkpoint_fn_kwargs)


def _all(module: Module) -> bool:
    return True


def apply_activation_checkpointing(
    model: Module,
    checkpoint_wrapper_fn: Callable[..., Module] = checkpoint_wrapper,
    check_fn: Callable[[Module], bool] = _all,
    auto_wrap_policy: Any = None,
) -> None:
    """Wrap the parts of a model that are chosen, in place.

    Args:
        model: the model; itself it is not wrapped.
        checkpoint_wrapper_fn: makes the wrapper.
        check_fn: called with a module, says whether it is wrapped.
        auto_wrap_policy: a policy as FullyShardedDataParallel takes it, instead of `check_fn`.

    Example:
        >>> from rushlight.distributed.algorithms._checkpoint.checkpoint_wrapper import (
        ...     apply_activation_checkpointing)
        >>> net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        >>> apply_activation_checkpointing(net, check_fn=lambda m: isinstance(m, nn.Linear))
        >>> type(net[0]).__name__, type(net[1]).__name__
        ('CheckpointWrapper', 'ReLU')
    """

    def chosen(module: Module, recurse: bool, nonwrapped_numel: int) -> bool:
        return lambda_auto_wrap_policy(module, recurse, nonwrapped_numel, check_fn)

    wrap_parts(model, auto_wrap_policy or chosen, checkpoint_wrapper_fn, set())
