"""DataLoaders: a dataset in batches of arrays, shuffled by np.random."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..data.resident import rows
from . import cuda
from ._bare import outside
from .datasets import Dataset, OfFiles

_AHEAD = 16 << 20  # bytes of batches that a loader makes on a GPU before they are asked for
_KEPT = 256 << 20  # bytes of examples that it keeps there


class DataLoader:
    """Its own iterator: `for x, t in loader`, again and again.

    For a GPU it makes several batches at once, which are then slices of one array. It takes them there,
    of a copy that it keeps until `to_cpu` (256 MB at most), if the dataset read its arrays from files and
    nobody has seen them. Otherwise it reads them when it needs more; then a change in place shows some
    batches later.

    Args:
        dataset: a `Dataset`.
        batch_size: examples in each batch.
        shuffle: a new random order, by np.random, in each round.
        gpu: give CuPy arrays.

    Example:
        >>> class Numbers(dezero.Dataset):
        ...     def prepare(self):
        ...         self.data, self.label = np.arange(4.0), np.arange(4)
        >>> for x, t in dezero.DataLoader(Numbers(), 2, shuffle=False):
        ...     print(x, t)
        [0. 1.] [0 1]
        [2. 3.] [2 3]
    """

    _ahead: _Ahead | None = None
    _kept: _Kept | None = None

    def __init__(
        self, dataset: Dataset | Sequence[Any], batch_size: int, shuffle: bool = True, gpu: bool = False
    ) -> None:
        self.dataset = dataset
        self.batch_size = batch_size
        self.shuffle = shuffle
        self.data_size = len(dataset)
        self.max_iter = math.ceil(self.data_size / batch_size)
        self.gpu = gpu
        self.reset()

    def reset(self) -> None:
        """Begin again, in a new order if the loader shuffles."""
        self.iteration = 0
        self._ahead = None
        count = len(self.dataset)
        self.index = np.random.permutation(count) if self.shuffle else np.arange(count)

    def __iter__(self) -> DataLoader:
        return self

    def __next__(self) -> tuple[Any, Any]:
        if self.iteration >= self.max_iter:
            self.reset()
            raise StopIteration
        number = self.iteration
        self.iteration += 1
        ahead = self._ahead
        if self.gpu and ahead is not None and ahead.has(number, self):
            return ahead.batch(number)
        found = self._make_ahead(number) if self.gpu else None
        return self._batch(self._places(number * self.batch_size)) if found is None else found

    def next(self) -> tuple[Any, Any]:
        """The next batch."""
        return self.__next__()

    def _places(self, begin: int) -> np.ndarray:
        return self.index[begin : begin + self.batch_size]

    def _batch(self, places: np.ndarray) -> tuple[Any, Any]:
        """The examples at `places`: at once if the dataset can, one by one otherwise."""
        return outside(self._take, places) if self.gpu else self._take(places)

    def _take(self, places: np.ndarray) -> tuple[Any, Any]:
        move = cuda.as_cupy if self.gpu else np.asarray
        found = _at_once(self.dataset, places, lambda a, places: move(a.take(places, 0)))
        if found is not None:
            return found
        examples = [self.dataset[i] for i in places]
        return move(np.array([e[0] for e in examples])), move(np.array([e[1] for e in examples]))

    def _make_ahead(self, number: int) -> tuple[Any, Any] | None:
        """A batch by its number, made together with those after it; None when one by one."""
        ahead = self._ahead
        # Twice as many as before: whoever takes only one batch pays for little more than one.
        count = 1 if ahead is None else min(2 * ahead.count, ahead.most)
        count = min(count, self.max_iter - number)
        steps = range(number, number + count)
        places = np.concatenate([self._places(i * self.batch_size) for i in steps])
        if self._kept is None:
            self._kept = _Kept()
        taker = self._kept.taker(self.dataset)
        found = outside(_at_once, self.dataset, places, taker)
        if found is None:
            return None
        self._ahead = ahead = _Ahead(self, number, count, *found)
        return ahead.batch(number)

    def to_cpu(self) -> None:
        """Yield NumPy arrays."""
        self.gpu = False
        self._ahead = self._kept = None

    def to_gpu(self) -> None:
        """Yield CuPy arrays."""
        self.gpu = True


class SeqDataLoader(DataLoader):
    """Batches of a sequence: each row of a batch follows its own part of it.

    Args:
        dataset: a `Dataset`.
        batch_size: rows in each batch.
        gpu: give CuPy arrays.

    Example:
        >>> class Numbers(dezero.Dataset):
        ...     def prepare(self):
        ...         self.data, self.label = np.arange(6.0), np.arange(6)
        >>> for x, t in dezero.SeqDataLoader(Numbers(), 2):
        ...     print(x)
        [0. 3.]
        [1. 4.]
        [2. 5.]
    """

    def __init__(self, dataset: Dataset | Sequence[Any], batch_size: int, gpu: bool = False) -> None:
        super().__init__(dataset, batch_size, shuffle=False, gpu=gpu)

    def _places(self, begin: int) -> np.ndarray:
        jump = self.data_size // self.batch_size
        step = begin // self.batch_size
        return (np.arange(self.batch_size) * jump + step) % self.data_size

    def __next__(self) -> tuple[Any, Any]:
        return super().__next__()


def _at_once(dataset: Dataset | Sequence[Any], places: np.ndarray, take: Any) -> tuple[Any, Any] | None:
    """A batch by array operations; None for a dataset that is not of ours."""
    return Dataset.batch(dataset, places, take) if isinstance(dataset, Dataset) else None


class _Kept:
    """Copies on the GPU of arrays that cannot change."""

    def __init__(self) -> None:
        # By the id of the original, which is kept beside the copy so that no other array gets it.
        self.copies: dict[int, tuple[np.ndarray, Any]] = {}

    def taker(self, dataset: Any) -> Callable[[np.ndarray, np.ndarray], Any]:
        """How to take rows of the dataset's arrays to the GPU."""
        can_change = not isinstance(dataset, OfFiles) or dataset.seen
        if can_change or dataset._arrays()[0].nbytes > _KEPT:
            self.copies.clear()
            return lambda a, places: cuda.as_cupy(a.take(places, 0))
        return lambda a, places: rows(self._copy(a), cuda.as_cupy(places))

    def _copy(self, a: np.ndarray) -> Any:
        found = self.copies.get(id(a))
        if found is None:
            found = self.copies[id(a)] = (a, cuda.as_cupy(np.ascontiguousarray(a)))
        return found[1]


class _Ahead:
    """Batches that lie one after the other in two arrays, and what they were made of."""

    dataset: Any

    def __init__(self, loader: DataLoader, first: int, count: int, x: Any, t: Any) -> None:
        self.first, self.count, self.size = first, count, loader.batch_size
        self.end = first + count
        self.next = first  # a batch is given once: its reader may write into it
        self.xs, self.ts = _cut(x, self.size), _cut(t, self.size)
        d: Any = loader.dataset
        self.dataset = d
        made_with = d.transform, d.target_transform, loader.index, loader.batch_size
        self.made_of = (*d._arrays(), *made_with)
        self.most = max(1, _AHEAD * count // max(1, x.nbytes + t.nbytes))

    def has(self, number: int, loader: DataLoader) -> bool:
        """Whether a batch is here, and nobody has given the loader something else to read since."""
        if not self.next <= number < self.end or loader.dataset is not self.dataset:
            return False
        d: Any = self.dataset
        data, label, transform, target_transform, index, size = self.made_of
        if d.transform is not transform or d.target_transform is not target_transform:
            return False
        if loader.index is not index or loader.batch_size is not size:
            return False
        x, t = d._arrays()
        return x is data and t is label

    def batch(self, number: int) -> tuple[Any, Any]:
        self.next = number + 1
        i = number - self.first
        found = self.xs[i], self.ts[i]
        self.xs[i] = self.ts[i] = None
        return found


def _cut(a: Any, size: int) -> list[Any]:
    """An array in batches, all at once: views one by one take CuPy twice as long."""
    return cuda.get_array_module(a).split(a, list(range(size, len(a), size)))
