"""wrap_dataset_for_transforms_v2: samples of a dataset as `tv_tensors`, for transforms of the second generation."""

from __future__ import annotations

from collections.abc import Callable, Collection
from copy import copy
from typing import Any

from ...operators.create.from_data import from_numpy, tensor
from ...operators.shape.join import stack
from .. import tv_tensors
from ._arrays import ArrayDataset
from .celeba import CelebA
from .coco import CocoCaptions, CocoDetection
from .folder import DatasetFolder
from .oxford_iiit_pet import OxfordIIITPet
from .vision import VisionDataset
from .voc import VOCDetection, VOCSegmentation

Sample = tuple[Any, Any]
Wrap = Callable[[int, Sample], Sample]
_VOC = (
    "__background__ aeroplane bicycle bird boat bottle bus car cat chair cow diningtable dog horse motorbike person "
    "pottedplant sheep sofa train tvmonitor"
).split()


def wrap_dataset_for_transforms_v2(dataset: VisionDataset, target_keys: Any = None) -> Any:
    """A dataset whose samples say what they are, so that `transforms.v2` change boxes and masks with the picture.

    `CocoDetection` gives a dictionary with `image_id`, `boxes` and `labels`, `VOCDetection` one with `boxes` and
    `labels`; masks of `VOCSegmentation` and `OxfordIIITPet`, and boxes of `CelebA` are `tv_tensors`. Datasets of
    classes stay as they are. The result is an instance of the dataset's class, too.

    Args:
        dataset: the dataset; its own transforms are applied after the wrapping.
        target_keys: what a dictionary holds: some keys, or "all".

    Raises:
        TypeError: if there is no rule for this kind of dataset.

    Example:
        >>> data = datasets.wrap_dataset_for_transforms_v2(datasets.FashionMini(train=False))
        >>> isinstance(data, datasets.FashionMini), len(data)
        (True, 3000)
    """
    strings = isinstance(target_keys, Collection) and all(isinstance(k, str) for k in target_keys)
    if not (target_keys is None or target_keys == "all" or strings):
        raise ValueError(
            "`target_keys` can be None, 'all', or a collection of strings denoting the keys to be returned, "
            f"but got {target_keys}"
        )
    cls = type(f"Wrapped{type(dataset).__name__}", (_Wrapped, type(dataset)), {})
    return cls(dataset, target_keys)


class _Wrapped:
    """In front of a dataset's class; the dataset itself is kept beside, without its transforms."""

    def __init__(self, dataset: VisionDataset, target_keys: Any) -> None:
        wrap = _rule_for(dataset, target_keys)
        self._dataset, self._target_keys, self._wrapper = dataset, target_keys, wrap
        for name in ("transform", "target_transform", "transforms"):
            setattr(self, name, getattr(dataset, name))
            setattr(dataset, name, None)

    def __getattr__(self, item: str) -> Any:
        if item == "_dataset":  # while it is unpickled
            raise AttributeError(item)
        return getattr(self._dataset, item)

    def __getitem__(self, idx: int) -> Any:
        sample = self._wrapper(idx, self._dataset[idx])
        transforms = self.__dict__["transforms"]
        return sample if transforms is None else transforms(*sample)

    def __len__(self) -> int:
        return len(self._dataset)

    def __reduce__(self) -> Any:
        dataset = copy(self._dataset)
        for name in ("transform", "target_transform", "transforms"):
            setattr(dataset, name, self.__dict__[name])
        return wrap_dataset_for_transforms_v2, (dataset, self._target_keys)


def _rule_for(dataset: VisionDataset, target_keys: Any) -> Wrap:
    if not isinstance(dataset, VisionDataset):
        raise TypeError(
            "This wrapper is meant for subclasses of `torchvision.datasets.VisionDataset`, "
            f"but got a '{type(dataset).__name__}' instead."
        )
    rules: dict[type, Callable[[Any, Any], Wrap]] = {
        CocoCaptions: _same, ArrayDataset: _same, DatasetFolder: _same, VOCSegmentation: _segmentation,
        CocoDetection: _coco, VOCDetection: _voc, CelebA: _celeba, OxfordIIITPet: _pets,
    }  # fmt: skip
    found = next((cls for cls in type(dataset).__mro__ if cls in rules), None)
    if found is None:
        raise TypeError(
            f"No wrapper exists for dataset class {type(dataset).__name__}. Please wrap the output yourself."
        )
    if target_keys is not None and found not in (CocoDetection, VOCDetection):
        raise ValueError(
            "`target_keys` is currently only supported for `CocoDetection`, `VOCDetection`, `Kitti`, "
            f"and `WIDERFace`, but got {found.__name__}."
        )
    return rules[found](dataset, target_keys)


def _keys(wanted: Any, available: set[str], default: set[str]) -> set[str]:
    if wanted == "all":
        return available
    chosen = default if wanted is None else set(wanted)
    if chosen - available:
        raise ValueError(f"Target keys {sorted(chosen - available)} are not available")
    return chosen


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """A list of dictionaries as a dictionary of lists."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        for key, value in row.items():
            found.setdefault(key, []).append(value)
    return found


def _corners(boxes: Any, size: tuple[int, int]) -> Any:
    """Boxes by corner and size as boxes by two corners."""
    from ..transforms.v2.functional import convert_bounding_box_format

    given = tv_tensors.BoundingBoxes(boxes, format="XYWH", canvas_size=size)
    return convert_bounding_box_format(given, new_format="XYXY")


def _same(dataset: VisionDataset, target_keys: Any) -> Wrap:
    return lambda idx, sample: sample


def _segmentation(dataset: VisionDataset, target_keys: Any) -> Wrap:
    return lambda idx, sample: (sample[0], tv_tensors.Mask(sample[1]))


def _coco_mask(segmentation: Any, size: tuple[int, int]) -> Any:
    from pycocotools import mask

    if isinstance(segmentation, list):
        packed = mask.merge(mask.frPyObjects(segmentation, *size))
    elif not isinstance(segmentation, dict):
        raise ValueError(f"COCO segmentation expected to be a dict or a list, got {type(segmentation)}")
    else:
        plain = isinstance(segmentation["counts"], str)
        packed = segmentation if plain else mask.frPyObjects(segmentation, *size)
    return from_numpy(mask.decode(packed))


def _coco(dataset: Any, target_keys: Any) -> Wrap:
    native = {"segmentation", "area", "iscrowd", "image_id", "bbox", "category_id"}
    keys = _keys(target_keys, native | {"boxes", "masks", "labels"}, {"image_id", "boxes", "labels"})

    def wrap(idx: int, sample: Sample) -> Sample:
        image, rows = sample
        number = dataset.ids[idx]
        if not rows:
            return image, {"image_id": number}
        size, columns = (image.height, image.width), _columns(rows)
        made = {
            "image_id": lambda: number,
            "boxes": lambda: _corners(columns["bbox"], size),
            "masks": lambda: tv_tensors.Mask(stack([_coco_mask(s, size) for s in columns["segmentation"]])),
            "labels": lambda: tensor(columns["category_id"]),
        }
        target = {key: make() for key, make in made.items() if key in keys}
        return image, target | {key: columns[key] for key in keys - made.keys()}

    return wrap


def _voc(dataset: VisionDataset, target_keys: Any) -> Wrap:
    keys = _keys(target_keys, {"annotation", "boxes", "labels"}, {"boxes", "labels"})

    def wrap(idx: int, sample: Sample) -> Sample:
        image, target = sample
        columns = _columns(target["annotation"]["object"])
        made = dict(target) if "annotation" in keys else {}
        if "boxes" in keys:
            sides = ("xmin", "ymin", "xmax", "ymax")
            rows = [[int(box[side]) for side in sides] for box in columns["bndbox"]]
            size = (image.height, image.width)
            made["boxes"] = tv_tensors.BoundingBoxes(rows, format="XYXY", canvas_size=size)
        if "labels" in keys:
            made["labels"] = tensor([_VOC.index(name) for name in columns["name"]])
        return image, made

    return wrap


def _by_type(target: Any, kinds: list[str], wrapped: str, wrap: Callable[[Any], Any]) -> Any:
    """The parts of a target, those of one kind wrapped."""
    parts = target if isinstance(target, (tuple, list)) else [target]
    made = [wrap(part) if kind == wrapped else part for kind, part in zip(kinds, parts)]
    return made[0] if len(made) == 1 else tuple(made)


def _celeba(dataset: Any, target_keys: Any) -> Wrap:
    if {"attr", "landmarks"} & set(dataset.target_type):
        raise RuntimeError(
            "`CelebA` dataset with `target_type=['attr', 'landmarks', ...]` is currently not supported by this wrapper."
        )

    def wrap(idx: int, sample: Sample) -> Sample:
        image, target = sample
        size = (image.height, image.width)
        kinds = dataset.target_type
        return image, _by_type(target, kinds, "bbox", lambda box: _corners(box, size))

    return wrap


def _pets(dataset: Any, target_keys: Any) -> Wrap:
    def wrap(idx: int, sample: Sample) -> Sample:
        image, target = sample
        if target is None:
            return image, target
        return image, _by_type(target, dataset._target_types, "segmentation", tv_tensors.Mask)

    return wrap
