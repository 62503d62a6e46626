"""Fetching one batch: from an indexable dataset, or from an iterator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .batching import as_index_array, batcher_of
from .collate import default_collate
from .dataset import IterableDataset
from .seeding import default_stream

# Called with the place in the batch before each sample, so that a dead worker can be explained.
Note = Callable[[int], None]

WHOLE_BATCH = -1
COLLATING = -2


def _silent(place: int) -> None:
    return None


class MapFetcher:
    """Batches of a dataset that is indexed."""

    def __init__(self, dataset: Any, batched: bool, collate: Any, note: Note = _silent) -> None:
        self.dataset = dataset
        self.batched = batched
        self.collate = collate
        self.note = note
        many = getattr(dataset, "__getitems__", None)
        self.many = many if batched and callable(many) else None

    def __call__(self, indices: Any) -> Any:
        note = self.note
        if not self.batched:
            note(0)
            data = self.dataset[indices]
        elif self.many is not None:
            note(WHOLE_BATCH)
            data = self.many(indices)
        else:
            dataset = self.dataset
            data = []
            for place, index in enumerate(indices):
                note(place)
                data.append(dataset[index])
        note(COLLATING)
        return self.collate(data)


class BatchFetcher:
    """Batches of a dataset that hands them out whole (see `batching`), with the default stream."""

    def __init__(self, batcher: Any, plain: MapFetcher) -> None:
        self.batcher = batcher
        self.plain = plain

    def __call__(self, indices: Any) -> Any:
        array = as_index_array(indices)
        if array is None:
            return self.plain(indices)
        self.plain.note(WHOLE_BATCH)
        return self.batcher.fetch(array, default_stream())


class IterableFetcher:
    """Batches of what an iterator yields next; raises StopIteration after the last."""

    def __init__(self, dataset: Any, batched: bool, collate: Any, drop_last: bool, note: Note = _silent) -> None:
        self.iterator: Iterator[Any] = iter(dataset)
        self.batched = batched
        self.collate = collate
        self.drop_last = drop_last
        self.note = note
        self.ended = False

    def __call__(self, indices: Any) -> Any:
        if self.ended:
            raise StopIteration
        if not self.batched:
            self.note(0)
            return self.collate(next(self.iterator))
        data: list[Any] = []
        for place in range(len(indices)):
            self.note(place)
            try:
                data.append(next(self.iterator))
            except StopIteration:
                self.ended = True
                break
        if not data or (self.drop_last and len(data) < len(indices)):
            raise StopIteration
        self.note(COLLATING)
        return self.collate(data)


def make_fetcher(
    dataset: Any,
    batched: bool,
    collate: Any,
    drop_last: bool,
    note: Note = _silent,
    whole: bool = True,
    stream: bool = False,
) -> Callable[[Any], Any]:
    """The fetcher for a dataset; `whole` allows the batch path, `stream` reads any iterable."""
    if stream or isinstance(dataset, IterableDataset):
        return IterableFetcher(dataset, batched, collate, drop_last, note)
    plain = MapFetcher(dataset, batched, collate, note)
    if whole and batched and collate is default_collate:
        batcher = batcher_of(dataset)
        if batcher is not None:
            return BatchFetcher(batcher, plain)
    return plain
