"""`rushlight.utils.data`: the public home of datasets, samplers and the DataLoader."""

from typing import Any

from ...data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    get_worker_info,
    random_split,
)
from . import dataloader, dataset, distributed, sampler  # type: ignore[attr-defined]

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterableDataset",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "dataloader",
    "dataset",
    "default_collate",
    "default_convert",
    "distributed",
    "get_worker_info",
    "random_split",
    "sampler",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in ("_utils", "datapipes"):
        return import_module(f"{__name__}.{name}")
    if name in ("IterDataPipe", "MapDataPipe", "functional_datapipe"):
        return getattr(import_module(f"{__name__}.datapipes"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
