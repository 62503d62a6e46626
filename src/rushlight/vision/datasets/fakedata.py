"""FakeData: random pictures, for trying things out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...operators.create.filled import empty
from ...operators.random.draws import randint
from ...operators.random.generator import get_rng_state, manual_seed, set_rng_state
from ..transforms.functional import to_pil_image
from .vision import VisionDataset


class FakeData(VisionDataset):
    """`size` pictures of normal noise with random class numbers; each index always gives the same.

    Args:
        size: how many.
        image_size: (C, H, W).
        num_classes: how many classes.
        transform, target_transform: functions of a picture and of a label.
        random_offset: added to an index, which is the seed.

    Example:
        >>> import PIL
        >>> picture, label = datasets.FakeData(10, (3, 4, 4))[0]
        >>> picture.size
        (4, 4)
    """

    def __init__(
        self,
        size: int = 1000,
        image_size: tuple[int, int, int] = (3, 224, 224),
        num_classes: int = 10,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
        random_offset: int = 0,
    ) -> None:
        super().__init__(transform=transform, target_transform=target_transform)
        self.size = size
        self.num_classes = num_classes
        self.image_size = image_size
        self.random_offset = random_offset

    def __getitem__(self, index: int) -> tuple[Any, Any]:
        if index >= len(self):
            raise IndexError(f"{type(self).__name__} index out of range")
        state = get_rng_state()
        manual_seed(index + self.random_offset)
        noise = empty(*self.image_size).normal_()
        target: Any = int(randint(0, self.num_classes, size=(1,))[0])
        set_rng_state(state)
        img = to_pil_image(noise)
        if self.transform is not None:
            img = self.transform(img)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return img, target

    def __len__(self) -> int:
        return self.size
