"""COCO: objects and captions of photographs, from its JSON files (Lin et al. 2014)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any

from ...io.errors import CorruptFileError
from .folder import pil_loader
from .vision import VisionDataset


class _Index:
    """What a file of annotations holds, by its numbers, under the names of COCO's own tool."""

    def __init__(self, path: str | PathLike[str]) -> None:
        if not os.path.isfile(path):
            raise FileNotFoundError(
                f"there is no file of annotations {os.path.abspath(path)}; COCO's are published at "
                "https://cocodataset.org"
            )
        try:
            with open(path, encoding="utf-8") as f:
                self.dataset = json.load(f)
            self.imgs = {row["id"]: row for row in self.dataset["images"]}
            self.anns = {row["id"]: row for row in self.dataset.get("annotations", [])}
            self.cats = {row["id"]: row for row in self.dataset.get("categories", [])}
            self.imgToAnns: dict[Any, list] = {key: [] for key in self.imgs}
            for row in self.anns.values():
                self.imgToAnns.setdefault(row["image_id"], []).append(row)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CorruptFileError(f"{path} is no file of COCO's annotations: {error!r}") from None

    def getAnnIds(self, imgIds: Any = ()) -> list[int]:
        """The numbers of the annotations of one picture or several."""
        wanted: Iterable = imgIds if isinstance(imgIds, (list, tuple)) else [imgIds]
        return [row["id"] for key in wanted for row in self.imgToAnns.get(key, [])]

    def loadAnns(self, ids: Any = ()) -> list[dict]:
        """Annotations by their numbers."""
        return [self.anns[i] for i in (ids if isinstance(ids, (list, tuple)) else [ids])]

    def loadImgs(self, ids: Any = ()) -> list[dict]:
        """Facts about pictures by their numbers."""
        return [self.imgs[i] for i in (ids if isinstance(ids, (list, tuple)) else [ids])]

    def loadCats(self, ids: Any = ()) -> list[dict]:
        """Classes by their numbers."""
        return [self.cats[i] for i in (ids if isinstance(ids, (list, tuple)) else [ids])]


class CocoDetection(VisionDataset):
    """Pictures with the list of what COCO's file says about each.

    Args:
        root: the folder of the pictures.
        annFile: the JSON file of the annotations.
        transform: of the picture.
        target_transform: of the list.
        transforms: of both.

    Raises:
        FileNotFoundError: if the JSON file is not there.

    Example:
        >>> from rushlight.vision.datasets import CocoDetection
        >>> CocoDetection("pictures", "/nowhere.json")
        Traceback (most recent call last):
        FileNotFoundError: there is no file of annotations /nowhere.json; ...
    """

    def __init__(
        self,
        root: str | PathLike[str],
        annFile: str | PathLike[str],
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        transforms: Callable | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.coco = _Index(annFile)
        self.ids = sorted(self.coco.imgs)

    def _load_image(self, id: int) -> Any:
        return pil_loader(os.path.join(self.root, self.coco.loadImgs(id)[0]["file_name"]))

    def _load_target(self, id: int) -> Any:
        return self.coco.loadAnns(self.coco.getAnnIds(id))

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if not isinstance(index, int):
            raise ValueError(f"Index must be of type integer, got {type(index)} instead.")
        key = self.ids[index]
        picture, target = self._load_image(key), self._load_target(key)
        return (picture, target) if self.transforms is None else self.transforms(picture, target)

    def __len__(self) -> int:
        return len(self.ids)


class CocoCaptions(CocoDetection):
    """As `CocoDetection`, but with a picture's captions, a list of sentences."""

    def _load_target(self, id: int) -> Any:
        return [row["caption"] for row in super()._load_target(id)]
