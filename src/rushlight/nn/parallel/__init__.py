"""Models on several devices."""

from .data_parallel import DataParallel
from .distributed import DistributedDataParallel
from .scatter_gather import gather, parallel_apply, replicate, scatter

__all__ = [
    "DataParallel", "DistributedDataParallel", "gather", "parallel_apply", "replicate", "scatter",
]  # fmt: skip
