"""Side effects of Python that a replay would leave out: noticed while a call is recorded."""

from __future__ import annotations

import builtins
import logging
import os
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...base.locks import new_lock
from ...runtime.thread import here
from ..state.known import is_driver

# Functions that set a random stream of ours: they leave no instruction.
SEEDING = frozenset(("manual_seed", "manual_seed_all", "set_rng_state", "fork_rng"))
# Functions that look at it, too: kernels that draw must have run by then.
RANDOM_STATE = SEEDING | {"get_rng_state", "get_rng_state_all", "initial_seed", "seed", "get_state"}
_RUNTIME = __name__.partition(".")[0] + ".runtime."
_NOTICED = (
    (builtins, "print", "prints"),
    (builtins, "input", "asks for input"),
    (builtins, "open", "opens a file"),
    (logging.Logger, "handle", "writes to a log"),
)


class _Posts:
    """Functions of Python that report a call before they do their work; installed while anybody records.

    They stand there for every thread; a thread that does not record finds no `here.notice` and just
    gets the function. The last recording to end takes them away, whoever began first.
    """

    def __init__(self) -> None:
        self.lock = new_lock()
        self.recordings = 0
        self.standing: list[tuple[Any, str, Any, Any]] = []  # place, name, before, ours

    def enter(self) -> None:
        with self.lock:
            self.recordings += 1
            if self.recordings > 1:
                return
            for place, name, what in _NOTICED:
                before = getattr(place, name)
                ours = _telling(before, what)
                self.standing.append((place, name, before, ours))
                setattr(place, name, ours)

    def leave(self) -> None:
        with self.lock:
            self.recordings -= 1
            if self.recordings:
                return
            for place, name, before, ours in self.standing:
                # Otherwise another program has wrapped ours, and calls it.
                if getattr(place, name) is ours:
                    setattr(place, name, before)
            self.standing.clear()


_posts = _Posts()


def _in_child() -> None:
    """A forked child is no part of the recording that its parent was inside of."""
    here.notice = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_child)


@contextmanager
def noticing(tell: Callable[[str], None]) -> Iterator[None]:
    """Call `tell` when this thread prints, logs or opens a file inside the block."""
    outer, here.notice = here.notice, tell
    _posts.enter()
    try:
        yield
    finally:
        _posts.leave()
        here.notice = outer


def _telling(plain: Any, what: str) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        if here.notice is not None and not _from_below():
            here.notice(f"{what}, which a replay would not,")
        return plain(*args, **kwargs)

    function.__name__ = function.__qualname__ = getattr(plain, "__name__", "function")
    return function


def _from_below() -> bool:
    """Whether the caller is our own code below the door: a compiler that keeps its kernels in files, or the
    CPU engine, which reads how many cores it may use when it is loaded."""
    name = sys._getframe(2).f_globals.get("__name__", "")
    return name.startswith(_RUNTIME) or is_driver(name)


def random_states(generators: list[Any]) -> list[Any]:
    """The states of Python's and NumPy's random numbers, and of generators the function can reach."""
    kind, keys, position, *rest = np.random.get_state()
    states: list[Any] = [random.getstate(), (kind, np.asarray(keys).tobytes(), position, *rest)]
    for g in generators:
        inner = getattr(g, "bit_generator", None)
        states.append(g.getstate() if inner is None else repr(inner.state))
    return states


def is_generator(value: Any) -> bool:
    return issubclass(type(value), (random.Random, np.random.Generator))
