"""USPS: 9,298 handwritten digits of 16 x 16 from envelopes (Hull 1994)."""

from __future__ import annotations

import bz2
import os
from collections.abc import Callable
from os import PathLike
from typing import Any

import numpy as np

from ...io.errors import CorruptFileError
from .._pillow import need
from .utils import download_url, not_found
from .vision import VisionDataset

_MOST = 1 << 26  # the larger file unpacks to about 20 MB


class USPS(VisionDataset):
    """Handwritten digits of 16 x 16 pixels.

    Args:
        root: the folder of `usps.bz2` and `usps.t.bz2`.
        train: the 7,291 of the training set, or the 2,007 of the test set.
        transform: of the picture, a grey PIL image.
        target_transform: of the digit.
        download: fetch the file.

    Raises:
        RuntimeError: if the file is not there or damaged.

    Example:
        >>> from rushlight.vision.datasets import USPS
        >>> USPS("/nowhere")
        Traceback (most recent call last):
        RuntimeError: Dataset not found. You can use download=True to download it. ...
    """

    split_list = {
        "train": ["https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/usps.bz2", "usps.bz2",
                  "ec16c51db3855ca6c91edd34d0e9b197"],
        "test": ["https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/usps.t.bz2", "usps.t.bz2",
                 "8ea070ee2aca1ac39742fdd1ef5ed118"],
    }  # fmt: skip

    def __init__(
        self,
        root: str | PathLike[str],
        train: bool = True,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        url, file, md5 = self.split_list["train" if train else "test"]
        path = os.path.join(self.root, file)
        if download:
            download_url(url, self.root, file, md5)
        if not os.path.isfile(path):
            raise not_found(self.root, [file], state="not found")
        try:
            with bz2.open(path) as f:
                rows = f.read(_MOST).decode("ascii").split("\n")
            lines = [row.split() for row in rows if row.strip()]
            values = [[float(cell.rpartition(":")[2]) for cell in line[1:]] for line in lines]
            pixels = np.asarray(values, np.float32).reshape(-1, 16, 16)
            self.targets = [int(line[0]) - 1 for line in lines]
        except (OSError, EOFError, ValueError, IndexError) as error:
            raise CorruptFileError(f"{path} is damaged: {error}") from None
        self.data = ((pixels + 1) / 2 * 255).astype(np.uint8)  # from -1 ... 1

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        picture: Any = need().fromarray(self.data[index])
        target: Any = int(self.targets[index])
        return (picture, target) if self.transforms is None else self.transforms(picture, target)

    def __len__(self) -> int:
        return len(self.data)
