"""DeZero's loader for a GPU: batches made ahead are those that examples one by one would make.

Without a GPU its copies stay on the host, and everything else is as it is there.
"""

from __future__ import annotations

from itertools import chain

import numpy as np
import pytest

from rushlight.dezero import DataLoader, Dataset, SeqDataLoader, cuda, dataloaders, datasets, utils
from rushlight.dezero import transforms as T
from test_dezero_data import write_mnist


@pytest.fixture
def copies(device, monkeypatch) -> list[int]:
    """The bytes of each copy to the GPU."""
    sizes: list[int] = []
    really = cuda.as_cupy if device == "cuda" else np.array

    def counted(a):
        sizes.append(a.nbytes)
        return really(a)

    monkeypatch.setattr(cuda, "as_cupy", counted)
    return sizes


class Pictures(Dataset):
    def prepare(self):
        self.data = np.random.RandomState(0).randint(0, 256, (23, 3, 4, 4)).astype(np.uint8)
        self.label = np.arange(23) % 7


@pytest.fixture
def mnist(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(utils, "cache_dir", str(tmp_path / "cache"))
    write_mnist(tmp_path / "data" / "MNIST" / "raw", n=50)
    return lambda **options: datasets.MNIST(**options)


def one_by_one(dataset, batch_size, epochs, seed=5):
    """Batches as the original makes them; np.random gives the order."""
    np.random.seed(seed)
    order = np.random.permutation(len(dataset))
    for _ in range(epochs):
        for begin in range(0, len(dataset), batch_size):
            rows = [dataset[i] for i in order[begin : begin + batch_size]]
            yield np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
        order = np.random.permutation(len(dataset))


def check(found, expected):
    for (x, t), (wanted_x, wanted_t) in zip(found, expected, strict=True):
        assert x.dtype == wanted_x.dtype and t.dtype == wanted_t.dtype
        np.testing.assert_allclose(x, wanted_x, rtol=1e-6)
        np.testing.assert_array_equal(t, wanted_t)


def taken(loader, epochs):
    """All batches, on the host."""
    return [(cuda.as_numpy(x), cuda.as_numpy(t)) for _ in range(epochs) for x, t in loader]


TRANSFORMS = {
    "none": None,
    "mnist's": T.Compose([T.Flatten(), T.ToFloat(), T.Normalize(0.0, 255.0)]),
    "by channel": T.Compose([T.ToFloat(), T.Normalize((0.1, 0.2, 0.3), (1.0, 2.0, 3.0))]),
    "a function": lambda a: a.mean(0),
}


@pytest.mark.parametrize("batch_size", [1, 4, 23, 30])
@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_batches_are_those_of_single_examples(copies, transform, batch_size):
    np.random.seed(5)
    loader = DataLoader(Pictures(transform=transform), batch_size, gpu=True)
    found = taken(loader, 3)
    assert len(found) == 3 * loader.max_iter
    check(found, one_by_one(Pictures(transform=transform), batch_size, 3))


def test_mnist_is_copied_once(copies, mnist):
    np.random.seed(5)
    loader = DataLoader(mnist(), 8, gpu=True)
    found = taken(loader, 3)
    assert copies.count(50 * 784) == 1 and max(copies) == 50 * 784
    check(found, one_by_one(mnist(), 8, 3))


@pytest.mark.parametrize("how", ["data", "label", "example", "derived"])
def test_what_may_change_is_read_again(copies, mnist, how):
    class Derived(datasets.MNIST):
        pass

    dataset = Derived(transform=T.ToFloat()) if how == "derived" else mnist(transform=T.ToFloat())
    loader = DataLoader(dataset, 10, shuffle=False, gpu=True)
    next(loader)
    loader.reset()
    if how == "label":
        dataset.label[:] = 9
    elif how == "example":
        assert dataset[3][0].shape == (1, 28, 28)
    dataset.data[:] = 7
    x, t = next(loader)
    assert (cuda.as_numpy(x) == 7).all() and (cuda.as_numpy(t) == dataset.label[:10]).all()


def test_something_else_to_read_in_the_middle(copies):
    dataset = Pictures(transform=T.ToFloat())
    loader = DataLoader(dataset, 2, shuffle=False, gpu=True)
    for _ in range(4):  # the fourth begins a chunk of four
        next(loader)
    dataset.transform = T.Normalize(0, 2)
    x, _ = next(loader)
    np.testing.assert_allclose(cuda.as_numpy(x), dataset.data[8:10] / 2)
    dataset.data = np.zeros_like(dataset.data)
    assert not cuda.as_numpy(next(loader)[0]).any()
    loader.index = loader.index[::-1]
    assert cuda.as_numpy(next(loader)[1]).tolist() == [dataset.label[10], dataset.label[9]]
    loader.dataset = [([1.0], 2)] * 23
    assert cuda.as_numpy(next(loader)[1]).tolist() == [2, 2]
    loader.dataset = dataset
    loader.iteration = 0
    assert cuda.as_numpy(next(loader)[1]).tolist() == [dataset.label[22], dataset.label[21]]


def test_from_one_device_to_the_other(copies, device, mnist):
    np.random.seed(5)
    loader = DataLoader(mnist(), 8)
    found = []
    for i, (x, t) in enumerate(chain(loader, loader)):
        assert isinstance(x, np.ndarray) == (device == "cpu" or i % 4 in (0, 1))
        found.append((cuda.as_numpy(x), cuda.as_numpy(t)))
        if i % 4 == 1:
            loader.to_gpu()
        elif i % 4 == 3:
            loader.to_cpu()
            assert loader._ahead is loader._kept is None  # its memory is free
    check(found, one_by_one(mnist(), 8, 2))


def test_a_batch_may_be_written_into(copies):
    loader = DataLoader(Pictures(transform=T.ToFloat()), 4, shuffle=False, gpu=True)
    for _ in range(2):
        for i, (x, t) in enumerate(loader):
            rows = slice(4 * i, 4 * i + 4)
            assert (cuda.as_numpy(x) == loader.dataset.data[rows]).all()
            assert (cuda.as_numpy(t) == loader.dataset.label[rows]).all()
            x[...] = -1
            t[...] = -1


def test_few_are_made_ahead_of_large_ones(copies, monkeypatch):
    bytes_each = 4 * (3 * 4 * 4 + 8)
    monkeypatch.setattr(dataloaders, "_AHEAD", 2 * bytes_each)
    loader = DataLoader(Pictures(), 4, gpu=True)
    for _ in loader:
        if loader._ahead is not None:
            assert loader._ahead.count <= 2
    monkeypatch.setattr(dataloaders, "_AHEAD", 0)
    assert sum(len(t) for _, t in loader) == 23


def test_one_batch_costs_one(copies):
    loader = DataLoader(Pictures(), 4, gpu=True)
    next(loader)
    assert loader._ahead.count == 1
    assert sum(copies) == 4 * (3 * 4 * 4 + 8)


def test_sequences(copies):
    loader = SeqDataLoader(Pictures(), batch_size=2, gpu=True)
    on_cpu = SeqDataLoader(Pictures(), batch_size=2)
    check(taken(loader, 2), taken(on_cpu, 2))


def test_datasets_of_ones_own_are_asked_in_order(copies):
    class Noisy(Pictures):
        def __getitem__(self, i):
            return self.data[i] + np.random.rand(), self.label[i]

    class Plain:
        batch = 3  # a name of theirs

        def __len__(self):
            return 5

        def __getitem__(self, i):
            return [float(i), np.random.rand()], i

    class Named(Pictures):
        batch = 8

    for kind in (Noisy, Plain, Named):
        np.random.seed(5)
        loader = DataLoader(kind(), 2, gpu=True)
        check(taken(loader, 2), one_by_one(kind(), 2, 2))


def test_a_loader_derived_by_its_user(copies):
    class Backwards(DataLoader):
        def reset(self):
            self.iteration = 0
            self.index = np.arange(len(self.dataset))[::-1].copy()

    loader = Backwards(Pictures(), 10, gpu=True)
    for _ in range(2):
        seen = np.concatenate([cuda.as_numpy(t) for _, t in loader])
        assert (seen == loader.dataset.label[::-1]).all()
