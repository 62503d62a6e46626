"""Collectives that can be differentiated: what one sends forward comes back as a gradient.

Each of these returns new tensors. The gradient of a sum over ranks is the sum of the ranks' gradients; the gradient
of gathered tensors is gathered where they came from.
"""

from __future__ import annotations

from typing import Any

from ...core.gradients.function import Function
from ...core.tensor import Tensor
from ...operators.create.like import zeros_like
from .. import collectives as plain
from ..groups import group_of
from ..reduce_op import ReduceOp, reduce_op

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce",
    "reduce_scatter", "scatter",
]  # fmt: skip


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.op, ctx.group = op, group
        out = tensor.clone()
        plain.all_reduce(out, op, group)
        return out

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        if reduce_op(ctx.op).name not in ("SUM", "AVG"):
            raise RuntimeError(f"all_reduce by {reduce_op(ctx.op).name} has no derivative here")
        return None, None, _AllReduce.apply(ctx.op, ctx.group, g[0].contiguous())


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: Any, src: int, group: Any, tensor: Tensor) -> Tensor:
        ctx.src, ctx.group = src, group
        out = tensor.clone()
        plain.broadcast(out, src, group)
        return out

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        return None, None, _Reduce.apply(ctx.src, ReduceOp.SUM, ctx.group, g[0].contiguous())


class _Reduce(Function):
    """The reduction on rank `dst`, zeros elsewhere."""

    @staticmethod
    def forward(ctx: Any, dst: int, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.dst, ctx.group = dst, group
        out = tensor.clone()
        plain.reduce(out, dst, op, group)
        return out if group_of(group).world.rank == dst else zeros_like(out)

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        return None, None, None, _Broadcast.apply(ctx.dst, ctx.group, g[0].contiguous())


class _AllGather(Function):
    """All ranks' tensors, one after the other along a new first dim."""

    @staticmethod
    def forward(ctx: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.group = group
        of = group_of(group)
        out = tensor.new_empty((of.size(), *tensor.shape))
        plain.all_gather_into_tensor(out, tensor.contiguous(), of)
        return out

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        return None, _ReduceScatter.apply(ReduceOp.SUM, ctx.group, g[0].contiguous())


class _ReduceScatter(Function):
    """Row `rank` of the sum of all ranks' tensors."""

    @staticmethod
    def forward(ctx: Any, op: Any, group: Any, tensor: Tensor) -> Tensor:
        ctx.group, ctx.op = group, op
        out = tensor.new_empty(tensor.shape[1:])
        plain.reduce_scatter_tensor(out, tensor.contiguous(), op, group)
        return out

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        back = _AllGather.apply(ctx.group, g[0].contiguous())
        average = reduce_op(ctx.op).name == "AVG"
        return None, None, back / group_of(ctx.group).size() if average else back


class _AllToAllSingle(Function):
    @staticmethod
    def forward(ctx: Any, group: Any, received: Any, sent: Any, shape: Any, tensor: Tensor) -> Tensor:
        ctx.group, ctx.received, ctx.sent, ctx.shape = group, received, sent, tensor.shape
        out = tensor.new_empty(shape)
        plain.all_to_all_single(out, tensor.contiguous(), received, sent, group)
        return out

    @staticmethod
    def backward(ctx: Any, *g: Any) -> Any:
        back = _AllToAllSingle.apply(ctx.group, ctx.sent, ctx.received, ctx.shape, g[0].contiguous())
        return None, None, None, None, back


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The reduction of all ranks' tensors, as a new tensor."""
    return _AllReduce.apply(op, group, tensor)


def broadcast(tensor: Tensor, src: int, group: Any = None) -> Tensor:
    """Rank `src`'s tensor, as a new tensor."""
    return _Broadcast.apply(src, group, tensor)


def reduce(tensor: Tensor, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The reduction on rank `dst`; zeros elsewhere."""
    return _Reduce.apply(dst, op, group, tensor)


def all_gather(tensor: Tensor, group: Any = None) -> tuple[Tensor, ...]:
    """All ranks' tensors, in the order of the ranks."""
    return tuple(_AllGather.apply(group, tensor).unbind(0))


def gather(tensor: Tensor, dst: int = 0, group: Any = None) -> tuple[Tensor, ...]:
    """All ranks' tensors on rank `dst`; zeros elsewhere."""
    rows = _AllGather.apply(group, tensor)
    of = group_of(group)
    return tuple((rows if of.world.rank == dst else rows * 0).unbind(0))


def scatter(tensors: Any, src: int = 0, group: Any = None) -> Tensor:
    """This rank's entry of the list of rank `src`."""
    from ...operators.shape.join import stack

    rows = _Broadcast.apply(src, group, stack(list(tensors)))
    return rows[group_of(group).rank()]


def reduce_scatter(output: Tensor, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Tensor:
    """The reduction of all ranks' entries with this rank's number."""
    from ...operators.shape.join import stack

    return _ReduceScatter.apply(op, group, stack(list(input_list)))


def all_to_all_single(
    output: Tensor, input: Tensor, output_split_sizes: Any = None, input_split_sizes: Any = None, group: Any = None
) -> Tensor:
    """Rank r gets the r-th part of every rank's tensor; `output` says the shape."""
    return _AllToAllSingle.apply(group, output_split_sizes, input_split_sizes, tuple(output.shape), input)


def all_to_all(output_tensor_list: Any, input_tensor_list: Any, group: Any = None) -> tuple:
    """Rank r gets the r-th tensor of every rank's list."""
    from ...operators.shape.join import cat

    sent = [t.numel() for t in input_tensor_list]
    received = [t.numel() for t in output_tensor_list]
    flat = cat([t.reshape(-1) for t in input_tensor_list])
    out = _AllToAllSingle.apply(group, received, sent, (sum(received),), flat)
    parts = out.split(received)
    return tuple(p.reshape(t.shape) for p, t in zip(parts, output_tensor_list))
