"""Transforms made of other transforms, and any function as a transform."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from ...nn import Module, ModuleList
from . import _batch
from ._batch import PlannedTransform, Stage
from ._draw import rand


def _listing(name: str, transforms: Any, first: str = "") -> str:
    lines = [f"    {first}"] if first else []
    return "\n".join([f"{name}(", *lines, *[f"    {t}" for t in transforms], ")"])


class Compose:
    """Several transforms, one after the other.

    Args:
        transforms: functions.

    Example:
        >>> to_input = transforms.Compose([transforms.CenterCrop(2), transforms.Normalize([0.5], [0.5])])
        >>> to_input(torch.ones(1, 4, 4))
        tensor([[[1., 1.],
                 [1., 1.]]])
    """

    def __init__(self, transforms: Sequence[Callable]) -> None:
        self.transforms = transforms

    def __call__(self, img: Any) -> Any:
        for t in self.transforms:
            img = t(img)
        return img

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        return _batch.chain(self.transforms, stage)

    def __repr__(self) -> str:
        return _listing(type(self).__name__, self.transforms)


class Lambda:
    """Any function as a transform.

    Args:
        lambd: the function.

    Raises:
        TypeError: if it cannot be called.

    Example:
        >>> transforms.Lambda(lambda x: x * 2)(torch.tensor(3))
        tensor(6)
    """

    def __init__(self, lambd: Callable) -> None:
        if not callable(lambd):
            raise TypeError(f"Argument lambd should be callable, got {type(lambd).__name__!r}")
        self.lambd = lambd

    def __call__(self, img: Any) -> Any:
        return self.lambd(img)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class RandomTransforms:
    """What the random choices among transforms share.

    Args:
        transforms: functions.

    Example:
        >>> isinstance(transforms.RandomOrder([torch.neg]), transforms.RandomTransforms)
        True
    """

    def __init__(self, transforms: Sequence[Callable]) -> None:
        if not isinstance(transforms, Sequence):
            raise TypeError("Argument transforms should be a sequence")
        self.transforms = transforms

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError

    def __repr__(self) -> str:
        return _listing(type(self).__name__, self.transforms)


class RandomApply(Module):
    """All of the transforms with probability p, else none.

    Args:
        transforms: functions.

    Example:
        >>> transforms.RandomApply([torch.neg], p=1.0)(torch.tensor(3))
        tensor(-3)
    """

    def __init__(self, transforms: Sequence[Callable] | ModuleList, p: float = 0.5) -> None:
        super().__init__()
        self.transforms = transforms
        self.p = p

    def forward(self, img: Any) -> Any:
        if self.p < rand():
            return img
        for t in self.transforms:
            img = t(img)
        return img

    def __repr__(self) -> str:
        return _listing(type(self).__name__, self.transforms, f"p={self.p}")


class RandomOrder(RandomTransforms):
    """All of the transforms, in a random order.

    Args:
        transforms: functions.

    Example:
        >>> transforms.RandomOrder([torch.neg, torch.square])(torch.tensor(0))
        tensor(0)
    """

    def __call__(self, img: Any) -> Any:
        order = list(range(len(self.transforms)))
        random.shuffle(order)
        for i in order:
            img = self.transforms[i](img)
        return img


class RandomChoice(RandomTransforms):
    """One of the transforms, with the given weights.

    Args:
        transforms: functions.
        p: weights; all the same if not given.

    Example:
        >>> transforms.RandomChoice([torch.neg, torch.square], p=[1.0, 0.0])(torch.tensor(3))
        tensor(-3)
    """

    def __init__(self, transforms: Sequence[Callable], p: Sequence[float] | None = None) -> None:
        super().__init__(transforms)
        if p is not None and not isinstance(p, Sequence):
            raise TypeError("Argument p should be a sequence")
        self.p = p

    def __call__(self, *args: Any) -> Any:
        t = random.choices(self.transforms, weights=self.p)[0]
        return t(*args)

    def __repr__(self) -> str:
        return f"{super().__repr__()}(p={self.p})"
