"""CelebA: 202,599 faces with 40 attributes, boxes and landmarks (Liu et al. 2015)."""

from __future__ import annotations

import os
from collections.abc import Callable
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from ...core.tensor import Tensor
from ...io.errors import CorruptFileError
from ...operators.create.from_data import from_numpy
from .folder import load_as_it_is
from .utils import check_integrity, download_file_from_google_drive, extract_archive, not_found, verify_str_arg
from .vision import VisionDataset

_SPLITS = {"train": 0, "valid": 1, "test": 2, "all": None}
_TARGETS = {"attr": "attr", "identity": "identity", "bbox": "bbox", "landmarks": "landmarks_align"}


class CSV(NamedTuple):
    """A table of whole numbers: the names of its columns and rows, and the numbers."""

    header: list[str]
    index: list[str]  # type: ignore[assignment]
    data: Tensor


class CelebA(VisionDataset):
    """Faces of celebrities, with attributes, identity, box or landmarks.

    Args:
        root: the folder that holds `celeba`.
        split: "train", "valid", "test" or "all".
        target_type: "attr", "identity", "bbox" or "landmarks", or a list of them; an empty list for no target.
        transform: of the picture.
        target_transform: of the target.
        download: fetch the files, which needs the package `gdown`.

    Raises:
        RuntimeError: if the files are not there or damaged.

    Example:
        >>> from rushlight.vision.datasets import CelebA
        >>> CelebA("/nowhere")
        Traceback (most recent call last):
        RuntimeError: Dataset not found or corrupted. You can use download=True to download it...
    """

    base_folder = "celeba"
    file_list = [  # number at the server, MD5, name
        ("0B7EVK8r0v71pZjFTYXZWM3FlRnM", "00d2c5bc6d35e252742224ab0c1e8fcb", "img_align_celeba.zip"),
        ("0B7EVK8r0v71pblRyaVFSWGxPY0U", "75e246fa4810816ffd6ee81facbd244c", "list_attr_celeba.txt"),
        ("1_ee_0u7vcNLOfNLegJRHmolfH5ICW-XS", "32bd1bd63d3c78cd57e08160ec5ed1e2", "identity_CelebA.txt"),
        ("0B7EVK8r0v71pbThiMVRxWXZ4dU0", "00566efa6fedff7a56946cd1c10f1c16", "list_bbox_celeba.txt"),
        ("0B7EVK8r0v71pd0FJY3Blby1HUTQ", "cc24ecafdb5b50baae59b03474781f8c", "list_landmarks_align_celeba.txt"),
        ("0B7EVK8r0v71pY0NSMzRuSXJEVkk", "d32c9cbf5e040fd4025c592c306e6668", "list_eval_partition.txt"),
    ]

    def __init__(
        self,
        root: str | PathLike[str],
        split: str = "train",
        target_type: list[str] | str = "attr",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.split = split
        self.target_type = target_type if isinstance(target_type, list) else [target_type]
        if not self.target_type and target_transform is not None:
            raise RuntimeError("target_transform is specified but target_type is empty")
        if download:
            self.download()
        if not self._check_integrity():
            raise not_found(self._path(), [name for _, _, name in self.file_list])
        wanted = split.lower() if isinstance(split, str) else split
        self._load(_SPLITS[verify_str_arg(wanted, "split", tuple(_SPLITS))])

    def _path(self, *names: str) -> str:
        return os.path.join(self.root, self.base_folder, *names)

    def _load(self, part: int | None) -> None:
        splits = self._load_csv("list_eval_partition.txt")
        rows = np.arange(len(splits.index))
        if part is not None:
            rows = np.flatnonzero(splits.data.numpy()[:, 0] == part)
        self.filename = [splits.index[i] for i in rows]
        attr = self._load_csv("list_attr_celeba.txt", header=1)
        found = {
            "identity": self._load_csv("identity_CelebA.txt"),
            "bbox": self._load_csv("list_bbox_celeba.txt", header=1),
            "landmarks_align": self._load_csv("list_landmarks_align_celeba.txt", header=1),
            "attr": attr,
        }
        for name, table in found.items():
            if len(table.index) != len(splits.index):
                raise CorruptFileError(f"the files of {self._path()} do not belong together ({name})")
            setattr(self, name, from_numpy(table.data.numpy()[rows]))
        self.attr = (self.attr + 1) // 2  # from -1 and 1
        self.attr_names = attr.header

    identity: Tensor
    bbox: Tensor
    landmarks_align: Tensor
    attr: Tensor

    def _load_csv(self, filename: str, header: int | None = None) -> CSV:
        path = self._path(filename)
        try:
            with open(path, encoding="utf-8") as f:
                rows = [line.split() for line in f.read().splitlines()]
            names = [] if header is None else rows[header]
            rows = rows if header is None else rows[header + 1 :]
            numbers = np.array([[int(cell) for cell in row[1:]] for row in rows], np.int64)
            if numbers.ndim != 2 or numbers.shape[1] == 0:
                raise ValueError("no table of numbers")
            return CSV(names, [row[0] for row in rows], from_numpy(numbers))
        except (ValueError, IndexError, OverflowError, OSError) as error:
            raise CorruptFileError(f"{path} is damaged: {error}") from None

    def _check_integrity(self) -> bool:
        texts = [(md5, name) for _, md5, name in self.file_list if not name.endswith(".zip")]
        right = all(check_integrity(self._path(name), md5) for md5, name in texts)
        return right and os.path.isdir(self._path("img_align_celeba"))

    def download(self) -> None:
        """Fetch the files, and unpack the pictures."""
        if self._check_integrity():
            return
        for number, md5, name in self.file_list:
            download_file_from_google_drive(number, self._path(), name, md5)
        extract_archive(self._path("img_align_celeba.zip"))

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        picture = load_as_it_is(self._path("img_align_celeba", self.filename[index]))
        parts: list[Any] = []
        for kind in self.target_type:
            if kind not in _TARGETS:
                raise ValueError(f'Target type "{kind}" is not recognized.')
            row = getattr(self, _TARGETS[kind])[index]
            parts.append(row[0] if kind == "identity" else row)
        if self.transform is not None:
            picture = self.transform(picture)
        target: Any = None if not parts else parts[0] if len(parts) == 1 else tuple(parts)
        if parts and self.target_transform is not None:
            target = self.target_transform(target)
        return picture, target

    def __len__(self) -> int:
        return len(self.attr)

    def extra_repr(self) -> str:
        """Targets and split."""
        return f"Target type: {self.target_type}\nSplit: {self.split}"
