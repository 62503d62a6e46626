"""How a rank ends: together with the others when all is well, at once when it failed.

MPI_Finalize waits for all ranks. A rank that raised would wait there for ranks that wait for it, so only a rank
that ends well calls it; one that failed just ends, and mpiexec (or the process that spawned it) ends the others.
"""

from __future__ import annotations

import atexit
import multiprocessing.util
import os
import sys
import threading
import time
from typing import Any

__all__ = ["leave_well"]


class _End:
    """What is known when the process ends."""

    failed = False
    meeting: Any = None


def leave_well(meeting: Any) -> None:
    """Have MPI finalized when this process ends well; `meeting` has it, and the line to the others."""
    _End.meeting = meeting
    _watch_excepthook()
    if multiprocessing.util.Finalize is not None and _is_child():
        # children of multiprocessing run no atexit functions
        multiprocessing.util.Finalize(None, _finish_child, exitpriority=100)
    else:
        atexit.register(_finish)


def _is_child() -> bool:
    import multiprocessing

    return multiprocessing.parent_process() is not None


def mark_failed() -> None:
    """Remember that this process ends with an error."""
    _End.failed = True


def _watch_excepthook() -> None:
    before = sys.excepthook

    def hook(kind: Any, error: Any, trace: Any) -> None:
        mark_failed()
        before(kind, error, trace)

    sys.excepthook = hook


def _finish_child() -> None:
    if sys.exc_info()[0] is not None:  # the child's own frame handles an error while this runs
        mark_failed()
    _finish()


def _finish() -> None:
    presence, mpi = _End.meeting.presence, _End.meeting.mpi
    if _End.failed or (presence is not None and presence.broken) or mpi is None:
        return
    if presence is not None:
        presence.leave()
        threading.Thread(target=_not_for_ever, args=(presence,), daemon=True).start()
    if not mpi.Is_finalized():
        mpi.Finalize()


def _not_for_ever(presence: Any) -> None:
    """End this process when another one dies while MPI says goodbye."""
    while not presence.broken:
        time.sleep(0.1)
    sys.stderr.write(f"rank {presence.rank}: {presence.broken} before the end\n")
    sys.stderr.flush()
    os._exit(1)
