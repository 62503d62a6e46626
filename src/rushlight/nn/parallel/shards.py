"""One group of sharded parameters: gathered before they are used, freed after it, gradients spread again.

All parameters of a group travel in one flat array. Between forward and backward the tape's nodes must not keep the
gathered arrays alive: `Saved` takes them out of the nodes, and puts them back when backward comes to the node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...core.gradients.node import OpNode
from ...core.gradients.tape import at_end
from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...distributed.collectives import all_gather_into_tensor, all_reduce, reduce_scatter_tensor
from ...distributed.reduce_op import ReduceOp
from ...distributed.tensor.dtensor import local_of, rows_of
from ...operators.create.filled import empty, zeros
from ...runtime.thread import here
from .shard_places import Layout, ShardedParameter, in_front

__all__ = ["Order", "Shards"]


class Shards:
    """The parameters that one `fully_shard` call manages."""

    def __init__(
        self,
        owned: list[tuple[list[tuple[Any, str]], Any]],
        layout: Layout,
        policy: Any,
        placement: Callable[[Any], Any] | None = None,
    ) -> None:
        self.layout, self.policy = layout, policy
        self.mesh, self.group = layout.mesh, layout.group
        self.places: list[ShardedParameter] = []
        for owners, param in owned:
            wanted = None if placement is None else placement(param)
            dim = 0 if wanted is None else wanted.dim % max(param.dim(), 1)
            if dim and _rows(param, dim) % self.group.size():
                raise NotImplementedError(
                    f"FSDP does not support uneven sharding on dim {dim}: "
                    f"{tuple(param.shape)} (world size: {self.group.size()})"
                )
            place = ShardedParameter(owners, param, layout, dim)
            place.register(place.sharded)
            self.places.append(place)
        self.gathered = False
        self.ahead: Any = None  # the gathers that were started early
        self.sync = True
        self.sync_copies = True
        self.divide: float | None = None  # instead of by the number of ranks
        self.after_backward = True  # whether the whole parameters are freed after backward
        self.comes_back = False  # whether backward will need the whole parameters
        self.waiting: set[int] = set()
        self.order: Order | None = None

    def _hook(self, i: int) -> Callable[[Any], None]:
        return lambda param: self._ready(i)

    def follow(self) -> None:
        """See what happened to the parameters since the last pass."""
        for i, place in enumerate(self.places):
            place.follow()
            if place.full.requires_grad and not place.hooked:
                place.full.register_post_accumulate_grad_hook(self._hook(i))
                place.hooked = True

    # -- gathering --------------------------------------------------------------------------------

    def _dtype(self, place: ShardedParameter, precise: bool = False) -> Any:
        own = place.sharded.dtype
        wanted = None if precise else self.policy.param_dtype
        return wanted if wanted is not None and place.sharded.is_floating_point() else own

    def _start(self, async_op: bool, precise: bool = False) -> list[tuple[Any, Tensor, list[ShardedParameter]]]:
        """Begin to gather: one all-gather for each dtype."""
        kinds: dict[str, list[ShardedParameter]] = {}
        for p in self.places:
            kinds.setdefault(str(self._dtype(p, precise)), []).append(p)
        begun = []
        for places in kinds.values():
            dtype = self._dtype(places[0], precise)
            device = self.layout.device() if self.layout.offload else places[0].sharded.device
            length = sum(p.length for p in places)
            mine = zeros(length, dtype=dtype, device=device)
            at = 0
            for p in places:
                local = local_of(p.sharded).detach().movedim(p.dim, 0).reshape(-1)
                mine[at : at + local.numel()] = local.to(device=device, dtype=dtype)
                at += p.length
            out = empty((self.group.size() * length,), dtype=dtype, device=device)
            begun.append((all_gather_into_tensor(out, mine, self.group, async_op), out, places))
        return begun

    def gather_ahead(self) -> None:
        """Start to gather these parameters before they are needed."""
        if self.places and not self.gathered and self.ahead is None and here.recorder is None:
            with no_grad():
                self.ahead = self._start(True)

    def forget_ahead(self) -> None:
        """Drop what was gathered early and not used: the parameters change before they are needed."""
        if self.ahead is not None:
            for work, _, _ in self.ahead:
                if work is not None:
                    work.wait()
            self.ahead = None

    def unshard(self, precise: bool = False) -> None:
        """Make the whole parameters, if `precise` in their own dtype; all ranks call it at the same point."""
        if self.gathered or not self.places:  # a container whose parts are all sharded has none
            return
        with no_grad():
            begun = self.ahead or self._start(False, precise)
            self.ahead = None
            for work, out, places in begun:
                if work is not None:
                    work.wait()
                rows = out.view(self.group.size(), -1)
                at = 0
                for p in places:
                    part = rows[:, at : at + p.length].reshape(-1, *p.rest)[: p.rows]
                    whole = part.movedim(0, p.dim).contiguous() if p.dim else part
                    p.full._a = whole.reshape(p.shape)._a
                    at += p.length
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

    def write_back(self) -> None:
        """Let the shards have the values of the whole parameters."""
        with no_grad():
            for p in self.places:
                local_of(p.sharded.detach()).copy_(self._own(p, local_of(p.full).detach()))

    def show_gradients(self) -> None:
        """Let the whole parameters have whole gradients."""
        for p in self.places:
            if p.sharded._grad is not None:
                p.full._grad = p.sharded.grad.full_tensor().reshape(p.shape)

    def take_gradients(self, keep: bool) -> None:
        """Take whole gradients away again; if `keep`, the shards have what became of them."""
        with no_grad():
            for p in self.places:
                whole, p.full._grad = p.full._grad, None
                if keep and whole is not None:
                    p.sharded._grad = self._own(p, whole).clone()

    def _own(self, p: ShardedParameter, whole: Tensor) -> Tensor:
        """This rank's part of a whole parameter or gradient."""
        first, last = rows_of(p.rows, self.group.size(), self.group.rank())
        return whole.reshape(p.cut_shape).narrow(p.dim, first, last - first)

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
        with no_grad():
            for p in self.places:
                self._keep(p)
            if self.sync:
                kinds: dict[str, list[ShardedParameter]] = {}
                for p in self.places:
                    if p.kept is not None or p.full._grad is not None:
                        kinds.setdefault(str(_gradient(p).dtype), []).append(p)
                for got in kinds.values():
                    self._reduce(got)
        if self.gathered and self.after_backward:
            self.reshard()

    def _keep(self, p: ShardedParameter) -> None:
        """Add up gradients of several passes in the dtype in which they are exchanged."""
        grad = p.full._grad
        if grad is None:
            return
        dtype = self.policy.reduce_dtype or grad.dtype
        if p.kept is None and grad.dtype == dtype:
            p.kept = grad
        elif p.kept is None:
            p.kept = grad.to(dtype)
        else:
            p.kept.add_(grad.to(dtype))
        p.full._grad = None

    def _reduce(self, got: list[ShardedParameter]) -> None:
        dtype, device = _gradient(got[0]).dtype, _gradient(got[0]).device
        total = sum(p.length for p in got)
        size = self.group.size()
        sent = zeros((size, total), dtype=dtype, device=device)
        at = 0
        for p in got:
            padded = zeros((size * p.each, *p.rest), dtype=dtype, device=device)
            whole = _gradient(p).reshape(p.cut_shape).movedim(p.dim, 0)
            padded[: p.rows] = whole
            sent[:, at : at + p.length] = padded.reshape(size, p.length)
            at += p.length
            p.kept = None
        mine = empty((total,), dtype=dtype, device=device)
        op = ReduceOp.AVG if self.divide is None else ReduceOp.SUM
        reduce_scatter_tensor(mine, sent.reshape(-1), op, self.group)
        if self.layout.copies is not None:
            mine = self._among_copies(got, mine, op)
            if mine is None:
                return
        if self.divide is not None:
            mine.div_(self.divide)
        self._give(got, mine)

    def _among_copies(self, got: list[ShardedParameter], mine: Tensor, op: Any) -> Any:
        """Average over the ranks that hold the same rows, or keep the gradients for the pass that does."""
        at = 0
        for p in got:
            part = mine[at : at + p.length]
            if p.held is not None:
                part.add_(p.held)
                p.held = None
            if not self.sync_copies:
                p.held = part.clone()
            at += p.length
        if not self.sync_copies:
            return None
        all_reduce(mine, op, self.layout.copies)
        return mine

    def _give(self, got: list[ShardedParameter], mine: Tensor) -> None:
        at = 0
        for p in got:
            shape = p.sharded._a.shape
            turned = in_front(shape, p.dim)
            count = int(np.prod(shape, dtype=np.int64))
            grad = mine[at : at + count].reshape(turned).movedim(0, p.dim)
            grad = grad.to(device=p.sharded.device, dtype=p.sharded.dtype)
            if p.sharded._grad is None:
                p.sharded._grad = grad.clone()
            else:
                p.sharded._grad.add_(grad)
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
            if any(hasattr(getattr(node, n, None), "part") for n in ("saved", "outputs")):
                self.comes_back = True  # an activation checkpoint inside: backward runs its part again
                node.register_prehook(self._before_it_runs_again)
            elif isinstance(node, OpNode) and isinstance(node.saved, dict):
                self._empty(node, known)

    def _before_it_runs_again(self, gradients: Any) -> None:
        self.come_back()
        self.show()

    def come_back(self) -> None:
        """Make the whole parameters for backward, in its order."""
        assert self.order is not None
        self.order.watch_end()
        self.order.before_backward(self)
        self.unshard()

    def _empty(self, node: OpNode, known: dict[int, ShardedParameter]) -> None:
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


def _rows(param: Any, dim: int) -> int:
    """How long a dim of what this process has of a parameter is."""
    return param._a.shape[dim]


def _gradient(p: ShardedParameter) -> Tensor:
    """What the passes since the last exchange left for a parameter."""
    found = p.kept if p.kept is not None else p.full._grad
    assert found is not None
    return found


class _Saved:
    """Arrays that were taken out of a node, and the hook that puts them back."""

    def __init__(self, shards: Shards, node: OpNode, taken: list[tuple]) -> None:
        self.shards, self.node, self.taken = shards, node, taken

    def __call__(self, gradients: Any) -> None:
        self.shards.come_back()
        for key, place, shape, strides in self.taken:
            whole = place.full._a
            if whole.shape != shape or whole.strides != strides:
                whole = _view_of(whole, shape, strides)
            self.node.saved[key] = (whole, *self.node.saved[key][1:])


def _address(a: Any) -> int:
    return a.__array_interface__["data"][0] if isinstance(a, np.ndarray) else a.data.ptr


def _view_of(a: Any, shape: tuple, strides: tuple) -> Any:
    """Another view of the same memory, such as a transposed weight."""
    tricks = np.lib.stride_tricks if isinstance(a, np.ndarray) else __import__("cupy").lib.stride_tricks
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
            elif shards.gathered and shards.after_backward:
                shards.reshard()
