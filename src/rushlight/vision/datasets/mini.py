"""FashionMini: a balanced part of Fashion-MNIST that comes with the package."""

from __future__ import annotations

import lzma
from collections.abc import Callable
from functools import cache
from importlib.resources import files

import numpy as np

from ...core.tensor import Tensor
from ...operators.create.from_data import from_numpy
from ._arrays import ArrayDataset
from .mnist import FashionMNIST

TRAIN_PER_CLASS = 1200
TEST_PER_CLASS = 300
_CLASSES = 10


@cache
def _pictures() -> np.ndarray:
    """All pictures, (classes, pictures of a class, 28, 28); those of the test come last."""
    packed = (files("rushlight.vision") / "embedded" / "fashion-mini.xz").read_bytes()
    flat = np.frombuffer(lzma.decompress(packed), np.uint8)
    return flat.reshape(_CLASSES, TRAIN_PER_CLASS + TEST_PER_CLASS, 28, 28)


class FashionMini(ArrayDataset):
    """15,000 pictures of Fashion-MNIST: of each class the first 1,200 for training, 300 for the test.

    Needs neither a download nor a folder. The classes take turns: picture i shows class i % 10.

    Args:
        train: the pictures for training, or those for the test.
        transform, target_transform: functions of a picture and of a label.

    Example:
        >>> data = datasets.FashionMini(train=False)
        >>> len(data), data.data.shape, data.classes[data.targets[0]]
        (3000, torch.Size([3000, 28, 28]), 'T-shirt/top')
    """

    classes = FashionMNIST.classes
    data: Tensor
    targets: Tensor

    def __init__(
        self, train: bool = True, transform: Callable | None = None, target_transform: Callable | None = None
    ) -> None:
        super().__init__(None, transform=transform, target_transform=target_transform)
        self.train = train
        by_class = _pictures()
        part = by_class[:, :TRAIN_PER_CLASS] if train else by_class[:, TRAIN_PER_CLASS:]
        self.data = from_numpy(np.array(part.swapaxes(0, 1)).reshape(-1, 28, 28))
        self.targets = from_numpy(np.arange(len(self.data), dtype=np.int64) % _CLASSES)

    @property
    def class_to_idx(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.classes)}
