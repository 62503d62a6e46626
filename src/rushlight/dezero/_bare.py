"""Bare arrays beside hot loops: what a user sees is computed first, and what a user may change is no operand that waits.

Kernels of a loop that repeats may wait (docs/hot-loops.md). An array inside of a Variable is our own until somebody asks
for it: by `.data`, in a `forward` that somebody wrote, or because it was theirs before. From then on it is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any

import numpy as np

from .. import cuda
from ..core.exposed import exposed
from ..core.memory import root_array
from ..core.references import unwatched
from ..runtime.door import KERNELS, run
from ..runtime.thread import FOREIGN, PARTS, TRACED, WATCHED, here, settle_others, swap

_LISTENED = TRACED | WATCHED  # kernels may wait, or are written down
_COPY = KERNELS["copy_into"]
_MOST = 256 << 20  # bytes of copies that are kept for the next stretch


def _nothing() -> None:
    pass


def _no() -> bool:
    return False


def show(a: Any) -> None:
    """Somebody is about to see an array: it is computed now, and from now on it may change unseen."""
    tracer = here.tracer
    if tracer is not None and not getattr(tracer, "is_idle", _no)():
        tracer.fetch(_nothing)
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


def is_shared(a: Any) -> bool:
    """Whether a kernel that reads this array may wait, while somebody else could change it."""
    state = here.state
    if not state & _LISTENED or not exposed.roots or a is None:
        return False
    root = a if a.base is None else root_array(a)
    if id(root) not in exposed.roots:
        return False
    if not state & TRACED:  # other listeners than a tracer's let nothing wait
        return bool(state & WATCHED) and getattr(here.tracer, "recorder", None) is not None
    if here.tracer.is_waiting(root):
        exposed.roots.pop(id(root))  # shown once, then let go of and handed out again
        return False
    return True


def own(a: Any) -> Any:
    """An array for a kernel that may wait: if somebody could change it meanwhile, a copy that nobody has."""
    if not here.state & _LISTENED:
        return a
    if id(a if a.base is None else root_array(a)) not in exposed.roots or not is_shared(a):
        return a
    if not a.flags.forc:  # a copy would lie otherwise, and kernels look at that
        here.tracer.interrupt("an array with gaps that the user has")
        return a
    return _clone(a)


def _clone(a: Any) -> Any:
    return run(KERNELS["clone"], a.__class__, (a,), {"order": "K"}, alone=True)


def each(copy: Callable[[Any], Any], arrays: Sequence[Any]) -> Sequence[Any]:
    """`own` or `lent` for those of several arrays that the user may have; None stays None."""
    roots = exposed.roots
    if not roots or not here.state & _LISTENED:
        return arrays
    return [copy(a) if a is not None and id(a if a.base is None else root_array(a)) in roots else a for a in arrays]


class _Buffers:
    """Arrays for copies that only kernels of one stretch read: the n-th copy of each stretch lies in the same one.

    So a path knows them as arrays that stay, and nothing has to be bound or copied a second time.
    """

    def __init__(self) -> None:
        self.arrays: dict[Any, Any] = {}
        self.latest: dict[int, _Buffer] = {}  # by the number of the copy
        self.nbytes = 0
        self.stretch: Any = None
        self.count = 0
        # copies: from, to, and whether it stays
        self.log: list[tuple[Any, Any, bool]] | None = None

    def so_far(self, tracer: Any) -> int:
        """How many copies were taken in this stretch."""
        stretch = tracer.recorder or tracer.began
        if stretch is not self.stretch:
            self.stretch, self.count = stretch, 0
        return self.count

    def take(self, a: Any, stretch: Any) -> Any:
        """A copy of an array; no other is taken from the same memory before the stretch is over.

        `taken` of native/usual.c is the same, for copies that were taken before.
        """
        if stretch is not self.stretch:
            self.stretch, self.count = stretch, 0
        self.count = count = self.count + 1
        buffer = self.latest.get(count)
        if buffer is None or buffer.lies != lies(a):
            key = count, a.__class__, a.dtype, a.shape, a.strides
            found = self.arrays.get(key)
            if found is None:
                return self._made(a, key)
            buffer = self.latest[count] = _Buffer(found)
        buffer.go(a, *buffer.behind)
        if self.log is not None:
            self.log.append((a, buffer.array, True))
        return buffer.array

    def _made(self, a: Any, key: Any) -> Any:
        """The first copy of its kind."""
        found = _clone(a)
        stays = self.nbytes + a.nbytes <= _MOST
        if stays:
            self.nbytes += a.nbytes
            self.arrays[key] = found
            exposed.refill(found)
        if self.log is not None:
            self.log.append((a, found, stays))
        return found


def lies(a: Any) -> tuple[Any, ...]:
    """How an array lies; shape and strides take long to ask for on a GPU, so rows without gaps by their size and number."""
    n = a.ndim
    if n > 2 or not a.size or not a.flags.c_contiguous:
        return a.__class__, a.dtype, a.shape, a.strides
    return a.__class__, a.dtype, n, a.size, len(a) if n else 1


class _Buffer:
    """An array that copies are taken into, how it lies, and what copies others that lie alike: `go(a, *behind)`."""

    __slots__ = ("array", "behind", "go", "lies")

    def __init__(self, array: Any) -> None:
        self.array, self.lies = array, lies(array)
        self.go: Any = None
        self.behind: tuple[Any, ...] = (array,)
        if array.__class__ is not np.ndarray and array.size and cuda.device_count() == 1:
            from ..runtime.cuda.memory.repeated_copies import MOST, copies_between

            rest = (None,) * (MOST - 1)
            self.go, self.behind = copies_between([array]), (*rest, array, *rest)
        if self.go is None:
            self.go, self.behind = _copy, (array,)


def _copy(a: Any, to: Any) -> None:
    run(_COPY, a.__class__, (to, a), {}, alone=True)


def buffers_of(tracer: Any) -> _Buffers:
    """Those of a tracer's stretches."""
    buffers = tracer.__dict__.get("dezero_buffers")
    if buffers is None:
        buffers = tracer.dezero_buffers = _Buffers()
    return buffers


def lent(a: Any) -> Any:
    """As `own`, for a kernel that keeps nothing of its operands: the copy is good for this stretch only."""
    if not here.state & _LISTENED or not is_shared(a):
        return a
    tracer = here.tracer
    if not a.flags.forc:
        tracer.interrupt("an array with gaps that the user has")
        return a
    return buffers_of(tracer).take(a, tracer.recorder or tracer.began)


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
    roots = exposed.roots
    if not roots or not here.state & _LISTENED:
        return
    for v in variables:
        a = v._data
        if id(a if a.base is None else root_array(a)) in roots and is_shared(a):
            v.__dict__.pop("_turned", None)
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
