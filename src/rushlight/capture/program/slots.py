"""The memory of a recorded program: slots are windows on storages."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from ...base.shapes import strided_view
from ...core.memory import data_pointer, root_array

ARGUMENT, STATE, CONSTANT, MADE = "argument", "state", "constant", "made"


class Storage:
    """A piece of memory: who it belongs to and how large it is.

    `argument` storages are filled from the caller's tensors, `state` is memory that outlives the call
    (parameters, buffers, optimiser state), `constant` holds what the host made while recording, and
    `made` is written by the program itself.
    """

    __slots__ = ("array", "device", "fed", "kind", "label", "nbytes", "number", "rewritten", "saved")

    def __init__(self, number: int, kind: str, nbytes: int, label: str = "", array: Any = None) -> None:
        self.number = number
        self.kind = kind
        self.nbytes = nbytes
        self.label = label
        self.array = array  # the memory itself, for state and constants
        self.device = "cpu"
        self.fed = False  # the host refreshes it before every replay
        self.rewritten = False  # a constant the program writes into: restored before every replay
        self.saved: Any = None  # the values to restore

    def __repr__(self) -> str:
        return f"<storage {self.number} {self.kind} {self.nbytes} bytes {self.label}>"


class Slot:
    """An array of the program: a window on a storage."""

    __slots__ = ("array", "dtype", "number", "offset", "shape", "storage", "strides")

    def __init__(
        self,
        number: int,
        storage: Storage,
        shape: tuple[int, ...],
        dtype: np.dtype,
        strides: tuple[int, ...],
        offset: int = 0,
        array: Any = None,
    ) -> None:
        self.number = number
        self.storage = storage
        self.shape = shape
        self.dtype = dtype
        self.strides = strides
        self.offset = offset
        self.array = array  # the array itself, where the storage outlives the call

    @property
    def size(self) -> int:
        n = 1
        for s in self.shape:
            n *= s
        return n

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    @property
    def name(self) -> str:
        return f"{'%' if self.storage.kind == MADE else '@'}{self.number}"

    @property
    def dense(self) -> bool:
        """Row-major without gaps."""
        step = self.dtype.itemsize
        for n, s in zip(reversed(self.shape), reversed(self.strides)):
            if n != 1 and s != step:
                return False
            step *= n
        return True

    def extent(self) -> tuple[int, int]:
        """How far below its first element its memory begins, and how many bytes it spans."""
        return extent(self)

    def __repr__(self) -> str:
        return f"{self.name}:{self.dtype}{list(self.shape)}"


def array_type(device: str) -> type:
    """The class of a device's arrays."""
    if device == "cpu":
        return np.ndarray
    import cupy

    return cupy.ndarray


# -- what shares memory ---------------------------------------------------------------------------

Span = tuple[Any, int, int]  # whose memory, from where to where


def extent(a: Any) -> tuple[int, int]:
    """How far below its first element an array or a slot reaches, and how many bytes it spans."""
    low, high = 0, a.dtype.itemsize
    if not a.size:
        return 0, 0
    for n, step in zip(a.shape, a.strides):
        reach = (n - 1) * step
        low, high = (low + reach, high) if reach < 0 else (low, high + reach)
    return low, high - low


def reach(a: Any) -> Span:
    """The bytes that an array reaches over; kernels that were waiting are computed first."""
    low, span = extent(a)
    start = data_pointer(a) + low
    return a.__class__, start, start + span


def whole(a: Any) -> Span:
    """All memory of an array's owner: what can be known of it while kernels wait."""
    return root_array(a), 0, 1


def overlap(a: Span, b: Span) -> bool:
    """Whether two spans have bytes in common."""
    return a[0] is b[0] and a[1] < b[2] and b[1] < a[2]


def apart(spans: Mapping[int, Span], written: Collection[int]) -> bool:
    """Whether memory that is written has no bytes in common with any other; what counts as one has one key."""
    owner, end, end_of_written = 0, 0, 0  # of what begins before: whose it is, how far it goes
    for key, start, stop, is_written in sorted([(id(s[0]), s[1], s[2], i in written) for i, s in spans.items()]):
        if key != owner:
            owner, end, end_of_written = key, start, start
        if start < (end if is_written else end_of_written):
            return False
        end = max(end, stop)
        if is_written:
            end_of_written = max(end_of_written, stop)
    return True


def touches(a: Any, root: Any, others: Iterable[Any]) -> bool:
    """Whether an array lies over memory of others, judged by addresses where its owner is no array.

    Two tensors from one buffer (`frombuffer`, DLPack) have no array in common.
    """
    if root.base is None:
        return False  # memory of its own: who shares it has the same root
    span = reach(a)
    return any(overlap(span, reach(b)) for b in others)


def window(a: Any, shift: int, slot: Slot) -> Any:
    """The window of a slot on memory that lies elsewhere, so many bytes behind the beginning of an array."""
    if not isinstance(a, np.ndarray):
        from ...runtime.cuda.arrays import set_base

        made = a.__class__(slot.shape, slot.dtype, a.data + shift, slot.strides)
        set_base(made, root_array(a))  # who hands out that array again looks for references to it
        return made
    start = np.asarray(_Address(data_pointer(a) + shift, a, slot.dtype)).view(slot.dtype)
    return strided_view(np, start, slot.shape, slot.strides)


class _Address:
    """An element at an address inside another array's memory, which it keeps alive."""

    def __init__(self, address: int, owner: np.ndarray, dtype: np.dtype) -> None:
        self.owner = owner
        self.__array_interface__ = {
            "data": (address, not owner.flags.writeable),
            "shape": (dtype.itemsize,),
            "typestr": "|u1",
            "version": 3,
        }
