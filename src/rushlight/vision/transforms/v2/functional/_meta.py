"""Formats of boxes, one function for each pair of them, by torchvision's name of the module."""

from __future__ import annotations

from functools import partial

from ....tv_tensors import BoundingBoxFormat as Format
from ._boxes import converted
from ._registry import pil_kernel as __getattr__  # noqa: F401 - by torchvision's names

_xyxy_to_xywh = partial(converted, old=Format.XYXY, new=Format.XYWH)
_xyxy_to_cxcywh = partial(converted, old=Format.XYXY, new=Format.CXCYWH)
_xywh_to_xyxy = partial(converted, old=Format.XYWH, new=Format.XYXY)
_xywh_to_cxcywh = partial(converted, old=Format.XYWH, new=Format.CXCYWH)
_cxcywh_to_xyxy = partial(converted, old=Format.CXCYWH, new=Format.XYXY)
_cxcywh_to_xywh = partial(converted, old=Format.CXCYWH, new=Format.XYWH)
