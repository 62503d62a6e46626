"""`torch._functorch.vmap`: names of the batching transform, which is a loop here (`rushlight.func.vmap`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._C._functorch import is_batchedtensor
from ..base.refusal import refuser
from ..base.trees import TreeSpec, broadcast_prefix, tree_flatten, tree_map_, tree_unflatten
from ..core.tensor import Tensor

__all__ = ["Tensor", "is_batchedtensor", "tree_flatten", "tree_map_", "tree_unflatten"]

_refuse = refuser("_functorch.vmap", "has no batched tensors", "vmap is a loop; see rushlight.func.vmap.")
_add_batch_dim = _refuse("_add_batch_dim")
_create_batched_inputs = _refuse("_create_batched_inputs")
_maybe_remove_batch_dim = _refuse("_maybe_remove_batch_dim")
_process_batched_inputs = _refuse("_process_batched_inputs")
_unwrap_batched = _refuse("_unwrap_batched")
_validate_and_get_batch_size = _refuse("_validate_and_get_batch_size")
_validate_outputs = _refuse("_validate_outputs")


def _get_name(func: Callable) -> str:
    """What errors call a function."""
    return getattr(func, "__name__", None) or repr(func)


def _broadcast_to_and_flatten(tree: Any, treespec: TreeSpec, is_leaf: Any = None) -> list[Any] | None:
    """The leaves of `tree`, each as often as the structure below it has leaves; None where it does not fit."""
    return broadcast_prefix(tree, tree_unflatten([0] * treespec.num_leaves, treespec))
