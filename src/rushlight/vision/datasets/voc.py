"""Pascal VOC: objects in photographs, as boxes or as masks (Everingham et al. 2010)."""

from __future__ import annotations

import os
from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from ...io.errors import CorruptFileError
from .folder import load_as_it_is, pil_loader
from .utils import download_and_extract_archive, not_found, verify_str_arg
from .vision import VisionDataset

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

# year -> folder of the archive on the server, file, MD5, where its contents lie
_YEARS = {
    "2012": ("voc2012", "VOCtrainval_11-May-2012.tar", "6cd6e144f989b92b3379bac3b3de84fd", "VOCdevkit/VOC2012"),
    "2011": ("voc2011", "VOCtrainval_25-May-2011.tar", "6c3384ef61512963050cb5d687e5bf1e", "TrainVal/VOCdevkit/VOC2011"),
    "2010": ("voc2010", "VOCtrainval_03-May-2010.tar", "da459979d0c395079b5c75ee67908abb", "VOCdevkit/VOC2010"),
    "2009": ("voc2009", "VOCtrainval_11-May-2009.tar", "a3e00b113cfcfebf17e343f59da3caa1", "VOCdevkit/VOC2009"),
    "2008": ("voc2008", "VOCtrainval_14-Jul-2008.tar", "2629fa636546599198acfcfbfcf1904a", "VOCdevkit/VOC2008"),
    "2007": ("voc2007", "VOCtrainval_06-Nov-2007.tar", "c52e279531787c972589f7e41ab4ae64", "VOCdevkit/VOC2007"),
    "2007-test": ("voc2007", "VOCtest_06-Nov-2007.tar", "b6e924de25625d8de591ea690078ad9f", "VOCdevkit/VOC2007"),
}  # fmt: skip
_SERVER = "https://thor.robots.ox.ac.uk/pascal/VOC/"


class _VOC(VisionDataset):
    """The pictures that a list names, each with a file of its target."""

    _splits = "Main"
    _targets = ("Annotations", ".xml")

    def __init__(
        self,
        root: str | PathLike[str],
        year: str = "2012",
        image_set: str = "train",
        download: bool = False,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        transforms: Callable | None = None,
    ) -> None:
        super().__init__(root, transforms, transform, target_transform)
        self.year = verify_str_arg(year, "year", [y for y in _YEARS if y != "2007-test"])
        sets = ["train", "trainval", "val", *(["test"] if year == "2007" else [])]
        self.image_set = verify_str_arg(image_set, "image_set", sets)
        place, file, md5, folder = _YEARS["2007-test" if image_set == "test" else year]
        if download:
            download_and_extract_archive(_SERVER + place + "/" + file, self.root, filename=file, md5=md5)
        base = os.path.join(self.root, *folder.split("/"))
        listed = os.path.join(base, "ImageSets", self._splits, image_set + ".txt")
        if not os.path.isfile(listed):
            raise not_found(self.root, [file], f"{listed} is missing")
        with open(listed, encoding="utf-8") as f:
            names = [line.strip() for line in f if line.strip()]
        kind, ending = self._targets
        self.images = [os.path.join(base, "JPEGImages", n + ".jpg") for n in names]
        self.targets = [os.path.join(base, kind, n + ending) for n in names]

    def __len__(self) -> int:
        return len(self.images)

    def _target(self, path: str) -> Any:
        raise NotImplementedError

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        picture, target = pil_loader(self.images[index]), self._target(self.targets[index])
        return (picture, target) if self.transforms is None else self.transforms(picture, target)


class VOCSegmentation(_VOC):
    """Pascal VOC with a mask for each picture: a PIL image of class numbers, 255 for edges.

    Args:
        root: where `VOCdevkit` lies.
        year: "2007" to "2012".
        image_set: "train", "trainval", "val", or "test" of 2007.
        download: fetch and unpack the archive.
        transform: of the picture.
        target_transform: of the mask.
        transforms: of both.

    Raises:
        RuntimeError: if the files are not there.

    Example:
        >>> from rushlight.vision.datasets import VOCSegmentation
        >>> VOCSegmentation("/nowhere")
        Traceback (most recent call last):
        RuntimeError: Dataset not found or corrupted. ...
    """

    _splits = "Segmentation"
    _targets = ("SegmentationClass", ".png")

    @property
    def masks(self) -> list[str]:
        """The files of the masks."""
        return self.targets

    def _target(self, path: str) -> Any:
        return load_as_it_is(path)


class VOCDetection(_VOC):
    """As `VOCSegmentation`, with boxes: for each picture its XML file as a dictionary."""

    @property
    def annotations(self) -> list[str]:
        """The XML files."""
        return self.targets

    def _target(self, path: str) -> Any:
        with open(path, "rb") as f:
            raw = f.read(1 << 22)
        if b"<!" in raw:  # entities can be made to grow without bounds; these files have none
            raise CorruptFileError(f"{path} has declarations, which annotations do not have")
        try:
            return self.parse_voc_xml(ElementTree.fromstring(raw))
        except ElementTree.ParseError as error:
            raise CorruptFileError(f"{path} is damaged: {error}") from None

    @staticmethod
    def parse_voc_xml(node: Element) -> dict[str, Any]:
        """An element as a dictionary; objects, and whatever is there more than once, as lists."""
        children = list(node)
        if not children:
            return {node.tag: (node.text or "").strip() or None}
        found: dict[str, list] = {}
        for child in children:
            for key, value in VOCDetection.parse_voc_xml(child).items():
                found.setdefault(key, []).append(value)
        listed = ("object",) if node.tag == "annotation" else ()
        inside = {k: v if k in listed or len(v) > 1 else v[0] for k, v in found.items()}
        return {node.tag: inside}
