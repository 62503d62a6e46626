"""transforms.transforms: every transform class, gathered from where they are written."""

from __future__ import annotations

from ._auto import AugMix, AutoAugment, AutoAugmentPolicy, RandAugment, TrivialAugmentWide
from ._containers import Compose, Lambda, RandomApply, RandomChoice, RandomOrder, RandomTransforms
from ._fixed import (
    CenterCrop,
    ConvertImageDtype,
    FiveCrop,
    Grayscale,
    LinearTransformation,
    Normalize,
    Pad,
    PILToTensor,
    Resize,
    TenCrop,
    ToPILImage,
    ToTensor,
)
from ._modes import InterpolationMode
from ._random_colour import (
    ColorJitter,
    GaussianBlur,
    RandomAdjustSharpness,
    RandomAutocontrast,
    RandomEqualize,
    RandomGrayscale,
    RandomInvert,
    RandomPosterize,
    RandomSolarize,
)
from ._random_geometry import (
    RandomCrop,
    RandomErasing,
    RandomHorizontalFlip,
    RandomResizedCrop,
    RandomRotation,
    RandomVerticalFlip,
)
from ._random_warp import ElasticTransform, RandomAffine, RandomPerspective

__all__ = [
    "AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide",
    "CenterCrop", "ColorJitter", "Compose", "ConvertImageDtype", "ElasticTransform", "FiveCrop", "GaussianBlur",
    "Grayscale", "InterpolationMode", "Lambda", "LinearTransformation", "Normalize", "PILToTensor",
    "Pad", "RandomAdjustSharpness", "RandomAffine", "RandomApply", "RandomAutocontrast",
    "RandomChoice", "RandomCrop", "RandomEqualize", "RandomErasing", "RandomGrayscale",
    "RandomHorizontalFlip", "RandomInvert", "RandomOrder", "RandomPerspective", "RandomPosterize",
    "RandomResizedCrop", "RandomRotation", "RandomSolarize", "RandomTransforms",
    "RandomVerticalFlip", "Resize", "TenCrop", "ToPILImage", "ToTensor",
]  # fmt: skip
