"""Datasets of images, under torchvision's names."""

from __future__ import annotations

from ...base.signatures import show_plainly
from . import utils
from ._more_mnist import EMNIST, QMNIST
from ._wrapped import wrap_dataset_for_transforms_v2
from .celeba import CelebA
from .cifar import CIFAR10, CIFAR100
from .coco import CocoCaptions, CocoDetection
from .fakedata import FakeData
from .flowers102 import Flowers102
from .folder import DatasetFolder, ImageFolder
from .food101 import Food101
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
    "CIFAR10", "CIFAR100", "EMNIST", "KMNIST", "LSUN", "MNIST", "QMNIST", "STL10", "SVHN", "USPS", "CelebA",
    "CocoCaptions", "CocoDetection", "DatasetFolder", "FakeData", "FashionMNIST", "FashionMini", "Flowers102",
    "Food101", "ImageFolder", "ImageNet", "LSUNClass", "OxfordIIITPet", "VOCDetection", "VOCSegmentation",
    "VisionDataset", "utils", "wrap_dataset_for_transforms_v2",
]  # fmt: skip

show_plainly(list(globals().values()))
del show_plainly
