"""Food-101: 101,000 pictures of dishes (Bossard et al. 2014)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from os import PathLike
from typing import Any

from ...io.errors import CorruptFileError
from .folder import default_loader
from .utils import download_and_extract_archive, not_found, verify_str_arg
from .vision import Published


class Food101(Published):
    """Pictures of 101 dishes.

    Args:
        root: the folder that holds `food-101`.
        split: "train" or "test".
        transform: of the picture.
        target_transform: of the class number.
        download: fetch and unpack the archive.
        loader: reads a picture from its path.

    Raises:
        RuntimeError: if the files are not there.

    Example:
        >>> from rushlight.vision.datasets import Food101
        >>> Food101("/nowhere")
        Traceback (most recent call last):
        RuntimeError: Dataset not found. You can use download=True to download it. ...
    """

    _counted = "_image_files"
    _URL = "http://data.vision.ee.ethz.ch/cvl/food-101.tar.gz"
    _MD5 = "85eeb15f3717b99a5da872d97d918f87"

    def __init__(
        self,
        root: str | PathLike[str],
        split: str = "train",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
        loader: Callable[[Any], Any] = default_loader,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self._split = verify_str_arg(split, "split", ("train", "test"))
        self.loader = loader
        if download:
            download_and_extract_archive(self._URL, self.root, md5=self._MD5)
        base = os.path.join(self.root, "food-101")
        listed = os.path.join(base, "meta", split + ".json")
        if not os.path.isfile(listed) or not os.path.isdir(os.path.join(base, "images")):
            raise not_found(self.root, ["food-101.tar.gz"], state="not found")
        try:
            with open(listed, encoding="utf-8") as f:
                found = {str(k): list(v) for k, v in json.load(f).items()}
        except (ValueError, AttributeError, TypeError) as error:
            raise CorruptFileError(f"{listed} is damaged: {error}") from None
        self.classes = sorted(found)
        self.class_to_idx = dict(zip(self.classes, range(len(self.classes))))
        self._labels = [self.class_to_idx[name] for name, files in found.items() for _ in files]
        self._image_files = [
            os.path.join(base, "images", *f"{file}.jpg".split("/"))
            for files in found.values()
            for file in files
        ]

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        return self._sample(self.loader(self._image_files[index]), self._labels[index])

    def extra_repr(self) -> str:
        """The split."""
        return f"split={self._split}"
