"""All parameters as one vector, and back."""

from __future__ import annotations

from collections.abc import Iterable

from ...core.tensor import Tensor
from ...operators.shape.join import cat
from ..modules._members import typename

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def _check_device(param: Tensor, first: Tensor | None) -> Tensor:
    if first is not None and param.device != first.device:
        raise TypeError("Found two parameters on different devices, this is currently not supported.")
    return param if first is None else first


def parameters_to_vector(parameters: Iterable[Tensor]) -> Tensor:
    """Return all parameters as one vector, flattened and one after another.

    Args:
        parameters: tensors on one device.

    Example:
        >>> nn.utils.parameters_to_vector(nn.Linear(2, 3).parameters()).shape
        torch.Size([9])
    """
    first = None
    parts = []
    for param in parameters:
        first = _check_device(param, first)
        parts.append(param.view(-1))
    return cat(parts)


def vector_to_parameters(vec: Tensor, parameters: Iterable[Tensor]) -> None:
    """Give parameters the values of a vector, in order.

    Args:
        vec: as long as all parameters together.
        parameters: tensors on one device.

    Example:
        >>> net = nn.Linear(2, 1)
        >>> nn.utils.vector_to_parameters(torch.tensor([1.0, 2.0, 3.0]), net.parameters())
        >>> net.weight.detach(), net.bias.detach()
        (tensor([[1., 2.]]), tensor([3.]))
    """
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {typename(vec)}")
    first = None
    at = 0
    for param in parameters:
        first = _check_device(param, first)
        count = param.numel()
        param.data = vec[at : at + count].view_as(param).data
        at += count
