"""What ops save for backward, packed by the user's own functions: `autograd.graph.saved_tensors_hooks`.

While such a block is at work, this thread's state has a bit that sends every call to `Op.__call__` in Python.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...runtime.thread import GRAD, PACKING, swap
from ..tensor import Tensor, tensor_over
from .node import FREED, OpNode, freed_error

Hooks = tuple[Callable[[Any], Any], Callable[[Any], Any]]


class Packed:
    """What a hook made of a saved tensor, and the hook that gives it back."""

    __slots__ = ("unpack", "value")

    def __init__(self, tensor: Tensor, hooks: Hooks) -> None:
        self.value, self.unpack = _alone(hooks[0], tensor), hooks[1]

    def tensor(self) -> Tensor:
        """The tensor, from the user's hook."""
        out = _alone(self.unpack, self.value)
        if not isinstance(out, Tensor):
            raise TypeError(f"Output of saved tensor unpack_hook expected to be a Tensor but got {type(out)}")
        return tensor_over(out._a, out._a.__class__)


def _alone(fn: Callable[[Any], Any], value: Any) -> Any:
    """Call a hook: what it computes is neither recorded nor packed."""
    before = swap(GRAD | PACKING, 0)
    try:
        return fn(value)
    finally:
        swap(GRAD | PACKING, before)


class PackedNode(OpNode):
    """A node some of whose saved values are packed."""

    __slots__ = ()

    def input(self, i: int) -> Any:
        if self.saved is FREED:
            raise freed_error()
        kept = self.saved[i]
        if not isinstance(kept, Packed):
            return OpNode.input(self, i)
        t = kept.tensor()
        t._edge = self.edges[i]
        return t

    def output(self, i: int) -> Tensor:
        if self.outputs is FREED:
            raise freed_error()
        kept = self.outputs[i]
        if not isinstance(kept, Packed):
            return OpNode.output(self, i)
        out = kept.tensor()
        out._edge = (self, i) if out._a.dtype.kind in "fcV" else None
        return out

    def shown(self) -> OpNode:
        return self


def pack(node: OpNode, hooks: Hooks) -> None:
    """Let the user's hooks keep what a node has just saved."""
    if node.saved:
        node.saved = {i: _packed(kept, hooks) for i, kept in node.saved.items()}
    if node.outputs:
        node.outputs = [_packed(kept, hooks) for kept in node.outputs]
    node.__class__ = PackedNode


def _packed(kept: Tensor, hooks: Hooks) -> Any:
    if kept.__class__ is not tuple:
        return kept
    tensor = tensor_over(kept[0], kept[0].__class__)
    tensor._ver = kept[1]
    return Packed(tensor, hooks)


class Kept:
    """A saved tensor that may be overwritten: its values are copied right before that."""

    def __init__(self, tensor: Tensor, copies: Any) -> None:
        self.tensor, self.copies = tensor, copies

    def copy(self) -> None:
        """Keep the values that are about to be lost."""
        self.copies[self] = _alone(Tensor.clone, self.tensor)

    def value(self) -> Tensor:
        """The tensor as it was when it was saved."""
        return self.copies.get(self, self.tensor)
