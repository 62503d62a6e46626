"""One group of sharded parameters: gathered before they are used, freed after it, gradients spread again.

All parameters of a group travel in one flat array. Between forward and backward the tape's nodes must not keep the
gathered arrays alive: `Saved` takes them out of the nodes, and puts them back when backward comes to the node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.modes import no_grad
from ...core.node import OpNode
from ...core.tape import at_end
from ...core.tensor import Tensor
from ...distributed.collectives import all_gather_into_tensor, reduce_scatter_tensor
from ...distributed.reduce_op import ReduceOp
from ...distributed.tensor.dtensor import DTensor, rows_of, spread
from ...distributed.tensor.placement_types import Shard
from ...operators.create.filled import empty, zeros
from ...runtime.thread import here
from ..parameter import Parameter

__all__ = ["ShardedParameter", "Shards"]


class ShardedParameter(DTensor, Parameter):
    """This rank's rows of a parameter; what the optimiser sees."""

    __slots__ = ()


class _Place:
    """One parameter of a group: where it is registered, and its part of the flat arrays."""

    def __init__(self, owners: list[tuple[Any, str]], param: Any, mesh: Any, at: int) -> None:
        group = mesh.get_group()
        self.owners = owners
        self.shape = tuple(param.shape)
        rows = self.shape[0] if self.shape else 1
        self.each = -(-rows // group.size())
        self.rest = self.shape[1:]
        per_row = int(np.prod(self.rest, dtype=np.int64)) if self.rest else 1
        self.length = self.each * per_row
        self.at = at
        first, last = rows_of(rows, group.size(), group.rank())
        whole = param.detach().reshape((rows, *self.rest))
        local = whole[first:last].clone()
        self.sharded = spread(ShardedParameter, local, mesh, (Shard(0),), self.shape)
        self.sharded.requires_grad_(param.requires_grad)
        self.full = Parameter(whole[:0].clone(), requires_grad=param.requires_grad)
        self.hide()

    def hide(self) -> None:
        """Free the memory of the whole parameter; its shape stays."""
        a = self.sharded._a
        xp = np if isinstance(a, np.ndarray) else __import__("cupy")
        self.full._a = xp.broadcast_to(xp.zeros((), a.dtype), self.shape)

    def register(self, which: Any) -> None:
        for module, name in self.owners:
            module._parameters[name] = which


class Shards:
    """The parameters that one `fully_shard` call manages."""

    def __init__(
        self, owned: list[tuple[list[tuple[Any, str]], Any]], mesh: Any, policy: Any
    ) -> None:
        self.mesh, self.policy = mesh, policy
        self.group = mesh.get_group()
        self.places: list[_Place] = []
        at = 0
        for owners, param in owned:
            place = _Place(owners, param, mesh, at)
            place.register(place.sharded)
            self.places.append(place)
            at += place.length
        self.length = at
        self.gathered = False
        self.ahead: Any = None  # (work, arrays) of a gather that was started early
        self.sync = True
        self.comes_back = False  # whether backward will need the whole parameters
        self.waiting: set[int] = set()
        self.order: Order | None = None
        self.reshards = True
        for i, place in enumerate(self.places):
            if place.full.requires_grad:
                place.full.register_post_accumulate_grad_hook(self._hook(i))

    def _hook(self, i: int) -> Callable[[Any], None]:
        return lambda param: self._ready(i)

    # -- gathering --------------------------------------------------------------------------------

    def _dtype(self) -> Any:
        return self.policy.param_dtype or self.places[0].sharded.dtype

    def _start(self, async_op: bool) -> tuple[Any, Tensor]:
        device = self.places[0].sharded.device
        mine = zeros(self.length, dtype=self._dtype(), device=device)
        for p in self.places:
            local = p.sharded.to_local().detach().reshape(-1)
            mine[p.at : p.at + local.numel()] = local.to(mine.dtype)
        out = empty((self.group.size() * self.length,), dtype=mine.dtype, device=device)
        return all_gather_into_tensor(out, mine, self.group, async_op), out

    def gather_ahead(self) -> None:
        """Start to gather these parameters before they are needed."""
        if self.places and not self.gathered and self.ahead is None and here.recorder is None:
            with no_grad():
                self.ahead = self._start(True)

    def forget_ahead(self) -> None:
        """Drop what was gathered early and not used: the parameters change before they are needed."""
        if self.ahead is not None:
            if self.ahead[0] is not None:
                self.ahead[0].wait()
            self.ahead = None

    def unshard(self) -> None:
        """Make the whole parameters; all ranks call it at the same point."""
        if self.gathered or not self.places:  # a container whose parts are all sharded has none
            return
        with no_grad():
            work, out = self.ahead or self._start(False)
            self.ahead = None
            if work is not None:
                work.wait()
            rows = out.view(self.group.size(), self.length)
            for p in self.places:
                part = rows[:, p.at : p.at + p.length].reshape(-1, *p.rest)
                count = p.shape[0] if p.shape else 1
                p.full._a = part[:count].reshape(p.shape)._a
        self.gathered = True

    def show(self) -> None:
        """Let the modules see the whole parameters."""
        for p in self.places:
            p.register(p.full)

    def reshard(self) -> None:
        """Let the modules see the shards again, and free the rest."""
        for p in self.places:
            p.register(p.sharded)
            p.hide()
        self.gathered = False

    # -- gradients --------------------------------------------------------------------------------

    def expect(self) -> None:
        """Expect gradients: a forward pass with these parameters was recorded."""
        self.waiting = {i for i, p in enumerate(self.places) if p.full.requires_grad}

    def _ready(self, i: int) -> None:
        assert self.order is not None
        self.order.watch_end()
        self.waiting.discard(i)
        if not self.waiting:
            self.reduce()

    def reduce(self) -> None:
        """Average the gradients over the ranks; each keeps its rows."""
        self.waiting = set()
        got = [p for p in self.places if p.full._grad is not None]
        if got and self.sync:
            with no_grad():
                self._reduce(got)
        if self.gathered:
            self.reshard()

    def _reduce(self, got: list[_Place]) -> None:
        dtype = self.policy.reduce_dtype or got[0].full._grad.dtype
        device = got[0].sharded.device
        total = sum(p.length for p in got)
        size = self.group.size()
        sent = zeros((size, total), dtype=dtype, device=device)
        at = 0
        for p in got:
            padded = zeros((size * p.each, *p.rest), dtype=dtype, device=device)
            grad = p.full._grad
            padded[: max(p.shape[0] if p.shape else 1, 0)] = grad.reshape((-1, *p.rest)).to(dtype)
            sent[:, at : at + p.length] = padded.reshape(size, p.length)
            at += p.length
            p.full._grad = None
        mine = empty((total,), dtype=dtype, device=device)
        reduce_scatter_tensor(mine, sent.reshape(-1), ReduceOp.AVG, self.group)
        at = 0
        for p in got:
            local = p.sharded
            grad = mine[at : at + local.numel()].reshape(local.shape).to(local.dtype)
            local._grad = grad.clone() if local._grad is None else local._grad.add_(grad)
            at += p.length

    # -- what the tape keeps ----------------------------------------------------------------------

    def let_go(self, outputs: list[Tensor], start: int) -> None:
        """Take the gathered arrays out of the nodes that this forward pass made."""
        known = {_address(p.full._a): p for p in self.places}
        self.comes_back = False
        stack = [t._edge[0] for t in outputs if t._edge is not None]
        seen: set[int] = set()
        while stack:
            node = stack.pop()
            if node.seq <= start or node.seq in seen:
                continue
            seen.add(node.seq)
            stack.extend(e[0] for e in node.edges if e is not None)
            if isinstance(node, OpNode) and isinstance(node.saved, dict):
                self._empty(node, known)

    def _empty(self, node: OpNode, known: dict[int, _Place]) -> None:
        taken = []
        for key, kept in node.saved.items():
            if kept.__class__ is not tuple or not hasattr(kept[0], "strides"):
                continue
            place = known.get(_address(kept[0]))
            if place is not None and kept[0].size == place.full._a.size:
                taken.append((key, place, kept[0].shape, kept[0].strides))
                node.saved[key] = (None, *kept[1:])
        if taken:
            self.comes_back = True
            node.register_prehook(_Saved(self, node, taken))


class _Saved:
    """Arrays that were taken out of a node, and the hook that puts them back."""

    def __init__(self, shards: Shards, node: OpNode, taken: list[tuple]) -> None:
        self.shards, self.node, self.taken = shards, node, taken

    def __call__(self, gradients: Any) -> None:
        shards = self.shards
        assert shards.order is not None
        shards.order.watch_end()
        shards.order.before_backward(shards)
        shards.unshard()
        for key, place, shape, strides in self.taken:
            whole = place.full._a
            if whole.shape != shape or whole.strides != strides:
                whole = _view_of(whole, shape, strides)
            self.node.saved[key] = (whole, *self.node.saved[key][1:])


def _address(a: Any) -> int:
    return a.__array_interface__["data"][0] if isinstance(a, np.ndarray) else a.data.ptr


def _view_of(a: Any, shape: tuple, strides: tuple) -> Any:
    """Another view of the same memory, such as a transposed weight."""
    tricks = np.lib.stride_tricks if isinstance(a, np.ndarray) else __import__("cupy").lib.stride_tricks  # fmt: skip
    return tricks.as_strided(a, shape, strides)


class Order:
    """The groups of one model in the order of their forward passes, to gather the next one early."""

    def __init__(self) -> None:
        self.all: list[Shards] = []
        self.last: list[Shards] = []
        self.now: list[Shards] = []
        self.watched = False

    def forward(self, shards: Shards) -> None:
        self.now.append(shards)
        at = len(self.now)
        if at < len(self.last) and self.last[at - 1] is shards:
            self.last[at].gather_ahead()

    def end_of_forward(self) -> None:
        self.last, self.now = self.now, []

    def before_backward(self, shards: Shards) -> None:
        """Start to gather the group that comes next in backward: the one before this in forward."""
        if shards in self.last and not shards.gathered:
            at = self.last.index(shards)
            shards.unshard()
            if at > 0 and self.last[at - 1].comes_back:
                self.last[at - 1].gather_ahead()

    def watch_end(self) -> None:
        if not self.watched and here.walk is not None:
            self.watched = True
            at_end(self._end)

    def _end(self) -> None:
        """End of backward: groups that did not get all gradients reduce those that came."""
        self.watched = False
        for shards in reversed(self.all):
            shards.forget_ahead()
            if shards.waiting:
                shards.reduce()
            elif shards.gathered:
                shards.reshard()
