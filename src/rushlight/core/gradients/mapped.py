"""The way of tensors into a mapped function and out of it, which gradients go back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...runtime.batch.arrays import BatchedArray, Level, levels_of, make, samples, without
from ...runtime.thread import GRAD, TAPE, here
from ..tensor import Tensor, tensor_over
from ..views import current_edge
from .node import OpNode
from .tape import Node


class _Mapped(Node):
    """A node between the tensor of all samples and the one of one sample."""

    __slots__ = ("level",)

    def __init__(self, level: Level, edge: Any) -> None:
        super().__init__((edge,))
        self.level = level


class EnterBackward(_Mapped):
    """The gradients of one sample become those of all."""

    __slots__ = ()

    def apply(self, gs: list[Any]) -> Sequence[Any]:
        return (leave(gs[0], self.level),)


class LeaveBackward(_Mapped):
    """The gradients of all samples become those of one."""

    __slots__ = ()

    def apply(self, gs: list[Any]) -> Sequence[Any]:
        return (enter(gs[0], self.level),)


class SamplesNode(OpNode):
    """An op over samples of which some inputs are shared: the gradients of those become one, when the map is done with.

    Inside of the map each sample has its own; there a gradient that is no sample's is the same for all of them.
    Outside, it is what all of them have together: so the sum is taken before anything else is added to it.
    """

    __slots__ = ()

    shared: list[tuple[int, list[Level]]]  # inputs, and the maps that each of them does belong to

    def apply(self, gs: list[Any]) -> Sequence[Any]:
        return summed_where_shared(list(OpNode.apply(self, gs)), self.shared)


def summed_where_shared(gradients: list[Any], shared: list[tuple[int, list[Level]]]) -> list[Any]:
    for i, own in shared:
        g = gradients[i]
        if g is not None and g._a.__class__ is BatchedArray:
            gradients[i] = _summed(g, own)
    return gradients


def shared_inputs(inputs: Sequence[Any], edges: Sequence[Any]) -> list[tuple[int, list[Level]]]:
    """The inputs that want a gradient and belong to fewer maps than others, with the maps that they do belong to."""
    maps = {level for t in inputs if isinstance(t, Tensor) for level in levels_of(t._a)}
    found = []
    if maps:
        for i, (t, edge) in enumerate(zip(inputs, edges)):
            if edge is not None:
                own = levels_of(t._a)
                if len(own) < len(maps):
                    found.append((i, own))
    return found


def note_shared(inputs: Sequence[Any], edges: Sequence[Any], outs: Sequence[Tensor]) -> None:
    """Let the node of an op over samples know which of its inputs they share."""
    shared = shared_inputs(inputs, edges)
    node = next((t._edge[0] for t in outs if t._edge is not None), None)
    if shared and node is not None:
        node.__class__ = SamplesNode
        node.shared = shared


def enter(t: Tensor, level: Level) -> Tensor:
    """One sample of a tensor that has all of them along its first dim."""
    out = tensor_over(make(level, t._a), BatchedArray)
    if t._ver is None:
        t._ver = [0]
    out._ver = t._ver  # the memory is the same
    return _recorded(EnterBackward, out, t, level)


def leave(t: Tensor, level: Level) -> Tensor:
    """All samples of a tensor, along a new first dim, also where they are all the same."""
    if level not in levels_of(t._a):
        return t.unsqueeze(0).expand(level.size, *t._a.shape)
    a = without(t._a, level)
    return _recorded(LeaveBackward, tensor_over(a, a.__class__), t, level)


def _recorded(kind: type[_Mapped], out: Tensor, t: Tensor, level: Level) -> Tensor:
    if here.state & TAPE == GRAD:
        edge = current_edge(t)
        if edge is not None and out._a.dtype.kind in "fcV":
            out._edge = (kind(level, edge), 0)
    return out


def summed(g: Tensor, t: Any) -> Tensor:
    """A gradient of `t` that has come out of maps that are done with, and whose samples all share it."""
    return _summed(g, levels_of(getattr(t, "_a", None)))


def _summed(g: Tensor, own: list[Level]) -> Tensor:
    for level in levels_of(g._a):
        if not level.open and level not in own:
            g = leave(g, level).sum(0)  # type: ignore[attr-defined]
    return g


samples.summed = summed
