"""Pointwise transforms of bytes by a table: the bits of the steps themselves, and of what they read meanwhile."""

from __future__ import annotations

import math

import numpy as np
import pytest

from test_vision_batch import CHAINS, THREE_CHANNELS, T, epochs, folder, make

pytest.importorskip("PIL")

import rushlight
from rushlight.data import batching
from rushlight.runtime.cpu import engine
from rushlight.utils.data import DataLoader
from rushlight.vision.transforms import v2
from rushlight.vision.transforms._batch import Stage, plan
from rushlight.vision.transforms._tables import gathered, gathering

__all__ = ["folder"]
TO = T.ToTensor()
MORE = {
    "nan": [TO, T.Normalize([math.nan, 0.0, 1.0], [1.0, math.nan, 2.0])],
    "inf": [TO, T.Normalize([math.inf, -math.inf, -0.0], [math.inf, 1e-45, -math.inf])],
    "tensors": [TO, T.Normalize(rushlight.tensor([0.1, 0.2, 0.3]), rushlight.tensor([1.0, 3, 7]))],
    "arrays": [TO, T.Normalize(np.array([0.1, 0.2, 0.3]), np.array([1.0, 3, 7], np.float32))],
    "twice": [TO, T.Normalize([0.3], [0.7]), T.Normalize([0.1, 0.2, 0.3], [3, 5, 7])],
    "half last": [TO, T.Normalize([0.3], [0.7]), T.ConvertImageDtype(rushlight.float16)],
    "between": [
        T.RandomVerticalFlip(0.4),
        T.Compose([T.PILToTensor(), T.ConvertImageDtype(rushlight.float32)]),
        T.Compose([T.Normalize([0.3], [0.7]), T.RandomHorizontalFlip(), T.Normalize([1], [2])]),
    ],
    "bytes twice": [T.PILToTensor(), v2.Identity(), T.RandomHorizontalFlip(), v2.Identity()],
    "whole numbers": [v2.ToImage(), v2.ToDtype(rushlight.int64), v2.RandomHorizontalFlip()],
    "small numbers": [v2.CenterCrop(20), v2.ToImage(), v2.ToDtype(rushlight.int8)],
    "truth": [v2.ToImage(), v2.ToDtype(rushlight.bool)],
    "brain": [v2.ToImage(), v2.ToDtype(rushlight.bfloat16)],
}


@pytest.fixture(params=["auto", "numpy"])
def computing(request: pytest.FixtureRequest):
    """The engine in use, which is NumPy in the end."""
    before = engine.settings.cpu_engine
    engine.use(request.param)
    yield request.param
    engine.use(before)


def pictures(layout: str) -> np.ndarray:
    """Pictures (N, C, H, W) that have every byte in every channel."""
    a = np.random.RandomState(0).randint(0, 256, (30, 34, 35, 3)).astype(np.uint8)
    a[3, :16, :16] = np.arange(256).reshape(16, 16, 1)
    a = a[:, 1:-1, 2:-1] if layout == "gaps" else np.ascontiguousarray(a[:, :32, :32])
    if layout == "planes":
        return np.ascontiguousarray(a.transpose(0, 3, 1, 2))
    if layout == "turned":
        a = a[::-1, ::-1, :, ::-1]
    return a[..., 1][:, None] if layout == "grey" else a.transpose(0, 3, 1, 2)


@pytest.mark.parametrize("layout", ["pixels", "planes", "turned", "gaps", "grey"])
@pytest.mark.parametrize("name", [*CHAINS, *MORE])
def test_bits_of_the_steps(name: str, layout: str, computing: str) -> None:
    planes = pictures(layout)
    if layout == "grey" and name in (*THREE_CHANNELS, "nan", "inf", "tensors", "arrays", "twice"):
        pytest.skip("for three channels")
    step = plan(T.Compose({**CHAINS, **MORE}[name]), Stage(planes.shape[1:], planes.dtype, True))
    assert step is not None
    gather = gathering(step, planes.dtype)
    for places in ([3, 0, 29, 3, -1, -30], [7], []):
        indices = np.array(places, np.int64)
        drawn = np.random.RandomState(len(places)).randint(0, 2**32, (len(places), step.words))
        words = drawn.astype(np.uint32)
        with np.errstate(all="ignore"):
            wanted = np.ascontiguousarray(step.run(gathered(planes, indices), words))
        found = np.ascontiguousarray(gather(planes, indices, words))
        assert found.dtype == wanted.dtype == step.after.dtype and found.shape == wanted.shape
        assert found.flags.c_contiguous and found.flags.writeable
        # One channel may step by anything, and does where it was a view of pixels.
        assert found.strides == wanted.strides or layout == "grey"
        assert found.tobytes() == wanted.tobytes()
        assert not np.shares_memory(found, planes)
    for outside in (30, -31):
        with pytest.raises(IndexError):
            gather(planes, np.array([0, outside]), np.zeros((2, step.words), np.uint32))


@pytest.mark.parametrize("name", [n for n in MORE if n not in ("nan", "inf")])
@pytest.mark.parametrize("workers", [0, 2])
def test_equal_to_one_by_one(folder, name: str, workers: int, computing: str) -> None:
    dataset = make("cifar", folder, MORE[name])
    assert batching.batcher_of(dataset) is not None
    options = {"batch_size": 4, "shuffle": True}
    found = epochs(dataset, True, num_workers=workers, **options)
    if workers:  # the workers' random numbers are another matter: test_vision_batch.py
        assert len(found[0]) == len(dataset) // 4 + 2
        return
    assert found == epochs(dataset, False, **options)


def test_numbers_without_meaning_as_one_by_one(folder, computing: str) -> None:
    """NaN and infinity come without a warning, as they do where a single picture is normalised."""
    for name in ("nan", "inf"):
        dataset = make("cifar", folder, MORE[name])
        whole, single = DataLoader(dataset, 16), DataLoader(dataset, 16)
        single.batch_path = False
        for (x, _), (y, _) in zip(whole, single):
            assert np.array_equal(x.numpy(), y.numpy(), equal_nan=True)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_mean_that_is_changed_between_epochs(folder, workers: int) -> None:
    normalize = T.Normalize([0.5], [0.5])
    dataset = make("mnist", folder, [TO, normalize])
    loader = DataLoader(dataset, 23, num_workers=workers, persistent_workers=workers > 0)
    (first, _), *_ = loader
    normalize.mean = [0.25]
    (second, _), *_ = loader
    normalize.std[0] = 0.125
    (third, _), *_ = loader
    plain = dataset.data.numpy()[:, None] / np.float32(255)
    assert (first.numpy() == (plain - np.float32(0.5)) / np.float32(0.5)).all()
    assert (second.numpy() == (plain - np.float32(0.25)) / np.float32(0.5)).all()
    assert (third.numpy() == (plain - np.float32(0.25)) / np.float32(0.125)).all()


@pytest.mark.parametrize("kind", ["tensor", "array"])
def test_a_mean_that_is_written_into_during_an_epoch(folder, kind: str) -> None:
    """Tensors and arrays of the right dtype are read where they lie."""
    mean = rushlight.tensor([0.5]) if kind == "tensor" else np.array([0.5], np.float32)
    dataset = make("mnist", folder, [TO, T.Normalize(mean, [0.5])])
    plain = dataset.data.numpy()[:, None] / np.float32(255)
    batches = iter(DataLoader(dataset, 4))
    assert (next(batches)[0].numpy() == (plain[:4] - np.float32(0.5)) / np.float32(0.5)).all()
    mean[0] = 0.125
    assert (next(batches)[0].numpy() == (plain[4:8] - np.float32(0.125)) / np.float32(0.5)).all()


@pytest.mark.parametrize("kind", ["cifar", "mnist"])
def test_data_changed_between_batches(folder, kind: str) -> None:
    dataset = make(kind, folder, [TO])
    batches = iter(DataLoader(dataset, 4))
    next(batches)
    dataset.data[4:8] = 51
    dataset.targets[5] = 3
    x, y = next(batches)
    assert (x == 51 / 255).all() and y[1] == 3
    dataset.data = np.full((23, 5, 7, 3), 102, np.uint8)  # other pictures, of another size
    dataset.targets = list(range(23))
    if kind == "cifar":
        x, y = next(batches)
        assert x.shape == (4, 3, 5, 7) and (x == 102 / 255).all() and y.tolist() == [8, 9, 10, 11]


def test_pictures_of_other_channels_in_the_middle_are_the_steps_affair(folder) -> None:
    plain = make("cifar", folder, [TO])
    batches = iter(DataLoader(plain, 4))
    next(batches)
    plain.data = np.full((23, 5, 7), 51, np.uint8)
    assert next(batches)[0].shape == (4, 1, 5, 7)
    strict = make("cifar", folder, CHAINS["lab"])
    batches = iter(DataLoader(strict, 4))
    next(batches)
    strict.data = plain.data
    with pytest.raises(ValueError, match="broadcast"):
        next(batches)
