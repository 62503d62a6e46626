"""Tensors' functions under the array module's names: a kernel's body computes with them and keeps history."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..operators.create.like import ones_like, zeros_like
from ..operators.pointwise.select import where


class _Functions:
    """What the bodies of `operators/update.py` ask of `xp`."""

    where = staticmethod(where)
    ones_like = staticmethod(ones_like)
    zeros_like = staticmethod(zeros_like)

    @staticmethod
    def sqrt(x: Tensor) -> Tensor:
        return x.sqrt()

    @staticmethod
    def abs(x: Tensor) -> Tensor:
        return x.abs()

    @staticmethod
    def sign(x: Tensor) -> Tensor:
        return x.sign()

    @staticmethod
    def maximum(x: Tensor, y: Tensor, out: Tensor) -> Tensor:
        return out.copy_(x.maximum(y))

    @staticmethod
    def clip(x: Tensor, low: Any, high: Any, out: Tensor) -> Tensor:
        return out.copy_(x.clamp(low, high))


TENSORS = _Functions()
