"""Models that find objects, under torchvision's names."""

from __future__ import annotations

from . import (  # noqa: F401 - submodules are reached as attributes
    _utils,
    anchor_utils,
    backbone_utils,
    faster_rcnn,
    fcos,
    generalized_rcnn,
    image_list,
    keypoint_rcnn,
    mask_rcnn,
    retinanet,
    roi_heads,
    rpn,
    ssd,
    ssdlite,
    transform,
)

__all__: list[str] = []
for _family in (faster_rcnn, fcos, keypoint_rcnn, mask_rcnn, retinanet, ssd, ssdlite):
    globals().update({_name: getattr(_family, _name) for _name in _family.__all__})
    __all__ += _family.__all__
