"""Names of several processes that nothing here is an instance of: each says what to use instead."""

from __future__ import annotations

from ..base.refusal import absent_classes

__all__ = ["classes"]

_INSTEAD = {
    "checkpoint.hf_storage": "torch.distributed.checkpoint.save writes all ranks' parts; gather them with get_model_state_dict(full_state_dict=True) for safetensors."
}


def classes(module: str, *names: str) -> dict[str, type]:
    """Classes that refuse when they are called."""
    return absent_classes(f"distributed.{module}", "does not have it", _INSTEAD[module], names)
