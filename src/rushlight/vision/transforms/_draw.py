"""The single draws that random transforms are made of, as torchvision makes them."""

from __future__ import annotations

from ...core.tensor import Tensor
from ...operators.create.filled import empty
from ...operators.random.draws import randint


def rand() -> Tensor:
    """`torch.rand(1)`."""
    return empty(1).uniform_()


def uniform(low: float, high: float) -> float:
    """One number of [low, high): `torch.empty(1).uniform_(low, high).item()`."""
    return empty(1).uniform_(low, high).item()


def whole(high: int) -> int:
    """One integer of [0, high): `torch.randint(0, high, size=(1,)).item()`."""
    return randint(0, high, size=(1,)).item()
