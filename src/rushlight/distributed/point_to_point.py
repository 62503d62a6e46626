"""Messages between two ranks: send, recv, isend, irecv and batches of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.inplace import bump
from ..core.tensor import Tensor
from ..runtime.thread import here
from .collectives import single
from .groups import ProcessGroup, group_of, not_in, rank_in
from .works import RequestWork, Work

__all__ = ["P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "send"]


def _checked(group: Any, tensor: Tensor, name: str) -> ProcessGroup | None:
    single(tensor, "tensor")
    if not_in(group):
        return None
    if here.recorder is not None and here.notice is not None:
        here.notice(f"{name}() between processes")
    return group_of(group)


def _not_self(of: ProcessGroup, other: int, role: str) -> None:
    if other == of.rank():
        raise ValueError(f"Invalid {role} rank: {role} rank should not be the same as the rank of the current process.")


def isend(
    tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None
) -> Work | None:
    """As `send`, which is only started: the tensor must not change before the work is waited for."""
    of = _checked(group, tensor, "isend")
    if of is None:
        return None
    to = rank_in(of, 0 if dst is None and group_dst is None else dst, group_dst, "send")
    _not_self(of, to, "destination")
    a = tensor._a
    if not isinstance(a, np.ndarray):
        from_gpu = _on_nccl(of, a, lambda engine, row: engine.send(row, to), False)
        if from_gpu is not None:
            return from_gpu
        a = tensor.detach().cpu()._a
    row = np.ascontiguousarray(a)
    request = of.engine("cpu").start_send(row, to, tag)
    return RequestWork(request, None, _waiter(of, "send"), row, receives=False)


def irecv(
    tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None
) -> Work | None:
    """As `recv`, which is only started; the work knows who has sent."""
    of = _checked(group, tensor, "irecv")
    if of is None:
        return None
    source = None
    if src is not None or group_src is not None:
        source = rank_in(of, src, group_src, "recv")
        _not_self(of, source, "source")
    elif of.size() == 1:
        _not_self(of, 0, "source")
    a = tensor._a
    if not isinstance(a, np.ndarray) and source is not None:
        of_gpu = _on_nccl(of, a, lambda engine, row: engine.receive(row, source), True)
        if of_gpu is not None:
            return of_gpu
    on_host = isinstance(a, np.ndarray)
    direct = on_host and a.flags.c_contiguous
    row = a if direct else np.empty(a.shape, a.dtype)
    request = of.engine("cpu").start_receive(row, source, tag)

    def arrived() -> None:
        if not direct and on_host:
            np.copyto(a, row)
        elif not direct:
            a.set(row)
        bump(tensor)

    return RequestWork(request, arrived, _waiter(of, "recv"), row, receives=True)


def _on_nccl(of: ProcessGroup, a: Any, act: Callable[..., None], written: bool) -> Work | None:
    """The message by NCCL in the current stream, or None where the group has none."""
    with a.device:
        engine = of.engine("cuda")
    if engine.kind != "nccl":
        return None
    import cupy

    row = cupy.ascontiguousarray(a)
    act(engine, row)
    engine.watched("receive" if written else "send")
    if written and row.data.ptr != a.data.ptr:
        cupy.copyto(a, row)
    return Work()


def _waiter(of: ProcessGroup, doing: str) -> Callable[..., None]:
    return lambda test, timeout: of.wait_until(test, doing, timeout)


def send(tensor: Tensor, dst: int | None = None, group: Any = None, tag: int = 0, group_dst: int | None = None) -> None:
    """Send a tensor to rank `dst`.

    Args:
        tensor: what is sent.
        dst: the rank that gets it, or `group_dst` says which.
        tag: a number that the receiver has to name, too.

    Raises:
        ValueError: if a rank sends to itself.

    Example:
        >>> if dist.get_world_size() > 1 and dist.get_rank() == 0:
        ...     dist.send(torch.ones(2), dst=1)
    """
    work = isend(tensor, dst, group, tag, group_dst)
    if work is not None:
        work.wait()


def recv(tensor: Tensor, src: int | None = None, group: Any = None, tag: int = 0, group_src: int | None = None) -> int:
    """Receive into a tensor; the number of the rank it came from.

    Args:
        tensor: what is written into.
        src: the rank that sends, any if not given, or `group_src` says which.
        tag: the number that the sender has named.

    Example:
        >>> if dist.get_rank() == 1:
        ...     sender = dist.recv(torch.zeros(2))
    """
    work = irecv(tensor, src, group, tag, group_src)
    if work is None:
        return -1
    work.wait()
    of = group_of(group)
    if src is not None or group_src is not None:
        return src if src is not None else of.ranks[group_src or 0]
    return of.ranks[work.source_rank()]


class P2POp:
    """One message of a batch.

    Args:
        op: `isend` or `irecv`.
        tensor: what is sent, or written into.
        peer: the other rank; or
        group_peer: its place in the group.
        tag: a number that both sides name.

    Raises:
        ValueError: if `op` is something else.

    Example:
        >>> other = (dist.get_rank() + 1) % dist.get_world_size()
        >>> if other != dist.get_rank():
        ...     ops = [dist.P2POp(dist.isend, torch.ones(2), other), dist.P2POp(dist.irecv, torch.zeros(2), other)]
        ...     works = dist.batch_isend_irecv(ops)
    """

    def __init__(
        self,
        op: Callable[..., Any],
        tensor: Tensor,
        peer: int | None = None,
        group: Any = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or "
                "``torch.distributed.irecv``."
            )
        single(tensor, "tensor")
        self.op, self.tensor, self.tag = op, tensor, tag
        self.group = group_of(group)
        self.group_peer = rank_in(self.group, peer, group_peer, "P2POp")
        self.peer = self.group.ranks[self.group_peer]

    def __repr__(self) -> str:
        return f"P2POp({self.op.__name__}, peer={self.peer}, shape={tuple(self.tensor.shape)})"


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Start several messages at once, so that none waits for another.

    Args:
        p2p_op_list: messages of one group.

    Raises:
        ValueError: if they are of different groups.

    Example:
        >>> other = (dist.get_rank() + 1) % dist.get_world_size()
        >>> if other != dist.get_rank():
        ...     works = dist.batch_isend_irecv([dist.P2POp(dist.isend, torch.ones(2), other)])
    """
    if not isinstance(p2p_op_list, list) or not all(isinstance(p, P2POp) for p in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    if len({p.group.group_name for p in p2p_op_list}) > 1:
        raise ValueError("All ops need to use the same group.")
    engine = _batched_by(p2p_op_list)
    if engine is not None:
        engine.nccl.groupStart()
    works = []
    for p in p2p_op_list:
        named = {"group_dst" if p.op is isend else "group_src": p.group_peer}
        work = p.op(p.tensor, group=p.group, tag=p.tag, **named)
        if work is not None:
            works.append(work)
    if engine is not None:
        engine.nccl.groupEnd()
        engine.watched("batch_isend_irecv")
    return works


def _batched_by(ops: list[P2POp]) -> Any:
    """NCCL's engine when these messages are its own, which are then started together."""
    if not ops or any(isinstance(p.tensor._a, np.ndarray) for p in ops):
        return None
    engine = ops[0].group.engine("cuda")
    return engine if engine.kind == "nccl" else None
