"""`torch.utils.data.dataloader` under its own path."""

from collections.abc import Callable
from enum import IntEnum
from typing import Any

from ...data.collate import default_collate, default_convert
from ...data.dataset import Dataset, IterableDataset
from ...data.dataset import T_co as T_co
from ...data.iterators import LoaderIter as _BaseDataLoaderIter
from ...data.iterators import SingleIter as _SingleProcessDataLoaderIter
from ...data.iterators import WorkerIter as _MultiProcessingDataLoaderIter
from ...data.loader import DataLoader
from ...data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from ...data.sampler import EndlessSampler as _InfiniteConstantSampler
from ...data.worker import get_worker_info

# Types that libraries annotate with.
_collate_fn_t = Callable[[list], Any]
_worker_init_fn_t = Callable[[int], None]


class _DatasetKind(IntEnum):
    """How a dataset is read: by index, or one item after the other."""

    Map = 0
    Iterable = 1


_private = (
    _BaseDataLoaderIter,
    _InfiniteConstantSampler,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)  # asked for here

__all__ = [
    "BatchSampler",
    "DataLoader",
    "Dataset",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "default_collate",
    "default_convert",
    "get_worker_info",
]
