"""Bare arrays beside hot loops: what a user sees is computed first, and what a user may change is no operand that waits.

Kernels of a loop that repeats may wait (docs/hot-loops.md). An array inside of a Variable is our own until somebody asks
for it: by `.data`, in a `forward` that somebody wrote, or because it was theirs before. From then on it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any

from ..core.exposed import exposed
from ..core.memory import root_array
from ..core.references import unwatched
from ..runtime.door import KERNELS, run
from ..runtime.thread import FOREIGN, PARTS, TRACED, WATCHED, here, settle_others, swap

_LISTENED = TRACED | WATCHED  # kernels may wait, or are written down


def _nothing() -> None:
    pass


def show(a: Any) -> None:
    """Somebody is about to see an array: it is computed now, and from now on it may change unseen."""
    if here.tracer is not None:
        here.tracer.fetch(_nothing)
    if here.state & FOREIGN:
        settle_others()
    exposed.add(a)


def outside(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call what works with bare arrays: nothing waits any more, and nothing that it computes will wait."""
    if here.state & FOREIGN:
        settle_others()
    if here.tracer is None:
        return call(*args, **kwargs)

    def take() -> Any:
        held, here.tracer = here.tracer, None
        try:
            return call(*args, **kwargs)
        finally:
            if here.tracer is None:  # nobody has switched tracing on in there
                here.tracer = held

    return here.tracer.fetch(take)


def _is_heard() -> bool:
    """Whether a tracer writes down kernels of this thread or lets them wait."""
    state = here.state
    if state & TRACED:
        return True
    return bool(state & WATCHED) and getattr(here.tracer, "ear", None) is not None


def is_shared(a: Any) -> bool:
    """Whether a kernel that reads this array may wait, while somebody else could change it."""
    if not here.state & _LISTENED or not exposed.roots or a is None or not _is_heard():
        return False
    root = root_array(a)
    if id(root) not in exposed.roots:
        return False
    if here.state & TRACED and here.tracer.is_waiting(root):
        exposed.roots.pop(id(root))  # shown once, then let go of and handed out again
        return False
    return True


def own(a: Any) -> Any:
    """An array for a kernel that may wait: if somebody could change it meanwhile, a copy that nobody has."""
    if not here.state & _LISTENED or not is_shared(a):
        return a
    if not a.flags.forc:  # a copy would lie otherwise, and kernels look at that
        here.tracer.interrupt("an array with gaps that the user has")
        return a
    return run(KERNELS["clone"], a.__class__, (a,), {"order": "K"}, alone=True)


def aside(fn: Callable[[Any], Any], a: Any) -> Any:
    """`fn(a)` for a function that gives a view: over memory that the user has, it is made past the door.

    A kernel that waits would have to read a copy, of which the result would be a view.
    """
    if is_shared(a):
        before = swap(_LISTENED | PARTS, 0)
        try:
            return fn(a)
        finally:
            swap(_LISTENED | PARTS, before)
    return fn(a)


def to_be_changed(variables: Sequence[Any]) -> None:
    """A kernel is about to change these Variables in place: it cannot wait if somebody has one of the arrays."""
    for v in variables:
        if is_shared(v._data):
            if _references(v) > _ALONE or v._data.base is not None:
                here.tracer.interrupt("the user has the array of a Parameter")
                return
            exposed.roots.pop(id(v._data))  # whoever had it has let go of it


def _references(v: Any) -> int:
    return getrefcount(v._data)


class _Alone:
    """A Variable whose array nobody else has, to count its references."""

    def __init__(self) -> None:
        self._data = object()


# The smallest of many: a call that has run often may count one reference less.
_ALONE = unwatched(lambda: min([_references(_Alone()) for _ in range(64)]))
