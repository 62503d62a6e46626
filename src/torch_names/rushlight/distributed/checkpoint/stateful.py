"""`torch.distributed.checkpoint.stateful`: objects that say what of them belongs into a checkpoint."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

__all__ = ["Stateful"]


@runtime_checkable
class Stateful(Protocol):
    """What `save` and `load` ask of an object inside of a state dict.

    Example:
        >>> from rushlight.distributed.checkpoint.stateful import Stateful
        >>> isinstance(nn.Linear(2, 1), Stateful)
        True
    """

    def state_dict(self) -> dict[str, Any]:
        """The state that is written, and that `load` fills before it hands it back."""
        ...

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take a state over."""
        ...
