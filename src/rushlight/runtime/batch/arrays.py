"""BatchedArray: what a function under `vmap` sees as the array of one sample, over the array of all samples."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from .. import devices
from ..door import KERNELS, Kernel, run
from ..meta_array import DescribedArray
from ..wrapped import MADE_OF_OTHERS

_numbers = itertools.count(1)


class Level:
    """One call of a mapped function: how many samples it has, and what it does with random numbers."""

    __slots__ = ("changed", "number", "open", "randomness", "size")

    def __init__(self, size: int, randomness: str) -> None:
        self.size, self.randomness = size, randomness
        self.number = next(_numbers)
        self.open = True  # the function has not returned yet
        self.changed = False  # it has written into memory


class Flags(NamedTuple):
    """What NumPy's arrays say about their memory, as far as anybody asks."""

    c_contiguous: bool
    writeable: bool = True


class BatchedArray(DescribedArray):
    """The array of one sample; `held` has all samples, along its first dim.

    `held` may itself be the array of one sample of an outer map. The inner map always has the higher number, so that
    any two arrays agree about which dim comes first.
    """

    __slots__ = ("__weakref__", "dtype", "held", "level", "shape", "strides")

    def __init__(self, level: Level, held: Any) -> None:
        self.level, self.held = level, held
        self.shape: tuple[int, ...] = held.shape[1:]
        self.strides: tuple[int, ...] = held.strides[1:]
        self.dtype = held.dtype

    def reshape(self, shape: tuple[int, ...]) -> BatchedArray:
        """Another shape of the same memory, where it is contiguous."""
        return BatchedArray(self.level, compute("view", self.held, shape=(self.level.size, *shape)))

    @property
    def base(self) -> Any:
        return self.held  # somebody else's memory

    @property
    def flags(self) -> Flags:
        step = self.dtype.itemsize
        for n, stride in zip(reversed(self.shape), reversed(self.strides)):
            if n != 1:
                if stride != step:
                    return Flags(not self.size)
                step *= n
        return Flags(True)


class ValuesWanted(RuntimeError):
    """Something is asked of one sample, and all of them are at work: the function has to be called for each."""


class SharedWrite(ValuesWanted):
    """A tensor that is no sample's is to hold the values of samples: one made for each of them may, one from outside not."""

    def __init__(self, words: str, target: Any) -> None:
        super().__init__(words)
        while getattr(target, "base", None) is not None:
            target = target.base
        self.memory = weakref.ref(target)


def open_batched() -> None:
    """Let devices know such arrays: when the first function is mapped."""
    if BatchedArray not in MADE_OF_OTHERS:
        import_module(".backend", __package__)
        MADE_OF_OTHERS.add(BatchedArray)


class Samples:
    """What others fill in: core/gradients/mapped.py, and backend.py when the first function is mapped."""

    summed: Any  # (gradient, tensor) -> its sum over samples that share the tensor
    drawn: Any  # `run` for a kernel of new random numbers inside of mapped functions


samples = Samples()


def class_of(arrays: Sequence[Any]) -> type:
    """The class under which kernels are looked up that get these arrays."""
    return BatchedArray if BatchedArray in map(type, arrays) else arrays[0].__class__


def compute(kernel: Kernel | str, /, *arrays: Any, **attrs: Any) -> Any:
    """A kernel over arrays of which some may be those of samples."""
    if isinstance(kernel, str):
        kernel = KERNELS[kernel]
    cls: Any = None
    for a in arrays:
        if a.__class__ is BatchedArray:
            cls = BatchedArray
            break
        if cls is None and devices.is_array(a):
            cls = a.__class__
    out = run(kernel, cls, arrays, attrs)
    if out.__class__ is tuple:
        return tuple([np.asarray(o) if isinstance(o, np.generic) else o for o in out])
    return np.asarray(out) if isinstance(out, np.generic) else out  # NumPy's answer for no dim


def make(level: Level, held: Any) -> BatchedArray:
    """The array of one sample of `level`, over the one of all samples."""
    if held.__class__ is BatchedArray and held.level.number > level.number:
        return BatchedArray(held.level, make(level, compute("transpose", held.held, dim0=0, dim1=1)))
    return BatchedArray(level, held)


def without(a: Any, level: Level) -> Any:
    """The array of all samples, along the first dim, of one that `level` may or may not have to do with."""
    if a.__class__ is BatchedArray:
        if a.level is level:
            return a.held
        if a.level.number > level.number:
            inner = without(a.held, level)  # this map's samples, the other's, the rest
            return BatchedArray(a.level, compute("transpose", inner, dim0=0, dim1=1))
    return spread(a, level.size)


def spread(a: Any, size: int) -> Any:
    """The same array for every sample, without a copy."""
    return compute("expand", compute("unsqueeze", a, dim=0), shape=(size, *a.shape))


def levels_of(a: Any) -> list[Level]:
    """The maps whose samples an array is made of, the innermost first."""
    found = []
    while a.__class__ is BatchedArray:
        found.append(a.level)
        a = a.held
    return found


def highest(arrays: Sequence[Any]) -> Level:
    """The innermost map that any of the arrays belongs to."""
    found: Any = None
    for a in arrays:
        if a.__class__ is BatchedArray and (found is None or a.level.number > found.number):
            found = a.level
    return found
