"""`torch.autograd.graph`: the nodes of a graph as users look at them."""

from __future__ import annotations

from typing import Any

from ..base.errors import NotYet
from ..core.tape import Node
from ..core.tensor import Tensor
from ..core.views import current_edge

__all__ = ["Node", "get_gradient_edge", "save_on_cpu", "saved_tensors_hooks"]


class saved_tensors_hooks:  # noqa: N801 - a block, as in PyTorch
    """Refused when entered: what ops save for backward cannot be packed by others yet."""

    def __init__(self, pack_hook: Any, unpack_hook: Any) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        raise NotYet(
            f"autograd.graph.{type(self).__name__}: rushlight does not let others pack what is saved "
            "for backward. utils.checkpoint.checkpoint saves less of it."
        )

    def __exit__(self, *exc: Any) -> None:
        return None


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """Refused when entered, as `saved_tensors_hooks`."""

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        super().__init__(None, None)


def get_gradient_edge(tensor: Tensor) -> Any:
    """The (node, output number) that a gradient of `tensor` would be sent to."""
    edge = current_edge(tensor)
    if edge is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    return edge
