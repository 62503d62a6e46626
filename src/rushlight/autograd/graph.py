"""`torch.autograd.graph`: the nodes of a graph as users look at them."""

from __future__ import annotations

from typing import Any

from ..core.tape import Node
from ..core.tensor import Tensor
from ..core.views import current_edge

__all__ = ["Node", "get_gradient_edge"]


def get_gradient_edge(tensor: Tensor) -> Any:
    """The (node, output number) that a gradient of `tensor` would be sent to."""
    edge = current_edge(tensor)
    if edge is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    return edge
