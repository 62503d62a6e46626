"""The names of the classes that published weights answer with."""

from __future__ import annotations

from importlib.resources import files


def _read_lists() -> dict[str, list[str]]:
    text = files("rushlight.vision").joinpath("embedded/categories.txt").read_text("utf-8")
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.startswith("# "):
            names = found.setdefault(line[2:], [])
        else:
            names.append(line)
    return found


_LISTS = _read_lists()


def categories(name: str) -> list[str]:
    """The names of one list: "imagenet", "coco", "coco_person", "coco_keypoints" or "voc"."""
    return _LISTS[name]


# torchvision's names of these lists.
_IMAGENET_CATEGORIES = categories("imagenet")
_COCO_CATEGORIES = categories("coco")
_COCO_PERSON_CATEGORIES = categories("coco_person")
_COCO_PERSON_KEYPOINT_NAMES = categories("coco_keypoints")
_VOC_CATEGORIES = categories("voc")
