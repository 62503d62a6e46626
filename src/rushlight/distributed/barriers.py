"""Barriers: all ranks meet, or the ones that did not come are named."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..runtime.thread import here
from .groups import ProcessGroup, group_of, not_in
from .patience import wait_until
from .store import seconds
from .works import Work

__all__ = ["barrier", "monitored_barrier"]

_ARRIVED, _ANSWER = 32001, 32002  # tags that messages of users do not have


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None, timeout: Any = None) -> Work | None:
    """Wait until all ranks of the group are here.

    Args:
        device_ids: accepted and not needed.
        timeout: accepted; the group's own is used.

    Example:
        >>> dist.barrier()
    """
    if not_in(group):
        return None
    of = group_of(group)
    if here.recorder is not None and here.notice is not None:
        here.notice("barrier() between processes")
    of.begin("barrier")
    engine = of.engine("cpu")
    if async_op and of.size() > 1:
        return of.worker.submit(engine.barrier, "barrier")
    if of.worker.idle:
        engine.barrier()
    else:
        of.worker.submit(engine.barrier, "barrier").wait()
    return Work() if async_op else None


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """A barrier whose error names the ranks that did not come: rank 0 waits for each.

    Args:
        timeout: how long rank 0 waits; the group's own if not given.
        wait_all_ranks: name all that are missing, not only the first.

    Raises:
        RuntimeError: if a rank does not come in time.

    Example:
        >>> dist.monitored_barrier()
    """
    if not_in(group):
        return
    of = group_of(group)
    if of.size() == 1:
        return
    of.begin("monitored_barrier")
    limit = seconds(timeout, of.timeout)
    number = next(of.monitored)
    if of.rank() == 0:
        _receive_all(of, number, limit, wait_all_ranks)
    else:
        _report(of, number, limit)


def _report(of: ProcessGroup, number: int, limit: float) -> None:
    """A rank other than 0: say that it is here, and wait for the answer."""
    pairs = of.engine("cpu").pairs
    sent = pairs.Isend(np.array([number], np.int64), 0, _ARRIVED)
    answer = np.zeros(2, np.int64)
    alive = lambda: of.world.alive("monitored_barrier", of.ranks)
    told = [pairs.Irecv(answer, 0, _ANSWER)]

    def answered() -> bool:
        if not (sent.Test() and told[0].Test()):
            return False
        if answer[0] == number:
            return True
        told[0] = pairs.Irecv(answer, 0, _ANSWER)  # of a barrier that this rank came too late for
        return False

    def late() -> None:
        told[0].Cancel()
        raise RuntimeError(_faulty(of, "waiting for rank 0"))

    # rank 0 gives up after `limit`: what it has to say about that still comes
    wait_until(answered, limit + 10.0, alive, late)
    if answer[1] == 0:
        raise RuntimeError(_faulty(of, "receiving from rank 0"))


def _faulty(of: ProcessGroup, where: str) -> str:
    return (
        f"Rank {of.world.rank} successfully reached monitoredBarrier, but received errors while "
        f"{where}. Please check rank 0 logs for faulty rank."
    )


def _receive_all(of: ProcessGroup, number: int, limit: float, wait_all: bool) -> None:
    """Rank 0: hear from every rank, then answer all that came."""
    pairs = of.engine("cpu").pairs
    inbox = {r: np.zeros(1, np.int64) for r in range(1, of.size())}
    open_ = {r: pairs.Irecv(inbox[r], r, _ARRIVED) for r in inbox}

    def all_here() -> bool:
        for r in list(open_):
            if not open_[r].Test():
                continue
            if inbox[r][0] == number:
                del open_[r]
            else:
                open_[r] = pairs.Irecv(inbox[r], r, _ARRIVED)
        return not open_

    def late() -> None:
        for request in open_.values():
            request.Cancel()
        # those that come later hear it then; nobody waits for them to take it
        of.unread = _answer(pairs, set(inbox), number, 0)
        missing = [of.ranks[r] for r in sorted(open_)]
        if wait_all:
            raise RuntimeError(
                f"[Rank {of.world.rank}]: Ranks {', '.join(map(str, missing))} failed to pass "
                f"monitoredBarrier in {limit * 1000:.0f} ms"
            )
        raise RuntimeError(
            f"[Rank {of.world.rank}]: Rank {missing[0]} failed to pass monitoredBarrier in "
            f"{limit * 1000:.0f} ms" + (f" (and ranks {', '.join(map(str, missing[1:]))})" if missing[1:] else "")
        )

    wait_until(all_here, limit, lambda: of.world.alive("monitored_barrier", of.ranks), late)
    for request in _answer(pairs, set(inbox), number, 1):
        request.Wait()


def _answer(pairs: Any, ranks: set[int], number: int, well: int) -> list[Any]:
    return [pairs.Isend(np.array([number, well], np.int64), r, _ANSWER) for r in ranks]
