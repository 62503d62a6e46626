"""Process groups: which ranks belong together, and the engines that serve them."""

from __future__ import annotations

import datetime
import itertools
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from ..base.config import launcher
from . import sends
from .errors import DistBackendError
from .patience import wait_until
from .reduce_op import PREMUL_SUM, ReduceOp
from .store import Store, seconds
from .works import GroupThread

__all__ = ["GroupMember", "ProcessGroup", "World", "world_or_none"]


class SelfEngine:
    """Arrays of any kind; nothing leaves the process and no library is needed."""

    kind = "self"
    rank, size = 0, 1

    def all_reduce(self, a: Any, op: ReduceOp) -> None:
        if op.kind is PREMUL_SUM:
            a *= getattr(op.factor, "_a", op.factor)

    def reduce(self, a: Any, root: int, op: ReduceOp) -> None:
        self.all_reduce(a, op)

    def reduce_scatter(self, out: Any, a: Any, op: ReduceOp) -> None:
        out.reshape(-1)[...] = a.reshape(-1)
        self.all_reduce(out, op)

    def broadcast(self, a: Any, root: int) -> None:
        pass

    def all_gather(self, out: Any, a: Any) -> None:
        out.reshape(-1)[...] = a.reshape(-1)

    def gather(self, out: Any, a: Any, root: int) -> None:
        out.reshape(-1)[...] = a.reshape(-1)

    def scatter(self, out: Any, a: Any, root: int) -> None:
        out.reshape(-1)[...] = a.reshape(-1)

    def all_to_all(self, out: Any, a: Any, received: Sequence[int], sent: Sequence[int]) -> None:
        out.reshape(-1)[...] = a.reshape(-1)

    def barrier(self) -> None:
        pass

    def start_send(self, a: Any, to: int, tag: int) -> Any:
        raise DistBackendError("a group of one rank has nobody to send to")

    start_receive = start_send

    def close(self) -> None:
        pass


_NEWS_S = 5.0  # a host that is gone is noticed after four (frames.py)
DEFAULT_TIMEOUT = datetime.timedelta(minutes=30)


class ProcessGroup:
    """Ranks that do collectives together; `ranks` are their numbers in the world.

    Made by `init_process_group` and `new_group`.

    Args:
        world: what this process knows of all ranks.
        ranks: the members.
        name: of the group, for messages.
        backend: such as "gloo".
        timeout: how long a collective may take.
        comm: MPI's communicator; None in a group of one.

    Example:
        >>> dist.new_group([0]).size()
        1
    """

    def __init__(
        self, world: World, ranks: Sequence[int], name: str, backend: str, timeout: datetime.timedelta, comm: Any = None
    ) -> None:
        self.world = world
        self.ranks = list(ranks)
        self.group_name = name
        self.group_desc = name
        self.backend = backend
        self.timeout = timeout
        self.comm = comm  # MPI's communicator, or None in a group of one
        self.worker = GroupThread(f"group {name}")
        self.number = 0  # of the last collective that was begun
        self.doing = ""
        self._rank = self.ranks.index(world.rank) if world.rank in self.ranks else -1
        self._engines: dict[str, Any] = {}
        self.checks: Any = None  # a communicator for what TORCH_DISTRIBUTED_DEBUG compares
        self.sides: dict[int, Any] = {}  # a stream beside the current one, by GPU
        self.monitored = itertools.count()  # of barriers that name who is missing
        self.unread: list[Any] = []  # answers to ranks that came too late for one
        if comm is not None:  # all ranks are here now; later, making communicators could block
            from .engine_mpi import MpiEngine

            self._engines["cpu"] = MpiEngine(comm, self.wait_for)
            self.checks = comm.Dup()

    # -- what PyTorch's groups answer -------------------------------------------------------------

    def rank(self) -> int:
        """This process's place in the group."""
        return self._rank

    def size(self) -> int:
        """How many ranks it has."""
        return len(self.ranks)

    def name(self) -> str:
        """The backend."""
        return self.backend

    def __repr__(self) -> str:
        return f"<ProcessGroup {self.group_name!r}: ranks {self.ranks}, {self.backend}>"

    def __deepcopy__(self, memo: Any) -> ProcessGroup:
        return self  # a copied module talks to the same ranks

    def __reduce__(self) -> Any:
        raise TypeError("a ProcessGroup belongs to the processes of one run and cannot be pickled")

    # -- engines ----------------------------------------------------------------------------------

    def engine(self, device: str) -> Any:
        """The engine for a kind of device: MPI's for the host, NCCL's for GPUs that are apart."""
        found = self._engines.get(device)
        if found is None:
            found = self._engines[device] = self._open(device)
        return found

    def _open(self, device: str) -> Any:
        if device == "cuda" and ("nccl" in self.backend or self.backend == "undefined"):
            from .gpus import nccl_engine

            found = nccl_engine(self)
            if found is not None:
                return found
        return self.engine("cpu") if device != "cpu" else SelfEngine()

    # -- waiting ----------------------------------------------------------------------------------

    def wait_for(self, request: Any, doing: str, busy: bool = False) -> None:
        """Wait for one of MPI's requests; an error names the ranks that did not come."""
        self.wait_until(request.Test, doing, None, busy)

    def wait_until(self, done: Callable[[], bool], doing: str, limit: Any = None, busy: bool = False) -> None:
        """Wait until `done()` says so; an error after `limit` seconds names the ranks that did not come."""
        limit = seconds(limit, self.timeout)
        number = self.number
        alive, late = lambda: self._alive(doing, number), lambda: self._late(doing, number, limit)
        self.carry_out(doing, wait_until, done, limit, alive, late, busy)

    def carry_out(self, doing: str, exchange: Callable[..., Any], *args: Any) -> None:
        """Call what talks to other ranks; where that fails because one of them is gone, the error names it."""
        number, why = self.number, ""
        try:
            exchange(*args)
            if not sends.refused():
                return
            why = "MPI's transport refused to send"
        except DistBackendError:
            raise
        except RuntimeError as error:  # MPI's own, or a neighbour's memory was not there
            why = str(error)
        # It saw the end of a line: the store's word on whose that was may still be on its way.
        until = time.monotonic() + _NEWS_S
        while time.monotonic() < until:
            self._alive(doing, number)
            time.sleep(0.01)
        raise DistBackendError(f"[Rank {self.world.rank}] {self._words(doing, number)}: {why}")

    def _words(self, doing: str, number: int) -> str:
        return f"{doing} #{number} of group {self.group_name!r}"

    def _alive(self, doing: str, number: int) -> None:
        self.world.alive(self._words(doing, number), self.ranks)

    def still_waits(self, doing: str, number: int, late: bool) -> None:
        """Raise for NCCL's work that goes on: a rank is gone, or it is late."""
        self._alive(doing, number)
        if late:
            self._late(doing, number, self.timeout.total_seconds())

    def _late(self, doing: str, number: int, limit: float) -> None:
        """Time is up: say who did not come."""
        told = self.world.where()
        missing, quiet = [], []
        for rank in self.ranks:
            at = told["at"].get(str(rank))
            if rank == self.world.rank:
                continue
            if at is None:
                quiet.append(f"rank {rank} does not answer")
                continue
            theirs, last = at.get(self.group_name, (0, ""))
            if theirs < number:
                before = f"its last was {last} #{theirs}" if theirs else "it has begun nothing yet"
                missing.append(f"rank {rank} did not come ({before})")
            elif theirs == number and last != doing:
                missing.append(f"rank {rank} is in {last} instead")
        who = "; ".join(missing + quiet) or "all ranks have come, and it does not end"
        raise DistBackendError(
            f"[Rank {self.world.rank}] {self._words(doing, number)} did not end within {limit:g} s: {who}."
        )

    def begin(self, doing: str) -> None:
        """Count a collective, so that errors on other ranks can say how far this rank has come."""
        self.number += 1
        self.doing = doing
        for watcher in self.world.watchers:
            watcher(doing)

    def close(self) -> None:
        """Leave the group: end its thread and give back what its engines hold."""
        self.worker.close()
        for engine in {id(e): e for e in self._engines.values()}.values():
            if engine.kind == "nccl":
                engine.close()
        self._engines = {}


class World:
    """What one process knows of all: its place, its groups, its line to the others."""

    def __init__(self, rank: int, size: int, store: Store | None) -> None:
        self.rank, self.size, self.store = rank, size, store
        self.presence: Any = None
        self.groups: dict[str, ProcessGroup] = {}
        self.watchers: list[Callable[[str], None]] = []  # hear of each collective that begins
        self.names = itertools.count(1)
        self.pid = os.getpid()
        self.detail = (launcher("TORCH_DISTRIBUTED_DEBUG") or "OFF").upper() == "DETAIL"

    def alive(self, doing: str, ranks: Sequence[int]) -> None:
        """Raise when a rank has died, or one of these has ended."""
        if self.presence is not None:
            self.presence.check(doing, ranks)

    def where(self) -> dict[str, Any]:
        return self.presence.where() if self.presence is not None else {"at": {}, "gone": {}}

    def progress(self) -> dict[str, Any]:
        """How far this rank has come in each of its groups."""
        return {name: (g.number, g.doing) for name, g in list(self.groups.items())}


class GroupMember:
    """`WORLD`, the group of all ranks, and `NON_GROUP_MEMBER`, what `new_group` returns to others.

    Example:
        >>> torch.distributed.group.WORLD is None  # true before init_process_group
        False
    """

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER = -100


def world_or_none() -> ProcessGroup | None:
    """The group of all ranks, where there is one."""
    return GroupMember.WORLD


def group_of(group: Any = None) -> ProcessGroup:
    """The group a caller means: the one given, or that of all ranks."""
    if group is None:
        if GroupMember.WORLD is None:
            raise ValueError(
                "Default process group has not been initialized, please make sure to call init_process_group."
            )
        return GroupMember.WORLD
    if isinstance(group, ProcessGroup):
        return group
    mesh_group = getattr(group, "get_group", None)
    if mesh_group is not None:  # a mesh of one dim stands for its group
        return mesh_group()
    raise TypeError(f"expected a ProcessGroup, got {type(group).__name__}")


def not_in(group: Any) -> bool:
    """Whether this rank is outside of the group, where collectives do nothing."""
    return group == GroupMember.NON_GROUP_MEMBER


def rank_in(group: ProcessGroup, global_rank: int | None, group_rank: int | None, name: str) -> int:
    """The place inside the group of the rank that a caller names in one of two ways."""
    if global_rank is not None and group_rank is not None:
        raise ValueError("Can't specify both group_rank and global_rank")
    if global_rank is None and group_rank is None:
        raise ValueError("Must specify global_rank or group_rank")
    if group_rank is not None or group is GroupMember.WORLD:
        place = group_rank if group_rank is not None else global_rank
        if place is None or not 0 <= place < group.size():
            raise RuntimeError(f"ProcessGroup::{name}: invalid root rank: {place}")
        return place
    if global_rank not in group.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group}")
    return group.ranks.index(global_rank)
