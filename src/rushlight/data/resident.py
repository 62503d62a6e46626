"""Data that lie in memory as whole arrays: a batch of them is a gather, which a program can do itself."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..core.tensor import Tensor
from ..runtime.door import Kernel, run
from .fetch import BatchFetcher
from .iterators import SingleIter
from .sampler import BatchSampler, RandomSampler, SequentialSampler

TAKE_ROWS = Kernel("take_rows", lambda xp, a, places: a.take(places, axis=0), moves_only=True)


def rows(a: Any, places: Any) -> Any:
    """The rows of a raw array at places that lie on the same device."""
    return run(TAKE_ROWS, a.__class__, (a, places), {})


class Resident(NamedTuple):
    """A dataset's tensors, and `fetch(places, *arrays)`: the arrays of a batch, without random numbers.

    The function works by kernels alone, so that a program can record it, and must be the same object as
    long as it does the same.
    """

    tensors: tuple[Tensor, ...]
    fetch: Callable[..., Any]


def ahead(loader: Any, batches: Any) -> tuple[Resident, list[np.ndarray], Iterator[Any]] | None:
    """What an epoch of a loader will be: the data, the indices of its full batches, the last batch.

    None where that cannot be known before: other samplers, workers, random transforms. `batches` is
    the loader's iterator, whose indices are drawn here.
    """
    if type(batches) is not SingleIter or not isinstance(batches._fetch, BatchFetcher):
        return None
    resident = batches._fetch.batcher.resident
    sampler = loader.batch_sampler
    if resident is None or batches._finish is not None or type(sampler) is not BatchSampler:
        return None
    order = sampler.sampler
    if type(order) is not SequentialSampler and (
        type(order) is not RandomSampler or order.replacement
    ):
        return None
    indices = list(batches._indices)
    whole = [b for b in indices if len(b) == sampler.batch_size]
    rest = indices[len(whole) :]
    return resident, whole, (batches._fetch(b) for b in rest)
