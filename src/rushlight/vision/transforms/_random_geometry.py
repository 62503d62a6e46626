"""Random crops, flips, turns and holes; every draw is one PyTorch would make, in its order."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...base.arrays import Array
from ...core.tensor import Tensor
from ...nn import Module
from ...operators.create.filled import empty
from ...operators.create.from_data import tensor
from .._shown import ShownModule
from . import _batch
from . import functional as F
from ._batch import PlannedTransform, Stage
from ._draw import rand, uniform, whole
from ._geometry_tensor import ltrb
from ._modes import InterpolationMode, as_mode
from ._sometimes import ImageSometimes

if TYPE_CHECKING:
    import numpy as np

    from .._pillow import Picture


def span(x: Any, name: str, sizes: tuple[int, ...] = (2,)) -> list[float]:
    """A number x as [-x, x], or a sequence as floats."""
    if isinstance(x, numbers.Number):
        if x < 0:  # type: ignore[operator]
            raise ValueError(f"If {name} is a single number, it must be positive.")
        return [-float(x), float(x)]  # type: ignore[arg-type]
    if not isinstance(x, Sequence):
        raise TypeError(f"{name} should be a sequence of length {sizes[0]}.")
    if len(x) not in sizes:
        raise ValueError(f"{name} should be a sequence of length {' or '.join(map(str, sizes))}.")
    return [float(d) for d in x]


def _shapes(size: Sequence[int], scale: Sequence[float], ratio: Sequence[float]) -> Any:
    """Ten random pairs of sides: the areas are within `scale` of a picture's, long / short within `ratio`."""
    low, high = tensor(list(ratio)).log().tolist()
    for _ in range(10):
        area = size[0] * size[1] * uniform(scale[0], scale[1])
        aspect = empty(1).uniform_(low, high).exp().item()
        yield round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))


def drawn_window(height: int, width: int, scale: Sequence[float], ratio: Sequence[float]) -> tuple[int, int, int, int]:
    """Top, left, height and width of a random window; the largest in the middle where none fitted."""
    for w, h in _shapes((height, width), scale, ratio):
        if 0 < w <= width and 0 < h <= height:
            top = whole(height - h + 1)
            return top, whole(width - w + 1), h, w
    w, h = width, height
    if width / height < min(ratio):
        h = round(w / min(ratio))
    elif width / height > max(ratio):
        w = round(h * max(ratio))
    return (height - h) // 2, (width - w) // 2, h, w


def drawn_hole(
    channels: int, height: int, width: int, scale: Sequence[float], ratio: Sequence[float], value: Any
) -> tuple[int, int, int, int, Tensor] | None:
    """Top, left, height, width and contents of a random rectangle; None where none fitted."""
    for h, w in _shapes((height, width), scale, ratio):
        if h < height and w < width:
            noise = value is None
            v = empty([channels, h, w]).normal_() if noise else tensor(value)[:, None, None]
            top = whole(height - h + 1)
            return top, whole(width - w + 1), h, w, v
    return None


class RandomHorizontalFlip(ImageSometimes):
    """Left and right exchanged with probability p.

    Example:
        >>> transforms.RandomHorizontalFlip(p=1.0)(torch.tensor([[[1, 2]]]))
        tensor([[[2, 1]]])
    """

    def forward(self, img: Picture) -> Any:
        return F.hflip(img) if rand() < self.p else img

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        return PlannedTransform(_batch.flip_some(-1, self.p), stage, 1)


class RandomVerticalFlip(ImageSometimes):
    """Top and bottom exchanged with probability p.

    Example:
        >>> transforms.RandomVerticalFlip(p=1.0)(torch.tensor([[[1], [2]]]))
        tensor([[[2],
                 [1]]])
    """

    def forward(self, img: Picture) -> Any:
        return F.vflip(img) if rand() < self.p else img

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        return PlannedTransform(_batch.flip_some(-2, self.p), stage, 1)


class RandomCrop(ShownModule):
    """A window at a random place, after padding.

    Args:
        size: (height, width), or one number for a square.
        padding: a rim around the picture first, as in `Pad`.
        pad_if_needed: widen pictures that are too small.
        fill: the colour of the rim.
        padding_mode: as in `Pad`.

    Raises:
        ValueError: if the picture is smaller.

    Example:
        >>> transforms.RandomCrop(32, padding=4)(torch.zeros(3, 32, 32)).shape
        torch.Size([3, 32, 32])
    """

    _shows = ("size", "padding")

    def __init__(
        self,
        size: int | Sequence[int],
        padding: int | Sequence[int] | None = None,
        pad_if_needed: bool = False,
        fill: float | Sequence[float] | None = 0,
        padding_mode: str = "constant",
    ) -> None:
        super().__init__()
        self.size = F.pair(size)
        self.padding = padding
        self.pad_if_needed = pad_if_needed
        self.fill = fill
        self.padding_mode = padding_mode

    @staticmethod
    def get_params(img: Picture, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Top, left, height and width of the window."""
        _, h, w = F.get_dimensions(img)
        th, tw = output_size
        if h < th or w < tw:
            raise ValueError(f"Required crop size {(th, tw)} is larger than input image size {(h, w)}")
        if w == tw and h == th:
            return 0, 0, h, w
        top = whole(h - th + 1)
        return top, whole(w - tw + 1), th, tw

    def _rims(self, height: int, width: int) -> list[list[int]]:
        """The paddings to apply in turn: the one asked for, then what is missing."""
        rims = []
        if self.padding is not None:
            rims.append(ltrb(self.padding))
            width += rims[0][0] + rims[0][2]
            height += rims[0][1] + rims[0][3]
        if self.pad_if_needed and width < self.size[1]:
            rims.append([self.size[1] - width, 0, self.size[1] - width, 0])
        if self.pad_if_needed and height < self.size[0]:
            rims.append([0, self.size[0] - height, 0, self.size[0] - height])
        return rims

    def forward(self, img: Picture) -> Any:
        for rim in self._rims(*F.get_dimensions(img)[1:]):
            img = F.pad(img, rim, self.fill, self.padding_mode)
        return F.crop(img, *self.get_params(img, self.size))

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        steps = []
        for rim in self._rims(*stage.shape[1:]):
            step = _batch.rim(stage, rim, self.fill, self.padding_mode)
            if step is None:
                return None
            steps.append(step)
            stage = step.after
        _, h, w = stage.shape
        th, tw = self.size
        if h < th or w < tw:
            return None  # the error is raised by the way one by one
        if (h, w) != (th, tw):
            steps.append(_batch.random_windows(stage, th, tw))
            stage = steps[-1].after

        def run(x: Array, words: np.ndarray) -> Any:
            for step in steps:
                x = step.run(x, words)
            return x

        return PlannedTransform(run, stage, steps[-1].words if steps else 0)


class RandomResizedCrop(Module):
    """A window of random area, shape and place, resized.

    Args:
        size: (height, width), or one number for a square.
        scale: limits of the area, as parts of the picture's.
        ratio: limits of width / height.
        interpolation: an `InterpolationMode`.
        antialias: average over the pixels that become one.

    Example:
        >>> transforms.RandomResizedCrop(8)(torch.zeros(3, 32, 32)).shape
        torch.Size([3, 8, 8])
    """

    def __init__(
        self,
        size: int | Sequence[int],
        scale: Sequence[float] = (0.08, 1.0),
        ratio: Sequence[float] = (3.0 / 4.0, 4.0 / 3.0),
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        antialias: bool | None = True,
    ) -> None:
        super().__init__()
        self.size = F.pair(size)
        if not isinstance(scale, Sequence):
            raise TypeError("Scale should be a sequence")
        if not isinstance(ratio, Sequence):
            raise TypeError("Ratio should be a sequence")
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            warnings.warn("Scale and ratio should be of kind (min, max)")
        self.interpolation = as_mode(interpolation)
        self.antialias = antialias
        self.scale = scale
        self.ratio = ratio

    @staticmethod
    def get_params(img: Picture, scale: Sequence[float], ratio: Sequence[float]) -> tuple[int, int, int, int]:
        """Top, left, height and width of the window."""
        _, height, width = F.get_dimensions(img)
        return drawn_window(height, width, scale, ratio)

    def forward(self, img: Picture) -> Any:
        window = self.get_params(img, self.scale, self.ratio)
        return F.resized_crop(img, *window, self.size, self.interpolation, antialias=self.antialias)

    def __repr__(self) -> str:
        scale = tuple(round(s, 4) for s in self.scale)
        ratio = tuple(round(r, 4) for r in self.ratio)
        return (
            f"{type(self).__name__}(size={self.size}, scale={scale}, ratio={ratio}, "
            f"interpolation={self.interpolation.value}, antialias={self.antialias})"
        )


def colour_of(fill: Any) -> Any:
    """A colour to fill with that was asked for; 0 for None."""
    if fill is not None and not isinstance(fill, (Sequence, numbers.Number)):
        raise TypeError("Fill should be either a sequence or a number.")
    return 0 if fill is None else fill


class RandomRotation(Module):
    """Turned by a random angle.

    Args:
        degrees: a number, for angles of [-degrees, degrees]; or the two limits.
        interpolation: an `InterpolationMode`.
        expand: make the picture as large as needed.
        center: (x, y) that stays in its place; the middle if not given.
        fill: the colour of the corners.

    Example:
        >>> transforms.RandomRotation(30)(torch.zeros(3, 32, 32)).shape
        torch.Size([3, 32, 32])
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: float | Sequence[float] | None = 0,
    ) -> None:
        super().__init__()
        self.degrees = span(degrees, "degrees")
        if center is not None and len(center) != 2:
            raise ValueError("center should be a sequence of length 2.")
        self.center = center
        self.interpolation = as_mode(interpolation)
        self.expand = expand
        self.fill = colour_of(fill)

    @staticmethod
    def get_params(degrees: Sequence[float]) -> float:
        """The angle."""
        return float(uniform(float(degrees[0]), float(degrees[1])))

    def forward(self, img: Picture) -> Any:
        fill = _fill_for(img, self.fill)
        angle = self.get_params(self.degrees)
        return F.rotate(img, angle, self.interpolation, self.expand, self.center, fill)

    def __repr__(self) -> str:
        said = f"degrees={self.degrees}, interpolation={self.interpolation.value}"
        said += f", expand={self.expand}"
        said += "" if self.center is None else f", center={self.center}"
        said += "" if self.fill is None else f", fill={self.fill}"
        return f"{type(self).__name__}({said})"


def _fill_for(img: Picture, fill: Any) -> Any:
    """One number per channel for a tensor image."""
    if not isinstance(img, Tensor):
        return fill
    if isinstance(fill, (int, float)):
        return [float(fill)] * F.get_dimensions(img)[0]
    return [float(f) for f in fill]


class RandomErasing(ShownModule):
    """A random rectangle of a tensor image replaced, with probability p.

    Args:
        scale: limits of the area, as parts of the picture's.
        ratio: limits of height / width.
        value: a number, one for each channel, or "random".
        inplace: change the picture itself.

    Example:
        >>> bool((transforms.RandomErasing(p=1.0)(torch.ones(3, 32, 32)) == 0).any())
        True
    """

    _shows = ("p", "scale", "ratio", "value", "inplace")

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0,
        inplace: bool = False,
    ) -> None:
        super().__init__()
        if not isinstance(value, (numbers.Number, str, tuple, list)):
            raise TypeError("Argument value should be either a number or str or a sequence")
        if isinstance(value, str) and value != "random":
            raise ValueError("If value is str, it should be 'random'")
        if not isinstance(scale, Sequence):
            raise TypeError("Scale should be a sequence")
        if not isinstance(ratio, Sequence):
            raise TypeError("Ratio should be a sequence")
        if scale[0] > scale[1] or ratio[0] > ratio[1]:
            warnings.warn("Scale and ratio should be of kind (min, max)")
        if scale[0] < 0 or scale[1] > 1:
            raise ValueError("Scale should be between 0 and 1")
        if p < 0 or p > 1:
            raise ValueError("Random erasing probability should be between 0 and 1")
        self.p = p
        self.scale = scale
        self.ratio = ratio
        self.value = value
        self.inplace = inplace

    @staticmethod
    def get_params(
        img: Tensor, scale: Sequence[float], ratio: Sequence[float], value: Any = None
    ) -> tuple[int, int, int, int, Tensor]:
        """Top, left, height, width and contents of the rectangle."""
        c, height, width = img.shape[-3], img.shape[-2], img.shape[-1]
        return drawn_hole(c, height, width, scale, ratio, value) or (0, 0, height, width, img)

    def forward(self, img: Tensor) -> Tensor:
        if not rand() < self.p:
            return img
        value: Any = [float(self.value)] if isinstance(self.value, (int, float)) else self.value
        value = None if value == "random" else list(value)
        if value is not None and len(value) not in (1, img.shape[-3]):
            raise ValueError(
                "If value is a sequence, it should have either a single value or "
                f"{img.shape[-3]} (number of input channels)"
            )
        x, y, h, w, v = self.get_params(img, self.scale, self.ratio, value)
        return F.erase(img, x, y, h, w, v, self.inplace)
