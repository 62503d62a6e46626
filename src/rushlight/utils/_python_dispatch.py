"""`torch.utils._python_dispatch`: modes that see every operator, which rushlight does not have."""

from __future__ import annotations

from typing import Any

from ..base.errors import NotYet

__all__ = ["TorchDispatchMode", "is_traceable_wrapper_subclass"]


class TorchDispatchMode:
    """Refused when entered: rushlight's operators call no handler before they compute."""

    def __enter__(self) -> Any:
        raise NotYet(
            "utils._python_dispatch.TorchDispatchMode: rushlight's operators cannot be intercepted; see "
            "rushlight.profiler for what ran."
        )

    def __exit__(self, *exc: Any) -> None:
        return None


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor is made of others that a tracer can reach: never here."""
    return False
