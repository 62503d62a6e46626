"""The collectives of tensors, with PyTorch's names, arguments and errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..operators.create.filled import empty
from .calls import Call, collective
from .groups import ProcessGroup, group_of, not_in, rank_in
from .lists import into_list, rows_for, stacked
from .reduce_op import ReduceOp, check, reduce_op
from .works import Work

__all__ = [
    "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_reduce", "all_reduce_coalesced",
    "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter",
]  # fmt: skip


def single(tensor: Any, name: str) -> Tensor:
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\n"
            f"             but got {type(tensor)} instead."
        )
    return tensor


def several(tensors: Any, name: str) -> list[Tensor]:
    if not isinstance(tensors, (list, tuple)) or not all(isinstance(t, Tensor) for t in tensors):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\n"
            f"             but got {type(tensors)} with elements of type {[type(t) for t in tensors] if isinstance(tensors, (list, tuple)) else tensors}."
        )
    return list(tensors)


def _same_dtype(*tensors: Tensor) -> None:
    first = tensors[0].dtype
    for t in tensors[1:]:
        if t.dtype != first:
            raise ValueError(
                f"Invalid usage of tensors with different dtypesFound {first} and  {t.dtype}"
            )


def _reduction(op: Any, tensor: Tensor) -> ReduceOp:
    op = reduce_op(op)
    check(op, tensor._a.dtype)
    return op


def _outside(group: Any, name: str) -> bool:
    """PyTorch warns and does nothing where a rank is not part of the group."""
    if not_in(group):
        import warnings

        warnings.warn(f"Running {name} on global rank which does not belong to the given group.", stacklevel=3)  # fmt: skip
        return True
    return False


def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Every rank's tensor becomes the reduction of all."""
    single(tensor, "tensor")
    if _outside(group, "all_reduce"):
        return None
    of = group_of(group)
    call = Call(of.group_name, "all_reduce", _reduction(op, tensor))
    return collective(of, call, [tensor], async_op)


def all_reduce_coalesced(
    tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """`all_reduce` of several tensors."""
    tensors = [tensors] if isinstance(tensors, Tensor) else several(tensors, "tensor")
    work: Work | None = None
    for t in tensors:
        work = all_reduce(t, op, group, async_op)
    return work


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Every rank's tensor becomes that of rank `src`."""
    single(tensor, "tensor")
    if _outside(group, "broadcast"):
        return None
    of = group_of(group)
    root = rank_in(of, src, group_src, "broadcast")
    return collective(of, Call(of.group_name, "broadcast", root=root), [tensor], async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Rank `dst`'s tensor becomes the reduction of all."""
    single(tensor, "tensor")
    if _outside(group, "reduce"):
        return None
    of = group_of(group)
    root = rank_in(of, dst, group_dst, "reduce")
    call = Call(of.group_name, "reduce", _reduction(op, tensor), root)
    return collective(of, call, [tensor], async_op)


def _length(tensors: Sequence[Any], of: ProcessGroup, name: str) -> None:
    if len(tensors) != of.size():
        raise RuntimeError(
            f"ProcessGroup::{name}: invalid tensor list (expected length {of.size()}, got {len(tensors)})"
        )


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """All ranks' tensors, in the order of the ranks, into a list; shapes may differ as in the list."""
    targets = several(tensor_list, "tensor_list")
    single(tensor, "tensor")
    if _outside(group, "all_gather"):
        return None
    of = group_of(group)
    _same_dtype(*targets, tensor)
    _length(targets, of, "all_gather")
    if any(t.shape != tensor.shape for t in targets):
        return _uneven(of, targets, tensor, async_op)
    rows = rows_for(of.size(), tensor)
    work = collective(of, Call(of.group_name, "all_gather"), [rows, tensor.detach()], async_op)
    return into_list(work, targets, rows, async_op)


def _uneven(
    of: ProcessGroup, targets: Sequence[Tensor], tensor: Tensor, async_op: bool
) -> Work | None:
    """Tensors of different sizes: every rank sends all of its own to everybody."""
    if targets[of.rank()].numel() != tensor.numel():
        raise RuntimeError(
            f"all_gather: this rank's tensor has shape {tuple(tensor.shape)}, its place in the list "
            f"{tuple(targets[of.rank()].shape)}"
        )
    sizes = tuple(t.numel() for t in targets)
    sent = stacked([tensor.detach().reshape(-1)] * of.size()).reshape(-1)
    out = empty((sum(sizes),), dtype=tensor.dtype, device=tensor.device)
    call = Call(of.group_name, "all_to_all", received=sizes, sent=(tensor.numel(),) * of.size())
    work = collective(of, call, [out, sent], async_op)
    rows: Any = out.split(list(sizes))
    return into_list(work, targets, rows, async_op)


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """`all_gather` of several tensors."""
    work: Work | None = None
    for i, tensor in enumerate(several(input_tensor_list, "tensor_list")):
        work = all_gather([out[i] for out in output_tensor_lists], tensor, group, async_op)
    return work


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """All ranks' tensors, one after the other or stacked, in one tensor."""
    single(input_tensor, "input_tensor")
    single(output_tensor, "output_tensor")
    if _outside(group, "all_gather_into_tensor"):
        return None
    of = group_of(group)
    _same_dtype(output_tensor, input_tensor)
    if output_tensor.numel() != of.size() * input_tensor.numel():
        raise RuntimeError("output tensor size must be equal to world_size times input tensor size")
    call = Call(of.group_name, "all_gather")
    return collective(of, call, [output_tensor, input_tensor.detach()], async_op)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """All ranks' tensors into a list on rank `dst`."""
    single(tensor, "tensor")
    targets = several(gather_list, "gather_list") if gather_list else []
    if _outside(group, "gather"):
        return None
    of = group_of(group)
    root = rank_in(of, 0 if dst is None and group_dst is None else dst, group_dst, "gather")
    here_ = of.rank() == root
    if here_ and not targets:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if not here_ and targets:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    rows = None
    if here_:
        _length(targets, of, "gather")
        _same_dtype(*targets, tensor)
        rows = rows_for(of.size(), tensor)
    call = Call(of.group_name, "gather", root=root)
    work = collective(of, call, [rows, tensor.detach()], async_op)
    return work if rows is None else into_list(work, targets, rows, async_op)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Every rank's tensor becomes its entry of the list of rank `src`."""
    single(tensor, "tensor")
    sources = several(scatter_list, "scatter_list") if scatter_list else []
    if _outside(group, "scatter"):
        return None
    of = group_of(group)
    root = rank_in(of, 0 if src is None and group_src is None else src, group_src, "scatter")
    if of.rank() == root:
        if not sources:
            raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
        _length(sources, of, "scatter")
        _same_dtype(tensor, *sources)
    elif sources:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    rows = stacked(sources) if sources else None
    return collective(of, Call(of.group_name, "scatter", root=root), [tensor, rows], async_op)


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Each rank gets the reduction of all ranks' entries with its number."""
    single(output, "output")
    sources = several(input_list, "input_list")
    if _outside(group, "reduce_scatter"):
        return None
    of = group_of(group)
    _same_dtype(output, *sources)
    _length(sources, of, "reduce_scatter")
    call = Call(of.group_name, "reduce_scatter", _reduction(op, output))
    if any(t.shape != output.shape for t in sources):
        raise ValueError(
            f"reduce_scatter: tensors of shapes {[tuple(t.shape) for t in sources]} for an output of "
            f"{tuple(output.shape)}"
        )
    return collective(of, call, [output, stacked(sources)], async_op)


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Each rank gets its share, by number, of the reduction of all ranks' tensors."""
    single(output, "output")
    single(input, "input")
    if _outside(group, "reduce_scatter_tensor"):
        return None
    of = group_of(group)
    _same_dtype(output, input)
    if input.numel() != of.size() * output.numel():
        raise RuntimeError("input tensor must be the same size as output size times world size")
    call = Call(of.group_name, "reduce_scatter", _reduction(op, output))
    return collective(of, call, [output, input.detach()], async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Rank r gets the r-th part, along the first dim, of every rank's tensor."""
    single(output, "output")
    single(input, "input")
    if _outside(group, "all_to_all_single"):
        return None
    of = group_of(group)
    _same_dtype(output, input)
    call = Call(
        of.group_name, "all_to_all", received=_split(output, output_split_sizes, of.size()),
        sent=_split(input, input_split_sizes, of.size()),
    )  # fmt: skip
    return collective(of, call, [output, input.detach()], async_op)


def _split(tensor: Tensor, sizes: Sequence[int] | None, count: int) -> tuple[int, ...]:
    """How many elements belong to each rank."""
    length = tensor.shape[0] if tensor.ndim else 1
    if not sizes:
        if length % count:
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        return (tensor.numel() // count,) * count
    if len(sizes) != count:
        raise RuntimeError("Number of tensor splits not equal to group size")
    if sum(sizes) != length:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    per = tensor.numel() // length if length else 0
    return tuple(int(s) * per for s in sizes)


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Rank r gets the r-th tensor of every rank's list."""
    targets = several(output_tensor_list, "output_tensor_list")
    sources = several(input_tensor_list, "input_tensor_list")
    if _outside(group, "all_to_all"):
        return None
    of = group_of(group)
    _same_dtype(*targets, *sources)
    _length(targets, of, "all_to_all")
    _length(sources, of, "all_to_all")
    received = tuple(t.numel() for t in targets)
    out = empty((sum(received),), dtype=targets[0].dtype, device=targets[0].device)
    with no_grad():
        sent = empty((sum(t.numel() for t in sources),), dtype=out.dtype, device=out.device)
        for row, t in zip(sent.split([t.numel() for t in sources]), sources):
            row.copy_(t.reshape(-1))
    call = Call(
        of.group_name, "all_to_all", received=received, sent=tuple(t.numel() for t in sources)
    )
    work = collective(of, call, [out, sent], async_op)
    rows: Any = out.split(list(received))
    return into_list(work, targets, rows, async_op)
