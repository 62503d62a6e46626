"""Datasets, samplers and the DataLoader; users find them as `rushlight.utils.data`."""

from ..base.signatures import show_plainly
from .batching import Batcher
from .collate import default_collate, default_convert
from .combine import StackDataset, Subset, random_split
from .dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset, TensorDataset
from .distributed import DistributedSampler
from .loader import DataLoader
from .prefetch import Prefetch
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler, SubsetRandomSampler, WeightedRandomSampler
from .worker import WorkerInfo, get_worker_info

__all__ = [
    "BatchSampler",
    "Batcher",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "Prefetch",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "WorkerInfo",
    "default_collate",
    "default_convert",
    "get_worker_info",
    "random_split",
]

show_plainly(list(globals().values()))
del show_plainly
