"""VisionDataset: a folder, transforms, and the printed form that image datasets share."""

from __future__ import annotations

import os
from collections.abc import Callable
from os import PathLike
from typing import Any

from ...data import Dataset


class VisionDataset(Dataset):
    """A dataset with a root folder and transforms; subclasses write `__getitem__` and `__len__`.

    Args:
        transforms: a function of a sample and its label; or
        transform, target_transform: functions of a picture and of a label.

    Raises:
        ValueError: if both kinds of transforms are given.

    Example:
        >>> class Ones(datasets.VisionDataset):
        ...     def __len__(self):
        ...         return 3
        ...     def __getitem__(self, index):
        ...         return torch.ones(2)
        >>> Ones()
        Dataset Ones
            Number of datapoints: 3
    """

    _repr_indent = 4

    def __init__(
        self,
        root: str | PathLike[str] | None = None,
        transforms: Callable | None = None,
        transform: Callable | None = None,
        target_transform: Callable | None = None,
    ) -> None:
        self.root: Any = os.path.expanduser(root) if isinstance(root, str) else root
        if transforms is not None and (transform is not None or target_transform is not None):
            raise ValueError("Only transforms or transform/target_transform can be passed as argument")
        self.transform = transform
        self.target_transform = target_transform
        if transform is not None or target_transform is not None:
            transforms = StandardTransform(transform, target_transform)
        self.transforms = transforms

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError

    def __len__(self) -> int:
        raise NotImplementedError

    def __repr__(self) -> str:
        body = [f"Number of datapoints: {len(self)}"]
        if self.root is not None:
            body.append(f"Root location: {self.root}")
        body += self.extra_repr().splitlines()
        if getattr(self, "transforms", None) is not None:
            body += [repr(self.transforms)]
        return "\n".join([f"Dataset {type(self).__name__}", *[" " * self._repr_indent + b for b in body]])

    def extra_repr(self) -> str:
        """More lines of the printed form."""
        return ""


class Published(VisionDataset):
    """What published datasets share: how many samples, the transforms of one, the split in the printed form."""

    _counted = "data"  # the attribute that has an entry for each sample
    split: str

    def __len__(self) -> int:
        return len(getattr(self, self._counted))

    def _sample(self, picture: Any, target: Any) -> tuple[Any, Any]:
        return (picture, target) if self.transforms is None else self.transforms(picture, target)

    def extra_repr(self) -> str:
        """The split."""
        return f"Split: {self.split}"


class StandardTransform:
    """One transform for the picture, one for the target."""

    def __init__(self, transform: Callable | None = None, target_transform: Callable | None = None) -> None:
        self.transform = transform
        self.target_transform = target_transform

    def __call__(self, input: Any, target: Any) -> tuple[Any, Any]:
        if self.transform is not None:
            input = self.transform(input)
        if self.target_transform is not None:
            target = self.target_transform(target)
        return input, target

    def _lines(self, transform: Callable, head: str) -> list[str]:
        first, *others = repr(transform).splitlines()
        return [f"{head}{first}", *[" " * len(head) + line for line in others]]

    def __repr__(self) -> str:
        body = [type(self).__name__]
        if self.transform is not None:
            body += self._lines(self.transform, "Transform: ")
        if self.target_transform is not None:
            body += self._lines(self.target_transform, "Target transform: ")
        return "\n".join(body)
