"""Collectives of any Python objects, which travel pickled."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np

from ..core.tensor import Tensor
from ..operators.create.filled import empty
from ..operators.create.from_data import from_numpy as _from_numpy
from .collectives import all_gather, broadcast, gather, scatter
from .groups import group_of, not_in, rank_in
from .point_to_point import recv, send

__all__ = [
    "all_gather_object", "broadcast_object_list", "gather_object", "recv_object_list",
    "scatter_object_list", "send_object_list",
]  # fmt: skip


def _packed(value: Any) -> Tensor:
    buffer = io.BytesIO()
    pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(value)
    return _from_numpy(np.frombuffer(buffer.getvalue(), np.uint8).copy())


def _unpacked(tensor: Tensor) -> Any:
    return pickle.loads(tensor.numpy().tobytes())


def _numbers(values: list[int]) -> Tensor:
    return _from_numpy(np.array(values, np.int64))


def _room(count: int) -> Tensor:
    from ..base.dtypes import uint8

    return empty((count,), dtype=uint8, device="cpu")


def _sizes_of(of: Any, mine: int) -> list[int]:
    sizes = [_numbers([0]) for _ in range(of.size())]
    all_gather(sizes, _numbers([mine]), of)
    return [int(s.item()) for s in sizes]


def all_gather_object(object_list: list[Any], obj: Any, group: Any = None) -> None:
    """All ranks' objects, in the order of the ranks, into a list.

    Objects are pickled: use it only between processes that trust each other.

    Args:
        object_list: as long as the group; filled.
        obj: this rank's.

    Example:
        >>> found = [None]
        >>> dist.all_gather_object(found, {"loss": 0.5})
        >>> found
        [{'loss': 0.5}]
    """
    if not_in(group):
        return
    of = group_of(group)
    mine = _packed(obj)
    out = [_room(n) for n in _sizes_of(of, mine.numel())]
    all_gather(out, mine, of)
    for i, tensor in enumerate(out):
        object_list[i] = _unpacked(tensor)


def gather_object(
    obj: Any,
    object_gather_list: list[Any] | None = None,
    dst: int | None = None,
    group: Any = None,
    group_dst: int | None = None,
) -> None:
    """All ranks' objects into a list on rank `dst`.

    Objects are pickled: use it only between processes that trust each other.

    Args:
        obj: this rank's.
        object_gather_list: on `dst` only: as long as the group; filled.
        dst: the rank that gets them, 0 if not given, or `group_dst` says which.

    Example:
        >>> found = [None]
        >>> dist.gather_object("a", found)
        >>> found
        ['a']
    """
    if not_in(group):
        return
    of = group_of(group)
    root = rank_in(of, 0 if dst is None and group_dst is None else dst, group_dst, "gather")
    here = of.rank() == root
    if here and not object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must be specified on destination rank.")
    if not here and object_gather_list:
        raise ValueError("Argument ``object_gather_list`` must NOT be specified on non-destination ranks.")
    mine = _packed(obj)
    sizes = _sizes_of(of, mine.numel())
    padded = _room(max(sizes))
    padded[: mine.numel()] = mine
    out = [_room(max(sizes)) for _ in sizes] if here else None
    gather(padded, out, group=of, group_dst=root)
    if out is not None and object_gather_list is not None:
        for i, (tensor, size) in enumerate(zip(out, sizes)):
            object_gather_list[i] = _unpacked(tensor[:size])


def broadcast_object_list(
    object_list: list[Any], src: int | None = None, group: Any = None, device: Any = None, group_src: int | None = None
) -> None:
    """Every rank's list becomes that of rank `src`; the lists are equally long.

    Objects are pickled: use it only between processes that trust each other.

    Args:
        object_list: filled, except on `src`.
        src: the rank that has the objects, or `group_src` says which.

    Example:
        >>> settings = [{"lr": 0.1}]
        >>> dist.broadcast_object_list(settings, src=0)
        >>> settings
        [{'lr': 0.1}]
    """
    if not_in(group):
        return
    of = group_of(group)
    root = rank_in(of, 0 if src is None and group_src is None else src, group_src, "broadcast")
    here = of.rank() == root
    packed = [_packed(o) for o in object_list] if here else []
    sizes = _numbers([p.numel() for p in packed] if here else [0] * len(object_list))
    broadcast(sizes, group=of, group_src=root)
    lengths = [int(n) for n in sizes.tolist()]
    whole = _room(sum(lengths))
    if here:
        for part, p in zip(whole.split(lengths), packed):
            part.copy_(p)
    broadcast(whole, group=of, group_src=root)
    if not here:
        for i, part in enumerate(whole.split(lengths)):
            object_list[i] = _unpacked(part)


def scatter_object_list(
    scatter_object_output_list: list[Any],
    scatter_object_input_list: list[Any] | None = None,
    src: int | None = None,
    group: Any = None,
    group_src: int | None = None,
) -> None:
    """The first entry of every rank's output list becomes its entry of the list of rank `src`.

    Objects are pickled: use it only between processes that trust each other.

    Args:
        scatter_object_output_list: at least one entry; the first is written.
        scatter_object_input_list: on `src` only: one object for each rank.
        src: the rank that has the objects, 0 if not given, or `group_src` says which.

    Example:
        >>> mine = [None]
        >>> dist.scatter_object_list(mine, ["a"])
        >>> mine
        ['a']
    """
    if not isinstance(scatter_object_output_list, list) or not scatter_object_output_list:
        raise ValueError("Expected argument scatter_object_output_list to be a list of size at least 1.")
    if not_in(group):
        return
    of = group_of(group)
    root = rank_in(of, 0 if src is None and group_src is None else src, group_src, "broadcast")
    here = of.rank() == root
    given = scatter_object_input_list if here else None
    if here and (given is None or len(given) != of.size()):
        raise ValueError("Expected argument scatter_object_input_list to be a list of one object per rank.")
    packed = [_packed(o) for o in given or []]
    sizes = _numbers([p.numel() for p in packed] if here else [0] * of.size())
    broadcast(sizes, group=of, group_src=root)
    lengths = [int(n) for n in sizes.tolist()]
    rows = None
    if here:
        rows = [_room(max(lengths)) for _ in lengths]
        for row, p in zip(rows, packed):
            row[: p.numel()] = p
    mine = _room(max(lengths))
    scatter(mine, rows, group=of, group_src=root)
    scatter_object_output_list[0] = _unpacked(mine[: lengths[of.rank()]])


def send_object_list(
    object_list: list[Any],
    dst: int | None = None,
    group: Any = None,
    device: Any = None,
    group_dst: int | None = None,
    use_batch: bool = False,
) -> None:
    """Send a list of objects to rank `dst`.

    Objects are pickled: use it only between processes that trust each other.

    Args:
        object_list: what is sent.
        dst: the rank that gets them, or `group_dst` says which.
        use_batch: accepted and not needed.

    Example:
        >>> if dist.get_world_size() > 1 and dist.get_rank() == 0:
        ...     dist.send_object_list(["a", 1], dst=1)
    """
    packed = [_packed(o) for o in object_list]
    send(_numbers([p.numel() for p in packed]), dst, group, group_dst=group_dst)
    for p in packed:
        send(p, dst, group, group_dst=group_dst)


def recv_object_list(
    object_list: list[Any],
    src: int | None = None,
    group: Any = None,
    device: Any = None,
    group_src: int | None = None,
    use_batch: bool = False,
) -> int:
    """Receive a list of objects, as many as `object_list` has; the rank they came from.

    Objects are pickled: use it only between processes that trust each other.

    Args:
        object_list: filled.
        src: the rank that sends, any if not given, or `group_src` says which.
        use_batch: accepted and not needed.

    Example:
        >>> if dist.get_rank() == 1:
        ...     sender = dist.recv_object_list([None, None], src=0)
    """
    sizes = _numbers([0] * len(object_list))
    source = recv(sizes, src, group, group_src=group_src)
    for i, size in enumerate(sizes.tolist()):
        room = _room(int(size))
        recv(room, source, group)
        object_list[i] = _unpacked(room)
    return source
