"""Batches on their way to a device: prefetching, pinned loaders."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as rl
from rushlight.data import DataLoader, Prefetch, TensorDataset


def loader(n: int = 103, **options: object) -> DataLoader:
    x = rl.arange(n * 3.0).reshape(n, 3)
    return DataLoader(TensorDataset(x, rl.arange(n)), batch_size=10, **options)


def test_prefetch_gives_every_batch_once(device: str) -> None:
    ahead = Prefetch(loader(), device)
    assert len(ahead) == 11
    for _ in range(2):
        seen = []
        for x, y in ahead:
            assert x.device.type == y.device.type == device
            seen.append((x * 2 + y[:, None]).cpu().numpy())
            del x, y
        want = np.arange(309.0).reshape(103, 3) * 2 + np.arange(103)[:, None]
        np.testing.assert_array_equal(np.concatenate(seen), want)


def test_prefetch_keeps_containers_and_other_members(device: str) -> None:
    batches = [{"x": rl.ones(2), "name": "a", "more": [rl.zeros(1), 3]}]
    (got,) = Prefetch(batches, device)
    assert got["x"].device.type == device and got["name"] == "a" and got["more"][1] == 3
    assert got["more"][0].device.type == device


def test_prefetch_of_nothing_and_leaving_early(device: str) -> None:
    assert list(Prefetch([], device)) == []
    for x, _ in Prefetch(loader(), device):
        assert x.shape == (10, 3)
        break


@pytest.mark.skipif(not rl.cuda.is_available(), reason="no GPU")
def test_large_batches_do_not_overtake_their_readers() -> None:
    """The main stream is kept busy, so a copy that does not wait would overwrite what it reads."""
    batches = [rl.full((2**20,), float(i)) for i in range(20)]
    slow = rl.randn(2048, 2048, device="cuda")
    totals = []
    for x in Prefetch(batches, "cuda"):
        for _ in range(5):
            slow = (slow @ slow).tanh()
        totals.append(x.sum() + 0 * slow.sum())
        del x
    assert [round(t.item() / 2**20) for t in totals] == list(range(20))


@pytest.mark.skipif(not rl.cuda.is_available(), reason="no GPU")
def test_pinned_loader() -> None:
    for x, _ in loader(pin_memory=True):
        assert x.is_pinned()
        assert bool((x.cuda(non_blocking=True).cpu() == x).all())
