"""The engine of oneDNN, on x86-64 Linux, from our wheel or from onednn-cpu-gomp.

It computes what it does best: bfloat16 products and convolutions on the matrix units of new Xeons, and
float32 convolutions of many channels. The native engine, where it was built, and NumPy stand behind it
for everything else.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from .onednn.kernels import FLOAT, KERNELS, PRODUCTS
from .onednn.library import OneDnn, find


class OnednnEngine:
    """oneDNN in front, the native engine behind."""

    name = "onednn"

    def __init__(self, library: OneDnn, behind: Any) -> None:
        self.library = library
        self.behind = behind
        self.sequences = behind is not None and behind.sequences
        self.behind_it = None if behind is None else behind.behind_it
        self.shared = False
        library.picky = behind is not None
        library.few_places = 0 if behind is None else behind.library.FEW_PLACES
        self.openmp = ctypes.CDLL("libgomp.so.1")  # the threads of the wheel's oneDNN
        os.register_at_fork(after_in_child=self._forked)

    def _forked(self) -> None:
        """OpenMP's threads do not survive a fork: the native engine computes alone in a child."""
        self.library.usable = False

    def _share_threads(self) -> None:
        """One pool for both, once oneDNN computes: the native kernels work on its threads, not beside
        them. Before, they have their own, which wait for nobody on a busy machine."""
        self.shared = True
        if self.behind is not None:
            address = ctypes.cast(self.openmp.GOMP_parallel, ctypes.c_void_p).value
            self.behind.library.set_team(address)

    def stop(self) -> None:
        self.shared = False
        if self.behind is not None:
            self.behind.library.set_team(0)

    def version(self) -> str:
        return self.library.version()

    def instruction_set(self) -> str:
        return self.library.instruction_set()

    def kernel(self, name: str, otherwise: Callable[..., Any]) -> Callable[..., Any] | None:
        own = KERNELS.get(name)
        if self.behind is not None and name in PRODUCTS:
            # float32 is the native engine's: to ask oneDNN first costs as much as a small product
            return self.behind.kernel(name, self._first(KERNELS[name], otherwise))
        native = None if self.behind is None else self.behind.kernel(name, otherwise)
        return native if own is None else self._first(own, native or otherwise)

    def _first(self, own: Callable[..., Any], second: Callable[..., Any]) -> Callable[..., Any]:
        """oneDNN's kernel, and another one for what it refuses."""
        library = self.library

        def first(*arrays: Any, **attrs: Any) -> Any:
            out = own(library, *arrays, **attrs)
            if out is NotImplemented:
                return second(*arrays, **attrs)
            if not self.shared:
                self._share_threads()
            return out

        return first

    def into(self, name: str, otherwise: Callable[..., Any], outs: tuple) -> Callable[..., None] | None:
        """A kernel whose results go into given arrays, for steps that allocate nothing."""
        native = None if self.behind is None else self.behind.into(name, otherwise, outs)
        own = KERNELS.get(name)
        if own is None or (native is not None and name in PRODUCTS and outs[0].dtype == FLOAT):
            return native
        return OneDnnInto(self, own, native, otherwise, outs)

    def sequence(self, calls: list[tuple]) -> Callable[[], None]:
        """One callable for calls that are made one after the other; only where `sequences`."""
        return self.behind.sequence(calls)

    def watch(self, on: bool) -> None:
        self.library.watching = on
        if self.behind is not None:
            self.behind.watch(on)

    def conversions(self) -> list[tuple[str, int, float, int]]:
        behind = [] if self.behind is None else self.behind.conversions()
        return self.library.conversions() + behind

    def set_threads(self, n: int) -> None:
        self.openmp.omp_set_num_threads(n)
        if self.behind is not None:
            self.behind.set_threads(n)

    def set_same_bits(self, on: bool) -> None:
        if self.behind is not None:
            self.behind.set_same_bits(on)


def load() -> OnednnEngine:
    """The engine; OSError where the library is absent."""
    from . import engine_native

    try:
        behind: Any = engine_native.load()
    except ImportError:
        behind = None
    return OnednnEngine(OneDnn(find()), behind)


class OneDnnInto:
    """oneDNN's kernel with its result in given memory; what it refuses once, the native engine does from then on."""

    def __init__(
        self,
        engine: OnednnEngine,
        own: Callable[..., Any],
        native: Callable[..., None] | None,
        otherwise: Callable[..., Any],
        outs: tuple,
    ) -> None:
        self.engine, self.own, self.native = engine, own, native
        self.otherwise, self.outs = otherwise, outs
        self.instead: Callable[..., None] | None = None  # what stands for this: `sequence` asks

    def __call__(self, *arrays: Any, **attrs: Any) -> None:
        if self.instead is not None:  # the same shapes and layouts each time
            self.instead(*arrays, **attrs)
            return
        library, to = self.engine.library, self.outs[0]
        with library.lending(to):
            out = self.own(library, *arrays, **attrs)
        if out is NotImplemented:
            self.instead = self.native
            if self.native is not None:
                self.native(*arrays, **attrs)
                return
            out = self.otherwise(*arrays, **attrs)
        elif not self.engine.shared:
            self.engine._share_threads()
        if out is not to:
            np.copyto(to, out)
