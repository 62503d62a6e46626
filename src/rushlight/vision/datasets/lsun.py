"""LSUN: millions of pictures of ten kinds of scenes, in LMDB files (Yu et al. 2015)."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from itertools import accumulate
from os import PathLike
from typing import Any

from ...io.errors import CorruptFileError
from .._pillow import open_picture
from .utils import verify_str_arg
from .vision import VisionDataset

_SCENES = (
    "bedroom", "bridge", "church_outdoor", "classroom", "conference_room", "dining_room", "kitchen", "living_room",
    "restaurant", "tower",
)  # fmt: skip
_PARTS = ("train", "val", "test")


class LSUNClass(VisionDataset):
    """The pictures of one LMDB folder; the package `lmdb` reads them.

    Args:
        root: the folder.
        transform: of the picture.
        target_transform: of the target, which is None.

    Raises:
        RuntimeError: if the folder holds no LMDB file.

    Example:
        >>> from rushlight.vision.datasets import LSUNClass, VisionDataset
        >>> issubclass(LSUNClass, VisionDataset)
        True
    """

    def __init__(
        self, root: str | PathLike[str], transform: Callable | None = None, target_transform: Callable | None = None
    ) -> None:
        import lmdb

        super().__init__(root, transform=transform, target_transform=target_transform)
        try:
            self.env = lmdb.open(os.fspath(root), max_readers=1, readonly=True, lock=False, readahead=False, meminit=False)  # fmt: skip
            with self.env.begin(write=False) as txn:
                # The keys are read anew each time; torchvision writes them to a pickle in the current folder.
                self.keys = list(txn.cursor().iternext(keys=True, values=False))
        except lmdb.Error as error:
            raise CorruptFileError(f"{root} is not an LMDB folder: {error}") from None
        self.length = len(self.keys)

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        with self.env.begin(write=False) as txn:
            raw = txn.get(self.keys[index])
        picture: Any = open_picture(io.BytesIO(raw)).convert("RGB")
        if self.transform is not None:
            picture = self.transform(picture)
        target = None if self.target_transform is None else self.target_transform(None)
        return picture, target

    def __len__(self) -> int:
        return self.length


class LSUN(VisionDataset):
    """Pictures of scenes; the class is the place of the scene in `classes`.

    Args:
        root: the folder that holds `bedroom_train_lmdb` and its kind.
        classes: "train", "val" or "test" for all scenes, or names such as ["bedroom_train", "church_outdoor_train"].
        transform: of the picture.
        target_transform: of the class number.

    Raises:
        ValueError: if a class is unknown.

    Example:
        >>> from rushlight.vision.datasets import LSUN
        >>> LSUN("/nowhere", classes=["garden_train"])
        Traceback (most recent call last):
        ValueError: Unknown value 'garden' for LSUN class. Valid values are {'bedroom', ...
    """

    def __init__(
        self,
        root: str | PathLike[str],
        classes: str | list[str] = "train",
        transform: Callable | None = None,
        target_transform: Callable | None = None,
    ) -> None:
        super().__init__(root, transform=transform, target_transform=target_transform)
        self.classes = self._verify_classes(classes)
        folders = [os.path.join(root, f"{name}_lmdb") for name in self.classes]
        self.dbs = [LSUNClass(folder, transform=transform) for folder in folders]
        self.indices = list(accumulate(len(db) for db in self.dbs))
        self.length = self.indices[-1] if self.indices else 0

    def _verify_classes(self, classes: Any) -> list[str]:
        if isinstance(classes, str) and classes in _PARTS:
            return ["test"] if classes == "test" else [f"{scene}_{classes}" for scene in _SCENES]
        if not isinstance(classes, Iterable):
            raise ValueError(f"Expected type str or Iterable for argument classes, but got type {type(classes)}.")
        names = list(classes)
        for name in names:
            if not isinstance(name, str):
                raise ValueError(f"Expected type str for elements in argument classes, but got type {type(name)}.")
            scene, _, part = name.rpartition("_")
            for value, what, known in ((scene, "LSUN class", _SCENES), (part, "postfix", _PARTS)):
                listed = ", ".join(f"'{k}'" for k in known)
                said = f"Unknown value '{value}' for {what}. Valid values are {{{listed}}}."
                verify_str_arg(value, valid_values=known, custom_msg=said)
        return names

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        target: Any = next(i for i, end in enumerate(self.indices) if index < end)
        picture, _ = self.dbs[target][index - (self.indices[target - 1] if target else 0)]
        return picture, target if self.target_transform is None else self.target_transform(target)

    def __len__(self) -> int:
        return self.length

    def extra_repr(self) -> str:
        """The classes."""
        return f"Classes: {self.classes}"
