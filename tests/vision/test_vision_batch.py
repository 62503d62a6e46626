"""Whole batches of pictures: bit-equal to pictures one by one, random numbers included."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from vision_data import write_cifar10, write_mnist

pytest.importorskip("PIL")

import rushlight
from rushlight.data import batching
from rushlight.utils.data import ConcatDataset, DataLoader, Subset
from rushlight.vision import datasets, transforms
from rushlight.vision.transforms import v2

T = transforms
TO = T.ToTensor()
CHAINS = {
    "ToTensor": [TO],
    "lab": [TO, T.Normalize((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))],
    "one mean": [TO, T.Normalize([0.1307], [0.3081])],
    "usual": [
        T.RandomCrop(32, padding=4),
        T.RandomHorizontalFlip(),
        TO,
        T.Normalize((0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)),
    ],
    "after": [TO, T.RandomCrop(28, padding=(1, 2, 3, 4), fill=0.5), T.RandomVerticalFlip(0.3)],
    "reflect": [T.RandomCrop(32, padding=4, padding_mode="reflect"), TO],
    "symmetric": [T.Pad(3, padding_mode="symmetric"), TO, T.RandomHorizontalFlip(0.9)],
    "edge": [T.Pad((2, 1), padding_mode="edge"), TO],
    "fill": [T.Pad([1, 2, 3, 4], fill=77), TO],
    "fill after": [TO, T.Pad(2, fill=0.25)],
    "colour fill": [T.Pad(2, fill=(10, 20, 30)), TO],
    "needed": [T.RandomCrop((40, 33), pad_if_needed=True), TO],
    "exact": [T.RandomCrop(32, pad_if_needed=True), TO, T.RandomHorizontalFlip()],
    "centre": [T.CenterCrop(20), TO, T.CenterCrop((41, 10))],
    "odd centre": [T.CenterCrop((27, 30)), TO],
    "bytes": [T.PILToTensor()],
    "dtype": [T.PILToTensor(), T.RandomHorizontalFlip(), T.ConvertImageDtype(rushlight.float64)],
    "half": [TO, T.ConvertImageDtype(rushlight.float16)],
    "nested": [T.Compose([T.RandomHorizontalFlip(), T.Compose([TO])]), T.RandomVerticalFlip()],
    "no resize": [T.RandomHorizontalFlip(p=1.0), TO],
    "never": [T.RandomHorizontalFlip(p=0.0), TO],
    "v2": [v2.ToImage(), v2.RandomCrop(24), v2.ToDtype(rushlight.float32, scale=True)],
    "v2 usual": [
        v2.RandomCrop(32, padding=4),
        v2.RandomHorizontalFlip(),
        v2.Compose([v2.ToImage(), v2.ToDtype(rushlight.float32, scale=True)]),
        v2.Normalize((0.4914, 0.4822, 0.4465), (0.247, 0.2435, 0.2616)),
    ],
    "v2 fixed": [
        v2.CenterCrop(20),
        v2.PILToTensor(),
        v2.Pad(2, fill=7),
        v2.Resize(24),
        v2.ToPureTensor(),
        v2.ConvertImageDtype(rushlight.float64),
        v2.RandomVerticalFlip(0.3),
        v2.Identity(),
    ],
    "v2 needed": [v2.RandomCrop((40, 33), pad_if_needed=True), v2.ToImage()],
}
THREE_CHANNELS = ("lab", "usual", "colour fill", "v2 usual")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("data")
    write_cifar10(root, 9)
    write_mnist(root, n=23)
    return root


def flat(batch) -> list:
    for t in batch:
        assert t._a.flags.c_contiguous
    return [(t.dtype, t._a.shape, t._a.tobytes()) for t in batch]


def epochs(dataset, batch_path: bool, **options) -> list:
    rushlight.manual_seed(7)
    loader = DataLoader(dataset, **options)
    loader.batch_path = batch_path
    return [[flat(b) for b in loader] + [rushlight.rand(1).item()] for _ in range(2)]


def make(kind: str, folder, chain):
    transform = T.Compose(chain)
    if kind == "cifar":
        return datasets.CIFAR10(folder, transform=transform)
    if kind == "mnist":
        return datasets.MNIST(folder, transform=transform)
    small = datasets.FashionMini(train=False, transform=transform)
    small.data, small.targets = small.data[:25], small.targets[:25]
    return small


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("kind", ["cifar", "mnist", "mini"])
@pytest.mark.parametrize("batch_size", [1, 4, 64])
def test_equal_to_one_by_one(folder, kind: str, name: str, batch_size: int) -> None:
    if kind != "cifar" and name in THREE_CHANNELS:
        pytest.skip("for three channels")
    dataset = make(kind, folder, CHAINS[name])
    assert batching.batcher_of(dataset) is not None
    options = {"batch_size": batch_size, "shuffle": True}
    assert epochs(dataset, True, **options) == epochs(dataset, False, **options)


@pytest.mark.parametrize("name", ["lab", "usual"])
@pytest.mark.parametrize("workers", [1, 2])
def test_equal_to_real_workers(folder, name: str, workers: int) -> None:
    dataset = make("cifar", folder, CHAINS[name])
    options = {"batch_size": 4, "shuffle": True, "num_workers": workers}
    assert epochs(dataset, True, **options) == epochs(dataset, False, **options)


GEOMETRY = st.one_of(
    st.builds(T.RandomHorizontalFlip, st.sampled_from([0.0, 0.25, 0.5, 1.0])),
    st.builds(T.RandomVerticalFlip, st.sampled_from([0.1, 0.5])),
    st.builds(
        T.RandomCrop,
        st.tuples(st.integers(8, 30), st.integers(8, 30)),
        st.one_of(st.none(), st.integers(0, 5), st.tuples(st.integers(0, 4), st.integers(0, 4))),
        st.just(True),
        st.integers(0, 1),
        st.sampled_from(["constant", "edge"]),
    ),
    st.builds(T.CenterCrop, st.integers(5, 45)),
    st.builds(
        T.Pad, st.integers(0, 4), st.integers(0, 1), st.sampled_from(["constant", "edge", "reflect", "symmetric"])
    ),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=st.lists(GEOMETRY, max_size=3),
    after=st.lists(GEOMETRY, max_size=3),
    kind=st.sampled_from(["cifar", "mnist"]),
)
def test_any_chain(folder, before, after, kind) -> None:
    dataset = make(kind, folder, [*before, TO, *after, T.Normalize([0.4], [0.2])])
    assert batching.batcher_of(dataset) is not None
    options = {"batch_size": 5, "shuffle": True}
    assert epochs(dataset, True, **options) == epochs(dataset, False, **options)


class Own(T.RandomHorizontalFlip):
    def forward(self, img):
        return super().forward(super().forward(img))


@pytest.mark.parametrize(
    "chain",
    [
        [],
        [T.RandomHorizontalFlip()],
        [T.Lambda(lambda x: x), TO],
        [T.ColorJitter(0.1), TO],
        [T.RandomApply([T.RandomHorizontalFlip()]), TO],
        [Own(), TO],
        [T.Resize(16), TO],
        [TO, TO],
        [T.Normalize([0.5], [0.5]), TO],
        [TO, T.Normalize([0.5], [0.0])],
        [TO, T.Normalize([0.5, 0.5], [0.5, 0.5])],
        [T.RandomCrop(64), TO],
        [T.Pad(-2), TO],
    ],
    ids=str,
)
def test_what_has_no_batched_form(folder, chain) -> None:
    """These go one by one, where they work or raise what they raise."""
    assert batching.batcher_of(make("cifar", folder, chain)) is None


def test_a_resize_to_the_same_size_is_no_hindrance(folder) -> None:
    assert batching.batcher_of(make("cifar", folder, [T.Resize(32), TO])) is not None
    assert batching.batcher_of(make("cifar", folder, [T.Resize((32, 32)), TO])) is not None


def test_a_transform_of_targets_goes_one_by_one(folder) -> None:
    dataset = datasets.CIFAR10(folder, transform=TO, target_transform=lambda y: y + 1)
    assert batching.batcher_of(dataset) is None
    plain = datasets.CIFAR10(folder, transform=TO)
    assert next(iter(DataLoader(dataset, 4)))[1].tolist() == [y + 1 for y in plain.targets[:4]]


def test_float64_by_default_draws_two_words_and_goes_one_by_one(folder) -> None:
    rushlight.set_default_dtype(rushlight.float64)
    try:
        assert batching.batcher_of(make("cifar", folder, CHAINS["usual"])) is None
        dataset = make("cifar", folder, CHAINS["lab"])
        assert batching.batcher_of(dataset) is not None
        assert epochs(dataset, True, batch_size=4) == epochs(dataset, False, batch_size=4)
        assert next(iter(DataLoader(dataset, 4)))[0].dtype == rushlight.float64
    finally:
        rushlight.set_default_dtype(rushlight.float32)


def test_data_the_user_put_there_is_what_comes(folder) -> None:
    dataset = make("cifar", folder, CHAINS["usual"])
    dataset.data = np.ascontiguousarray(dataset.data[:11, ::-1])  # rows reversed, channels last
    dataset.targets = np.arange(11)
    assert epochs(dataset, True, batch_size=4) == epochs(dataset, False, batch_size=4)
    dataset.data = dataset.data[:, 2:, 3:]  # no order of memory at all
    assert epochs(dataset, True, batch_size=4) == epochs(dataset, False, batch_size=4)
    dataset.targets = [float(i) for i in range(11)]
    assert epochs(dataset, True, batch_size=4) == epochs(dataset, False, batch_size=4)


def test_the_dataset_is_not_written_to(folder) -> None:
    dataset = make("cifar", folder, [T.PILToTensor(), T.RandomHorizontalFlip(1.0)])
    before = dataset.data.copy()
    for x, _ in DataLoader(dataset, 8):
        x.zero_()
    assert (dataset.data == before).all()


def test_inside_subsets_and_concatenations(folder) -> None:
    part = Subset(make("cifar", folder, CHAINS["usual"]), [5, 3, 9, 9, -1])
    both = ConcatDataset([part, make("cifar", folder, CHAINS["usual"])])
    assert batching.batcher_of(both) is not None
    options = {"batch_size": 3, "shuffle": True}
    assert epochs(both, True, **options) == epochs(both, False, **options)


@pytest.mark.parametrize("index", [45, -46, 10**9])
def test_an_index_out_of_range(folder, index: int) -> None:
    dataset = make("cifar", folder, [TO])
    for path in (True, False):
        loader = DataLoader(dataset, 2, sampler=[0, index])
        loader.batch_path = path
        with pytest.raises(IndexError):
            list(loader)


def test_without_pillow(folder, monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples of a chain that can be batched need no Pillow; others say what to install."""
    from rushlight.vision import _pillow

    dataset = make("cifar", folder, CHAINS["usual"])
    rushlight.manual_seed(3)
    wanted, target = dataset[2]

    def absent(part: str = "Image"):
        raise ImportError("this needs Pillow")

    monkeypatch.setattr(_pillow, "need", absent)
    rushlight.manual_seed(3)
    got, same = dataset[2]
    assert (got == wanted).all() and target == same and type(same) is int
    assert T.ToTensor()(np.zeros((4, 5, 3), np.uint8)).shape == (3, 4, 5)
    with pytest.raises(ImportError, match="Pillow"):
        make("cifar", folder, [T.ColorJitter(0.1), TO])[0]


@pytest.mark.parametrize("name", CHAINS)
def test_the_way_of_a_device_on_host_arrays(folder, name: str) -> None:
    """What runs on a device's arrays, run on NumPy's: the same batches."""
    dataset = make("cifar", folder, CHAINS[name])
    options = {"batch_size": 4, "shuffle": True}
    wanted = epochs(dataset, True, **options)
    labels = np.array(dataset.targets)
    dataset._resident = (np.ascontiguousarray(dataset._planes()), labels)
    assert epochs(dataset, True, **options) == wanted
    x, target = dataset[-1]
    assert isinstance(x, rushlight.Tensor) and target == labels[-1]
    for outside in (45, -46):
        with pytest.raises(IndexError):
            dataset[outside]
        with pytest.raises(IndexError):
            list(DataLoader(dataset, 2, sampler=[0, outside]))
    dataset.transform = T.Compose([T.ColorJitter(0.1), TO])
    with pytest.raises(RuntimeError, match="no batched form"):
        list(DataLoader(dataset, 2))


def test_batches_on_a_device(folder) -> None:
    """`to` keeps the bytes on the device; the CPU is where they are anyway."""
    dataset = make("cifar", folder, CHAINS["usual"])
    assert dataset.to("cpu") is dataset and dataset._resident is None
    cuda = rushlight.cuda.is_available()
    if not cuda:
        with pytest.raises(RuntimeError):
            dataset.to("cuda")
        return
    options = {"batch_size": 4, "shuffle": True}
    rushlight.manual_seed(1)
    wanted = [[t.clone() for t in b] for b in DataLoader(dataset, **options)]
    dataset.to("cuda")
    rushlight.manual_seed(1)
    for (x, y), (a, b) in zip(wanted, DataLoader(dataset, **options)):
        assert a.is_cuda and b.is_cuda
        assert (a.cpu() == x).all() and (b.cpu() == y).all()
    assert dataset[3][0].is_cuda
    dataset.transform = T.Compose([T.ColorJitter(0.1), TO])
    with pytest.raises(RuntimeError, match="no batched form"):
        dataset[0]
