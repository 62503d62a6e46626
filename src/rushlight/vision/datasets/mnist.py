"""MNIST, Fashion-MNIST and KMNIST."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Callable
from importlib import import_module
from os import PathLike
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ...hub import DownloadError
from ...io.errors import CorruptFileError
from ...operators.create.from_data import from_numpy
from ._arrays import ArrayDataset
from .utils import by_hand, check_integrity, download_url, extract_archive, read_gzip

# The published files have at most 60,000 pictures of 28x28.
_MOST = 1 << 27


def parse_idx(raw: bytes, kind: int = 8) -> np.ndarray:
    """The array in an IDX file, of bytes (8) or of 32-bit integers (12); CorruptFileError when it is none."""
    if len(raw) < 4 or raw[:3] != bytes((0, 0, kind)):
        raise CorruptFileError("not an IDX file of bytes" if kind == 8 else "not an IDX file of integers")
    number = np.dtype(np.uint8 if kind == 8 else ">i4")
    dims = raw[3]
    if not 1 <= dims <= 3 or len(raw) < 4 + 4 * dims:
        raise CorruptFileError("the header of the IDX file is damaged")
    shape = struct.unpack_from(f">{dims}I", raw, 4)
    total = 1
    for n in shape:
        total *= n
    if total * number.itemsize != len(raw) - 4 - 4 * dims:
        raise CorruptFileError(f"the IDX file does not hold the {'x'.join(map(str, shape))} it promises")
    return np.frombuffer(bytearray(raw), number, offset=4 + 4 * dims).reshape(shape)


class MNIST(ArrayDataset):
    """70,000 handwritten digits of 28x28.

    Files that lie in root/MNIST/raw, packed or unpacked, are used as they are; otherwise
    `download=True` fetches them.

    Args:
        train: the pictures for training, or those for the test.
        transform, target_transform: functions of a picture and of a label.
        download: fetch the files if they are not there.

    Raises:
        RuntimeError: if the files are not there, or damaged.

    Example:
        >>> datasets.MNIST.classes[0]
        '0 - zero'
    """

    mirrors = ["https://ossci-datasets.s3.amazonaws.com/mnist/", "http://yann.lecun.com/exdb/mnist/"]
    resources = [
        ("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        ("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432"),
        ("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3"),
        ("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c"),
    ]
    classes = [
        "0 - zero", "1 - one", "2 - two", "3 - three", "4 - four", "5 - five", "6 - six",
        "7 - seven", "8 - eight", "9 - nine",
    ]  # fmt: skip

    data: Tensor
    targets: Tensor

    def __init__(
        self,
        root: str | PathLike[str],
        train: bool = True,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.train = train
        found = self._found(download, self.raw_folder, self._names())
        self.data, self.targets = found

    @property
    def raw_folder(self) -> str:
        return os.path.join(self.root, type(self).__name__, "raw")

    @property
    def processed_folder(self) -> str:
        return os.path.join(self.root, type(self).__name__, "processed")

    @property
    def class_to_idx(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.classes)}

    @property
    def train_labels(self) -> Tensor:
        return self.targets

    @property
    def test_labels(self) -> Tensor:
        return self.targets

    @property
    def train_data(self) -> Tensor:
        return self.data

    @property
    def test_data(self) -> Tensor:
        return self.data

    def _names(self) -> list[str]:
        return [name for name, _ in self.resources]

    def _find(self) -> tuple[Tensor, Tensor] | str:
        """Pictures and class numbers from the files there are, or what is wrong with them."""
        images, labels = self._names()[:2] if self.train else self._names()[2:]
        try:
            data, targets = self._read(images, 3), self._read(labels, 1)
        except (CorruptFileError, OSError, EOFError, MemoryError, zlib.error) as error:
            return str(error)
        if len(data) != len(targets) or (targets.size and targets.max() >= len(self.classes)):
            return f"{images} and {labels} in {self.raw_folder} do not belong together"
        return from_numpy(data), from_numpy(targets.astype(np.int64))

    def _read(self, packed: str, dims: int, kind: int = 8) -> np.ndarray:
        path = os.path.join(self.raw_folder, os.path.splitext(packed)[0])
        if os.path.isfile(path):
            if os.path.getsize(path) > _MOST:
                raise CorruptFileError(f"{path} is too large")
            with open(path, "rb") as f:
                raw = f.read()
        elif os.path.isfile(path + ".gz"):
            path += ".gz"
            raw = read_gzip(path, _MOST)
        else:
            raise CorruptFileError(f"{path} is missing")
        try:
            found = parse_idx(raw, kind)
        except CorruptFileError as error:
            raise CorruptFileError(f"{path}: {error}") from None
        if found.ndim != dims:
            raise CorruptFileError(f"{path} has {found.ndim} dimensions, not {dims}")
        return found

    def _check_exists(self) -> bool:
        """Whether the files of both splits are there, packed or unpacked."""
        plain = [os.path.join(self.raw_folder, os.path.splitext(n)[0]) for n in self._names()]
        return all(check_integrity(p) or check_integrity(p + ".gz") for p in plain)

    def download(self) -> None:
        """Fetch and unpack the files, unless this split's are there."""
        if not isinstance(self._find(), str):
            return
        for name, md5 in self.resources:
            try:
                download_url([m + name for m in self.mirrors], self.raw_folder, name, md5)
            except (DownloadError, OSError) as error:
                kind = type(self).__name__
                raise by_hand(kind, error, self.raw_folder, self._names()) from None
            extract_archive(os.path.join(self.raw_folder, name), self.raw_folder)


class FashionMNIST(MNIST):
    """As `MNIST`: 70,000 pictures of clothes, 28x28, by Zalando Research."""

    mirrors = ["http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"]
    resources = [
        ("train-images-idx3-ubyte.gz", "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        ("train-labels-idx1-ubyte.gz", "25c81989df183df01b3e8a0aad5dffbe"),
        ("t10k-images-idx3-ubyte.gz", "bef4ecab320f06d8554ea6380940ec79"),
        ("t10k-labels-idx1-ubyte.gz", "bb300cfdad3c16e7a12a480ee83cd310"),
    ]
    classes = ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


class KMNIST(MNIST):
    """As `MNIST`: 70,000 handwritten Hiragana of 28x28."""

    mirrors = ["http://codh.rois.ac.jp/kmnist/dataset/kmnist/"]
    resources = [
        ("train-images-idx3-ubyte.gz", "bdb82020997e1d708af4cf47b453dcf7"),
        ("train-labels-idx1-ubyte.gz", "e144d726b3acfaa3e44228e80efcd344"),
        ("t10k-images-idx3-ubyte.gz", "5c965bf0a639b31b8f53240b1b52f4d7"),
        ("t10k-labels-idx1-ubyte.gz", "7320c461ea6c1c855c0b718fb2a4b134"),
    ]
    classes = ["o", "ki", "su", "tsu", "na", "ha", "ma", "ya", "re", "wo"]


def __getattr__(name: str) -> Any:
    if name in ("EMNIST", "QMNIST"):  # torchvision has them in this module, too
        return getattr(import_module(f"{__package__}._more_mnist"), name)
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
