"""DataLoaders: a dataset in batches of arrays, shuffled by np.random."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import cuda


class DataLoader:
    """Its own iterator: `for x, t in loader`, again and again."""

    def __init__(
        self, dataset: Any, batch_size: int, shuffle: bool = True, gpu: bool = False
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
        count = len(self.dataset)
        self.index = np.random.permutation(count) if self.shuffle else np.arange(count)

    def __iter__(self) -> DataLoader:
        return self

    def __next__(self) -> tuple[Any, Any]:
        if self.iteration >= self.max_iter:
            self.reset()
            raise StopIteration
        begin = self.iteration * self.batch_size
        self.iteration += 1
        return self._batch(self._places(begin))

    def next(self) -> tuple[Any, Any]:
        """The next batch."""
        return self.__next__()

    def _places(self, begin: int) -> np.ndarray:
        return self.index[begin : begin + self.batch_size]

    def _batch(self, places: np.ndarray) -> tuple[Any, Any]:
        """The examples at `places`: at once if the dataset can, one by one otherwise."""
        move = cuda.as_cupy if self.gpu else np.asarray
        at_once = getattr(self.dataset, "batch", None)
        found = at_once(places, move) if at_once is not None else None
        if found is not None:
            return found
        examples = [self.dataset[i] for i in places]
        return move(np.array([e[0] for e in examples])), move(np.array([e[1] for e in examples]))

    def to_cpu(self) -> None:
        """Yield NumPy arrays."""
        self.gpu = False

    def to_gpu(self) -> None:
        """Yield CuPy arrays."""
        self.gpu = True


class SeqDataLoader(DataLoader):
    """Batches of a sequence: each row of a batch follows its own stretch of it."""

    def __init__(self, dataset: Any, batch_size: int, gpu: bool = False) -> None:
        super().__init__(dataset, batch_size, shuffle=False, gpu=gpu)

    def _places(self, begin: int) -> np.ndarray:
        jump = self.data_size // self.batch_size
        step = begin // self.batch_size
        return (np.arange(self.batch_size) * jump + step) % self.data_size

    def __next__(self) -> tuple[Any, Any]:
        return super().__next__()
