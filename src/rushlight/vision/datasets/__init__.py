"""Datasets of images, under torchvision's names."""

from __future__ import annotations

from . import utils
from .cifar import CIFAR10, CIFAR100
from .fakedata import FakeData
from .folder import DatasetFolder, ImageFolder
from .mini import FashionMini
from .mnist import KMNIST, MNIST, FashionMNIST
from .vision import VisionDataset

__all__ = [
    "CIFAR10", "CIFAR100", "KMNIST", "MNIST", "DatasetFolder", "FakeData", "FashionMNIST",
    "FashionMini", "ImageFolder", "VisionDataset", "utils",
]  # fmt: skip
