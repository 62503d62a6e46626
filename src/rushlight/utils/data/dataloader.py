"""`torch.utils.data.dataloader` under its own path."""

from ...data.collate import default_collate, default_convert
from ...data.dataset import Dataset, IterableDataset
from ...data.loader import DataLoader
from ...data.sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from ...data.worker import get_worker_info

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
