"""Side effects of Python that a replay would leave out: noticed while a call is recorded."""

from __future__ import annotations

import builtins
import logging
import random
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

# Functions that set a random stream of ours: they leave no instruction.
SEEDING = frozenset(("manual_seed", "manual_seed_all", "set_rng_state", "fork_rng"))
# Functions that look at it, too: kernels that draw must have run by then.
RANDOM_STATE = SEEDING | {"get_rng_state", "get_rng_state_all", "initial_seed", "seed", "get_state"}
_WATCHED = (
    (builtins, "print", "prints"),
    (builtins, "input", "asks for input"),
    (builtins, "open", "opens a file"),
    (logging.Logger, "handle", "writes to a log"),
)


@contextmanager
def noticing(tell: Callable[[str], None]) -> Iterator[None]:
    """Call `tell` when this thread prints, logs or opens a file inside the block."""
    thread = threading.get_ident()
    before = [(place, name, getattr(place, name)) for place, name, _ in _WATCHED]
    for (place, name, what), (_, _, plain) in zip(_WATCHED, before):
        setattr(place, name, _telling(plain, what, tell, thread))
    try:
        yield
    finally:
        for place, name, plain in before:
            setattr(place, name, plain)


def _telling(plain: Any, what: str, tell: Callable[[str], None], thread: int) -> Any:
    def function(*args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() == thread and not _from_cupy():
            tell(f"{what}, which a replay would not,")
        return plain(*args, **kwargs)

    return function


def _from_cupy() -> bool:
    """Whether CuPy asks, whose compiler keeps its kernels in files."""
    return sys._getframe(2).f_globals.get("__name__", "").startswith("cupy")


def random_states(generators: list[Any]) -> list[Any]:
    """The states of Python's and NumPy's random numbers, and of generators the function can reach."""
    kind, keys, position, *rest = np.random.get_state()
    states: list[Any] = [random.getstate(), (kind, np.asarray(keys).tobytes(), position, *rest)]
    for g in generators:
        inner = getattr(g, "bit_generator", None)
        states.append(g.getstate() if inner is None else repr(inner.state))
    return states


def is_generator(value: Any) -> bool:
    return isinstance(value, (random.Random, np.random.Generator))
