"""What distributions share: broadcasting of parameters, logits and probabilities, lazy attributes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from numbers import Number
from typing import Any

from ..base.dtypes import finfo, get_default_dtype
from ..base.shapes import Size
from ..core.modes import enable_grad
from ..core.public import NAMESPACES
from ..core.tensor import Tensor
from ..operators.create.filled import ones, zeros
from ..operators.create.from_data import tensor
from ..operators.layers.softmax import softmax
from ..operators.random.draws import normal

euler_constant = 0.57721566490153286060

__all__ = ["broadcast_all", "clamp_probs", "euler_constant", "lazy_property", "logits_to_probs", "probs_to_logits"]


def broadcast_all(*values: Tensor | float) -> tuple[Tensor, ...]:
    """Numbers and tensors as tensors of one shape; numbers take dtype and device of the tensors."""
    if not all(isinstance(v, (Tensor, Number)) for v in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
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


class _Fact(property):
    """A property that is one formula; what it means is said in the class that has the name first."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.__doc__ = getattr(getattr(super(owner, owner), name, None), "__doc__", None)


def fact(formula: Callable[[Any], Any]) -> Any:
    """What a class declares of itself by a formula over its parameters: its mean, its mode, its support."""
    return _Fact(formula)


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


class ProbsOrLogits:
    """A distribution of `probs` or `logits`: one was given, the other follows when it is asked for."""

    _is_binary = True

    def _keep(self, probs: Any, logits: Any, *others: Any) -> list[Tensor]:
        """Keep the parameter that was given; others that it was broadcast with are the answer, in its dtype."""
        name = "probs" if given_one("probs", "logits", probs, logits) else "logits"
        *found, value = broadcast_all(*others, logits if probs is None else probs)
        setattr(self, name, value)
        return [v.type_as(value) for v in found]

    @property
    def _param(self) -> Tensor:
        return self.__dict__["probs"] if "probs" in self.__dict__ else self.logits

    @lazy_property
    def logits(self) -> Tensor:
        """The log odds of `probs`, or their logarithms where they are of several classes."""
        return probs_to_logits(self.probs, self._is_binary)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities; those of several classes sum to 1 along the last dimension."""
        return logits_to_probs(self.logits, self._is_binary)

    @property
    def param_shape(self) -> Size:
        return self._param.size()


def _standard_normal(shape: Any, dtype: Any, device: Any) -> Tensor:
    """Independent normal numbers, under the name that libraries call."""
    return normal(zeros(shape, dtype=dtype, device=device), ones(shape, dtype=dtype, device=device))


def _sum_rightmost(value: Tensor, dim: int) -> Tensor:
    """The sum over the last `dim` dims."""
    if dim == 0:
        return value
    return value.reshape((*value.shape[:-dim], -1)).sum(-1)
