"""TORCH_DISTRIBUTED_DEBUG=DETAIL: what the ranks are about to do is compared before they do it."""

from __future__ import annotations

import enum
import pickle
from typing import Any

import numpy as np

from .errors import DistBackendError

__all__ = ["DebugLevel", "same_everywhere"]


class DebugLevel(enum.Enum):
    """How much is checked: `DETAIL` compares what the ranks are about to do before they do it.

    Example:
        >>> [level.name for level in torch.distributed.DebugLevel]
        ['OFF', 'INFO', 'DETAIL']
    """

    OFF = 0
    INFO = 1
    DETAIL = 2


def _described(group: Any, call: Any, arrays: Any) -> tuple:
    """One rank's fingerprint of a collective."""
    shown = []
    for i, a in enumerate(arrays):
        rooted = (call.name == "gather" and i == 0) or (call.name == "scatter" and i == 1)
        if a is None or rooted:
            continue
        shape = "any" if call.name == "all_to_all" else tuple(a.shape)
        kind = "cpu" if isinstance(a, np.ndarray) else "cuda"
        shown.append((shape, str(a.dtype), kind))
    op = None if call.op is None else call.op.kind.name
    return (group.number, call.name.upper(), op, call.root, tuple(shown))


def same_everywhere(group: Any, call: Any, arrays: Any) -> None:
    """Compare fingerprints; on a difference every rank raises, before anything is exchanged."""
    comm = group.checks
    if comm is None:
        return
    mine = _described(group, call, arrays)
    theirs = exchange(group, comm, mine)
    me = group.rank()
    for other, what in enumerate(theirs):
        if what != mine:
            raise DistBackendError(_difference(group.ranks[me], mine, group.ranks[other], what))


def exchange(group: Any, comm: Any, value: Any) -> list[Any]:
    """All ranks' small values, with the group's timeout and names of those that do not come."""
    raw = np.frombuffer(pickle.dumps(value), np.uint8)
    sizes = np.empty(group.size(), np.int64)
    group.wait_for(comm.Iallgather(np.array([raw.size], np.int64), sizes), group.doing)
    starts = [int(sizes[:i].sum()) for i in range(len(sizes))]
    out = np.empty(int(sizes.sum()), np.uint8)
    request = comm.Iallgatherv(raw, [out, ([int(s) for s in sizes], starts)])
    group.wait_for(request, group.doing)
    return [pickle.loads(out[at : at + n].tobytes()) for at, n in zip(starts, sizes)]


def _difference(me: int, mine: tuple, other: int, theirs: tuple) -> str:
    aspects = []
    for name, a, b in zip(("Sequence number", "Op type", "Reduction", "Root"), mine, theirs):
        if a != b:
            aspects.append(f"{name}: {a} vs {b}")
    for name, place in (("Tensor shapes", 0), ("Tensor dtypes", 1), ("Tensor devices", 2)):
        a, b = ([t[place] for t in what[4]] for what in (mine, theirs))
        if a != b:
            aspects.append(f"{name}: {a} vs {b}")
    return (
        f"Detected mismatch between collectives on ranks. Rank {me} is running collective: "
        f"{_print(mine)}, but Rank {other} is running collective: {_print(theirs)}."
        f"Collectives differ in the following aspects: \t {', '.join(aspects)}"
    )


def _print(what: tuple) -> str:
    shapes = [list(t[0]) if isinstance(t[0], tuple) else t[0] for t in what[4]]
    return (
        f"CollectiveFingerPrint(SequenceNumber={what[0]}, OpType={what[1]}, TensorShape={shapes}, "
        f"TensorDtypes={[t[1] for t in what[4]]}, TensorDeviceTypes={[t[2] for t in what[4]]})"
    )
