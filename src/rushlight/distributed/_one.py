"""What several processes need and one does not have: sharded tensors, meshes of devices, FSDP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._names.refusal import absent_classes, refuser

_LACKS = "runs in one process"
_INSTEAD = "Leave the model whole; see rushlight.distributed for what one process answers."


def classes(module: str, *names: str) -> dict[str, type]:
    """Classes for several processes, of which nothing here is an instance."""
    return absent_classes(f"distributed.{module}", _LACKS, _INSTEAD, names)


def functions(module: str, *names: str) -> dict[str, Callable[..., Any]]:
    """Functions for several processes, which refuse."""
    refuse = refuser(f"distributed.{module}", _LACKS, _INSTEAD)
    return {name: refuse(name) for name in names}
