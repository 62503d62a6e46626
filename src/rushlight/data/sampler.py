"""Samplers: in which order, and in which batches, a dataset is read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

import numpy as np

from ..base.dtypes import float64
from ..core.tensor import Tensor
from ..runtime.cpu.random import Stream
from .batching import index_chunks, rebatch
from .seeding import draw_seed, stream_of

T_co = TypeVar("T_co", covariant=True)

# PyTorch draws with replacement in pieces of this size, which shows in the generator's state.
_PIECE = 32


class Sampler(Generic[T_co]):
    """An iterable over indices; subclasses write `__iter__`, and `__len__` if they know it.

    Example:
        >>> class Backwards(torch.utils.data.Sampler):
        ...     def __init__(self, data):
        ...         self.data = data
        ...     def __iter__(self):
        ...         return iter(range(len(self.data) - 1, -1, -1))
        >>> list(torch.utils.data.DataLoader([1, 2, 3], sampler=Backwards([1, 2, 3])))
        [tensor([3]), tensor([2]), tensor([1])]
    """

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError


class _ChunkedSampler(Sampler[int]):
    """A sampler that draws arrays of indices; the loader's batch path takes them as they are."""

    def _chunks(self) -> Iterator[np.ndarray]:
        raise NotImplementedError

    def __iter__(self) -> Iterator[int]:
        for chunk in self._chunks():
            yield from chunk.tolist()


class SequentialSampler(_ChunkedSampler):
    """The indices in order: 0, 1, 2, ...

    Args:
        data_source: anything with a length.

    Example:
        >>> list(torch.utils.data.SequentialSampler(["a", "b", "c"]))
        [0, 1, 2]
    """

    data_source: Sized

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def _chunks(self) -> Iterator[np.ndarray]:
        yield np.arange(len(self.data_source), dtype=np.int64)

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(_ChunkedSampler):
    """Indices in random order, or drawn with replacement.

    Args:
        data_source: anything with a length.
        replacement: whether an index may come more than once.
        num_samples: how many indices; as many as there are samples if not given.
        generator: where random numbers come from; a new one, seeded by the default generator, if not given.

    Raises:
        ValueError: if there is nothing to draw.

    Example:
        >>> g = torch.Generator().manual_seed(0)
        >>> list(torch.utils.data.RandomSampler(range(5), generator=g))
        [4, 0, 1, 3, 2]
    """

    data_source: Sized
    replacement: bool

    def __init__(
        self, data_source: Sized, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(self.replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={self.replacement}")
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        # The length is asked anew each time: a dataset may grow between epochs.
        """How many indices an epoch has."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def _chunks(self) -> Iterator[np.ndarray]:
        n = len(self.data_source)
        if self.generator is None:
            stream = Stream(draw_seed())
        else:
            stream = stream_of(self.generator)
        whole, rest = divmod(self.num_samples, _PIECE if self.replacement else n)
        if self.replacement:
            for _ in range(whole):
                yield stream.randint(0, n, _PIECE, np.int64)
            yield stream.randint(0, n, rest, np.int64)
            return
        for _ in range(whole):
            yield stream.randperm(n)
        yield stream.randperm(n)[:rest]  # drawn even for rest == 0, as PyTorch does

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(_ChunkedSampler):
    """The given indices in random order.

    Args:
        indices: those to draw from.
        generator: where random numbers come from.

    Example:
        >>> g = torch.Generator().manual_seed(0)
        >>> list(torch.utils.data.SubsetRandomSampler([10, 20, 30], generator=g))
        [30, 10, 20]
    """

    indices: Sequence[int]

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        self.indices = indices
        self.generator = generator

    def _chunks(self) -> Iterator[np.ndarray]:
        order = stream_of(self.generator).randperm(len(self.indices))
        yield np.asarray(self.indices, dtype=np.int64)[order]

    def __iter__(self) -> Iterator[int]:
        order = stream_of(self.generator).randperm(len(self.indices))
        for i in order.tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(_ChunkedSampler):
    """Indices drawn with the given weights, which need not sum to one.

    Args:
        weights: one for each index.
        num_samples: how many indices are drawn.
        replacement: whether an index may come more than once.
        generator: where random numbers come from.

    Raises:
        ValueError: if `num_samples` is not positive, or `weights` not one-dimensional.

    Example:
        >>> sampler = torch.utils.data.WeightedRandomSampler([0.0, 1.0, 0.0], num_samples=4)
        >>> list(sampler)
        [1, 1, 1, 1]
    """

    weights: Tensor
    num_samples: int
    replacement: bool

    def __init__(
        self, weights: Sequence[float], num_samples: int, replacement: bool = True, generator: Any = None
    ) -> None:
        from ..operators.create.from_data import as_tensor

        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = as_tensor(weights, dtype=float64)
        if self.weights.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def _chunks(self) -> Iterator[np.ndarray]:
        if not self.replacement and self.num_samples > len(self.weights):
            raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
        stream = stream_of(self.generator)
        yield stream.multinomial(self.weights.numpy(), self.num_samples, self.replacement)

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Batches of another sampler's indices.

    Args:
        sampler: gives single indices.
        batch_size: indices per batch.
        drop_last: leave out a last batch that is not full.

    Raises:
        ValueError: if `batch_size` is not a positive integer.

    Example:
        >>> list(torch.utils.data.BatchSampler(range(5), batch_size=2, drop_last=False))
        [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Sampler[int] | Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self) -> Iterator[list[int]]:
        batch: list[int] = []
        for index in self.sampler:
            batch.append(index)
            if len(batch) == self.batch_size:
                yield batch
                batch = []
        if batch and not self.drop_last:
            yield batch

    def _batch_arrays(self) -> Iterator[np.ndarray] | None:
        chunks = index_chunks(self.sampler)
        return None if chunks is None else rebatch(chunks, self.batch_size, self.drop_last)

    def __len__(self) -> int:
        samples = len(self.sampler)  # type: ignore[arg-type]
        whole, rest = divmod(samples, self.batch_size)
        return whole if self.drop_last or not rest else whole + 1


class EndlessSampler(Sampler[None]):
    """None for ever: an iterable dataset decides by itself what comes next and when it ends."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None
