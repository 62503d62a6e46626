"""One call of a kernel over samples, and what its rules make of the arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import devices
from .arrays import BatchedArray, Level, compute, spread


class MappedCall:
    """A kernel, its arrays, and those of all samples behind the ones that are mapped over."""

    __slots__ = ("arrays", "attrs", "held", "kernel", "level", "mapped", "size")

    def __init__(self, kernel: Any, level: Level, arrays: Sequence[Any], attrs: dict[str, Any]) -> None:
        self.kernel, self.level, self.size = kernel, level, level.size
        self.arrays, self.attrs = arrays, attrs
        self.mapped = [a.__class__ is BatchedArray and a.level is level for a in arrays]
        self.held = [a.held if m else a for a, m in zip(arrays, self.mapped)]

    def sample(self, i: int) -> list[Any]:
        """The arrays of one sample, views of those of all."""
        return [compute("select", a, index=(i,)) if m else a for a, m in zip(self.held, self.mapped)]

    def whole(self, at: int) -> Any:
        """The array of all samples, also where they share one."""
        return self.held[at] if self.mapped[at] else spread(self.arrays[at], self.size)

    def all_whole(self) -> list[Any]:
        """The arrays of all samples; what is no array stays what it is."""
        return [self.whole(i) if devices.is_array(a) else a for i, a in enumerate(self.arrays)]

    def aligned(self) -> list[Any]:
        """Arrays that broadcast as those of one sample do: new dims stand behind the one of the samples."""
        return self.aligned_from(0, max([a.ndim for a in self.arrays if devices.is_array(a)]))

    def aligned_from(self, first: int, ndim: int) -> list[Any]:
        """The arrays from `first` on, as `aligned` has them, for results of `ndim` dims."""
        out = []
        for a, held, m in list(zip(self.arrays, self.held, self.mapped))[first:]:
            if m:
                for _ in range(ndim - a.ndim):
                    held = compute("unsqueeze", held, dim=1)
            out.append(held)
        return out

    def run(self, *arrays: Any, **attrs: Any) -> Any:
        """The kernel itself over these arrays, with some attributes changed."""
        return compute(self.kernel, *arrays, **(self.attrs | attrs))


def reshaped(a: Any, shape: tuple[int, ...]) -> Any:
    """The same elements in another shape; a view where memory allows it."""
    if tuple(a.shape) == tuple(shape):
        return a
    return compute("view" if a.flags.c_contiguous else "reshape_copy", a, shape=tuple(shape))


def merged(a: Any) -> Any:
    """The first two dims as one."""
    return reshaped(a, (a.shape[0] * a.shape[1], *a.shape[2:]))


def parted(a: Any, size: int) -> Any:
    """The first dim as two, the first of which counts samples."""
    return reshaped(a, (size, a.shape[0] // size, *a.shape[1:]))
