"""Random affine and perspective maps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...base import dtypes
from ...core.tensor import Tensor
from ...nn import Module
from ...operators.create.filled import empty
from ...operators.random.draws import randint
from ...operators.shape.join import cat
from .._shown import ShownModule
from . import functional as F
from ._draw import rand, uniform
from ._modes import InterpolationMode, as_mode
from ._random_geometry import _fill_for, colour_of, span

if TYPE_CHECKING:
    from .._pillow import Picture


class ElasticTransform(ShownModule):
    """Move pixels by smooth random shifts, as if the image lay under moving water.

    Args:
        alpha: how far pixels move, to the right and down, in pixels, about; one number or two.
        sigma: how smooth the shifts are; one number or two.
        interpolation: an `InterpolationMode`.
        fill: the colour of places outside.

    Example:
        >>> transforms.ElasticTransform(alpha=0.0, sigma=0.25)(torch.ones(1, 3, 3)).sum()
        tensor(9.)
    """

    _shows = ("alpha", "sigma", "interpolation", "fill")

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        fill: Any = 0,
    ) -> None:
        super().__init__()
        self.alpha, self.sigma = _two(alpha, "alpha"), _two(sigma, "sigma")
        self.interpolation = interpolation
        if not isinstance(fill, (int, float, list, tuple)):
            raise TypeError(f"fill should be int or float or a list or tuple of them. Got {type(fill)}")
        self.fill = [float(v) for v in fill] if isinstance(fill, (list, tuple)) else [float(fill)]

    @staticmethod
    def get_params(alpha: list[float], sigma: list[float], size: list[int]) -> Tensor:
        """Random shifts of every pixel, (1, H, W, 2).

        Args:
            alpha: how far, to the right and down.
            sigma: how smooth.
            size: height and width.
        """
        parts = []
        for strength, smooth, length in zip(alpha, sigma, reversed(size)):
            drawn = empty([1, 1, *size]).uniform_() * 2 - 1
            if smooth > 0.0:
                kernel = int(8 * smooth + 1) | 1  # odd
                drawn = F.gaussian_blur(drawn, [kernel, kernel], list(sigma))
            parts.append(drawn * strength / length)
        return cat(parts, 1).permute(0, 2, 3, 1).to(dtypes.float32)

    def forward(self, tensor: Picture) -> Any:
        _, height, width = F.get_dimensions(tensor)
        shifts = self.get_params(self.alpha, self.sigma, [height, width])
        return F.elastic_transform(tensor, shifts, self.interpolation, self.fill)


def _two(value: float | Sequence[float], name: str) -> list[float]:
    if isinstance(value, (list, tuple)):
        if len(value) not in (1, 2):
            raise ValueError(f"{name} is a sequence its length should be 2. Got {len(value)}")
        if not all(isinstance(v, (int, float)) for v in value):
            raise TypeError(f"{name} should be a sequence of floats. Got {[type(v) for v in value]}")
        return [float(v) for v in (value if len(value) == 2 else [value[0]] * 2)]
    if not isinstance(value, (int, float)):
        raise TypeError(f"{name} should be float or a sequence of floats. Got {type(value)}")
    return [float(value), float(value)]


def _pair_of(x: Any, name: str) -> Any:
    if not isinstance(x, Sequence):
        raise TypeError(f"{name} should be a sequence of length 2.")
    if len(x) != 2:
        raise ValueError(f"{name} should be a sequence of length 2.")
    return x


class RandomAffine(Module):
    """Turned, shifted, scaled and sheared at random, the centre kept in its place.

    Args:
        degrees: a number, for angles of [-degrees, degrees]; or the two limits.
        translate: the largest shift, as parts of (width, height).
        scale: limits of the factor.
        shear: limits of the angle, or two and two for x and y.
        interpolation: an `InterpolationMode`.
        fill: the colour of what was outside.
        center: (x, y) that stays in its place; the middle if not given.

    Example:
        >>> transforms.RandomAffine(10, translate=(0.1, 0.1))(torch.zeros(3, 32, 32)).shape
        torch.Size([3, 32, 32])
    """

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
        fill: float | Sequence[float] | None = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.interpolation = as_mode(interpolation)
        self.degrees = span(degrees, "degrees")
        if translate is not None:
            for t in _pair_of(translate, "translate"):
                if not 0.0 <= t <= 1.0:
                    raise ValueError("translation values should be between 0 and 1")
        self.translate = translate
        if scale is not None:
            for s in _pair_of(scale, "scale"):
                if s <= 0:
                    raise ValueError("scale values should be positive")
        self.scale = scale
        self.shear = None if shear is None else span(shear, "shear", (2, 4))
        self.fill = colour_of(fill)
        self.center = None if center is None else _pair_of(center, "center")

    @staticmethod
    def get_params(
        degrees: Sequence[float],
        translate: Sequence[float] | None,
        scale_ranges: Sequence[float] | None,
        shears: Sequence[float] | None,
        img_size: Sequence[int],
    ) -> tuple[float, tuple[int, int], float, tuple[float, float]]:
        """Angle, shift, scale and shears; `img_size` is (width, height)."""
        angle = float(uniform(float(degrees[0]), float(degrees[1])))
        shift = (0, 0)
        if translate is not None:
            far = [float(t * s) for t, s in zip(translate, img_size)]
            across = round(uniform(-far[0], far[0]))
            shift = (across, round(uniform(-far[1], far[1])))
        scale = 1.0 if scale_ranges is None else float(uniform(scale_ranges[0], scale_ranges[1]))
        shear_x = shear_y = 0.0
        if shears is not None:
            shear_x = float(uniform(shears[0], shears[1]))
            if len(shears) == 4:
                shear_y = float(uniform(shears[2], shears[3]))
        return angle, shift, scale, (shear_x, shear_y)

    def forward(self, img: Picture) -> Any:
        fill = _fill_for(img, self.fill)
        _, height, width = F.get_dimensions(img)
        ranges = (self.degrees, self.translate, self.scale, self.shear)
        found = self.get_params(*ranges, [width, height])
        return F.affine(img, *found, interpolation=self.interpolation, fill=fill, center=self.center)

    def __repr__(self) -> str:
        said = f"degrees={self.degrees}"
        said += "" if self.translate is None else f", translate={self.translate}"
        said += "" if self.scale is None else f", scale={self.scale}"
        said += "" if self.shear is None else f", shear={self.shear}"
        if self.interpolation != InterpolationMode.NEAREST:
            said += f", interpolation={self.interpolation.value}"
        said += "" if self.fill == 0 else f", fill={self.fill}"
        said += "" if self.center is None else f", center={self.center}"
        return f"{type(self).__name__}({said})"


class RandomPerspective(ShownModule):
    """Seen from a random side, with probability p.

    Args:
        distortion_scale: 0 to 1: how far the corners move.
        interpolation: an `InterpolationMode`.
        fill: the colour of what was outside.

    Example:
        >>> transforms.RandomPerspective(p=1.0)(torch.zeros(3, 32, 32)).shape
        torch.Size([3, 32, 32])
    """

    _shows = ("p",)

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
        fill: float | Sequence[float] | None = 0,
    ) -> None:
        super().__init__()
        self.p = p
        self.interpolation = as_mode(interpolation)
        self.distortion_scale = distortion_scale
        self.fill = colour_of(fill)

    @staticmethod
    def get_params(width: int, height: int, distortion_scale: float) -> tuple[list[list[int]], list[list[int]]]:
        """The corners, and where they go."""
        x, y = int(distortion_scale * (width // 2)), int(distortion_scale * (height // 2))

        def corner(x0: int, x1: int, y0: int, y1: int) -> list[int]:
            across = int(randint(x0, x1, size=(1,)).item())
            return [across, int(randint(y0, y1, size=(1,)).item())]

        ends = [
            corner(0, x + 1, 0, y + 1),
            corner(width - x - 1, width, 0, y + 1),
            corner(width - x - 1, width, height - y - 1, height),
            corner(0, x + 1, height - y - 1, height),
        ]
        starts = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        return starts, ends

    def forward(self, img: Picture) -> Any:
        fill = _fill_for(img, self.fill)
        if not rand() < self.p:
            return img
        _, height, width = F.get_dimensions(img)
        starts, ends = self.get_params(width, height, self.distortion_scale)
        return F.perspective(img, starts, ends, self.interpolation, fill)
