"""`torch.autograd.grad` of nested tensors: gradients of the values, in the shape of what was asked for."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from .standing import Standing


def grad_of_standing(outputs: Any, inputs: Any, grad_outputs: Any = None, *args: Any, **kwargs: Any) -> tuple:
    """The gradients; nested where the input was."""
    from ...core.gradients.differentiate import grad

    asked = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    found = grad(_plain(outputs), _plain(asked), _plain(grad_outputs), *args, **kwargs)
    return tuple([_as(t, g) for g, t in zip(found, asked)])


def _as(like: Tensor, g: Any) -> Any:
    return like._like(g) if isinstance(like, Standing) and g is not None else g


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value._values if isinstance(value, Standing) else value
