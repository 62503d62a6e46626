"""`torch._functorch.vmap`: names of the batching transform, which is a loop here (`rushlight.func.vmap`)."""

from .._C._functorch import is_batchedtensor
from .._names.refusal import refuser
from ..base.trees import tree_flatten, tree_map_, tree_unflatten

__all__ = ["is_batchedtensor", "tree_flatten", "tree_map_", "tree_unflatten"]

_refuse = refuser(
    "_functorch.vmap", "has no batched tensors", "vmap is a loop; see rushlight.func.vmap."
)
_add_batch_dim = _refuse("_add_batch_dim")
_create_batched_inputs = _refuse("_create_batched_inputs")
_get_name = _refuse("_get_name")
_maybe_remove_batch_dim = _refuse("_maybe_remove_batch_dim")
_process_batched_inputs = _refuse("_process_batched_inputs")
_unwrap_batched = _refuse("_unwrap_batched")
_validate_and_get_batch_size = _refuse("_validate_and_get_batch_size")
_validate_outputs = _refuse("_validate_outputs")
