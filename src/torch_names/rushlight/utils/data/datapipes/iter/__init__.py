"""The steps of data pipes that others are made of; drawn orders and shards are the DataLoader's."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any

from .....base.errors import NotYet
from .....data.collate import default_collate
from .. import IterDataPipe, functional_datapipe

__all__ = ["Batcher", "Collator", "Concater", "Filter", "IterableWrapper", "Mapper", "Shuffler", "Zipper"]


class IterableWrapper(IterDataPipe):
    """The entries of anything that can be iterated, from a copy of its own."""

    def __init__(self, iterable: Iterable, deepcopy: bool = True) -> None:
        self.iterable, self.deepcopy = iterable, deepcopy

    def __iter__(self) -> Iterator:
        return iter(copy.deepcopy(self.iterable) if self.deepcopy else self.iterable)

    def __len__(self) -> int:
        return len(self.iterable)  # type: ignore[arg-type]


@functional_datapipe("map")
class Mapper(IterDataPipe):
    """A function of every entry."""

    def __init__(self, datapipe: Any, fn: Callable) -> None:
        self.datapipe, self.fn = datapipe, fn

    def __iter__(self) -> Iterator:
        return map(self.fn, self.datapipe)

    def __len__(self) -> int:
        return len(self.datapipe)


@functional_datapipe("collate")
class Collator(Mapper):
    """Batches as tensors."""

    def __init__(self, datapipe: Any, collate_fn: Callable = default_collate) -> None:
        super().__init__(datapipe, collate_fn)


@functional_datapipe("filter")
class Filter(IterDataPipe):
    """The entries that a function agrees to."""

    def __init__(self, datapipe: Any, filter_fn: Callable) -> None:
        self.datapipe, self.filter_fn = datapipe, filter_fn

    def __iter__(self) -> Iterator:
        return filter(self.filter_fn, self.datapipe)


@functional_datapipe("batch")
class Batcher(IterDataPipe):
    """So many entries at a time, as a list."""

    def __init__(self, datapipe: Any, batch_size: int, drop_last: bool = False, wrapper_class: Any = list) -> None:
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe, self.batch_size = datapipe, batch_size
        self.drop_last, self.wrapper_class = drop_last, wrapper_class

    def __iter__(self) -> Iterator:
        batch: list = []
        for entry in self.datapipe:
            batch.append(entry)
            if len(batch) == self.batch_size:
                yield self.wrapper_class(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.wrapper_class(batch)

    def __len__(self) -> int:
        whole, left = divmod(len(self.datapipe), self.batch_size)
        return whole + (left > 0 and not self.drop_last)


class _Several(IterDataPipe):
    def __init__(self, *datapipes: Any) -> None:
        self.datapipes = datapipes


@functional_datapipe("zip")
class Zipper(_Several):
    """The entries of several pipes side by side."""

    def __iter__(self) -> Iterator:
        return zip(*self.datapipes, strict=False)

    def __len__(self) -> int:
        return min(map(len, self.datapipes))


@functional_datapipe("concat")
class Concater(_Several):
    """The entries of several pipes one after the other."""

    def __iter__(self) -> Iterator:
        return chain(*self.datapipes)

    def __len__(self) -> int:
        return sum(map(len, self.datapipes))


class Shuffler(IterDataPipe):
    """Entries in a drawn order, which the DataLoader draws: it refuses to be made, and libraries ask for its type."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Shuffler:
        raise NotYet("a data pipe's shuffle(): shuffle what it reads, or give DataLoader a sampler")
