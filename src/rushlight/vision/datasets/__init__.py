"""Datasets of images, under torchvision's names."""

from __future__ import annotations

from typing import Any

from ...base.errors import NotYet
from ...base.signatures import show_plainly
from . import utils
from ._listed import (
    DTD,
    GTSRB,
    SUN397,
    Caltech256,
    CLEVRClassification,
    Country211,
    EuroSAT,
    FGVCAircraft,
    Food101,
    Imagenette,
    Omniglot,
    RenderedSST2,
    StanfordCars,
)
from ._more_mnist import EMNIST, QMNIST
from ._wrapped import wrap_dataset_for_transforms_v2
from .celeba import CelebA
from .cifar import CIFAR10, CIFAR100
from .coco import CocoCaptions, CocoDetection
from .fakedata import FakeData
from .flowers102 import Flowers102
from .folder import DatasetFolder, ImageFolder
from .imagenet import ImageNet
from .lsun import LSUN, LSUNClass
from .mini import FashionMini
from .mnist import KMNIST, MNIST, FashionMNIST
from .oxford_iiit_pet import OxfordIIITPet
from .stl10 import STL10
from .svhn import SVHN
from .usps import USPS
from .vision import VisionDataset
from .voc import VOCDetection, VOCSegmentation

__all__ = [
    "CIFAR10", "CIFAR100", "DTD", "EMNIST", "GTSRB", "KMNIST", "LSUN", "MNIST", "QMNIST", "STL10", "SUN397", "SVHN", "USPS",
    "CLEVRClassification", "Caltech256", "CelebA", "CocoCaptions", "CocoDetection", "Country211", "DatasetFolder",
    "EuroSAT", "FGVCAircraft", "FakeData", "FashionMNIST", "FashionMini", "Flowers102", "Food101", "ImageFolder",
    "ImageNet", "Imagenette", "LSUNClass", "Omniglot", "OxfordIIITPet", "RenderedSST2", "StanfordCars", "VOCDetection",
    "VOCSegmentation", "VisionDataset", "utils", "wrap_dataset_for_transforms_v2",
]  # fmt: skip

show_plainly(list(globals().values()))
del show_plainly


def _missing(name: str) -> type:
    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise NotYet(f"datasets.{name}")

    return type(name, (VisionDataset,), {"__init__": refuse, "__module__": __name__})


# torchvision's others: programs may name them; making one says what is missing.
_NOT_YET = {
    name: _missing(name)
    for name in (
        "CREStereo Caltech101 CarlaStereo Cityscapes ETH3DStereo FER2013 FallingThingsStereo Flickr30k Flickr8k FlyingChairs "
        "FlyingThings3D HD1K HMDB51 INaturalist InStereo2k Kinetics Kitti Kitti2012Stereo Kitti2015Stereo KittiFlow LFWPairs "
        "LFWPeople Middlebury2014Stereo MovingMNIST PCAM PhotoTour Places365 SBDataset SBU SEMEION SceneFlowStereo Sintel "
        "SintelStereo UCF101 WIDERFace"
    ).split()
}


def __getattr__(name: str) -> Any:
    if name not in _NOT_YET:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _NOT_YET[name]
