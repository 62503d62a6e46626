"""Datasets: examples and labels by number, read from files that are there or fetched once."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable
from typing import Any

import numpy as np

from ..io.npz import read_npz, write_npz
from . import utils
from .transforms import Compose, Flatten, Normalize, ToFloat, batched

# Folders in which datasets lie as torchvision lays them: data/MNIST/raw, data/cifar-10-batches-py.
# Looked through before anything is downloaded; add your own.
roots = ["data"]


class Dataset:
    """Derive and let `prepare` set `data` and `label`.

    Args:
        train: whether this is the data to train on.
        transform, target_transform: functions of one example and of one label.

    Example:
        >>> class Numbers(dezero.Dataset):
        ...     def prepare(self):
        ...         self.data, self.label = np.arange(4.0), np.arange(4)
        >>> len(Numbers()), Numbers(transform=lambda x: 2 * x)[3]
        (4, (np.float64(6.0), np.int64(3)))
    """

    def __init__(
        self,
        train: bool = True,
        transform: Callable[..., Any] | None = None,
        target_transform: Callable[..., Any] | None = None,
    ) -> None:
        self.train = train
        self.transform = transform if transform is not None else _as_it_is
        self.target_transform = target_transform if target_transform is not None else _as_it_is
        self.data: Any = None
        self.label: Any = None
        self.prepare()

    def __getitem__(self, index: Any) -> tuple[Any, Any]:
        assert np.isscalar(index), "a dataset is indexed by one number"
        x = self.transform(self.data[index])
        return x, None if self.label is None else self.target_transform(self.label[index])

    def __len__(self) -> int:
        return len(self.data)

    def prepare(self) -> None:
        """Set `data` and `label`."""

    def _arrays(self) -> tuple[Any, Any]:
        """`data` and `label` for those who only read."""
        return self.data, self.label

    def batch(self, places: np.ndarray, take: Callable[..., Any]) -> tuple[Any, Any] | None:
        """The examples that `take(array, places)` gives, transformed all at once; None when one by one.

        One by one it is if a subclass looks examples up in its own way, or a transform takes only one.
        """
        if type(self).__getitem__ is not Dataset.__getitem__:
            return None
        data, label = self._arrays()
        if not isinstance(data, np.ndarray) or not isinstance(label, np.ndarray):
            return None
        steps = [batched(_none_if_plain(t)) for t in (self.transform, self.target_transform)]
        if None in steps:
            return None
        x, t = steps
        return x(take(data, places)), t(take(label, places))  # type: ignore[misc]


class OfFiles(Dataset):
    """A dataset that read its arrays itself: as long as nobody has asked for them, they cannot change."""

    _data: Any = None
    _label: Any = None
    seen = True

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.seen = type(self).__module__ != __name__  # a subclass may have kept what it read

    @property
    def data(self) -> Any:  # type: ignore[override]
        """The examples."""
        self.seen = True
        return self._data

    @data.setter
    def data(self, value: Any) -> None:
        self._data = value
        self.seen = True

    @property
    def label(self) -> Any:  # type: ignore[override]
        """Their classes."""
        self.seen = True
        return self._label

    @label.setter
    def label(self, value: Any) -> None:
        self._label = value
        self.seen = True

    def __len__(self) -> int:
        return len(self._data)

    def _arrays(self) -> tuple[Any, Any]:
        return self._data, self._label


def _as_it_is(x: Any) -> Any:
    return x


def _none_if_plain(transform: Callable[..., Any]) -> Any:
    return None if transform is _as_it_is else transform


# -- toys -----------------------------------------------------------------------------------------


def get_spiral(train: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """300 points on three spiral arms, the same ones each time; np.random starts anew with it."""
    np.random.seed(1984 if train else 2020)  # the book's seeds, and like there for the whole program
    points, arms = 100, 3
    rate = np.tile(np.arange(points) / points, arms)
    arm = np.repeat(np.arange(arms), points)
    angle = arm * 4.0 + rate * 4.0 + np.random.randn(points * arms) * 0.2
    x = np.stack([rate * np.sin(angle), rate * np.cos(angle)], axis=1).astype(np.float32)
    order = np.random.permutation(points * arms)
    return x[order], arm[order]


class Spiral(Dataset):
    """The points of `get_spiral`."""

    def prepare(self) -> None:
        self.data, self.label = get_spiral(self.train)


class SinCurve(Dataset):
    """A noisy sine (in test, a cosine); the label of a point is the next one."""

    def prepare(self) -> None:
        x = np.linspace(0, 2 * np.pi, 1000)
        noise = np.random.uniform(-0.05, 0.05, size=x.shape)
        y = np.sin(x) + noise if self.train else np.cos(x)
        self.data = y[:-1, None]
        self.label = y[1:, None]


class Shakespear(Dataset):
    """The characters of Shakespeare's works as numbers; the label of one is the next."""

    URL = "https://raw.githubusercontent.com/karpathy/char-rnn/master/data/tinyshakespeare/input.txt"

    def prepare(self) -> None:
        with open(utils.get_file(self.URL, "shakespear.txt"), encoding="utf-8") as f:
            text = f.read()
        self.char_to_id = {c: i for i, c in enumerate(dict.fromkeys(text))}
        self.id_to_char = {i: c for c, i in self.char_to_id.items()}
        numbers = np.array([self.char_to_id[c] for c in text])
        self.data, self.label = numbers[:-1], numbers[1:]


# -- pictures -------------------------------------------------------------------------------------


def _find(name: str, train: bool) -> Any:
    """rushlight.vision's dataset of that name: from a folder that has its files, or downloaded."""
    from ..vision import datasets

    for root in [*roots, utils.cache_dir]:
        if os.path.isdir(root):
            try:
                return getattr(datasets, name)(root, train=train)
            except RuntimeError:  # it is not in this one
                continue
    return getattr(datasets, name)(utils.cache_dir, train=train, download=True)


class MNIST(OfFiles):
    """70,000 handwritten digits, uint8 (N, 1, 28, 28)."""

    def __init__(
        self,
        train: bool = True,
        transform: Callable[..., Any] = Compose([Flatten(), ToFloat(), Normalize(0.0, 255.0)]),
        target_transform: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(train, transform, target_transform)

    def prepare(self) -> None:
        prefix = "train" if self.train else "t10k"
        names = [f"{prefix}-images-idx3-ubyte.gz", f"{prefix}-labels-idx1-ubyte.gz"]
        paths = [os.path.join(utils.cache_dir, name) for name in names]
        if all(map(os.path.exists, paths)):  # where the original DeZero keeps them
            self.data, self.label = _read_idx(paths[0])[:, None], _read_idx(paths[1]).astype(int)
            return
        found = _find("MNIST", self.train)
        self.data, self.label = found.data.numpy()[:, None], found.targets.numpy()

    def show(self, row: int = 10, col: int = 10) -> None:
        """Draw a grid of examples by matplotlib."""
        picked = self.data[np.random.randint(0, len(self.data), row * col), 0]
        _show(np.concatenate([np.concatenate(list(r), axis=1) for r in _rows(picked, col)]), "gray")

    @staticmethod
    def labels() -> dict[int, str]:
        """The name of each class."""
        return {i: str(i) for i in range(10)}


def _read_idx(path: str) -> np.ndarray:
    from ..vision.datasets.mnist import parse_idx
    from ..vision.datasets.utils import read_gzip

    return parse_idx(read_gzip(path, 1 << 27))


def _rows(pictures: np.ndarray, col: int) -> list[np.ndarray]:
    return [pictures[i : i + col] for i in range(0, len(pictures), col)]


def _show(picture: np.ndarray, cmap: str | None = None) -> None:
    import matplotlib.pyplot as plt

    plt.imshow(picture, cmap=cmap)
    plt.axis("off")
    plt.show()


class CIFAR10(OfFiles):
    """60,000 colour pictures in ten classes, uint8 (N, 3, 32, 32)."""

    URL = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"  # whose cache to look for

    def __init__(
        self,
        train: bool = True,
        transform: Callable[..., Any] = Compose([ToFloat(), Normalize(mean=0.5, std=0.5)]),
        target_transform: Callable[..., Any] | None = None,
    ) -> None:
        super().__init__(train, transform, target_transform)

    def prepare(self) -> None:
        self.data, self.label = load_cache_npz(self.URL, self.train)
        if self.data is None:
            found = _find("CIFAR10", self.train)
            self.data = np.ascontiguousarray(found.data.transpose(0, 3, 1, 2))
            self.label = np.array(found.targets)

    def show(self, row: int = 10, col: int = 10) -> None:
        """Draw a grid of examples by matplotlib."""
        picked = self.data[np.random.randint(0, len(self.data), row * col)].transpose(0, 2, 3, 1)
        _show(np.concatenate([np.concatenate(list(r), axis=1) for r in _rows(picked, col)]))

    @staticmethod
    def labels() -> dict[int, str]:
        """The name of each class."""
        names = "airplane automobile bird cat deer dog frog horse ship truck"
        return dict(enumerate(names.split()))


class CIFAR100(CIFAR10):
    """60,000 colour pictures in a hundred fine classes, or twenty coarse ones."""

    def __init__(
        self,
        train: bool = True,
        transform: Callable[..., Any] = Compose([ToFloat(), Normalize(mean=0.5, std=0.5)]),
        target_transform: Callable[..., Any] | None = None,
        label_type: str = "fine",
    ) -> None:
        assert label_type in ("fine", "coarse"), "label_type is 'fine' or 'coarse'"
        self.label_type = label_type
        super().__init__(train, transform, target_transform)

    def prepare(self) -> None:
        found = _find("CIFAR100", self.train)
        self.data = np.ascontiguousarray(found.data.transpose(0, 3, 1, 2))
        entry = found._entry("train" if self.train else "test")
        self.label = np.array(entry[f"{self.label_type}_labels"])

    @staticmethod
    def labels(label_type: str = "fine") -> dict[int, str]:
        """The name of each class."""
        return dict(enumerate((_FINE if label_type == "fine" else _COARSE).split()))


_FINE = """
apple aquarium_fish baby bear beaver bed bee beetle bicycle bottle bowl boy bridge bus butterfly camel
can castle caterpillar cattle chair chimpanzee clock cloud cockroach couch crab crocodile cup dinosaur
dolphin elephant flatfish forest fox girl hamster house kangaroo keyboard lamp lawn_mower leopard lion
lizard lobster man maple_tree motorcycle mountain mouse mushroom oak_tree orange orchid otter palm_tree
pear pickup_truck pine_tree plain plate poppy porcupine possum rabbit raccoon ray road rocket rose sea
seal shark shrew skunk skyscraper snail snake spider squirrel streetcar sunflower sweet_pepper table
tank telephone television tiger tractor train trout tulip turtle wardrobe whale willow_tree wolf woman
worm
"""
_COARSE = """
aquatic_mammals fish flowers food_containers fruit_and_vegetables household_electrical_devices
household_furniture insects large_carnivores large_man-made_outdoor_things
large_natural_outdoor_scenes large_omnivores_and_herbivores medium_mammals non-insect_invertebrates
people reptiles small_mammals trees vehicles_1 vehicles_2
"""


class ImageNet(Dataset):
    """The names of ImageNet's classes; its pictures are not to be had freely."""

    URL = (
        "https://gist.githubusercontent.com/yrevar/942d3a0ac09ec9e5eb3a/raw/"
        "238f720ff059c1f82f368259d1ca4ffa5dd8f9f5/imagenet1000_clsidx_to_labels.txt"
    )

    def __init__(self) -> None:
        raise NotImplementedError("ImageNet's pictures have to be asked for; only labels() is here")

    @staticmethod
    def labels() -> dict[int, str]:
        """The name of each class."""
        with open(utils.get_file(ImageNet.URL), encoding="utf-8") as f:
            return ast.literal_eval(f.read())


# -- a cache of arrays ----------------------------------------------------------------------------


def _cache_path(filename: str, train: bool) -> str:
    name = filename[filename.rfind("/") + 1 :]
    return os.path.join(utils.cache_dir, name + (".train.npz" if train else ".test.npz"))


def load_cache_npz(filename: str, train: bool = False) -> tuple[Any, Any]:
    """(data, label) saved by `save_cache_npz`, or (None, None)."""
    path = _cache_path(filename, train)
    if not os.path.exists(path):
        return None, None
    data, label = read_npz(path, ["data", "label"])
    return data, label


def save_cache_npz(
    data: dict[str, np.ndarray], label: dict[str, np.ndarray], filename: str, train: bool = False
) -> str | None:
    """Keep two arrays in the cache; the path they are in."""
    path = _cache_path(filename, train)
    if os.path.exists(path):
        return None
    os.makedirs(utils.cache_dir, exist_ok=True)
    write_npz(path, {"data": data, "label": label})
    return path
