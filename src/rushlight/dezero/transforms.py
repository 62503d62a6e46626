"""Transforms of pictures and arrays; those of arrays work on whole batches as well."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..base.arrays import Array
from .cuda import get_array_module
from .utils import pair

# A transform with a method `batched(array)` does to the rows of a batch what a call does to one
# example. A DataLoader uses it to make a batch by one array operation instead of a hundred.


def batched(transform: Any) -> Callable[[Any], Any] | None:
    """The form of a transform that takes a batch; None when it has none. None itself changes nothing."""
    if transform is None:
        return lambda array: array
    if isinstance(transform, Compose):
        steps = [batched(t) for t in transform.transforms]
        return None if None in steps else _chain(steps)
    # A subclass with a call of its own means something else.
    known = _BATCHED.get(type(transform).__call__)
    return None if known is None else lambda array: known(transform, array)


def _chain(steps: list[Any]) -> Callable[[Any], Any]:
    def run(array: Any) -> Any:
        for step in steps:
            array = step(array)
        return array

    return run


class Compose:
    """Several transforms, one after the other."""

    def __init__(self, transforms: Iterable[Callable[..., Any]] = ()) -> None:
        self.transforms = list(transforms)

    def __call__(self, img: Any) -> Any:
        for t in self.transforms:
            img = t(img)
        return img


# -- of PIL pictures ------------------------------------------------------------------------------


class Convert:
    """A picture in another mode; "BGR" is RGB with red and blue exchanged."""

    def __init__(self, mode: str = "RGB") -> None:
        self.mode = mode

    def __call__(self, img: Any) -> Any:
        if self.mode != "BGR":
            return img.convert(self.mode)
        from PIL import Image

        r, g, b = img.convert("RGB").split()
        return Image.merge("RGB", (b, g, r))


class Resize:
    """A picture in another size (a number or (width, height)); `mode` is PIL's resampling."""

    def __init__(self, size: int | tuple[int, int], mode: int = 2) -> None:
        self.size = pair(size)
        self.mode = mode

    def __call__(self, img: Any) -> Any:
        return img.resize(self.size, self.mode)


class CenterCrop:
    """The middle of a picture."""

    def __init__(self, size: int | tuple[int, int]) -> None:
        self.size = pair(size)

    def __call__(self, img: Any) -> Any:
        (width, height), (w, h) = img.size, self.size
        left, top = (width - w) // 2, (height - h) // 2
        return img.crop((left, top, left + w, top + h))


class ToArray:
    """A picture as an array, channels first; arrays stay as they are."""

    def __init__(self, dtype: np.typing.DTypeLike = np.float32) -> None:
        self.dtype = dtype

    def __call__(self, img: Any) -> Any:
        if isinstance(img, np.ndarray):
            return img
        a = np.asarray(img)
        a = a[None] if a.ndim == 2 else a.transpose(2, 0, 1)
        return a.astype(self.dtype)


class ToPIL:
    """An array, channels first, as a picture."""

    def __call__(self, array: Any) -> Any:
        from PIL import Image

        a = np.asarray(array).transpose(1, 2, 0)
        return Image.fromarray(a[:, :, 0] if a.shape[2] == 1 else a)


class RandomHorizontalFlip:
    """Every other picture or array, by chance, with left and right exchanged."""

    def __call__(self, img: Any) -> Any:
        if np.random.rand() < 0.5:
            return img
        if isinstance(img, np.ndarray):
            return img[..., ::-1]
        from PIL import ImageOps

        return ImageOps.mirror(img)


# -- of arrays ------------------------------------------------------------------------------------


class Normalize:
    """(array - mean) / std; with several numbers, one for each channel (axis 0)."""

    def __init__(self, mean: float | Sequence[float] = 0, std: float | Sequence[float] = 1) -> None:
        self.mean = mean
        self.std = std

    def __call__(self, array: Any) -> Any:
        return self._scaled(array, 0)

    def _scaled(self, array: Array, channel: int) -> Any:
        mean, std = (self._number(v, array, channel) for v in (self.mean, self.std))
        if np.isscalar(mean) and mean == 0:  # a copy less
            return array / std
        return (array - mean) / std

    def _number(self, value: Any, array: Any, channel: int) -> Any:
        """A value that does not widen the array, one for each channel if it has several."""
        if np.isscalar(value):
            return value if array.dtype.kind != "f" else array.dtype.type(value)
        shape = [1] * array.ndim
        shape[channel] = -1
        kind = array.dtype if array.dtype.kind == "f" else None
        return get_array_module(array).asarray(value, dtype=kind).reshape(shape)


class Flatten:
    """An array as a vector."""

    def __call__(self, array: Any) -> Any:
        return array.flatten()


class AsType:
    """An array in another dtype."""

    def __init__(self, dtype: np.typing.DTypeLike = np.float32) -> None:
        self.dtype = dtype

    def __call__(self, array: Any) -> Any:
        return array.astype(self.dtype)


ToFloat = AsType


class ToInt(AsType):
    """An array of integers."""

    def __init__(self, dtype: np.typing.DTypeLike = int) -> None:
        super().__init__(dtype)


_BATCHED: dict[Any, Callable[[Any, Any], Any]] = {
    Normalize.__call__: lambda t, a: t._scaled(a, 1),
    Flatten.__call__: lambda t, a: a.reshape(len(a), -1),
    AsType.__call__: lambda t, a: a.astype(t.dtype),
}
