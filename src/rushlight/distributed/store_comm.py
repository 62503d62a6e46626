"""MPI's communicator, made of a store: what ranks with a GPU each still tell each other beside NCCL.

NCCL moves their tensors. What is left is small - NCCL's own id, names, sizes, that all have come - and goes by keys
that every rank sets and reads. It has the names and arguments of mpi4py that the rest calls, and no arithmetic:
reductions are exchanged and added up by `reduce_op.py`.
"""

from __future__ import annotations

import pickle
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .store import PrefixStore, Store

__all__ = ["StoreComm"]

# mpi4py's constants: MPI's own reductions are none of a store's, and types are the bytes of one unit.
SUM = PROD = MIN = MAX = BAND = BOR = BXOR = None
BYTE, INT32_T, INT64_T = 1, 4, 8
ANY_SOURCE = UNDEFINED = -1


class Status:
    """Who has sent a message."""

    source = -1

    def Get_source(self) -> int:
        return self.source


class Request:
    """What is under way: `arrived` answers None until it is there."""

    def __init__(self, arrived: Callable[[], int | None], forget: Callable[[], Any] = Status) -> None:
        self._arrived, self._forget = arrived, forget
        self._source: int | None = None

    def Test(self, status: Status | None = None) -> bool:
        if self._source is None:
            self._source = self._arrived()
        if status is not None and self._source is not None:
            status.source = self._source
        return self._source is not None

    def Wait(self) -> None:
        """What is sent lies in the store already."""

    def Cancel(self) -> None:
        if self._source is None:
            self._forget()


def _array(of: Any) -> np.ndarray:
    """The array of a buffer, which may be [array, count, type] as well."""
    return of if isinstance(of, np.ndarray) else of[0]


def _bytes(of: Any) -> bytes:
    return b"" if of is None else _array(of).tobytes()


def _put(into: Any, raw: bytes) -> None:
    if into is not None:
        flat = _array(into).reshape(-1).view(np.uint8)
        flat[: len(raw)] = np.frombuffer(raw, np.uint8)


class StoreComm:
    """The ranks of a group, as mpi4py's Intracomm."""

    def __init__(self, store: Store, name: str, rank: int, size: int) -> None:
        self._store, self._name, self._rank, self._size = store, name, rank, size
        self._book = PrefixStore(name, store)
        self._turn = self._made = 0
        self._sent: Counter[tuple[int, int]] = Counter()  # messages to a rank with a tag, and from one
        self._got: Counter[tuple[int, int]] = Counter()
        self._local: Counter[tuple[int, ...]] = Counter()

    def Get_rank(self) -> int:
        return self._rank

    def Get_size(self) -> int:
        return self._size

    # -- all ranks --------------------------------------------------------------------------------

    def _post(self, mine: bytes, take: Callable[[list[bytes]], Any]) -> Request:
        """Every rank says its part; when all have, `take` is given them."""
        turn, self._turn = self._turn, self._turn + 1
        self._book.set(f"{turn}/{self._rank}", mine)
        if turn > 1:  # who is at this turn has ended the last one: all have read the one before
            self._book.delete_key(f"{turn - 2}/{self._rank}")
        keys = [f"{turn}/{r}" for r in range(self._size)]

        def arrived() -> int | None:
            if not self._book.check(keys):
                return None
            take(self._book.multi_get(keys))
            return self._rank

        return Request(arrived)

    def Ibarrier(self) -> Request:
        return self._post(b"", len)

    def Iallgather(self, mine: Any, out: Any) -> Request:
        return self._post(_bytes(mine), lambda parts: _put(out, b"".join(parts)))

    Iallgatherv = Iallgather

    def Igather(self, mine: Any, out: Any, root: int) -> Request:
        return self._post(_bytes(mine), lambda parts: _put(out, b"".join(parts)))

    def Ibcast(self, a: Any, root: int) -> Request:
        mine = _bytes(a) if self._rank == root else b""
        return self._post(mine, lambda parts: _put(a, parts[root]))

    def _share(self, whole: bytes) -> bytes:
        size = len(whole) // self._size
        return whole[self._rank * size :][:size]

    def Iscatter(self, given: Any, out: Any, root: int) -> Request:
        return self._post(_bytes(given), lambda parts: _put(out, self._share(parts[root])))

    def Ialltoall(self, given: Any, out: Any) -> Request:
        return self._post(_bytes(given), lambda parts: _put(out, b"".join(self._share(part) for part in parts)))

    def Ialltoallv(self, given: Any, out: Any) -> Request:
        raw, (sizes, starts), unit = given
        cut = [raw[at * unit :][: n * unit].tobytes() for n, at in zip(sizes, starts)]
        return self._post(
            pickle.dumps(cut), lambda parts: _put(out, b"".join(pickle.loads(part)[self._rank] for part in parts))
        )

    def allgather(self, value: Any) -> list[Any]:
        """A value of each rank; waits as long as the store does."""
        found: list[Any] = []
        turn = self._turn
        request = self._post(pickle.dumps(value), lambda parts: found.extend(map(pickle.loads, parts)))
        self._book.wait([f"{turn}/{r}" for r in range(self._size)])
        request.Test()
        return found

    def bcast(self, value: Any) -> Any:
        return self.allgather(value)[0]

    # -- two ranks --------------------------------------------------------------------------------

    def Isend(self, a: Any, to: int, tag: int = 0) -> Request:
        number = self._sent[to, tag]
        self._sent[to, tag] += 1
        self._book.set(f"{self._rank}-{to}/{tag}/{number}", _bytes(a))
        return Request(lambda: self._rank)

    def Irecv(self, into: Any, source: int, tag: int = 0) -> Request:
        """Messages of one rank with one tag come in their order; which is taken is said when it is asked for."""
        count = self._got
        chosen = {r: count[r, tag] for r in range(self._size) if source in (r, ANY_SOURCE)}
        if source != ANY_SOURCE:
            count[source, tag] += 1

        def arrived() -> int | None:
            for rank in chosen:
                number = chosen[rank] if source != ANY_SOURCE else count[rank, tag]
                key = f"{rank}-{self._rank}/{tag}/{number}"
                if self._book.check([key]):
                    _put(into, self._book.get(key))
                    self._book.delete_key(key)
                    count[rank, tag] += source == ANY_SOURCE
                    return rank
            return None

        def forget() -> None:
            count[source, tag] -= source != ANY_SOURCE

        return Request(arrived, forget)

    # -- other groups -----------------------------------------------------------------------------

    def Dup(self) -> StoreComm:
        self._made += 1
        return StoreComm(self._store, f"{self._name}/{self._made}", self._rank, self._size)

    def Split(self, color: int, key: int) -> StoreComm | None:
        self._made += 1
        told = self.allgather((color, key))
        if color == UNDEFINED:
            return None
        members = sorted((k, r) for r, (c, k) in enumerate(told) if c == color)
        place = members.index((key, self._rank))
        return StoreComm(self._store, f"{self._name}/{self._made}-{color}", place, len(members))

    def Get_group(self) -> StoreComm:
        return self

    def Incl(self, ranks: Sequence[int]) -> list[int]:
        return list(ranks)

    def Create_group(self, ranks: list[int], tag: int) -> StoreComm:
        """A group that only its members make: they count alike."""
        self._local[tuple(ranks)] += 1
        name = f"{self._name}/of-{'-'.join(map(str, ranks))}-{self._local[tuple(ranks)]}"
        return StoreComm(self._store, name, ranks.index(self._rank), len(ranks))

    def Free(self) -> None:
        """Nothing is kept beside the last values."""
