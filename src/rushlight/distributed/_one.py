"""FSDP's older class and its options, which refuse with what to use instead."""

from __future__ import annotations

from .._names.refusal import absent_classes

_LACKS = "has FSDP as `fully_shard` only"
_INSTEAD = "Call torch.distributed.fsdp.fully_shard(module) on the parts and then on the model."


def classes(module: str, *names: str) -> dict[str, type]:
    """Classes of which nothing here is an instance."""
    return absent_classes(f"distributed.{module}", _LACKS, _INSTEAD, names)
