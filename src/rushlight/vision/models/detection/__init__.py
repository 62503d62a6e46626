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
    places,
    retinanet,
    roi_heads,
    rpn,
    ssd,
    ssdlite,
    transform,
)

_FAMILIES = (faster_rcnn, fcos, keypoint_rcnn, mask_rcnn, places, retinanet, ssd, ssdlite)
__all__ = [name for family in _FAMILIES for name in family.__all__]  # noqa: PLE0604
for _family in _FAMILIES:
    globals().update({_name: getattr(_family, _name) for _name in _family.__all__})
