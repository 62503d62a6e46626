"""GradBucket: what a communication hook is given."""

from __future__ import annotations

import enum
from typing import Any

from ....core.tensor import Tensor

__all__ = ["BuiltinCommHookType", "GradBucket"]


class GradBucket:
    """The gradients of some parameters in one flat tensor."""

    def __init__(self, index: int, flat: Tensor, views: list[Tensor], params: list[Any], last: bool) -> None:
        self._index, self._flat, self._views, self._params, self._last = index, flat, views, params, last

    def index(self) -> int:
        return self._index

    def buffer(self) -> Tensor:
        """The flat tensor."""
        return self._flat

    def set_buffer(self, tensor: Tensor) -> None:
        self._flat = tensor
        parts = tensor.split([view.numel() for view in self._views])
        self._views = [part.view(view.shape) for part, view in zip(parts, self._views)]

    def gradients(self) -> list[Tensor]:
        """The gradients as views of the flat tensor, each in the shape of its parameter."""
        return list(self._views)

    def parameters(self) -> list[Any]:
        return list(self._params)

    def is_last(self) -> bool:
        """Whether it is the last one of the pass."""
        return self._last


class BuiltinCommHookType(enum.Enum):
    """Hooks that PyTorch has in C++."""

    ALLREDUCE = 0
    FP16_COMPRESS = 1
