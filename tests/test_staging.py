"""Batches that go to a GPU through page-locked buffers: the values of the call arrive, however late the copy is made."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cuda_on_host import needs_compiler, runs_on_the_emulated_gpu

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

        def copy(buffer: np.ndarray, out: np.ndarray = out) -> None:
            stream.put(lambda: np.copyto(out, buffer[: out.nbytes].view(np.float32)))

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


@needs_compiler
def test_batches_of_a_traced_loop_on_the_emulated_gpu() -> None:
    runs_on_the_emulated_gpu("emulated_staging.py")
