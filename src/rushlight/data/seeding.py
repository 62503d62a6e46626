"""Random numbers of data loading: whose stream is drawn from, and how a worker is seeded."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from ..base.device import CPU
from ..runtime import devices
from ..runtime.cpu.random import Stream


def default_stream() -> Stream:
    """The stream behind `manual_seed`."""
    return devices.backend_of(CPU).stream(CPU)


def stream_of(generator: Any) -> Stream:
    """The random stream of a CPU `Generator`, or the default one for None."""
    if generator is None:
        return default_stream()
    stream = getattr(generator, "stream", generator)
    where = getattr(generator, "device", CPU)
    if where != CPU and stream is not generator:
        raise RuntimeError(f"Expected a 'cpu' device type for generator but found '{where}'")
    if not isinstance(stream, Stream):
        raise TypeError(f"generator must be a rushlight.Generator on the CPU, but got {type(generator).__name__}")
    return stream


def draw_seed(generator: Any = None) -> int:
    """One int64 as PyTorch's loaders and samplers draw their seeds."""
    return stream_of(generator).random64()


def worker_stream(base_seed: int, worker_id: int) -> Stream:
    """The stream that `rand` and friends draw from in a worker."""
    return Stream(_wrapped(base_seed + worker_id))


def seed_worker(base_seed: int, worker_id: int) -> None:
    """Seed rushlight, `random` and NumPy in a worker with PyTorch's numbers."""
    default_stream().manual_seed(_wrapped(base_seed + worker_id))
    random.seed(base_seed + worker_id)
    np.random.seed(numpy_seed(base_seed, worker_id))


def numpy_seed(base_seed: int, worker_id: int) -> list[int]:
    """The four numbers that NumPy's generator of a worker begins with."""
    words = [worker_id, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
    return np.random.SeedSequence(words).generate_state(4).tolist()


def _wrapped(seed: int) -> int:
    return seed % 2**64
