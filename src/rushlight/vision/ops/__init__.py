"""Building blocks of models and functions of boxes, under torchvision's names."""

from __future__ import annotations

from . import boxes, misc
from .boxes import (
    batched_nms,
    box_area,
    box_convert,
    box_iou,
    clip_boxes_to_image,
    generalized_box_iou,
    nms,
    remove_small_boxes,
)
from .misc import (
    MLP,
    Conv2dNormActivation,
    Conv3dNormActivation,
    FrozenBatchNorm2d,
    Permute,
    SqueezeExcitation,
)
from .roi_pool import RoIPool, roi_pool
from .stochastic_depth import StochasticDepth, stochastic_depth

__all__ = [
    "MLP", "Conv2dNormActivation", "Conv3dNormActivation", "FrozenBatchNorm2d", "Permute",
    "RoIPool", "SqueezeExcitation", "StochasticDepth", "batched_nms", "box_area", "box_convert",
    "box_iou", "boxes", "clip_boxes_to_image", "generalized_box_iou", "misc", "nms",
    "remove_small_boxes", "roi_pool", "stochastic_depth",
]  # fmt: skip
