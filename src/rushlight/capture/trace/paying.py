"""Whether splitting a function pays: what learning costs, and calls that run as they are beside calls that are split.

First a function is learnt: what is new is heard and built, within bounds. Then a trial: blocks of calls that run as
they are take turns with blocks that are split. Where splitting is not quicker the function is given up; where it is,
more may be learnt for half of the time that was saved, and there are trials now and then, ever more seldom.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from ...core.hot import uses_gpu

PLAIN, LEARN, MATCH = range(3)  # a call runs as it is, is split and heard where it is new, is split

_BUILDS = 8  # programs that are made before a trial; with each trial that is won twice as many
_FREE = (
    4  # programs that are made whatever they take: kernels may have to be compiled for the first
)
_GRANT = 0.5  # seconds that may be spent on more of them before any time was saved
_HEARING = 4  # calls that may hear something for each of them
_SURE = 2  # calls in a row without anything new: the function is known
_BLOCK, _BLOCKS = 4, 6  # calls in a block (the first is not measured), and blocks in a trial
_WORTH = 0.98  # of an eager call's time; what is hardly quicker is not worth its memory
_SOON, _SELDOM = 64, 4096  # calls from one trial to the next
_MISSES = 8  # that bring the next trial forward, if they are a quarter of the calls


class Paying:
    """The times of one function's calls, and what follows from them."""

    def __init__(self, clock: Callable[[], float] | None = None) -> None:
        self._clock = clock
        self.why: str | None = None  # why the function runs eagerly from now on
        self.spent = self.saved = 0.0  # seconds: on making programs; by running them
        self.builds = self.heard = self.sure = self.misses = self.calls = 0  # since the last trial
        self.made = 0  # programs in all
        self.most, self.next_trial = _BUILDS, 0  # 0: when the function is known
        self.at = -1  # how many calls of a trial are over, or -1
        # A call's time in each block: of calls that are split, of calls as they are.
        self.times: tuple[list[float], list[float]] = ([], [])
        self.gain = 0.0  # seconds that a call saves, by the last trial
        self.began = self.block = 0.0

    def clock(self) -> float:
        """The time; on the CPU the thread's own."""
        if self._clock is not None:
            return self._clock()
        return time.perf_counter() if uses_gpu() else time.thread_time()

    # -- around a call --------------------------------------------------------------------------

    def begin(self) -> int:
        """How the next call runs."""
        if self.at % _BLOCK == 1:
            wait()
            self.block = 0.0
        self.began = self.clock()
        if self.at >= 0:
            return PLAIN if self.at // _BLOCK % 2 else MATCH
        return LEARN if self._may_learn() else MATCH

    def end(self, builds: int, heard: int, missed: int) -> None:
        """A call is over: programs that it made, stretches that it heard, whether it went another way than any."""
        now = self.clock()
        if self.at >= 0:
            self._measured(now - self.began)
            return
        self.calls += 1
        self.builds += builds
        self.made += builds
        self.heard += heard > 0
        self.misses += missed
        self.sure = 0 if heard else self.sure + 1
        if not heard:
            self.saved += self.gain
        if self._is_time():
            self.at = 0
            self.times = ([], [])

    def took(self, seconds: float) -> None:
        """So much was spent on a stretch that was heard."""
        self.spent += seconds

    def _may_learn(self) -> bool:
        worth = self.made < _FREE or self.spent <= _GRANT + self.saved / 2
        return worth and self.builds < self.most and self.heard < _HEARING * self.most

    def _is_time(self) -> bool:
        """Whether a trial comes next."""
        if not self.next_trial:
            return self.sure >= _SURE or not self._may_learn()
        if self.misses > _MISSES and 4 * self.misses > self.calls:
            return True
        return self.calls >= self.next_trial or self.builds >= self.most

    # -- the trial ------------------------------------------------------------------------------

    def _measured(self, seconds: float) -> None:
        block, place = divmod(self.at, _BLOCK)
        self.at += 1
        if not place:
            return  # caches, and memory, are those of the other kind of calls
        self.block += seconds
        if place < _BLOCK - 1:
            return
        begin = self.clock()
        wait()
        self.block += self.clock() - begin
        self.times[block % 2].append(self.block / (_BLOCK - 1))
        if self.at == _BLOCK * _BLOCKS:
            self._decide()

    def _decide(self) -> None:
        split, plain = min(self.times[0]), min(self.times[1])
        known = self.sure >= _SURE
        if split > plain * (_WORTH if known else 1.0):
            self.why = (
                f"as programs between host reads a call takes {_milliseconds(split)} ms, "
                f"eagerly {_milliseconds(plain)} ms"
            )
        self.gain = plain - split
        self.next_trial = min(max(2 * self.next_trial, _SOON), _SELDOM)
        self.most *= 2
        self.builds = self.heard = self.sure = self.misses = self.calls = 0
        self.at = -1


def wait() -> None:
    """Until the GPU has done what it was given."""
    if uses_gpu():
        import cupy

        cupy.cuda.get_current_stream().synchronize()


def _milliseconds(seconds: float) -> str:
    return f"{seconds * 1e3:.3g}"
