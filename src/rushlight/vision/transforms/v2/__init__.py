"""transforms.v2: transforms of whole samples: pictures, videos, masks, boxes and points together."""

from __future__ import annotations

from .._auto import AutoAugmentPolicy
from .._modes import InterpolationMode
from . import _query as _utils  # noqa: F401 - torchvision's name of it
from . import functional
from ._auto import AugMix, AutoAugment, RandAugment, TrivialAugmentWide
from ._colours import (
    RGB,
    ColorJitter,
    Grayscale,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomChannelPermutation,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomPhotometricDistort,
    RandomPosterize,
    RandomSolarize,
)
from ._containers import Compose, RandomApply, RandomChoice, RandomOrder
from ._damage import JPEG, RandomErasing
from ._kinds import (
    ClampBoundingBoxes,
    ClampKeyPoints,
    ConvertBoundingBoxFormat,
    PILToTensor,
    SetClampingMode,
    ToImage,
    ToPILImage,
    ToPureTensor,
    ToTensor,
    UniformTemporalSubsample,
)
from ._labels import SanitizeBoundingBoxes, SanitizeKeyPoints
from ._misc import (
    ConvertImageDtype,
    GaussianBlur,
    GaussianNoise,
    Identity,
    Lambda,
    LinearTransformation,
    Normalize,
    ToDtype,
)
from ._mixing import CutMix, MixUp
from ._query import check_type, get_bounding_boxes, get_keypoints, has_all, has_any, query_chw, query_size
from ._resizing import RandomResize, RandomResizedCrop, RandomShortestSize, Resize, ScaleJitter
from ._transform import Transform
from ._warping import (
    ElasticTransform,
    RandomAffine,
    RandomHorizontalFlip,
    RandomPerspective,
    RandomRotation,
    RandomVerticalFlip,
)
from ._windows import CenterCrop, FiveCrop, Pad, RandomCrop, RandomIoUCrop, RandomZoomOut, TenCrop

ConvertDtype = ConvertImageDtype  # its name when it was new

__all__ = [
    "JPEG", "RGB", "AugMix", "AutoAugment", "AutoAugmentPolicy", "CenterCrop", "ClampBoundingBoxes", "ClampKeyPoints",
    "ColorJitter", "Compose", "ConvertBoundingBoxFormat", "ConvertDtype", "ConvertImageDtype", "CutMix",
    "ElasticTransform", "FiveCrop", "GaussianBlur", "GaussianNoise", "Grayscale", "Identity", "InterpolationMode",
    "Lambda", "LinearTransformation", "MixUp", "Normalize", "PILToTensor", "Pad", "RandAugment",
    "RandomAdjustSharpness", "RandomAffine", "RandomApply", "RandomAutocontrast", "RandomChannelPermutation",
    "RandomChoice", "RandomCrop", "RandomEqualize", "RandomErasing", "RandomGrayscale", "RandomHorizontalFlip",
    "RandomInvert", "RandomIoUCrop", "RandomOrder", "RandomPerspective", "RandomPhotometricDistort",
    "RandomPosterize", "RandomResize", "RandomResizedCrop", "RandomRotation", "RandomShortestSize", "RandomSolarize",
    "RandomVerticalFlip", "RandomZoomOut", "Resize", "SanitizeBoundingBoxes", "SanitizeKeyPoints", "ScaleJitter",
    "SetClampingMode", "TenCrop", "ToDtype", "ToImage", "ToPILImage", "ToPureTensor", "ToTensor", "Transform",
    "TrivialAugmentWide", "UniformTemporalSubsample", "check_type", "functional", "get_bounding_boxes",
    "get_keypoints", "has_all", "has_any", "query_chw", "query_size",
]  # fmt: skip
