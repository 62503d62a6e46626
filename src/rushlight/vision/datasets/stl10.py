"""STL-10: pictures of 96 x 96 in ten classes, and 100,000 without a class (Coates et al. 2011)."""

from __future__ import annotations

import os
from collections.abc import Callable
from os import PathLike

import numpy as np

from ...io.errors import CorruptFileError
from ._arrays import PlanesDataset
from .utils import download_and_extract_archive, not_found, verify_str_arg

_PICTURE = 3 * 96 * 96


class STL10(PlanesDataset):
    """Pictures of 96 x 96 in ten classes; those without a class have -1.

    Args:
        root: the folder that holds `stl10_binary`.
        split: "train", "train+unlabeled", "unlabeled" or "test".
        folds: 0 to 9, one of the published parts of the training set; all of it if None.
        transform: of the picture.
        target_transform: of the class number.
        download: fetch and unpack the archive.

    Raises:
        RuntimeError: if the files are not there or damaged.

    Example:
        >>> from rushlight.vision.datasets import STL10
        >>> STL10("/nowhere")
        Traceback (most recent call last):
        RuntimeError: Dataset not found or corrupted. ...
    """

    base_folder = "stl10_binary"
    url = "http://ai.stanford.edu/~acoates/stl10/stl10_binary.tar.gz"
    filename = "stl10_binary.tar.gz"
    tgz_md5 = "91f7769df0f17e558f3565bffb0c7dfb"
    splits = ("train", "train+unlabeled", "unlabeled", "test")

    def __init__(
        self,
        root: str | PathLike[str],
        split: str = "train",
        folds: int | None = None,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", self.splits)
        if folds is not None and (not isinstance(folds, int) or not 0 <= folds < 10):
            raise ValueError(f"Value for argument folds should be in the range [0, 10), but got {folds}.")
        self.folds = folds
        if download:
            download_and_extract_archive(self.url, self.root, filename=self.filename, md5=self.tgz_md5)
        self.data, self.labels = self._load()
        self.classes: list[str] = []
        names = self._path("class_names.txt")
        if os.path.isfile(names):
            with open(names, encoding="utf-8") as f:
                self.classes = f.read().splitlines()

    def _path(self, name: str) -> str:
        return os.path.join(self.root, self.base_folder, name)

    def _read(self, name: str) -> np.ndarray:
        path = self._path(name)
        if not os.path.isfile(path):
            raise not_found(self.root, [self.filename], f"{path} is missing")
        return np.fromfile(path, np.uint8)

    def _pictures(self, name: str) -> np.ndarray:
        raw = self._read(name)
        if raw.size % _PICTURE:
            raise CorruptFileError(f"{self._path(name)} does not hold whole pictures")
        return raw.reshape(-1, 3, 96, 96).transpose(0, 1, 3, 2)  # the file has columns first

    def _load(self) -> tuple[np.ndarray, np.ndarray]:
        parts, labels = [], []
        for part in self.split.split("+"):
            pictures = self._pictures(part + "_X.bin")
            if part == "unlabeled":
                label = np.full(len(pictures), -1, np.int64)
            else:
                label = self._read(part + "_y.bin").astype(np.int64) - 1  # the file counts from 1
            if len(label) != len(pictures):
                raise CorruptFileError(f"{part}_X.bin and {part}_y.bin do not belong together")
            if part == "train" and self.folds is not None:
                chosen = self._fold(len(pictures))
                pictures, label = pictures[chosen], label[chosen]
            parts.append(pictures)
            labels.append(label)
        return np.concatenate(parts), np.concatenate(labels)

    def _fold(self, count: int) -> np.ndarray:
        path = self._path("fold_indices.txt")
        try:
            with open(path, encoding="ascii") as f:
                chosen = np.array(f.read().splitlines()[self.folds or 0].split(), np.int64)
        except (OSError, ValueError, IndexError) as error:
            raise CorruptFileError(f"{path} is missing or damaged: {error}") from None
        if chosen.size and not 0 <= chosen.min() <= chosen.max() < count:
            raise CorruptFileError(f"{path} names pictures that are not there")
        return chosen
