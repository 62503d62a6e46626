"""Pictures of bytes by tables: what pointwise transforms in a row make of a byte is looked up.

A byte has 256 values, so that steps which change each number by itself (`PlannedTransform.pointwise`) are, together, a
table of 256 numbers for each channel. It is made by the steps themselves, of all bytes, and so has their
bits. Where such steps come first, pictures are gathered, put into planes and looked up in one pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from ...runtime.door import Kernel, run
from ._batch import PlannedTransform

# From the pictures of a dataset (N, C, H, W), some of their indices and the random words of these.
Gathering = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def gathered(planes: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The pictures at `indices` as a fresh array, in the order of memory they are kept in."""
    if planes.flags.c_contiguous:
        return planes.take(indices, axis=0)
    rows = planes.transpose(0, 2, 3, 1)
    if rows.flags.c_contiguous:
        return rows.take(indices, axis=0).transpose(0, 3, 1, 2)
    return planes[indices]


def _by_table(xp: Any, pictures: Any, table: Any, places: Any) -> Any:
    x = pictures if places is None else gathered(pictures, places)
    out = xp.empty(x.shape, table.dtype)
    for channel, line in enumerate(table):
        out[:, channel] = line.take(x[:, channel])
    return out


# Bytes (N, C, H, W), a table (C, 256), and places along N or None: the numbers of a C-contiguous array.
BY_TABLE = Kernel("pictures_by_table", _by_table, moves_only=True)


class Lookup:
    """Pointwise steps in a row, the first of which gets bytes."""

    def __init__(self, steps: Sequence[PlannedTransform]) -> None:
        self._steps = steps
        self._channels = steps[0].after.shape[0]
        self._reads = [a for step in steps for a in step.reads]
        self._seen: list[bytes] = []
        self._table = self._made()

    def _made(self) -> np.ndarray:
        """What the steps make of each byte in each channel; what they read is noted."""
        self._seen = [a.tobytes() for a in self._reads]
        x = np.empty((1, self._channels, 1, 256), np.uint8)
        x[...] = np.arange(256, dtype=np.uint8)
        with np.errstate(all="ignore"):  # as a tensor's operations are
            x = _in_turn(self._steps, x)
        return np.ascontiguousarray(x).reshape(self._channels, 256)

    def __call__(self, pictures: np.ndarray, places: np.ndarray | None) -> np.ndarray:
        """The pictures at some places, or all."""
        if pictures.shape[1] != self._channels:  # other pictures came since: the steps' affair
            x = pictures if places is None else gathered(pictures, places)
            return _in_turn(self._steps, x)
        if self._reads and self._seen != [a.tobytes() for a in self._reads]:
            self._table = self._made()
        return run(BY_TABLE, np.ndarray, (pictures, self._table, places), {}, alone=True)

    def run(self, x: np.ndarray, words: np.ndarray) -> np.ndarray:
        """The same as a step's."""
        return self(x, None)


def _in_turn(steps: Sequence[PlannedTransform], x: np.ndarray) -> np.ndarray:
    words = np.empty((len(x), 0), np.uint32)
    for step in steps:
        x = step.run(x, words)
    return x


def gathering(step: PlannedTransform, dtype: np.dtype) -> Gathering:
    """How pictures of NumPy arrays of `dtype` are gathered and then transformed by a step."""
    take: Callable[[np.ndarray, np.ndarray], np.ndarray] = gathered
    rest: list[PlannedTransform] = []
    for pointwise, group in groupby(step.parts or (step,), lambda link: link.pointwise):
        steps = list(group)
        after = steps[-1].after
        if not pointwise or dtype != np.uint8:
            rest += steps
        elif take is gathered and not rest:
            take = Lookup(steps)
        elif after.dtype == np.uint8:  # they leave the bytes where they are
            rest += steps
        else:
            rest.append(PlannedTransform(Lookup(steps).run, after))
        dtype = after.dtype

    def gather(planes: np.ndarray, indices: np.ndarray, words: np.ndarray) -> np.ndarray:
        x = take(planes, indices)
        start = 0
        for link in rest:
            x = link.run(x, words[:, start : start + link.words])
            start += link.words
        return x

    return gather
