"""From one placement to another: what each rank sends, and the gradient of it.

A gradient lies as its tensor lies: cut where that is cut, whole where that is whole. The gradient of a tensor whose
ranks hold summands is whole, because each summand adds as much to the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.gradients.function import Function
from ...core.tensor import Tensor
from ...operators.create.filled import zeros
from ..collectives import all_gather_into_tensor, all_reduce, reduce_scatter_tensor
from ..reduce_op import ReduceOp
from .placement_types import Partial, Placement, Replicate, Shard, cutting_order

__all__ = ["moved", "reduced", "rows_of", "summed_back", "whole_gradient"]


def rows_of(length: int, ranks: int, rank: int) -> tuple[int, int]:
    """The first row and the one behind the last that a rank has of `length`; the last ones may have none."""
    each = -(-length // ranks)
    return min(rank * each, length), min((rank + 1) * each, length)


def _padded(local: Tensor, dim: int, each: int) -> Tensor:
    """The rows of `dim` in front, filled up with zeros to `each`."""
    turned = local.movedim(dim, 0)
    if turned.shape[0] == each:
        return turned.contiguous()
    out = zeros((each, *turned.shape[1:]), dtype=local.dtype, device=local.device)
    out[: turned.shape[0]] = turned
    return out


class _Gather(Function):
    """Parts of `length` rows to the whole; the gradient is cut again."""

    @staticmethod
    def forward(ctx: Any, group: Any, dim: int, length: int, local: Tensor) -> Tensor:
        ctx.group, ctx.dim = group, dim
        each = -(-length // group.size())
        mine = _padded(local, dim, each)
        out = mine.new_empty((each * group.size(), *mine.shape[1:]))
        all_gather_into_tensor(out, mine, group)
        return out[:length].movedim(0, dim).contiguous()

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        return None, None, None, _OwnRows.apply(ctx.group, ctx.dim, g[0])


class _OwnRows(Function):
    """This rank's rows of what every rank has; the gradient is gathered."""

    @staticmethod
    def forward(ctx: Any, group: Any, dim: int, whole: Tensor) -> Tensor:
        ctx.group, ctx.dim, ctx.length = group, dim, whole.shape[dim]
        first, last = rows_of(whole.shape[dim], group.size(), group.rank())
        return whole.narrow(dim, first, last - first).clone()

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        return None, None, _Gather.apply(ctx.group, ctx.dim, ctx.length, g[0])


class _SummandsToWhole(Function):
    """Summands to the whole; every summand gets the whole gradient."""

    @staticmethod
    def forward(ctx: Any, group: Any, op: str, local: Tensor) -> Tensor:
        ctx.op, ctx.size = op, group.size()
        out = local.clone()
        all_reduce(out, getattr(ReduceOp, op.upper()), group)
        return out

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        if ctx.op not in ("sum", "avg"):
            raise RuntimeError(f"a reduction by {ctx.op!r} over ranks has no derivative here")
        return None, None, g[0] / ctx.size if ctx.op == "avg" else g[0]


class _SummandsToShards(Function):
    """Summands to this rank's rows of their sum; the gradient is gathered."""

    @staticmethod
    def forward(ctx: Any, group: Any, dim: int, op: str, local: Tensor) -> Tensor:
        ctx.group, ctx.dim, ctx.op, ctx.length = group, dim, op, local.shape[dim]
        size = group.size()
        each = -(-ctx.length // size)
        sent = _padded(local, dim, each * size)
        out = sent.new_empty((each, *sent.shape[1:]))
        reduce_scatter_tensor(out, sent, getattr(ReduceOp, op.upper()), group)
        first, last = rows_of(ctx.length, size, group.rank())
        return out[: last - first].movedim(0, dim).contiguous()

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        back = _Gather.apply(ctx.group, ctx.dim, ctx.length, g[0])
        return None, None, None, back / ctx.group.size() if ctx.op == "avg" else back


class _SummedBack(Function):
    """The same values; their gradient is the sum over the ranks."""

    @staticmethod
    def forward(ctx: Any, groups: Any, local: Tensor) -> Tensor:
        ctx.groups = groups
        return local.view_as(local)

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        total = g[0].contiguous()
        for group in ctx.groups:
            total = _SummandsToWhole.apply(group, "sum", total)
        return None, total


class _WholeGradient(Function):
    """The same values; their gradient, which lies as `given` says, is brought to where the tensor lies."""

    @staticmethod
    def forward(ctx: Any, mesh: Any, given: Any, own: Any, shape: Any, local: Tensor) -> Tensor:
        ctx.move = (mesh, given, own, shape)
        return local.view_as(local)

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        mesh, given, own, shape = ctx.move
        return None, None, None, None, moved(g[0], shape, mesh, given, own)


def reduced(local: Tensor, group: Any, op: str = "sum") -> Tensor:
    """What all ranks of a group have together of one summand each."""
    return _SummandsToWhole.apply(group, op, local)


def summed_back(local: Tensor, mesh: Any, dims: Sequence[int]) -> Tensor:
    """A whole tensor that is used with parts of others along some dims of a mesh."""
    if not dims or not local.requires_grad:
        return local
    return _SummedBack.apply(tuple(mesh.get_group(d) for d in dims), local)


def whole_gradient(local: Tensor, shape: Any, mesh: Any, given: Any, own: Any) -> Tensor:
    """`to_local(grad_placements=given)` of a tensor that lies as `own` says."""
    target = tuple(Replicate() if p.is_partial() else p for p in own)
    return _WholeGradient.apply(mesh, tuple(given), target, tuple(shape), local)


def _length(shape: Any, mesh: Any, placements: Sequence[Placement], level: int, dim: int) -> int:
    """How long a dim of the tensor is for the ranks that the cuts before that of `level` leave together."""
    length = shape[dim]
    where = mesh.get_coordinate()
    for i in cutting_order(placements):
        if i == level:
            break
        if placements[i].is_shard(dim):
            first, last = rows_of(length, mesh.size(i), where[i])
            length = last - first
    return length


def _gathered(local: Tensor, shape: Any, mesh: Any, kinds: list[Placement], level: int) -> Tensor:
    kind = kinds[level]
    group = mesh.get_group(level)
    if isinstance(kind, Partial):
        return _SummandsToWhole.apply(group, kind.reduce_op, local)
    if isinstance(kind, Shard):
        length = _length(shape, mesh, kinds, level, kind.dim)
        return _Gather.apply(group, kind.dim, length, local)
    return local


def moved(local: Tensor, shape: Any, mesh: Any, given: Sequence[Placement], wanted: Sequence[Placement]) -> Tensor:
    """This rank's part of the same tensor with other placements; all ranks of the mesh call it."""
    kinds = list(given)
    differ = [i for i, (a, b) in enumerate(zip(kinds, wanted)) if a != b]
    if not differ:
        return local
    if len(differ) == 1 == mesh.ndim and isinstance(kinds[0], Partial) and isinstance(wanted[0], Shard):
        return _SummandsToShards.apply(mesh.get_group(0), wanted[0].dim, kinds[0].reduce_op, local)
    # each cut divides what the cuts before it left: from the first that differs they are undone, and done again
    before, after = cutting_order(given), cutting_order(wanted)
    same = 0
    while before[same] == after[same] and given[before[same]] == wanted[before[same]]:
        same += 1
    for level in reversed(before[same:]):
        local = _gathered(local, shape, mesh, kinds, level)
        kinds[level] = Replicate()
    for level in after[same:]:
        kind = wanted[level]
        if isinstance(kind, Shard):
            local = _OwnRows.apply(mesh.get_group(level), kind.dim, local)
        elif isinstance(kind, Partial):
            local = _first_has_it(local, mesh.get_group(level), kind)
        kinds[level] = kind
    return local


def _first_has_it(local: Tensor, group: Any, kind: Partial) -> Tensor:
    """Summands of what every rank has."""
    if kind.reduce_op != "sum":
        return local  # the average, smallest and largest of equal values
    return _Share.apply(group, local)


class _Share(Function):
    """An equal share of the values on every rank; the gradient of a summand is the whole one."""

    @staticmethod
    def forward(ctx: Any, group: Any, local: Tensor) -> Tensor:
        return local / group.size()

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        return None, g[0]
