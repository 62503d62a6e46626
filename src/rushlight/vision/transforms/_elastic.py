"""Elastic deformation: pixels moved by smooth random shifts (Simard et al. 2003)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base import dtypes
from ...core.tensor import Tensor
from ...operators.create.filled import empty
from ...operators.shape.join import cat
from .._shown import ShownModule
from . import functional as F
from ._modes import InterpolationMode

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._pillow import Picture


class ElasticTransform(ShownModule):
    """Move pixels by smooth random shifts, as if the image lay under moving water.

    Args:
        alpha: how far pixels move, to the right and down, in pixels, about; one number or two.
        sigma: how smooth the shifts are; one number or two.
        interpolation: an `InterpolationMode`.
        fill: the colour of places outside.

    Example:
        >>> from rushlight.vision import transforms
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
            raise TypeError(
                f"{name} should be a sequence of floats. Got {[type(v) for v in value]}"
            )
        return [float(v) for v in (value if len(value) == 2 else [value[0]] * 2)]
    if not isinstance(value, (int, float)):
        raise TypeError(f"{name} should be float or a sequence of floats. Got {type(value)}")
    return [float(value), float(value)]
