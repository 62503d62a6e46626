"""EMNIST and QMNIST: more letters and digits in MNIST's file format."""

from __future__ import annotations

import os
import shutil
import string
import zlib
from os import PathLike
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ...io.errors import CorruptFileError
from ...operators.create.from_data import from_numpy
from .._pillow import need
from .mnist import MNIST
from .utils import check_integrity, download_and_extract_archive, extract_archive, verify_str_arg

# Letters whose small and large forms are one class in the merged splits.
_MERGED = set("cijklmopsuvwxyz")
_ALL = set(string.digits + string.ascii_letters)
_FEWER = sorted(_ALL - _MERGED)


class EMNIST(MNIST):
    """Handwritten letters and digits of 28x28 (Cohen et al. 2017).

    Args:
        root: the folder that holds `EMNIST/raw`.
        split: "byclass", "bymerge", "balanced", "letters", "digits" or "mnist".
        kwargs: `train`, `transform`, `target_transform` and `download`, as of `MNIST`.

    Raises:
        RuntimeError: if the files are not there, or damaged.

    Example:
        >>> len(datasets.EMNIST.classes_split_dict["balanced"])
        47
    """

    url = "https://biometrics.nist.gov/cs_links/EMNIST/gzip.zip"
    md5 = "58c8d27c78d21e728a6bc7b3cc06412e"
    splits = ("byclass", "bymerge", "balanced", "letters", "digits", "mnist")
    classes_split_dict = {
        "byclass": sorted(_ALL),
        "bymerge": _FEWER,
        "balanced": _FEWER,
        "letters": ["N/A", *string.ascii_lowercase],
        "digits": list(string.digits),
        "mnist": list(string.digits),
    }

    def __init__(self, root: str | PathLike[str], split: str, **kwargs: Any) -> None:
        self.split = verify_str_arg(split, "split", self.splits)
        self.classes = self.classes_split_dict[split]
        super().__init__(root, **kwargs)

    def _names(self) -> list[str]:
        stem = f"emnist-{self.split}"
        parts = ("images-idx3-ubyte.gz", "labels-idx1-ubyte.gz")
        return [f"{stem}-{which}-{part}" for which in ("train", "test") for part in parts]

    @property
    def images_file(self) -> str:
        """The unpacked pictures."""
        return os.path.join(self.raw_folder, self._names()[0 if self.train else 2][:-3])

    @property
    def labels_file(self) -> str:
        """The unpacked class numbers."""
        return os.path.join(self.raw_folder, self._names()[1 if self.train else 3][:-3])

    def _check_exists(self) -> bool:
        return all(check_integrity(file) for file in (self.images_file, self.labels_file))

    def download(self) -> None:
        """Fetch the archive of all splits, and unpack it."""
        if not isinstance(self._find(), str):
            return
        download_and_extract_archive(self.url, self.raw_folder, md5=self.md5)
        folder = os.path.join(self.raw_folder, "gzip")
        for name in sorted(os.listdir(folder)):
            if name.endswith(".gz"):
                extract_archive(os.path.join(folder, name), self.raw_folder)
        shutil.rmtree(folder)


_QMNIST = "https://raw.githubusercontent.com/facebookresearch/qmnist/master/"


class QMNIST(MNIST):
    """MNIST made anew from its sources, with all that is known of a digit (Yadav and Bottou 2019).

    Args:
        root: the folder that holds `QMNIST/raw`.
        what: "train", "test", "test10k", "test50k" or "nist"; chosen by `train` if not given.
        compat: the target is the digit; else a row of eight numbers about it.
        train: the pictures for training, or those for the test.
        kwargs: `transform`, `target_transform` and `download`, as of `MNIST`.

    Raises:
        RuntimeError: if the files are not there, or damaged.

    Example:
        >>> sorted(datasets.QMNIST.subsets)
        ['nist', 'test', 'test10k', 'test50k', 'train']
    """

    subsets = {"train": "train", "test": "test", "test10k": "test", "test50k": "test", "nist": "nist"}
    resources: Any = {
        "train": [
            (_QMNIST + "qmnist-train-images-idx3-ubyte.gz", "ed72d4157d28c017586c42bc6afe6370"),
            (_QMNIST + "qmnist-train-labels-idx2-int.gz", "0058f8dd561b90ffdd0f734c6a30e5e4"),
        ],
        "test": [
            (_QMNIST + "qmnist-test-images-idx3-ubyte.gz", "1394631089c404de565df7b7aeaf9412"),
            (_QMNIST + "qmnist-test-labels-idx2-int.gz", "5b5b05890a5e13444e108efe57b788aa"),
        ],
        "nist": [
            (_QMNIST + "xnist-images-idx3-ubyte.xz", "7f124b3b8ab81486c9d8c2749c17f834"),
            (_QMNIST + "xnist-labels-idx2-int.xz", "5ed0e788978e45d4a8bd4b7caec3d79d"),
        ],
    }

    def __init__(
        self, root: str | PathLike[str], what: str | None = None, compat: bool = True, train: bool = True, **kwargs: Any
    ) -> None:
        chosen = what if what is not None else "train" if train else "test"
        self.what = verify_str_arg(chosen, "what", tuple(self.subsets))
        self.compat = compat
        super().__init__(root, train, **kwargs)

    def _names(self) -> list[str]:
        return [os.path.basename(url) for url, _ in self.resources[self.subsets[self.what]]]

    @property
    def images_file(self) -> str:
        """The unpacked pictures."""
        return os.path.join(self.raw_folder, os.path.splitext(self._names()[0])[0])

    @property
    def labels_file(self) -> str:
        """The unpacked rows about the pictures."""
        return os.path.join(self.raw_folder, os.path.splitext(self._names()[1])[0])

    def _check_exists(self) -> bool:
        return all(check_integrity(file) for file in (self.images_file, self.labels_file))

    def _find(self) -> tuple[Tensor, Tensor] | str:
        images, labels = self._names()
        try:
            data, targets = self._read(images, 3), self._read(labels, 2, kind=12)
        except (CorruptFileError, OSError, EOFError, MemoryError, zlib.error) as error:
            return str(error)
        if len(data) != len(targets) or targets.shape[1] < 1:
            return f"{images} and {labels} in {self.raw_folder} do not belong together"
        part = {"test10k": slice(10000), "test50k": slice(10000, None)}.get(self.what, slice(None))
        return from_numpy(data[part].copy()), from_numpy(targets[part].astype(np.int64))

    def download(self) -> None:
        """Fetch and unpack the files of this subset."""
        if not isinstance(self._find(), str):
            return
        for url, md5 in self.resources[self.subsets[self.what]]:
            download_and_extract_archive(url, self.raw_folder, md5=md5)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        """(picture, digit), or (picture, row) without `compat`."""
        picture: Any = need().fromarray(self.data[index].numpy())
        target: Any = int(self.targets[index][0]) if self.compat else self.targets[index]
        return (picture, target) if self.transforms is None else self.transforms(picture, target)

    def extra_repr(self) -> str:
        """The subset."""
        return f"Split: {self.what}"
