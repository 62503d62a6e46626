"""`torch._C._functorch`: whether a tensor stands for a batch. `vmap` is a loop here, so none does."""

from __future__ import annotations

from typing import Any

from ..base.refusal import refuser

__all__ = ["get_unwrapped", "is_batchedtensor", "is_functorch_wrapped_tensor", "is_gradtrackingtensor"]


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor is one that `vmap` made of a batch: a loop makes none."""
    return False


def is_gradtrackingtensor(tensor: Any) -> bool:
    """Whether a tensor is one that `grad` made of another: there are no such wrappers here."""
    return False


def is_functorch_wrapped_tensor(tensor: Any) -> bool:
    """Whether a tensor is either of these."""
    return False


def get_unwrapped(tensor: Any) -> Any:
    """The tensor inside of a wrapper: the tensor itself."""
    return tensor


def maybe_get_level(tensor: Any) -> int:
    """How deep in transforms a wrapper was made: -1 for a plain tensor."""
    return -1


_refuse = refuser("_C._functorch", "has no batched tensors", "vmap is a loop; see rushlight.func.vmap.")
_add_batch_dim = _refuse("_add_batch_dim")
_remove_batch_dim = _refuse("_remove_batch_dim")
_vmap_increment_nesting = _refuse("_vmap_increment_nesting")
_vmap_decrement_nesting = _refuse("_vmap_decrement_nesting")
