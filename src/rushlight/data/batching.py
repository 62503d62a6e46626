"""The batch path: how a dataset hands out a whole batch for an index array, without worker processes.

A loader asks `batcher_of(dataset)` when an epoch begins. A dataset takes part by a method

    def __batcher__(self) -> Batcher | None: ...

`None` means "not this time" (a transform that cannot be batched, say), and the loader goes the normal
way. `Batcher.fetch(indices, stream)` gets an int64 array and must return, bit for bit, what
`default_collate([self[i] for i in indices])` would; the arrays must be fresh, contiguous, and cut along
dim 0 sample by sample. Random numbers come from `stream` alone and in the order of the samples: all
draws of the first sample, then all of the second. `draws` says whether any are taken. A fetch may be
asked for the samples of several batches at once, and the result is then cut up.

Transforms that always consume the same number of 32-bit words per sample make this easy: an image set
draws `words(stream, len(indices), k)` once and gives each transform its columns (vision's `__batched__`). What
`torch.rand(1)` would be for a word w is `(w & 0xFFFFFF) * 2**-24`; `torch.randint(0, n, (1,))` is `w % n`.

A subclass that overrides `__getitem__` (or `__getitems__`) but not `__batcher__` falls off the batch path
by itself, as does a loader with a `collate_fn` of its own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any, NamedTuple

import numpy as np

from ..core.tensor import Tensor, wrap
from ..runtime.cpu.random import Stream

Fetch = Callable[[np.ndarray, Stream], Any]
AT_ONCE = 256  # batches whose index arrays are cut in one go


class Batcher(NamedTuple):
    """How to fetch a batch; `draws` tells whether fetching takes random numbers."""

    fetch: Fetch
    draws: bool = False
    resident: Any = None  # the same as arrays and a gather, for programs: data.resident.Resident


def words(stream: Stream, samples: int, each: int) -> np.ndarray:
    """`each` 32-bit words for every sample, as successive single draws would take them."""
    return stream.random((samples, each), np.dtype(np.uint32))


def speaks_for(cls: type, quick: str, plain: Sequence[str]) -> bool:
    """Whether `cls` has method `quick`, and no subclass changed one of `plain` without it."""
    for base in cls.__mro__:
        if quick in base.__dict__:
            return True
        if any(name in base.__dict__ for name in plain):
            return False
    return False


def batcher_of(dataset: Any) -> Batcher | None:
    """The way to fetch batches of `dataset` at once, or None."""
    cls = type(dataset)
    if not speaks_for(cls, "__batcher__", ("__getitem__", "__getitems__")):
        return None
    return dataset.__batcher__()


# -- index arrays --------------------------------------------------------------------------------


def index_chunks(sampler: Any) -> Iterator[np.ndarray] | None:
    """A standard sampler's indices as int64 arrays, drawn when it would draw; else None."""
    if speaks_for(type(sampler), "_chunks", ("__iter__",)):
        return sampler._chunks()
    return None


def batch_arrays(batch_sampler: Any) -> Iterator[np.ndarray] | None:
    """The batches of a standard sampler as index arrays; None from others."""
    if speaks_for(type(batch_sampler), "_batch_arrays", ("__iter__",)):
        return batch_sampler._batch_arrays()
    return None


def rebatch(chunks: Iterable[np.ndarray], size: int, drop_last: bool) -> Iterator[np.ndarray]:
    """Cut a stream of arrays into arrays of `size`."""
    rest = None
    for chunk in chunks:
        if rest is not None and rest.size:
            chunk = np.concatenate([rest, chunk])
        whole = len(chunk) - len(chunk) % size
        for start in range(0, whole, size * AT_ONCE):
            yield from chunk[start : min(start + size * AT_ONCE, whole)].reshape(-1, size)
        rest = chunk[whole:]
    if rest is not None and rest.size and not drop_last:
        yield rest


def as_index_array(batch: Any) -> np.ndarray | None:
    """An int64 array of what a user's batch sampler yielded, or None if those are no integers."""
    if batch.__class__ is np.ndarray and batch.dtype == np.int64 and batch.ndim == 1:
        return batch
    try:
        return np.fromiter(map(operator.index, batch), np.int64)
    except TypeError:
        return None


class IndexBlocks:
    """The indices of an epoch, those of some batches at a time in one array."""

    def __init__(self, batch_sampler: Any) -> None:
        self._batches: Iterator[Any] = iter(())
        chunks = None
        if speaks_for(type(batch_sampler), "_batch_arrays", ("__iter__",)):
            chunks = index_chunks(batch_sampler.sampler)
        if chunks is None:
            self._batches = iter(batch_sampler)
        else:
            self._size, self._drop_last = batch_sampler.batch_size, batch_sampler.drop_last
            self._rest = np.empty(0, np.int64)
        self._chunks = chunks

    def draw(self, batches: int) -> None:
        """Let the sampler draw so many batches that have not been taken."""
        if self._chunks is None:
            self._batches = chain(list(islice(self._batches, batches)), self._batches)
            return
        while len(self._rest) < batches * self._size:
            chunk = next(self._chunks, None)
            if chunk is None:
                return
            self._rest = np.concatenate([self._rest, chunk]) if self._rest.size else chunk

    def take(self, batches: int) -> tuple[np.ndarray, list[int]]:
        """The indices of the next batches, and how many each has; none at the end."""
        if self._chunks is None:
            return self._joined(list(islice(self._batches, batches)))
        self.draw(batches)
        size = self._size
        whole, left = divmod(min(len(self._rest), batches * size), size)
        lengths = [size] * whole
        if left and not self._drop_last:
            lengths.append(left)
        end = whole * size + left
        found, self._rest = self._rest[: sum(lengths)], self._rest[end:]
        return found, lengths

    @staticmethod
    def _joined(group: list[Any]) -> tuple[np.ndarray, list[int]]:
        arrays = [a for a in map(as_index_array, group) if a is not None]
        if len(arrays) < len(group):
            raise TypeError(f"a sampler yielded {group!r}: the dataset is indexed by integers")
        lengths = [len(a) for a in arrays]
        return np.concatenate(arrays) if arrays else np.empty(0, np.int64), lengths


# -- taking batches apart and putting them together ----------------------------------------------


def can_split(batch: Any) -> bool:
    """Whether a batch is made of tensors only, so that it can be cut along dim 0."""
    if isinstance(batch, Tensor):
        return batch._a.__class__ is np.ndarray and batch._edge is None
    if type(batch) is dict:
        return all(can_split(v) for v in batch.values())
    return type(batch) is list and all(can_split(v) for v in batch)


def split(batch: Any, lengths: Sequence[int]) -> list[Any]:
    """Cut a batch of tensors along dim 0 into batches of the given lengths."""
    if isinstance(batch, Tensor):
        return [wrap(part) for part in cut(batch._a, lengths)]
    if type(batch) is dict:
        columns = [split(v, lengths) for v in batch.values()]
        return [dict(zip(batch, row)) for row in zip(*columns)]
    return [list(row) for row in zip(*[split(v, lengths) for v in batch])]


def cut(a: np.ndarray, lengths: Sequence[int]) -> list[np.ndarray]:
    """Views of an array's rows, so many in each."""
    parts: list[np.ndarray] = []
    start = 0
    if a.__class__ is np.ndarray and a.flags.c_contiguous:
        # Those of one length, which all may be but the last, are the rows of a larger array.
        same = len(lengths) - (lengths[-1] != lengths[0])
        if lengths.count(lengths[0]) == same:
            start = same * lengths[0]
            parts = list(a[:start].reshape(same, lengths[0], *a.shape[1:]))
    for length in lengths[len(parts) :]:
        parts.append(a[start : start + length])
        start += length
    return parts


def nbytes(batch: Any) -> int:
    """The memory of a batch that `can_split`."""
    if isinstance(batch, Tensor):
        return batch._a.nbytes
    return sum(nbytes(v) for v in (batch.values() if type(batch) is dict else batch))


def gather(parts: Sequence[Any], order: np.ndarray | None = None) -> Any:
    """Join batches along dim 0, and put the samples in `order`."""
    first = parts[0]
    if isinstance(first, Tensor):
        from ..operators.shape.join import cat

        joined = first if len(parts) == 1 else cat(list(parts), 0)
        return joined if order is None else wrap(joined._a[order])
    if isinstance(first, Mapping):
        return {k: gather([p[k] for p in parts], order) for k in first}
    return [gather(column, order) for column in zip(*parts)]
