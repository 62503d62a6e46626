"""The collectives of tensors, with PyTorch's names, arguments and errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..operators.create.filled import empty
from .calls import CollectiveCall, collective
from .groups import ProcessGroup, group_of, not_in, rank_in
from .reduce_op import ReduceOp, check, reduce_op
from .works import Work

__all__ = [
    "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_reduce", "all_reduce_coalesced",
    "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter",
    "reduce_scatter_tensor", "scatter",
]  # fmt: skip


def copied(targets: Sequence[Tensor], rows: Tensor) -> None:
    with no_grad():
        for target, row in zip(targets, rows):
            target.copy_(row.reshape(target.shape))


class _ThenCopied(Work):
    """A work whose result is copied into a list of tensors when somebody waits for it."""

    def __init__(self, work: Work, targets: Sequence[Tensor], rows: Tensor) -> None:
        self._work, self._targets, self._rows = work, targets, rows
        self._results = list(targets)
        self._copied = False

    def wait(self, timeout: Any = None) -> bool:
        self._work.wait(timeout)
        if not self._copied:
            self._copied = True
            copied(self._targets, self._rows)
        return True

    def is_completed(self) -> bool:
        return self._work.is_completed()

    def exception(self) -> BaseException | None:
        return self._work.exception()


def into_list(work: Work | None, targets: Sequence[Tensor], rows: Tensor, async_op: bool) -> Work | None:
    if async_op and work is not None:
        return _ThenCopied(work, targets, rows)
    copied(targets, rows)
    return None


def rows_for(count: int, like: Tensor) -> Tensor:
    return empty((count, *like.shape), dtype=like.dtype, device=like.device)


def stacked(tensors: Sequence[Tensor]) -> Tensor:
    rows = rows_for(len(tensors), tensors[0])
    with no_grad():
        for row, t in zip(rows, tensors):
            row.copy_(t)
    return rows


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
            raise ValueError(f"Invalid usage of tensors with different dtypesFound {first} and  {t.dtype}")


def _reduction(op: Any, tensor: Tensor) -> ReduceOp:
    op = reduce_op(op)
    check(op, tensor._a.dtype)
    return op


def _outside(group: Any, name: str) -> bool:
    """PyTorch warns and does nothing where a rank is not part of the group."""
    if not_in(group):
        import warnings

        warnings.warn(f"Running {name} on global rank which does not belong to the given group.", stacklevel=3)
        return True
    return False


def all_reduce(tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> Work | None:
    """Every rank's tensor becomes the reduction of all.

    Args:
        tensor: the same shape and dtype on every rank; changed in place.
        op: how they become one, such as `ReduceOp.MAX`.

    Example:
        >>> t = torch.tensor([1.0, 2.0])
        >>> dist.all_reduce(t)  # with n ranks: the sum of n tensors
        >>> t
        tensor([1., 2.])
    """
    single(tensor, "tensor")
    if _outside(group, "all_reduce"):
        return None
    of = group_of(group)
    call = CollectiveCall(of.group_name, "all_reduce", _reduction(op, tensor))
    return collective(of, call, [tensor], async_op)


def all_reduce_coalesced(
    tensors: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """`all_reduce` of several tensors.

    Args:
        tensors: one or several; changed in place.
        op: how they become one.

    Example:
        >>> ts = [torch.ones(2), torch.zeros(1)]
        >>> dist.all_reduce_coalesced(ts)
        >>> ts
        [tensor([1., 1.]), tensor([0.])]
    """
    tensors = [tensors] if isinstance(tensors, Tensor) else several(tensors, "tensor")
    work: Work | None = None
    for t in tensors:
        work = all_reduce(t, op, group, async_op)
    return work


def broadcast(
    tensor: Tensor, src: int | None = None, group: Any = None, async_op: bool = False, group_src: int | None = None
) -> Work | None:
    """Every rank's tensor becomes that of rank `src`.

    Args:
        tensor: the same shape and dtype on every rank; changed in place.
        src: the rank that has the values, or `group_src` says which.

    Example:
        >>> t = torch.arange(3)
        >>> dist.broadcast(t, src=0)
        >>> t
        tensor([0, 1, 2])
    """
    single(tensor, "tensor")
    if _outside(group, "broadcast"):
        return None
    of = group_of(group)
    root = rank_in(of, src, group_src, "broadcast")
    return collective(of, CollectiveCall(of.group_name, "broadcast", root=root), [tensor], async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Rank `dst`'s tensor becomes the reduction of all.

    Args:
        tensor: the same shape and dtype on every rank; changed in place on `dst`.
        dst: the rank that gets the result, or `group_dst` says which.
        op: how they become one.

    Example:
        >>> t = torch.ones(2)
        >>> dist.reduce(t, dst=0)
        >>> t
        tensor([1., 1.])
    """
    single(tensor, "tensor")
    if _outside(group, "reduce"):
        return None
    of = group_of(group)
    root = rank_in(of, dst, group_dst, "reduce")
    call = CollectiveCall(of.group_name, "reduce", _reduction(op, tensor), root)
    return collective(of, call, [tensor], async_op)


def _length(tensors: Sequence[Any], of: ProcessGroup, name: str) -> None:
    if len(tensors) != of.size():
        raise RuntimeError(
            f"ProcessGroup::{name}: invalid tensor list (expected length {of.size()}, got {len(tensors)})"
        )


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False) -> Work | None:
    """All ranks' tensors, in the order of the ranks, into a list; shapes may differ as in the list.

    Args:
        tensor_list: one tensor for each rank, to write into.
        tensor: this rank's.

    Raises:
        RuntimeError: if the list is not as long as the group.

    Example:
        >>> found = [torch.zeros(2) for _ in range(dist.get_world_size())]
        >>> dist.all_gather(found, torch.tensor([1.0, 2.0]))
        >>> found
        [tensor([1., 2.])]
    """
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
    work = collective(of, CollectiveCall(of.group_name, "all_gather"), [rows, tensor.detach()], async_op)
    return into_list(work, targets, rows, async_op)


def _uneven(of: ProcessGroup, targets: Sequence[Tensor], tensor: Tensor, async_op: bool) -> Work | None:
    """Tensors of different sizes: every rank sends all of its own to everybody."""
    if targets[of.rank()].numel() != tensor.numel():
        raise RuntimeError(
            f"all_gather: this rank's tensor has shape {tuple(tensor.shape)}, its place in the list "
            f"{tuple(targets[of.rank()].shape)}"
        )
    sizes = tuple(t.numel() for t in targets)
    sent = stacked([tensor.detach().reshape(-1)] * of.size()).reshape(-1)
    out = empty((sum(sizes),), dtype=tensor.dtype, device=tensor.device)
    call = CollectiveCall(of.group_name, "all_to_all", received=sizes, sent=(tensor.numel(),) * of.size())
    work = collective(of, call, [out, sent], async_op)
    rows: Any = out.split(list(sizes))
    return into_list(work, targets, rows, async_op)


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """`all_gather` of several tensors.

    Args:
        output_tensor_lists: for each rank, a list of tensors to write into.
        input_tensor_list: this rank's tensors.

    Example:
        >>> found = [[torch.zeros(1), torch.zeros(2)] for _ in range(dist.get_world_size())]
        >>> dist.all_gather_coalesced(found, [torch.ones(1), torch.ones(2)])
        >>> found
        [[tensor([1.]), tensor([1., 1.])]]
    """
    work: Work | None = None
    for i, tensor in enumerate(several(input_tensor_list, "tensor_list")):
        work = all_gather([out[i] for out in output_tensor_lists], tensor, group, async_op)
    return work


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """All ranks' tensors, one after the other or stacked, in one tensor.

    Args:
        output_tensor: as many elements as all ranks' tensors together.
        input_tensor: this rank's.

    Raises:
        RuntimeError: if the sizes do not fit.

    Example:
        >>> out = torch.zeros(dist.get_world_size(), 2)
        >>> dist.all_gather_into_tensor(out, torch.tensor([1.0, 2.0]))
        >>> out
        tensor([[1., 2.]])
    """
    single(input_tensor, "input_tensor")
    single(output_tensor, "output_tensor")
    if _outside(group, "all_gather_into_tensor"):
        return None
    of = group_of(group)
    _same_dtype(output_tensor, input_tensor)
    if output_tensor.numel() != of.size() * input_tensor.numel():
        raise RuntimeError("output tensor size must be equal to world_size times input tensor size")
    call = CollectiveCall(of.group_name, "all_gather")
    return collective(of, call, [output_tensor, input_tensor.detach()], async_op)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """All ranks' tensors into a list on rank `dst`.

    Args:
        tensor: this rank's.
        gather_list: on `dst` only: one tensor for each rank, to write into.
        dst: the rank that gets them, 0 if not given, or `group_dst` says which.

    Raises:
        ValueError: if `gather_list` is missing on `dst`, or given elsewhere.

    Example:
        >>> found = [torch.zeros(2)] if dist.get_rank() == 0 else None
        >>> dist.gather(torch.ones(2), found, dst=0)
        >>> found
        [tensor([1., 1.])]
    """
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
    call = CollectiveCall(of.group_name, "gather", root=root)
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
    """Every rank's tensor becomes its entry of the list of rank `src`.

    Args:
        tensor: what this rank gets.
        scatter_list: on `src` only: one tensor for each rank.
        src: the rank that has them, 0 if not given, or `group_src` says which.

    Raises:
        ValueError: if `scatter_list` is missing on `src`, or given elsewhere.

    Example:
        >>> t = torch.zeros(2)
        >>> dist.scatter(t, [torch.ones(2)] if dist.get_rank() == 0 else None, src=0)
        >>> t
        tensor([1., 1.])
    """
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
    return collective(of, CollectiveCall(of.group_name, "scatter", root=root), [tensor, rows], async_op)


def reduce_scatter(
    output: Tensor, input_list: list[Tensor], op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Each rank gets the reduction of all ranks' entries with its number.

    Args:
        output: what this rank gets.
        input_list: one tensor for each rank, of the shape of `output`.
        op: how they become one.

    Example:
        >>> out = torch.zeros(2)
        >>> dist.reduce_scatter(out, [torch.ones(2)])
        >>> out
        tensor([1., 1.])
    """
    single(output, "output")
    sources = several(input_list, "input_list")
    if _outside(group, "reduce_scatter"):
        return None
    of = group_of(group)
    _same_dtype(output, *sources)
    _length(sources, of, "reduce_scatter")
    call = CollectiveCall(of.group_name, "reduce_scatter", _reduction(op, output))
    if any(t.shape != output.shape for t in sources):
        raise ValueError(
            f"reduce_scatter: tensors of shapes {[tuple(t.shape) for t in sources]} for an output of "
            f"{tuple(output.shape)}"
        )
    return collective(of, call, [output, stacked(sources)], async_op)


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Each rank gets its share, by number, of the reduction of all ranks' tensors.

    Args:
        output: this rank's share.
        input: as many elements as all shares together.
        op: how they become one.

    Raises:
        RuntimeError: if the sizes do not fit.

    Example:
        >>> out = torch.zeros(2)
        >>> dist.reduce_scatter_tensor(out, torch.ones(2 * dist.get_world_size()))
        >>> out
        tensor([1., 1.])
    """
    single(output, "output")
    single(input, "input")
    if _outside(group, "reduce_scatter_tensor"):
        return None
    of = group_of(group)
    _same_dtype(output, input)
    if input.numel() != of.size() * output.numel():
        raise RuntimeError("input tensor must be the same size as output size times world size")
    call = CollectiveCall(of.group_name, "reduce_scatter", _reduction(op, output))
    return collective(of, call, [output, input.detach()], async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Rank r gets the r-th part, along the first dim, of every rank's tensor.

    Args:
        output: what this rank gets: one part from every rank.
        input: what it sends: one part for every rank.
        output_split_sizes, input_split_sizes: rows of each part; all the same if not given.

    Raises:
        RuntimeError: if the sizes do not fit.

    Example:
        >>> out = torch.zeros(2)
        >>> dist.all_to_all_single(out, torch.tensor([1.0, 2.0]))
        >>> out
        tensor([1., 2.])
    """
    single(output, "output")
    single(input, "input")
    if _outside(group, "all_to_all_single"):
        return None
    of = group_of(group)
    _same_dtype(output, input)
    call = CollectiveCall(
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
    output_tensor_list: list[Tensor], input_tensor_list: list[Tensor], group: Any = None, async_op: bool = False
) -> Work | None:
    """Rank r gets the r-th tensor of every rank's list.

    Args:
        output_tensor_list: one tensor for each rank, to write into.
        input_tensor_list: one tensor for each rank, to send.

    Example:
        >>> found = [torch.zeros(2)]
        >>> dist.all_to_all(found, [torch.ones(2)])
        >>> found
        [tensor([1., 1.])]
    """
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
    call = CollectiveCall(of.group_name, "all_to_all", received=received, sent=tuple(t.numel() for t in sources))
    work = collective(of, call, [out, sent], async_op)
    rows: Any = out.split(list(received))
    return into_list(work, targets, rows, async_op)
