"""SVHN: 600,000 digits of house numbers, 32 x 32 (Netzer et al. 2011)."""

from __future__ import annotations

import os
from collections.abc import Callable
from os import PathLike

import numpy as np

from ...io.errors import CorruptFileError
from ._arrays import PlanesDataset
from ._matlab import read_matlab
from .utils import check_integrity, download_url, not_found, verify_str_arg

_SERVER = "http://ufldl.stanford.edu/housenumbers/"


class SVHN(PlanesDataset):
    """Digits of house numbers, 32 x 32 in colour; the digit 0 has class 0.

    Args:
        root: the folder of the `.mat` files.
        split: "train", "test" or "extra".
        transform: of the picture.
        target_transform: of the digit.
        download: fetch the file.

    Raises:
        RuntimeError: if the file is not there or damaged.

    Example:
        >>> from rushlight.vision.datasets import SVHN
        >>> SVHN("/nowhere")
        Traceback (most recent call last):
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it...
    """

    split_list = {
        "train": [_SERVER + "train_32x32.mat", "train_32x32.mat", "e26dedcc434d2e4c54c9b2d4a06d8373"],
        "test": [_SERVER + "test_32x32.mat", "test_32x32.mat", "eb5a983be6a315427106f1b164d9cef3"],
        "extra": [_SERVER + "extra_32x32.mat", "extra_32x32.mat", "a93ce644f1a588dc4d68dda5feec44a7"],
    }

    def __init__(
        self,
        root: str | PathLike[str],
        split: str = "train",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = verify_str_arg(split, "split", tuple(self.split_list))
        self.url, self.filename, self.file_md5 = self.split_list[split]
        if download:
            self.download()
        if not self._check_integrity():
            raise not_found(self.root, [self.filename])
        self.data, self.labels = self._load()

    def _load(self) -> tuple[np.ndarray, np.ndarray]:
        path = os.path.join(self.root, self.filename)
        found = read_matlab(path)
        pictures, digits = found.get("X"), found.get("y")
        if not isinstance(pictures, np.ndarray) or not isinstance(digits, np.ndarray):
            raise CorruptFileError(f"{path} lacks X or y")
        if pictures.ndim != 4 or pictures.shape[2] != 3 or pictures.dtype != np.uint8:
            raise CorruptFileError(f"{path} does not hold pictures in colour")
        labels = digits.astype(np.int64).reshape(-1)
        if len(labels) != pictures.shape[3]:
            raise CorruptFileError(f"{path} does not have one label for each picture")
        return pictures.transpose(3, 2, 0, 1), np.where(labels == 10, 0, labels)

    def _check_integrity(self) -> bool:
        return check_integrity(os.path.join(self.root, self.filename), self.split_list[self.split][2])

    def download(self) -> None:
        """Fetch the file of this split."""
        download_url(self.url, self.root, self.filename, self.split_list[self.split][2])
