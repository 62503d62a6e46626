"""`torch.utils.data.dataset` under its own path."""

from ...data.combine import StackDataset, Subset, random_split
from ...data.dataset import ChainDataset, ConcatDataset, Dataset, IterableDataset, TensorDataset

__all__ = [
    "ChainDataset",
    "ConcatDataset",
    "Dataset",
    "IterableDataset",
    "StackDataset",
    "Subset",
    "TensorDataset",
    "random_split",
]
