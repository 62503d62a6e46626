"""The engine of our own C kernels, `_native`, built at install time where there is a compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.version import __version__
from .. import door


class NativeEngine:
    """Kernels are C callables that fall back to the NumPy body themselves."""

    name = "native"

    def __init__(self, library: Any) -> None:
        self.library = library
        self.sequences = hasattr(library, "sequence")  # absent in an extension that was built by an older version
        self.behind_it = getattr(library, "behind", None)

    def version(self) -> str:
        return __version__

    def instruction_set(self) -> str:
        return self.library.instruction_set()

    def kernel(self, name: str, otherwise: Callable[..., Any]) -> Callable[..., Any] | None:
        return self.library.kernel(name, otherwise, _rounds(name))

    def into(self, name: str, otherwise: Callable[..., Any], outs: tuple) -> Callable[..., None] | None:
        """A kernel whose results go into given arrays, for steps that allocate nothing."""
        return self.library.into(name, otherwise, outs, _rounds(name))

    def sequence(self, calls: list[tuple]) -> Callable[[], None]:
        """One callable for calls that are made one after the other: (callable, arguments, attributes) each."""
        return self.library.sequence(calls)

    def watch(self, on: bool) -> None:
        self.library.watch(on)

    def conversions(self) -> list[tuple[str, int, float, int]]:
        return self.library.conversions()

    def stop(self) -> None:
        """Nothing to undo when another engine takes over."""

    def set_threads(self, n: int) -> None:
        self.library.set_threads(n)

    def set_same_bits(self, on: bool) -> None:
        self.library.set_same_bits(on)


def _rounds(name: str) -> str | None:
    """How a kernel's own body rounds what it computes in float32: then the native one may, too."""
    kernel = door.KERNELS.get(name)
    return None if kernel is None else getattr(kernel.generic, "rounds", None)


def load() -> NativeEngine:
    """The engine; ImportError where the extension was not built, or not for this machine."""
    try:
        from . import _native  # type: ignore[attr-defined]
    except ImportError as error:
        raise ImportError(
            f"the extension was not built for this machine; install rushlight where a C compiler is ({error})"
        ) from None
    return NativeEngine(_native)
