"""The memory of a recorded program: slots are windows on storages."""

from __future__ import annotations

from typing import Any

import numpy as np

ARGUMENT, STATE, CONSTANT, MADE = "argument", "state", "constant", "made"


class Storage:
    """A piece of memory: who it belongs to and how large it is.

    `argument` storages are filled from the caller's tensors, `state` is memory that outlives the call
    (parameters, buffers, optimiser state), `constant` holds what the host made while recording, and
    `made` is written by the program itself.
    """

    __slots__ = (
        "array", "device", "fed", "kind", "label", "nbytes", "number", "rewritten", "saved"
    )  # fmt: skip

    def __init__(
        self, number: int, kind: str, nbytes: int, label: str = "", array: Any = None
    ) -> None:
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
        """How many bytes before its first element its memory begins, and how many bytes it spans."""
        low, high = 0, self.dtype.itemsize
        for n, step in zip(self.shape, self.strides):
            reach = (n - 1) * step
            low, high = (low + reach, high) if reach < 0 else (low, high + reach)
        return (low, high - low) if self.size else (0, 0)

    def same_window(self, other: Slot) -> bool:
        return (
            self.storage is other.storage
            and self.offset == other.offset
            and self.shape == other.shape
            and self.strides == other.strides
            and self.dtype == other.dtype
        )

    def __repr__(self) -> str:
        return f"{self.name}:{self.dtype}{list(self.shape)}"
