"""Batches that go to a GPU through page-locked buffers: the values of the call arrive, however late the copy is made."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("cupy")


class Late:
    """A stream whose copies are made when somebody waits for a mark behind them."""

    def __init__(self) -> None:
        self.waiting: list[Any] = []
        self.done = self.waits = 0

    def put(self, do: Any) -> None:
        self.waiting.append(do)

    def reach(self, place: int) -> None:
        for do in self.waiting[self.done : place]:
            do()
        self.done = max(self.done, place)


class Mark:
    def __init__(self, stream: Late) -> None:
        self.stream, self.place = stream, 0

    def record(self) -> None:
        self.place = len(self.stream.waiting)

    def synchronize(self) -> None:
        self.stream.waits += self.place > self.stream.done
        self.stream.reach(self.place)


def sent(count: int, size: int) -> tuple[Late, list[np.ndarray]]:
    """So many batches over one array that is overwritten at once, as a loader's buffer may be."""
    from rushlight.runtime.cuda.memory.staging import Rings

    stream, arrived = Late(), []
    rings = Rings(np.empty, lambda: Mark(stream))
    batch = np.empty(size, np.float32)
    for i in range(count):
        batch[...] = i
        out = np.full(size, -1, np.float32)
        arrived.append(out)

        def copy(buffer: np.ndarray, mark: Mark, out: np.ndarray = out) -> None:
            stream.put(lambda: np.copyto(out, buffer[: out.nbytes].view(np.float32)))
            mark.record()

        rings.send(0, batch, copy)
        batch[...] = -7
    return stream, arrived


def test_values_of_the_call_arrive() -> None:
    stream, arrived = sent(11, 1000)
    assert 0 < stream.done < 11  # a buffer is not written again before its copy
    stream.reach(11)
    for i, out in enumerate(arrived):
        np.testing.assert_array_equal(out, i)


def test_only_an_old_copy_is_waited_for() -> None:
    stream, _ = sent(4, 1000)
    assert stream.waits == stream.done == 0
    stream, _ = sent(5, 1000)
    assert (stream.waits, stream.done) == (1, 1)


class Lanes:
    """Streams whose work is done in any order that their marks allow."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.work: dict[int, list[tuple[str, Any]]] = {}
        self.reached: set[tuple[int, int]] = set()  # marks, and how often they were recorded by then

    def some(self, until: tuple[int, int] | None = None) -> None:
        """Do some of the work; all that a mark needs, where one is waited for."""
        left = 10_000 if until is not None else int(self.random.integers(0, 6))
        while left and (until is None or until not in self.reached):
            ready = [p for p, w in self.work.items() if w and (w[0][0] != "wait" or w[0][1] in self.reached)]
            if not ready:
                break
            kind, what = self.work[int(self.random.choice(ready))].pop(0)
            if kind == "do":
                what()
            elif kind == "mark":
                self.reached.add(what)
            left -= 1
        assert until is None or until in self.reached, "nobody ends this wait"


class Event:
    def __init__(self, lanes: Lanes) -> None:
        self.lanes, self.count = lanes, 0

    def now(self) -> tuple[int, int]:
        return id(self), self.count

    def record(self, stream: Any) -> None:
        self.count += 1
        self.lanes.work[stream.ptr].append(("mark", self.now()))

    def synchronize(self) -> None:
        self.lanes.some(self.now())


class Stream:
    def __init__(self, lanes: Lanes, ptr: int) -> None:
        self.lanes, self.ptr = lanes, ptr
        lanes.work[ptr] = []

    def wait_event(self, event: Event) -> None:
        self.lanes.work[self.ptr].append(("wait", event.now()))


@pytest.mark.parametrize("seed", range(12))
def test_large_batches_arrive_in_whatever_order_two_streams_do_their_work(seed: int) -> None:
    from rushlight.runtime.cuda.memory.staging import Landings, Ring

    lanes = Lanes(seed)
    main, sender = Stream(lanes, 1), Stream(lanes, 2)
    memory: dict[int, np.ndarray] = {}

    def piece(nbytes: int) -> Any:
        at = 1000 + len(memory)
        memory[at] = np.full(nbytes, 255, np.uint8)
        return SimpleNamespace(ptr=at)

    def memcpy(to: int, source: int, nbytes: int, kind: int, stream: int) -> None:
        def do() -> None:
            memory[to][:nbytes] = memory[source][:nbytes]

        lanes.work[stream].append(("do", do))

    def pinned(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
        buffer = np.zeros(shape, dtype)
        memory[buffer.__array_interface__["data"][0]] = buffer
        return buffer

    landings = Landings(piece, lambda: Event(lanes), lambda index: sender, memcpy)
    ring = Ring(64, pinned, lambda: Event(lanes))
    batch, found = np.empty(64, np.uint8), []
    for i in range(17):
        batch[...] = i
        out = SimpleNamespace(nbytes=64, data=piece(64))
        ring.send(batch, lambda b, m, out=out: landings.send(0, b, out.data.ptr, 64, m, main))
        batch[...] = 99
        found.append(out)
        lanes.some()
    for stream in (main, sender):
        end = Event(lanes)
        end.record(stream)
        end.synchronize()
    for i, out in enumerate(found):
        assert (memory[out.data.ptr] == i).all(), i
