"""`torchvision.transforms.autoaugment`: augmentation by drawn operations, by torchvision's name of the module."""

from ._auto import AugMix, AutoAugment, AutoAugmentPolicy, RandAugment, TrivialAugmentWide
from ._auto import apply_op as _apply_op  # noqa: F401 - libraries take it from here

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]
