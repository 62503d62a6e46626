"""Datasets made of other datasets: stacked, a subset, a random split."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from .batching import Batcher, batcher_of
from .dataset import Dataset, T_co
from .seeding import stream_of


class StackDataset(Dataset[T_co]):
    """Datasets of equal length side by side: a sample is a tuple, or a dict, of their samples.

    Args:
        args: datasets, for tuples; or
        kwargs: datasets by name, for dicts.

    Raises:
        ValueError: if the lengths differ, or both kinds are given.

    Example:
        >>> data = torch.utils.data.StackDataset(x=[1.0, 2.0], y=["a", "b"])
        >>> data[1]
        {'x': 2.0, 'y': 'b'}
    """

    datasets: Any

    def __init__(self, *args: Dataset, **kwargs: Dataset) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        members = list(args or kwargs.values())
        self._length = len(members[0])  # type: ignore[arg-type]
        if any(len(d) != self._length for d in members):  # type: ignore[arg-type]
            raise ValueError("Size mismatch between datasets")
        self.datasets = args or kwargs

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {k: d[index] for k, d in self.datasets.items()}
        return tuple([d[index] for d in self.datasets])

    def __getitems__(self, indices: list) -> list:
        if isinstance(self.datasets, dict):
            columns = [_samples(d, indices) for d in self.datasets.values()]
            return [dict(zip(self.datasets, row)) for row in zip(*columns)]
        return list(zip(*[_samples(d, indices) for d in self.datasets]))

    def __len__(self) -> int:
        return self._length

    def __batcher__(self) -> Batcher | None:
        keyed = isinstance(self.datasets, dict)
        members = [batcher_of(d) for d in (self.datasets.values() if keyed else self.datasets)]
        known = [b for b in members if b is not None]
        draws = any(b.draws for b in known)
        # Two members that draw would have to take turns sample by sample.
        if len(known) != len(members) or (draws and len(members) > 1):
            return None
        if keyed:
            names = list(self.datasets)
            return Batcher(lambda i, s: {k: b.fetch(i, s) for k, b in zip(names, known)}, draws)
        return Batcher(lambda i, s: [b.fetch(i, s) for b in known], draws)


def _samples(dataset: Any, indices: list) -> list:
    """The samples of `indices`, all at once where the dataset can."""
    many = getattr(dataset, "__getitems__", None)
    if not callable(many):
        return [dataset[i] for i in indices]
    items = many(indices)
    if len(items) != len(indices):
        raise ValueError(f"Nested dataset's output size mismatch. Expected {len(indices)}, got {len(items)}")
    return items


class Subset(Dataset[T_co]):
    """The samples of a dataset at the given indices.

    Args:
        dataset: where the samples come from.
        indices: which of them, in this order.

    Example:
        >>> list(torch.utils.data.Subset(["a", "b", "c"], [2, 0]))
        ['c', 'a']
    """

    dataset: Dataset
    indices: Sequence[int]

    def __init__(self, dataset: Dataset, indices: Sequence[int]) -> None:
        self.dataset = dataset
        self.indices = indices

    def __getitem__(self, idx: Any) -> Any:
        if isinstance(idx, list):
            return self.dataset[[self.indices[i] for i in idx]]
        return self.dataset[self.indices[idx]]

    def __getitems__(self, indices: list[int]) -> list:
        wanted = [self.indices[i] for i in indices]
        many = getattr(self.dataset, "__getitems__", None)
        return many(wanted) if callable(many) else [self.dataset[i] for i in wanted]

    def __len__(self) -> int:
        return len(self.indices)

    def __batcher__(self) -> Batcher | None:
        inner = batcher_of(self.dataset)
        if inner is None:
            return None
        table = np.asarray(self.indices)
        if table.ndim != 1 or table.dtype.kind not in "iu":
            return None
        table = table.astype(np.int64, copy=False)
        fetch = inner.fetch
        return Batcher(lambda indices, stream: fetch(table[indices], stream), inner.draws)


def random_split(dataset: Dataset[T_co], lengths: Sequence[int | float], generator: Any = None) -> list[Subset[T_co]]:
    """Split at random into subsets of the given lengths, or of the given fractions.

    Args:
        dataset: what is split.
        lengths: whole numbers that sum to the length of the dataset, or fractions that sum to 1.
        generator: where random numbers come from.

    Raises:
        ValueError: if the lengths do not sum to the length of the dataset.

    Example:
        >>> g = torch.Generator().manual_seed(0)
        >>> train, test = torch.utils.data.random_split(range(10), [0.8, 0.2], generator=g)
        >>> len(train), list(test)
        (8, [6, 2])
    """
    size = len(dataset)  # type: ignore[arg-type]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        lengths = _from_fractions(lengths, size)
    if sum(lengths) != size:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = stream_of(generator).randperm(size).tolist()
    ends = accumulate(lengths)
    return [Subset(dataset, order[end - n : end]) for end, n in zip(ends, lengths)]  # type: ignore[misc]


def _from_fractions(fractions: Sequence[float], size: int) -> list[int]:
    """Whole lengths: rounded down, and the rest dealt out one by one from the front."""
    for i, fraction in enumerate(fractions):
        if fraction < 0 or fraction > 1:
            raise ValueError(f"Fraction at index {i} is not between 0 and 1")
    lengths = [math.floor(size * f) for f in fractions]
    for i in range(size - sum(lengths)):
        lengths[i % len(lengths)] += 1
    for i, length in enumerate(lengths):
        if length == 0:
            warnings.warn(f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=3)
    return lengths
