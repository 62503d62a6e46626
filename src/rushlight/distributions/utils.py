"""What distributions share: broadcasting of parameters, logits and probabilities, lazy attributes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from numbers import Number
from typing import Any

from ..base.dtypes import finfo, get_default_dtype
from ..core.modes import enable_grad
from ..core.public import NAMESPACES
from ..core.tensor import Tensor
from ..operators.create.filled import ones, zeros
from ..operators.create.from_data import tensor
from ..operators.layers.softmax import softmax
from ..operators.random.draws import normal

euler_constant = 0.57721566490153286060

__all__ = [
    "broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs",
    "probs_to_logits",
]  # fmt: skip


def broadcast_all(*values: Tensor | float) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape; numbers take dtype and device of the tensors."""
    if not all(isinstance(v, (Tensor, Number)) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing "
            "__torch_function__."
        )
    from ..operators.shape.expand import broadcast_tensors

    like = next((v for v in values if isinstance(v, Tensor)), None)
    options: dict[str, Any] = {"dtype": get_default_dtype()}
    if like is not None:
        options = {"dtype": like.dtype, "device": like.device}
    made = [v if isinstance(v, Tensor) else tensor(v, **options) for v in values]
    if all(t.shape == made[0].shape for t in made):
        return tuple(made)
    return tuple(broadcast_tensors(*made))


def standard_normal(shape: Any, like: Tensor) -> Tensor:
    """Independent normal numbers in the dtype and on the device of `like`."""
    options = {"dtype": like.dtype, "device": like.device}
    return normal(zeros(shape, **options), ones(shape, **options))


def standard_uniform(shape: Any, like: Tensor) -> Tensor:
    """Numbers of [0, 1) in the dtype and on the device of `like`."""
    return NAMESPACES["torch"]["rand"](shape, dtype=like.dtype, device=like.device)


def clamp_probs(probs: Tensor) -> Tensor:
    """Probabilities kept one rounding away from 0 and 1."""
    eps = finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs: Tensor, is_binary: bool = False) -> Tensor:
    """Log odds of one probability, or logarithms of several."""
    safe = clamp_probs(probs)
    return safe.log() - (-safe).log1p() if is_binary else safe.log()


def logits_to_probs(logits: Tensor, is_binary: bool = False) -> Tensor:
    """The inverse of `probs_to_logits`."""
    return logits.sigmoid() if is_binary else softmax(logits, dim=-1)


def sum_rightmost(value: Tensor, dims: int) -> Tensor:
    """Sum over the last `dims` dims."""
    return value if dims == 0 else value.reshape(value.shape[:-dims] + (-1,)).sum(-1)


def given_one(name: str, other: str, first: Any, second: Any) -> bool:
    """Whether the first of two exclusive parameters was given; an error if both or neither."""
    if (first is None) == (second is None):
        raise ValueError(f"Either `{name}` or `{other}` must be specified, but not both.")
    return first is not None


class lazy_property:
    """An attribute computed when first asked for, with gradients on, and kept."""

    def __init__(self, wrapped: Callable) -> None:
        self.wrapped = wrapped
        functools.update_wrapper(self, wrapped)  # type: ignore[arg-type]

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self
        with enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Independent normal numbers, under the name that libraries call."""
    return normal(zeros(shape, dtype=dtype, device=device), ones(shape, dtype=dtype, device=device))


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` dims."""
    if dim == 0:
        return value
    return value.reshape((*value.shape[:-dim], -1)).sum(-1)
