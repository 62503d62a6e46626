"""The one door: every computation of every device passes through `run`, where listeners can watch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import devices

# A listener is called as listener(kernel, arrays, attrs, call) and must return call()'s result.
Listener = Callable[["Kernel", Sequence[Any], dict[str, Any], Callable[[], Any]], Any]

KERNELS: dict[str, Kernel] = {}
listeners: list[Listener] = []

# The array that an in-place operation reads and is about to write. A device's body that is given it as first
# operand may write its result there and answer that same array: then nothing is left to be copied.
in_place: list[Any] = [None]


class Kernel:
    """A named computation over raw arrays: one generic body, better ones per device.

    `generic(xp, *arrays, **attrs)` is written against the array module `xp` (NumPy or CuPy). A device's
    own body is registered by `@kernel_for(device_type, name)` and may return NotImplemented to refuse;
    then the one under `fallbacks` computes.
    """

    __slots__ = (
        "fallbacks",
        "name",
        "generic",
        "is_view",
        "moves_only",
        "impls",
        "meta",
        "mutates",
        "random",
    )

    def __init__(
        self,
        name: str,
        generic: Callable[..., Any],
        *,
        is_view: bool = False,
        moves_only: bool = False,
        meta: Callable[..., Any] | None = None,
        mutates: Callable[..., Sequence[int]] | Sequence[int] = (),
        random: bool = False,
    ) -> None:
        if name in KERNELS:
            raise ValueError(f"kernel {name!r} exists already")
        self.name = name
        self.generic = generic
        self.is_view = is_view
        self.moves_only = moves_only or is_view  # cannot overflow or divide by zero
        self.meta = meta  # (*arrays, **attrs) -> (shape, np dtype) or a list of them
        self.mutates = (
            mutates  # positions of arrays it writes into, or (arrays, attrs) -> positions
        )
        self.random = random  # draws from a stream: two calls with equal inputs differ
        self.impls: dict[type, Callable[..., Any]] = {}
        self.fallbacks: dict[type, Callable[..., Any]] = {}
        KERNELS[name] = self

    def resolve(self, cls: type) -> Callable[..., Any]:
        """Find the body for one array type, once."""
        impl = devices.backend_of_type(cls).bind(self)
        self.impls[cls] = impl
        return impl

    def __repr__(self) -> str:
        return f"<kernel {self.name}>"


def run(kernel: Kernel, cls: type, arrays: Sequence[Any], attrs: dict[str, Any]) -> Any:
    """Compute `kernel` over raw arrays of type `cls`; arrays may also hold None and Python numbers."""
    impl = kernel.impls.get(cls)
    if impl is None:
        impl = kernel.resolve(cls)
    if listeners:
        return _observed(kernel, cls, impl, arrays, attrs)
    out = impl(*arrays, **attrs)
    return kernel.fallbacks[cls](*arrays, **attrs) if out is NotImplemented else out


def _observed(
    kernel: Kernel, cls: type, impl: Callable, arrays: Sequence[Any], attrs: dict[str, Any]
) -> Any:
    def call() -> Any:
        out = impl(*arrays, **attrs)
        if out is NotImplemented:
            out = kernel.fallbacks[cls](*arrays, **attrs)
        # NumPy answers scalars for 0-d results: listeners tell arrays apart by identity, so make
        # the array here that the caller would make.
        asarray = devices.backend_of_type(cls).asarray
        if out.__class__ is tuple:
            return tuple([asarray(o) if isinstance(o, np.generic) else o for o in out])
        return asarray(out) if isinstance(out, np.generic) else out

    for listener in tuple(listeners):  # another thread may leave while this one looks
        call = _bind_listener(listener, kernel, arrays, attrs, call)
    return call()


def _bind_listener(listener: Listener, kernel: Kernel, arrays: Any, attrs: Any, call: Any) -> Any:
    return lambda: listener(kernel, arrays, attrs, call)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Let `listener` see every computation inside the block."""
    listeners.append(listener)
    try:
        yield
    finally:
        listeners.remove(listener)


class ReplayHooks(list[tuple[Callable[[], None], tuple]]):
    """What a recorder is told beside the kernels: `(refresh, arrays)` before each replay, and more.

    `after` is called when a replay has run. `odd` says that this call is not like others, so that
    the next one should be recorded instead.
    """

    def __init__(self) -> None:
        super().__init__()
        self.after: list[Callable[[], None]] = []
        self.odd = False


_replay_hooks: ReplayHooks | None = None  # set while a recorder listens


def each_replay(refresh: Callable[[], None], *arrays: Any) -> None:
    """Tell a recorder, if one listens, what the host must refresh before every replay.

    Scalars that change between steps (learning rate, step count) live in small `arrays`; `refresh`
    brings them up to date, where an eager step would have done so itself.
    """
    if _replay_hooks is not None:
        _replay_hooks.append((refresh, arrays))


def replay_hooks() -> ReplayHooks | None:
    """The hooks of the recording at work, or None."""
    return _replay_hooks


@contextmanager
def collecting_replay_hooks() -> Iterator[ReplayHooks]:
    """Collect the `each_replay` calls of the block, for a recorder."""
    global _replay_hooks
    before, _replay_hooks = _replay_hooks, ReplayHooks()
    try:
        yield _replay_hooks
    finally:
        _replay_hooks = before


def kernel_for(device_type: str, name: str) -> Callable[[Callable], Callable]:
    """Register a device's own body for the kernel `name`."""

    def register(fn: Callable) -> Callable:
        devices.overrides(device_type)[name] = fn
        found = KERNELS.get(name)
        if found is not None:
            found.impls.clear()
        return fn

    return register
