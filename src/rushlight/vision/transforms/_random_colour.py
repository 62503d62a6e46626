"""Random colours and blurs; every draw is one PyTorch would make, in its order."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...core.tensor import Tensor
from ...operators.random.draws import randperm
from .._shown import ShownModule
from . import functional as F
from ._draw import rand, uniform
from ._sometimes import ImageSometimes

if TYPE_CHECKING:
    from .._pillow import Picture


class ColorJitter(ShownModule):
    """Brightness, contrast, saturation and hue changed at random, in a random order.

    Args:
        brightness, contrast, saturation: a number x, for factors of [1 - x, 1 + x]; or the two limits.
        hue: a number up to 0.5, or two limits of [-0.5, 0.5].

    Example:
        >>> transforms.ColorJitter(0.5, hue=0.1)(torch.zeros(3, 32, 32, dtype=torch.uint8)).shape
        torch.Size([3, 32, 32])
    """

    _shows = ("brightness", "contrast", "saturation", "hue")

    def __init__(
        self,
        brightness: float | Sequence[float] = 0,
        contrast: float | Sequence[float] = 0,
        saturation: float | Sequence[float] = 0,
        hue: float | Sequence[float] = 0,
    ) -> None:
        super().__init__()
        self.brightness = self._range(brightness, "brightness")
        self.contrast = self._range(contrast, "contrast")
        self.saturation = self._range(saturation, "saturation")
        self.hue = self._range(hue, "hue", center=0, bound=(-0.5, 0.5), clip=False)

    @staticmethod
    def _range(
        value: Any, name: str, center: float = 1, bound: tuple[float, float] = (0, float("inf")), clip: bool = True
    ) -> Any:
        """A strength as the range of factors; None for one that changes nothing."""
        if isinstance(value, numbers.Number):
            if value < 0:  # type: ignore[operator]
                raise ValueError(f"If {name} is a single number, it must be non negative.")
            found = [center - float(value), center + float(value)]  # type: ignore[arg-type]
            if clip:
                found[0] = max(found[0], 0.0)
        elif isinstance(value, (tuple, list)) and len(value) == 2:
            found = [float(value[0]), float(value[1])]
        else:
            raise TypeError(f"{name} should be a single number or a list/tuple with length 2.")
        if not bound[0] <= found[0] <= found[1] <= bound[1]:
            raise ValueError(f"{name} values should be between {bound}, but got {found}.")
        return None if found[0] == found[1] == center else tuple(found)

    @staticmethod
    def get_params(
        brightness: Any, contrast: Any, saturation: Any, hue: Any
    ) -> tuple[Tensor, float | None, float | None, float | None, float | None]:
        """The order of the four changes, and their factors."""
        order = randperm(4)
        ranges = (brightness, contrast, saturation, hue)
        b, c, s, h = (None if r is None else float(uniform(r[0], r[1])) for r in ranges)
        return order, b, c, s, h

    def forward(self, img: Picture) -> Any:
        order, *factors = self.get_params(self.brightness, self.contrast, self.saturation, self.hue)
        changes = (F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue)
        for k in order.tolist():
            if factors[k] is not None:
                img = changes[k](img, factors[k])
        return img


class RandomGrayscale(ImageSometimes):
    """Without colour, with probability p.

    Example:
        >>> transforms.RandomGrayscale(p=1.0)(torch.zeros(3, 32, 32)).shape
        torch.Size([3, 32, 32])
    """

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p)

    def forward(self, img: Picture) -> Any:
        channels = F.get_dimensions(img)[0]
        if rand() < self.p:
            return F.rgb_to_grayscale(img, num_output_channels=channels)
        return img


class GaussianBlur(ShownModule):
    """Blurred with a Gaussian of random width.

    Args:
        kernel_size: odd; (height, width), or one number for a square.
        sigma: a number, or limits to draw it from.

    Example:
        >>> transforms.GaussianBlur(3)(torch.ones(1, 2, 2))
        tensor([[[1.0000, 1.0000],
                 [1.0000, 1.0000]]])
    """

    _shows = ("kernel_size", "sigma")

    def __init__(self, kernel_size: int | Sequence[int], sigma: Any = (0.1, 2.0)) -> None:
        super().__init__()
        self.kernel_size = F.pair(kernel_size)
        if any(k <= 0 or k % 2 == 0 for k in self.kernel_size):
            raise ValueError("Kernel size value should be an odd and positive number.")
        if isinstance(sigma, numbers.Number):
            if sigma <= 0:  # type: ignore[operator]
                raise ValueError("If sigma is a single number, it must be positive.")
            sigma = (sigma, sigma)
        elif isinstance(sigma, Sequence) and len(sigma) == 2:
            if not 0.0 < sigma[0] <= sigma[1]:
                raise ValueError(f"sigma values should be positive and of the form (min, max). Got {sigma}")
        else:
            raise TypeError(f"sigma should be a number or a sequence of numbers. Got {type(sigma)}")
        self.sigma = sigma

    @staticmethod
    def get_params(sigma_min: float, sigma_max: float) -> float:
        """The width of this time's Gaussian."""
        return uniform(sigma_min, sigma_max)

    def forward(self, img: Any) -> Any:
        sigma = self.get_params(self.sigma[0], self.sigma[1])
        return F.gaussian_blur(img, self.kernel_size, [sigma, sigma])


class RandomInvert(ImageSometimes):
    """The negative, with probability p.

    Example:
        >>> transforms.RandomInvert(p=1.0)(torch.tensor([[[0.0, 0.25]]]))
        tensor([[[1.0000, 0.7500]]])
    """

    _functional = F.invert


class RandomAutocontrast(ImageSometimes):
    """Every channel stretched over the whole range, with probability p.

    Example:
        >>> transforms.RandomAutocontrast(p=1.0)(torch.tensor([[[0.25, 0.75]]]))
        tensor([[[0., 1.]]])
    """

    _functional = F.autocontrast


class RandomEqualize(ImageSometimes):
    """Every channel with an even histogram, with probability p.

    Raises:
        TypeError: if a tensor is not of uint8.

    Example:
        >>> transforms.RandomEqualize(p=1.0)(torch.zeros(3, 32, 32, dtype=torch.uint8)).shape
        torch.Size([3, 32, 32])
    """

    _functional = F.equalize


class RandomPosterize(ImageSometimes):
    """Only the highest bits kept, with probability p.

    Args:
        bits: 0 to 8.

    Example:
        >>> transforms.RandomPosterize(1, p=1.0)(torch.tensor([[[100, 200]]], dtype=torch.uint8))
        tensor([[[  0, 128]]], dtype=torch.uint8)
    """

    _functional, _given = F.posterize, ("bits",)

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p)
        self.bits = bits


class RandomSolarize(ImageSometimes):
    """The bright parts inverted, with probability p.

    Args:
        threshold: what counts as bright.

    Example:
        >>> transforms.RandomSolarize(0.5, p=1.0)(torch.tensor([[[0.25, 0.75]]]))
        tensor([[[0.2500, 0.2500]]])
    """

    _functional, _given = F.solarize, ("threshold",)

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.threshold = threshold


class RandomAdjustSharpness(ImageSometimes):
    """Sharper or softer, with probability p.

    Args:
        sharpness_factor: 0 is blurred, 1 the image, 2 sharper.

    Example:
        >>> transforms.RandomAdjustSharpness(2, p=1.0)(torch.zeros(3, 32, 32)).shape
        torch.Size([3, 32, 32])
    """

    _functional, _given = F.adjust_sharpness, ("sharpness_factor",)

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p)
        self.sharpness_factor = sharpness_factor
