"""`torch.autograd.graph`: the nodes of a graph as users look at them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from ..core.gradients.differentiate import GradientEdge
from ..core.gradients.hooks import RemovableHandle
from ..core.gradients.packing import Kept, pack
from ..core.gradients.tape import Node, at_end
from ..core.inplace import bump
from ..core.tensor import Tensor
from ..core.views import current_edge
from ..runtime.thread import PACKING, here, swap

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
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


class _Copies:
    """What a block of `allow_mutation_on_saved_tensors` holds: saved tensors, and copies of those that were overwritten."""

    def __init__(self) -> None:
        self.cloned: Any = WeakKeyDictionary()
        self.tid_to_weakhandle: Any = WeakValueDictionary()

    def keep(self, tensor: Tensor) -> Kept:
        cell = tensor._ver
        key = (id(cell), cell[0], tensor.data_ptr(), tensor.shape, tensor.stride())
        kept = self.tid_to_weakhandle.get(key)
        if kept is None:
            kept = self.tid_to_weakhandle[key] = Kept(tensor, self.cloned)
            cell.append(weakref.ref(kept))
        return kept

    def give(self, kept: Kept) -> Tensor:
        if here.kept_copies is not self:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context in which the graph was "
                "originally recorded."
            )
        return kept.value()


@contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[_Copies]:
    """A block in which tensors that ops saved for backward may be changed in place: they are copied before.

    Backward passes have to run inside of the block, too.

    Example:
        >>> x = torch.tensor([2.0, 3.0], requires_grad=True)
        >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
        ...     y = x.clone()
        ...     squares = (y**2).sum()
        ...     y.zero_()
        ...     squares.backward()
        tensor([0., 0.], grad_fn=<ZeroBackward0>)
        >>> x.grad
        tensor([4., 6.])
    """
    if here.kept_copies is not None:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    copies = here.kept_copies = _Copies()
    try:
        with saved_tensors_hooks(copies.keep, copies.give):
            yield copies
    finally:
        here.kept_copies = None
        copies.cloned.clear()
        copies.tid_to_weakhandle.clear()


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
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    return GradientEdge(edge[0].shown(), edge[1])


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Say that tensors were written to behind autograd's back.

    Args:
        tensor: a tensor, or several.

    Example:
        >>> x = torch.ones(2)
        >>> torch.autograd.graph.increment_version(x)
        >>> x._version
        1
    """
    for t in (tensor,) if isinstance(tensor, Tensor) else tensor:
        bump(t)


class _Gathered:
    """The gradients of several tensors in one backward pass, and the function that waits for them."""

    def __init__(self, count: int, fn: Callable, first_only: bool) -> None:
        self.count, self.fn, self.first_only = count, fn, first_only
        self.walk: Any = None
        self.grads: list[Any] = []
        self.seen = 0

    def take(self, index: int, grad: Any) -> None:
        """The gradient of one of them has come."""
        if self.walk is not here.walk:
            self.walk, self.grads, self.seen = here.walk, [None] * self.count, 0
            at_end(self.finish)
        self.grads[index] = grad
        self.seen += 1
        if self.first_only:
            if self.seen == 1:
                self.fn(grad)
        elif self.seen == self.count:
            self.finish()

    def finish(self) -> None:
        """Call the function, unless that was done; tensors that this pass did not reach have None."""
        grads, self.grads, self.walk = self.grads, [], None
        if grads and not self.first_only:
            self.fn(grads)


class _Handles:
    """Several handles as one."""

    def __init__(self, handles: tuple[RemovableHandle, ...]) -> None:
        self.handles = handles

    def remove(self) -> None:
        """Take all hooks away."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _Handles:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.remove()


def register_multi_grad_hook(tensors: Sequence[Tensor], fn: Callable, *, mode: str = "all") -> Any:
    """Call a function in every backward pass when the gradients of several tensors are there.

    Args:
        fn: called with a list of their gradients, None for a tensor the pass does not reach; with
            `mode="any"`, called with the first gradient that comes.
        mode: "all" or "any".

    Returns:
        A handle with `remove()`.

    Raises:
        ValueError: for another mode.

    Example:
        >>> x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
        >>> handle = torch.autograd.graph.register_multi_grad_hook([x, y], lambda grads: print(len(grads)))
        >>> (x * y).sum().backward()
        2
        >>> handle.remove()
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    gathered = _Gathered(len(tensors), fn, mode == "any")

    def hook_of(index: int) -> Callable:
        return lambda grad: gathered.take(index, grad)

    return _Handles(tuple(t.register_hook(hook_of(i)) for i, t in enumerate(tensors)))
