"""`torchvision.transforms.autoaugment`: augmentation by drawn operations, by torchvision's name of the module."""

from ._auto import AugMix, AutoAugment, AutoAugmentPolicy, RandAugment, TrivialAugmentWide

__all__ = ["AugMix", "AutoAugment", "AutoAugmentPolicy", "RandAugment", "TrivialAugmentWide"]
