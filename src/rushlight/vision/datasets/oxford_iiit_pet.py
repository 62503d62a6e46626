"""Oxford-IIIT Pet: 37 breeds of cats and dogs, with masks (Parkhi et al. 2012)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from os import PathLike
from typing import Any

from .folder import load_as_it_is, pil_loader
from .utils import download_and_extract_archive, not_found, verify_str_arg
from .vision import VisionDataset

_SERVER = "https://www.robots.ox.ac.uk/~vgg/data/pets/data/"
_FILES = (
    ("images.tar.gz", "5c4f3ee8e5d25df40f4fd59a7f44e54c"),
    ("annotations.tar.gz", "95a8c909bbe2e81eed6a22bccdf3f68f"),
)


class OxfordIIITPet(VisionDataset):
    """Pictures of pets with their breed, whether it is a cat or a dog, or a mask.

    Args:
        root: the folder that holds `oxford-iiit-pet`.
        split: "trainval" or "test".
        target_types: "category", "binary-category" or "segmentation", or several of them.
        transforms: of picture and target.
        transform: of the picture.
        target_transform: of the target.
        download: fetch and unpack the archives.

    Raises:
        RuntimeError: if the files are not there.

    Example:
        >>> from rushlight.vision.datasets import OxfordIIITPet
        >>> OxfordIIITPet("/nowhere")
        Traceback (most recent call last):
        RuntimeError: Dataset not found. You can use download=True to download it. ...
    """

    def __init__(
        self,
        root: str | PathLike[str],
        split: str = "trainval",
        target_types: Sequence[str] | str = "category",
        transforms: Callable | None = None,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        download: bool = False,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self._split = verify_str_arg(split, "split", ("trainval", "test"))
        kinds = [target_types] if isinstance(target_types, str) else list(target_types)
        known = ("category", "binary-category", "segmentation")
        self._target_types = [verify_str_arg(k, "target_types", known) for k in kinds]
        base = os.path.join(self.root, "oxford-iiit-pet")
        if download:
            for file, md5 in _FILES:
                download_and_extract_archive(_SERVER + file, base, filename=file, md5=md5)
        listed = os.path.join(base, "annotations", split + ".txt")
        if not os.path.isfile(listed) or not os.path.isdir(os.path.join(base, "images")):
            raise not_found(base, [file for file, _ in _FILES], state="not found")
        with open(listed, encoding="utf-8") as f:
            rows = [line.split() for line in f if line.strip()]
        names = [row[0] for row in rows]
        self._labels = [int(row[1]) - 1 for row in rows]
        self._bin_labels = [int(row[2]) - 1 for row in rows]
        breeds = {label: name.rsplit("_", 1)[0] for name, label in zip(names, self._labels)}
        self.classes = [" ".join(part.title() for part in breeds[label].split("_")) for label in sorted(breeds)]
        self.bin_classes = ["Cat", "Dog"]
        self.class_to_idx = dict(zip(self.classes, range(len(self.classes))))
        self.bin_class_to_idx = {"Cat": 0, "Dog": 1}
        self._images = [os.path.join(base, "images", n + ".jpg") for n in names]
        self._segs = [os.path.join(base, "annotations", "trimaps", n + ".png") for n in names]

    def __len__(self) -> int:
        return len(self._images)

    def _target(self, index: int, kind: str) -> Any:
        if kind == "category":
            return self._labels[index]
        if kind == "binary-category":
            return self._bin_labels[index]
        return load_as_it_is(self._segs[index])

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        picture = pil_loader(self._images[index])
        parts = [self._target(index, kind) for kind in self._target_types]
        target: Any = None if not parts else parts[0] if len(parts) == 1 else tuple(parts)
        return (picture, target) if self.transforms is None else self.transforms(picture, target)
