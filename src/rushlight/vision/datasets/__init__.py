"""Datasets of images, under torchvision's names."""

from __future__ import annotations

from . import utils
from .cifar import CIFAR10, CIFAR100
from .coco import CocoCaptions, CocoDetection
from .fakedata import FakeData
from .folder import DatasetFolder, ImageFolder
from .food101 import Food101
from .mini import FashionMini
from .mnist import KMNIST, MNIST, FashionMNIST
from .oxford_iiit_pet import OxfordIIITPet
from .stl10 import STL10
from .usps import USPS
from .vision import VisionDataset
from .voc import VOCDetection, VOCSegmentation

__all__ = [
    "CIFAR10", "CIFAR100", "KMNIST", "MNIST", "STL10", "USPS", "CocoCaptions", "CocoDetection", "DatasetFolder",
    "FakeData", "FashionMNIST", "FashionMini", "Food101", "ImageFolder", "OxfordIIITPet", "VOCDetection",
    "VOCSegmentation", "VisionDataset", "utils",
]  # fmt: skip
