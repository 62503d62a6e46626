"""DistributedSampler: each of several processes reads its own share of a dataset."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Generic

import numpy as np

from ..runtime.cpu.random import Stream
from .sampler import T_co, _ChunkedSampler


class DistributedSampler(_ChunkedSampler, Generic[T_co]):
    """The share of one process: every `num_replicas`-th index from `rank` on, of an order that all processes know.

    Args:
        dataset: anything with a length.
        num_replicas, rank: how many processes there are and which one this is; asked of
            `torch.distributed` if not given.
        shuffle: a random order, which depends on `seed` and the epoch; call `set_epoch` before each.
        seed: the same in all processes.
        drop_last: leave out what does not come out even; otherwise indices from the front come twice.

    Raises:
        ValueError: if `rank` is out of range.

    Example:
        >>> data = range(6)
        >>> [list(torch.utils.data.DistributedSampler(data, 2, rank, shuffle=False)) for rank in (0, 1)]
        [[0, 2, 4], [1, 3, 5]]
    """

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
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
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
        raise RuntimeError("Requires distributed package to be available; pass num_replicas and rank.")
    return getattr(distributed, name)()
