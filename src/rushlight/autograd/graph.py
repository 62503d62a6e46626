"""`torch.autograd.graph`: the nodes of a graph as users look at them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..core.differentiate import GradientEdge
from ..core.packing import pack
from ..core.tape import Node
from ..core.tensor import Tensor
from ..core.views import current_edge
from ..runtime.thread import PACKING, here, swap

__all__ = [
    "GradientEdge",
    "Node",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class saved_tensors_hooks:  # noqa: N801 - a block, as in PyTorch
    """A block in which your functions decide how tensors are kept for backward.

    Args:
        pack_hook: given a tensor that an op saves; what it returns is kept.
        unpack_hook: given that, when backward needs the tensor; returns the tensor.

    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.numpy(force=True), torch.from_numpy):
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 4.])
    """

    def __init__(self, pack_hook: Any, unpack_hook: Any) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if here.packing_refused is not None:
            raise RuntimeError(here.packing_refused)
        if here.tracer is not None:
            here.tracer.interrupt("what is saved for backward is packed")
        here.pack = pack
        here.packing = (*here.packing, (self.pack_hook, self.unpack_hook))
        swap(PACKING, PACKING)

    def __exit__(self, *exc: Any) -> None:
        here.packing = here.packing[:-1]
        swap(PACKING, PACKING if here.packing else 0)


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """A block in which what ops save for backward is copied to the host's memory until it is needed.

    Args:
        pin_memory: use page-locked memory, from where copies to a GPU are quick.
        device_type: accepted and not needed.

    Example:
        >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> with torch.autograd.graph.save_on_cpu():
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad
        tensor([2., 4.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def away(tensor: Tensor) -> tuple[Any, Tensor]:
            host = tensor.cpu()
            return tensor.device, host.pin_memory() if pin_memory and tensor.is_cuda else host

        def back(packed: tuple[Any, Tensor]) -> Tensor:
            device, tensor = packed
            return tensor.to(device, non_blocking=pin_memory)

        super().__init__(away, back)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """A block in which `saved_tensors_hooks` raises.

    Args:
        error_message: what it says.

    Example:
        >>> with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
        ...     with torch.autograd.graph.save_on_cpu():
        ...         pass
        Traceback (most recent call last):
            ...
        RuntimeError: not here
    """
    before, here.packing_refused = here.packing_refused, error_message
    try:
        yield
    finally:
        here.packing_refused = before


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The node, and which of its outputs, that a gradient of `tensor` would be sent to.

    Args:
        tensor: one that requires gradients.

    Raises:
        RuntimeError: if `tensor` does not require gradients.

    Example:
        >>> x = torch.ones(2, requires_grad=True)
        >>> edge = torch.autograd.graph.get_gradient_edge(x * 2)
        >>> edge.node.name(), edge.output_nr
        ('MulBackward0', 0)
    """
    edge = current_edge(tensor)
    if edge is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require gradients"
        )
    return GradientEdge(edge[0].shown(), edge[1])
