"""The one door: every computation of every device passes through `run`, where listeners can watch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..base.arrays import GenericBody, KernelBody
from ..base.late_table import LateTable
from . import devices
from .facts import NOTHING, Facts
from .thread import FOREIGN, PARTS, TRACED, WATCHED, here, settle_others, swap
from .wrapped import MADE_OF_OTHERS, WrappedArray

Body = TypeVar("Body", bound=Callable[..., Any])

# A listener is called as listener(kernel, arrays, attrs, call) and must return call()'s result. One whose
# `wants_parts` is true is shown the parts of what could be computed in one kernel; the others see exactly the
# kernels that run when nobody listens.
Listener = Callable[["Kernel", Sequence[Any], dict[str, Any], Callable[[], Any]], Any]

KERNELS: LateTable[Kernel] = LateTable()


class Kernel:
    """A named computation over raw arrays: one generic body, better ones per device.

    `generic(xp, *arrays, **attrs)` is written against the array module `xp` (NumPy or CuPy). A device's
    own body is registered by `@kernel_for(device_type, name)` and may return NotImplemented to refuse;
    then the one under `fallbacks` computes.
    """

    __slots__ = ("facts", "fallbacks", "name", "generic", "is_view", "moves_only", "impls", "meta", "mutates", "random")

    def __init__(
        self,
        name: str,
        generic: GenericBody,
        *,
        is_view: bool = False,
        moves_only: bool = False,
        meta: Callable[..., Any] | None = None,
        mutates: Callable[..., Sequence[int]] | Sequence[int] = (),
        random: bool = False,
        facts: Facts = NOTHING,
    ) -> None:
        if name in KERNELS:
            raise ValueError(f"kernel {name!r} exists already")
        self.name = name
        self.generic = generic
        self.is_view = is_view
        self.moves_only = moves_only or is_view  # cannot overflow or divide by zero
        self.meta = meta  # (*arrays, **attrs) -> (shape, np dtype) or a list of them
        self.mutates = mutates  # positions of arrays it writes into, or (arrays, attrs) -> positions
        self.random = random  # draws from a stream: two calls with equal inputs differ
        self.facts = facts
        self.impls: dict[type, KernelBody] = {}
        self.fallbacks: dict[type, KernelBody] = {}
        KERNELS[name] = self

    def resolve(self, cls: type) -> KernelBody:
        """Find the body for one array type, once."""
        backend = devices.backend_of_type(cls)
        impl = backend.bind(self)
        if backend.type not in ("wrapped", "sparse", "batched"):  # a body that C does not find is called from Python
            self.impls[cls] = impl
        return impl

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"


def run(kernel: Kernel, cls: type, arrays: Sequence[Any], attrs: dict[str, Any], alone: bool = False) -> Any:
    """Compute `kernel` over raw arrays of type `cls`; arrays may also hold None and Python numbers.

    This is the one place where a body is called, and its fallback when it refuses (and `compute` of
    core/native/call.c is the same in C). `alone` leaves out the listeners.
    """
    if not alone and here.state & (WATCHED | TRACED | FOREIGN):
        return _unusual(kernel, cls, arrays, attrs)
    body = kernel.impls.get(cls)
    if body is None:
        body = kernel.resolve(cls)
    out = body(*arrays, **attrs)
    return kernel.fallbacks[cls](*arrays, **attrs) if out is NotImplemented else out


def _unusual(kernel: Kernel, cls: type, arrays: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """A listener wants to see this computation, or the tracer may let it wait."""
    state = here.state
    if state & FOREIGN:
        settle_others()
        return run(kernel, cls, arrays, attrs)
    if state & TRACED and cls not in MADE_OF_OTHERS:
        return here.tracer.cursor(kernel, cls, arrays, attrs)
    return _watched(kernel, cls, arrays, attrs)


def _watched(kernel: Kernel, cls: type, arrays: Sequence[Any], attrs: dict[str, Any]) -> Any:
    def call() -> Any:
        out = run(kernel, cls, arrays, attrs, alone=True)
        # NumPy returns scalars for 0-d results. Listeners distinguish arrays by identity, so make
        # the array here that the caller would make.
        asarray = devices.backend_of_type(cls).asarray
        if out.__class__ is tuple:
            return tuple([asarray(o) if isinstance(o, np.generic) else o for o in out])
        return asarray(out) if isinstance(out, np.generic) else out

    for listener in here.listeners:
        if cls in MADE_OF_OTHERS and not (cls is WrappedArray and getattr(listener, "asks", False)):
            continue  # it sees what they are computed with
        call = _bind_listener(listener, kernel, arrays, attrs, call)
    return call()


def _bind_listener(
    listener: Listener, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any], call: Callable[[], Any]
) -> Callable[[], Any]:
    return lambda: listener(kernel, arrays, attrs, call)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let `listener` see every computation of this thread inside the block."""
    if here.tracer is not None:
        here.tracer.interrupt("somebody listens")
    add_listener(listener)
    try:
        yield
    finally:
        remove_listener(listener)


def add_listener(listener: Listener) -> None:
    """Let `listener` see every computation of this thread, until it is removed."""
    _listen((*here.listeners, listener))


def remove_listener(listener: Listener) -> None:
    left = list(here.listeners)
    del left[max(i for i, one in enumerate(left) if one is listener)]
    _listen(tuple(left))


def _listen(listeners: tuple[Listener, ...]) -> None:
    here.listeners = listeners
    parts = any(getattr(one, "wants_parts", False) for one in listeners)
    swap(WATCHED | PARTS, (WATCHED if listeners else 0) | (PARTS if parts else 0))


class ReplayHook(NamedTuple):
    """Work of the host before each replay; `undo` takes it back when the kernel that reads `arrays` did not run."""

    refresh: Callable[[], None]
    arrays: tuple[Any, ...] = ()
    undo: Callable[[], None] | None = None


class ReplayHooks(list[ReplayHook]):
    """What a recorder learns apart from the kernels: what the host does before each replay, and more.

    `after` is called when a replay has run. `odd` says that this call is not like the others, so that
    the next one should be recorded instead.
    """

    def __init__(self, recorder: Any = None) -> None:
        super().__init__()
        self.recorder = recorder
        self.after: list[Callable[[], None]] = []
        self.odd = False


def each_replay(refresh: Callable[[], None], *arrays: Any, undo: Callable[[], None] | None = None) -> None:
    """Tell this thread's recorder, if it has one, what the host must refresh before every replay.

    Scalars that change between steps (learning rate, step count) live in small `arrays`; `refresh`
    brings them up to date, where an eager step would have done so itself. It must change nothing when it raises.
    """
    if here.replay_hooks is not None:
        here.replay_hooks.append(ReplayHook(refresh, arrays, undo))


def replay_hooks() -> ReplayHooks | None:
    """The hooks of this thread's recording, or None."""
    return here.replay_hooks


@contextmanager
def collecting_replay_hooks(recorder: Any = None) -> Iterator[ReplayHooks]:
    """Collect this thread's `each_replay` calls of the block, for a recorder."""
    before, hooks = here.replay_hooks, ReplayHooks(recorder)
    here.replay_hooks = hooks
    try:
        yield hooks
    finally:
        here.replay_hooks = before


def kernel_for(device_type: str, name: str) -> Callable[[Body], Body]:
    """Register a device's own body for the kernel `name`."""

    def register(fn: Body) -> Body:
        devices.overrides(device_type)[name] = fn
        found = KERNELS.get(name)
        if found is not None:
            found.impls.clear()
        return fn

    return register
