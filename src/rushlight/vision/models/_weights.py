"""How the tables of pretrained weights are written."""

from __future__ import annotations

from functools import partial
from typing import Any

from ..transforms._modes import InterpolationMode
from ..transforms._presets import ImageClassification
from ._api import Weights

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
        "_metrics": {"ImageNet-1K": {"acc@1": acc1}},
    }
    return Weights(_HOST + file, partial(ImageClassification, **options), meta)
