"""Folders of pictures with a folder of masks, or of files about each picture, beside them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ..errors import UsageError
from ..tasks.masks import Mask, Masks
from ..words import counted
from .files import Listing, Sample, folders_in, walk
from .pictures import ENDINGS, read_mask
from .table import PARTS

# What folders of pictures, and of their masks, are called; and what the names of masks end in besides.
_IMAGES = ("images", "image", "imgs", "img", "pictures", "photos", "jpegimages")
_MASKS = ("masks", "mask", "labels", "annotations", "segmentation", "segmentations", "segmentationclass", "trimaps", "gt")  # fmt: skip
_MORE = ("_mask", "-mask", "_label", "_segmentation", "_seg", "_gt")
MOST_VALUES = 64
Pairs = list[tuple[str, str, str]]


def pairs(path: str, folders: list[str]) -> Pairs:
    """Folders of pictures, of what goes with each, and their part: of the data set itself, or of train, val and test."""
    found = []
    for inner in ("", *(name for name in folders if name.lower() in PARTS)):
        here = os.path.join(path, inner)
        names = folders if not inner else folders_in(here)
        mine = [[n for n in names if n.lower() in kinds] for kinds in (_IMAGES, _MASKS)]
        if all(len(one) == 1 for one in mine) and (inner or len(names) == 2):
            found.append((*(os.path.join(here, one[0]) for one in mine), PARTS.get(inner.lower(), "")))
    return found  # type: ignore[return-value]


def _key(path: str, root: str) -> str:
    """What a picture and its mask share: the name without its ending and without what masks are called besides."""
    inside = os.path.splitext(os.path.relpath(path, root))[0]
    return next((inside.removesuffix(more) for more in _MORE if inside.endswith(more)), inside)


def with_masks(path: str, pairs: Pairs) -> Listing:
    """Pictures and their masks, by name; what values mean is in classes.txt, a name a line, or is the values."""
    found, alone, others = [], 0, []
    for images, masks, part in pairs:
        of = {_key(p, masks): p for p in walk(masks) if p.lower().endswith(ENDINGS)}
        for picture in walk(images):
            if not picture.lower().endswith(ENDINGS):
                others.append(picture)
            elif (key := _key(picture, images)) in of:
                found.append((picture, of[key], part or part_inside(picture, images)))
            else:
                alone += 1
    if not found:
        raise UsageError(f"--data {path}: no picture has a mask of the same name")
    with ThreadPoolExecutor() as pool:
        read = list(pool.map(_values, [mask for _, mask, _ in found]))
    values = sorted({v for seen, _ in read for v in seen})
    notes = [f"{counted(alone, 'picture')} without a mask of the same name: left out."] if alone else []
    if len(values) > 2 and 255 in values:
        values.remove(255)
        notes.append("Pixels of the value 255 are not asked for: by custom they are borders.")
    if len(values) > MOST_VALUES:
        raise UsageError(f"--data {path}: the masks have {len(values)} values, and {MOST_VALUES} are the most: save them "
                         "without loss (PNG), a number for each class")  # fmt: skip
    if len(values) < 2:
        why = first_of(why for _, why in read)
        raise UsageError(f"--data {path}: no mask has two values{why}: there is nothing to learn")
    classes = {value: i for i, value in enumerate(values)}
    samples = [Sample(picture, Mask(mask, seen, classes, why), part)
               for (picture, mask, part), (seen, why) in zip(found, read)]  # fmt: skip
    return Listing(path, samples, _names(path, values), "folders of pictures and masks", others, tuple(notes), Masks.kind)  # fmt: skip


def first_of(reasons: Iterable[str]) -> str:
    """The first reason for which something was left out, in brackets; nothing where nothing was."""
    return next((f" (the first left out: {why})" for why in reasons if why), "")


def part_inside(path: str, root: str) -> str:
    """The part that the first folder on the way to a file is called by."""
    return PARTS.get(os.path.relpath(path, root).partition(os.sep)[0].lower(), "")


def _values(path: str) -> tuple[tuple[int, ...], str]:
    """The values of a mask, or why it cannot be read."""
    try:
        values = tuple(np.unique(read_mask(path)).tolist())
        if len(values) > 2 and path.lower().endswith((".jpg", ".jpeg")):
            return (), f"{path} is a JPEG file, which changes the numbers of pixels: save masks as PNG"
        return values, ""
    except UsageError as error:
        return (), error.sentence()


def _names(path: str, values: list[int]) -> list[str]:
    try:
        with open(os.path.join(path, "classes.txt"), encoding="utf-8-sig") as f:
            names = [line.strip() for line in f]
    except (OSError, UnicodeDecodeError):
        return ["background", "object"] if values in ([0, 1], [0, 255]) else [str(v) for v in values]
    if len(names) <= values[-1] or not all(names[v] for v in values) or len({names[v] for v in values}) < len(values):
        raise UsageError(f"--data {path}: classes.txt needs a name of its own for every value up to {values[-1]}, a line each")  # fmt: skip
    return [names[v] for v in values]
