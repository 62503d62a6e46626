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
from . import dataloader, dataset, distributed, sampler

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
    if name == "_utils":
        from importlib import import_module

        return import_module(f"{__name__}._utils")
    if "DataPipe" in name or name in ("datapipes", "graph", "graph_settings", "DataChunk"):
        raise AttributeError(
            f"rushlight has no data pipes (utils.data.{name}); write an IterableDataset instead."
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
