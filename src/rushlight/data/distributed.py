"""DistributedSampler: each of several processes reads its own share of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..runtime.cpu.random import Stream
from .sampler import _ChunkedSampler


class DistributedSampler(_ChunkedSampler):
    """Every `num_replicas`-th index from `rank` on, shuffled alike in all processes by seed + epoch."""

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        num_replicas = _world("get_world_size") if num_replicas is None else num_replicas
        rank = _world("get_rank") if rank is None else rank
        if rank >= num_replicas or rank < 0:
            raise ValueError(
                f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]"
            )
        self.dataset = dataset
        self.num_replicas = num_replicas
        self.rank = rank
        self.epoch = 0
        self.drop_last = drop_last
        size = len(dataset)
        if drop_last and size % num_replicas:
            self.num_samples = math.ceil((size - num_replicas) / num_replicas)
        else:
            self.num_samples = math.ceil(size / num_replicas)
        self.total_size = self.num_samples * num_replicas
        self.shuffle = shuffle
        self.seed = seed

    def _chunks(self) -> Iterator[np.ndarray]:
        size = len(self.dataset)
        order = Stream(self.seed + self.epoch).randperm(size) if self.shuffle else np.arange(size)
        # np.resize repeats the order from its start where the shares do not come out even.
        order = order[: self.total_size] if self.drop_last else np.resize(order, self.total_size)
        yield order[self.rank : self.total_size : self.num_replicas]

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Say which epoch begins, so that it is shuffled differently from the last."""
        self.epoch = epoch


def _world(name: str) -> int:
    try:
        from .. import distributed
    except ImportError:
        distributed = None  # type: ignore[assignment]
    if distributed is None or not distributed.is_available():
        raise RuntimeError(
            "Requires distributed package to be available; pass num_replicas and rank."
        )
    return getattr(distributed, name)()
