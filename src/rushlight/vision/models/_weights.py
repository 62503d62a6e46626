"""How the tables of pretrained weights are written."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..transforms._modes import InterpolationMode
from ..transforms._presets import ImageClassification, ObjectDetection, SemanticSegmentation
from ._api import Weights
from ._meta import categories

_HOST = "https://download.pytorch.org/models/"


def imagenet(
    file: str,
    num_params: int,
    acc1: float,
    *,
    resize_size: int = 256,
    crop_size: int = 224,
    min_size: tuple[int, int] = (1, 1),
    interpolation: InterpolationMode = InterpolationMode.BILINEAR,
) -> Weights:
    """Weights trained on ImageNet-1K, for pictures resized and cropped in the middle."""
    options: dict[str, Any] = {"crop_size": crop_size}
    if resize_size != 256:
        options["resize_size"] = resize_size
    if interpolation is not InterpolationMode.BILINEAR:
        options["interpolation"] = interpolation
    meta = {
        "num_params": num_params,
        "min_size": min_size,
        "categories": categories("imagenet"),
        "_metrics": {"ImageNet-1K": {"acc@1": acc1}},
    }
    return Weights(_HOST + file, partial(ImageClassification, **options), meta)


def features_only(file: str, num_params: int) -> Weights:
    """VGG's convolutions as they were trained with Caffe: mean colours are subtracted, nothing is scaled."""
    preset = partial(
        ImageClassification,
        crop_size=224,
        mean=(0.48235, 0.45882, 0.40784),
        std=(1.0 / 255.0, 1.0 / 255.0, 1.0 / 255.0),
    )
    meta = {
        "num_params": num_params,
        "min_size": (32, 32),
        "categories": None,
        "_metrics": {"ImageNet-1K": {"acc@1": float("nan"), "acc@5": float("nan")}},
    }
    return Weights(_HOST + file, preset, meta)


def coco(
    file: str, num_params: int, box_map: float, classes: str = "coco", **more: float
) -> Weights:
    """Weights trained on COCO to find objects; `more` are other figures of quality."""
    meta: dict[str, Any] = {
        "num_params": num_params,
        "min_size": (1, 1),
        "categories": categories(classes),
        "_metrics": {"COCO-val2017": {"box_map": box_map, **more}},
    }
    if classes == "coco_person":
        meta["keypoint_names"] = categories("coco_keypoints")
    return Weights(_HOST + file, ObjectDetection, meta)


def voc(file: str, num_params: int, miou: float, pixel_acc: float) -> Weights:
    """Weights trained on COCO to tell apart the classes of Pascal VOC, pixel by pixel."""
    meta = {
        "num_params": num_params,
        "min_size": (1, 1),
        "categories": categories("voc"),
        "_metrics": {"COCO-val2017-VOC-labels": {"miou": miou, "pixel_acc": pixel_acc}},
    }
    return Weights(_HOST + file, partial(SemanticSegmentation, resize_size=520), meta)
