"""Flips, turns, affine and perspective maps, elastic deformation; every draw is one torchvision would make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....operators.create.filled import empty
from ....operators.shape.join import cat
from .. import _batch, _elastic, _random_geometry, _random_warp
from .._batch import Stage, Step
from .._draw import uniform
from .._geometry import perspective_coefficients
from .._random_geometry import span
from . import functional as F
from ._query import query_size
from ._transform import Sometimes, Transform, check_sequence, fill_for, fills, number_or_two

if TYPE_CHECKING:
    from .._modes import InterpolationMode

    pass


class RandomHorizontalFlip(Sometimes):
    """Left and right exchanged with probability p.

    Args:
        p: the probability.

    Example:
        >>> from rushlight.vision.transforms import v2
        >>> v2.RandomHorizontalFlip(p=1.0)(torch.tensor([[[1, 2]]]))
        tensor([[[2, 1]]])
    """

    _v1_transform_cls = _random_geometry.RandomHorizontalFlip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The part mirrored."""
        return self._call_kernel(F.horizontal_flip, inpt)

    def __batched__(self, stage: Stage) -> Step | None:
        return Step(_batch.flip_some(-1, self.p), stage, 1)


class RandomVerticalFlip(Sometimes):
    """Top and bottom exchanged with probability p.

    Args:
        p: the probability.

    Example:
        >>> from rushlight.vision.transforms import v2
        >>> v2.RandomVerticalFlip(p=1.0)(torch.tensor([[[1], [2]]]))
        tensor([[[2],
                 [1]]])
    """

    _v1_transform_cls = _random_geometry.RandomVerticalFlip

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The part upside down."""
        return self._call_kernel(F.vertical_flip, inpt)

    def __batched__(self, stage: Stage) -> Step | None:
        return Step(_batch.flip_some(-2, self.p), stage, 1)


class RandomRotation(Transform):
    """Turned by a random angle.

    Args:
        degrees: a number, for angles of [-degrees, degrees]; or the two limits.
        interpolation: an `InterpolationMode`, or its name.
        expand: make the picture as large as needed.
        center: (x, y) that stays in its place; the middle if not given.
        fill: the colour of the corners, or a dict from kinds of input to colours.

    Example:
        >>> from rushlight.vision.transforms import v2
        >>> v2.RandomRotation((90, 90))(torch.tensor([[[1, 2], [3, 4]]]))
        tensor([[[2, 4],
                 [1, 3]]])
    """

    _v1_transform_cls = _random_geometry.RandomRotation

    def __init__(
        self,
        degrees: float | Sequence[float],
        interpolation: InterpolationMode | str | int = "nearest",
        expand: bool = False,
        center: Sequence[float] | None = None,
        fill: float | Sequence[float] | dict[Any, Any] | None = 0,
    ) -> None:
        super().__init__()
        self.degrees = span(degrees, "degrees")
        self.interpolation = interpolation
        self.expand = expand
        self.fill = fill
        self._fill = fills(fill)
        if center is not None:
            check_sequence(center, "center")
        self.center = center

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The angle."""
        return {"angle": uniform(self.degrees[0], self.degrees[1])}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The part turned."""
        return self._call_kernel(
            F.rotate, inpt, **params, interpolation=self.interpolation, expand=self.expand, center=self.center,
            fill=fill_for(self._fill, inpt),
        )  # fmt: skip


class RandomAffine(Transform):
    """Turned, shifted, scaled and sheared at random, the centre kept in its place.

    Args:
        degrees: a number, for angles of [-degrees, degrees]; or the two limits.
        translate: the largest shift, as parts of (width, height).
        scale: limits of the factor.
        shear: limits of the angle, or two and two for x and y.
        interpolation: an `InterpolationMode`, or its name.
        fill: the colour of what was outside, or a dict from kinds of input to colours.
        center: (x, y) that stays in its place; the middle if not given.

    Example:
        >>> from rushlight.vision.transforms import v2
        >>> v2.RandomAffine(10, translate=(0.1, 0.1))(torch.zeros(3, 32, 32)).shape
        torch.Size([3, 32, 32])
    """

    _v1_transform_cls = _random_warp.RandomAffine

    def __init__(
        self,
        degrees: float | Sequence[float],
        translate: Sequence[float] | None = None,
        scale: Sequence[float] | None = None,
        shear: float | Sequence[float] | None = None,
        interpolation: InterpolationMode | str | int = "nearest",
        fill: float | Sequence[float] | dict[Any, Any] | None = 0,
        center: Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        for name, given in (("translate", translate), ("scale", scale), ("center", center)):
            if given is not None:
                check_sequence(given, name)
        if translate is not None and not all(0.0 <= t <= 1.0 for t in translate):
            raise ValueError("translation values should be between 0 and 1")
        if scale is not None and any(s <= 0 for s in scale):
            raise ValueError("scale values should be positive")
        self.degrees = span(degrees, "degrees")
        self.translate, self.scale = translate, scale
        self.shear = None if shear is None else span(shear, "shear", (2, 4))
        self.interpolation = interpolation
        self.fill = fill
        self._fill = fills(fill)
        self.center = center

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Angle, shift, scale and shears."""
        height, width = query_size(flat_inputs)
        ranges = (self.degrees, self.translate, self.scale, self.shear)
        found = _random_warp.RandomAffine.get_params(*ranges, [width, height])
        return dict(zip(("angle", "translate", "scale", "shear"), found))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The part turned, shifted, scaled and sheared."""
        fill = fill_for(self._fill, inpt)
        return self._call_kernel(
            F.affine, inpt, **params, interpolation=self.interpolation, fill=fill, center=self.center
        )  # fmt: skip


class RandomPerspective(Sometimes):
    """Seen from a random side, with probability p.

    Args:
        distortion_scale: 0 to 1: how far the corners move.
        p: the probability.
        interpolation: an `InterpolationMode`, or its name.
        fill: the colour of what was outside, or a dict from kinds of input to colours.

    Example:
        >>> from rushlight.vision.transforms import v2
        >>> v2.RandomPerspective(p=1.0)(torch.zeros(3, 32, 32)).shape
        torch.Size([3, 32, 32])
    """

    _v1_transform_cls = _random_warp.RandomPerspective

    def __init__(
        self,
        distortion_scale: float = 0.5,
        p: float = 0.5,
        interpolation: InterpolationMode | str | int = "bilinear",
        fill: float | Sequence[float] | dict[Any, Any] | None = 0,
    ) -> None:
        super().__init__(p=p)
        if not 0 <= distortion_scale <= 1:
            raise ValueError("Argument distortion_scale value should be between 0 and 1")
        self.distortion_scale = distortion_scale
        self.interpolation = interpolation
        self.fill = fill
        self._fill = fills(fill)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The numbers of the map."""
        height, width = query_size(flat_inputs)
        points = _random_warp.RandomPerspective.get_params(width, height, self.distortion_scale)
        return {"coefficients": perspective_coefficients(*points)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The part seen from that side."""
        return self._call_kernel(
            F.perspective, inpt, startpoints=None, endpoints=None, fill=fill_for(self._fill, inpt),
            interpolation=self.interpolation, **params,
        )  # fmt: skip


class ElasticTransform(Transform):
    """Pixels moved by smooth random shifts, as if the picture lay under moving water.

    Args:
        alpha: how far pixels move, to the right and down, in pixels, about; one number or two.
        sigma: how smooth the shifts are; one number or two.
        interpolation: an `InterpolationMode`, or its name.
        fill: the colour of places outside, or a dict from kinds of input to colours.

    Example:
        >>> from rushlight.vision.transforms import v2
        >>> v2.ElasticTransform(alpha=0.0, sigma=0.25)(torch.ones(1, 3, 3)).sum()
        tensor(9.)
    """

    _v1_transform_cls = _elastic.ElasticTransform

    def __init__(
        self,
        alpha: float | Sequence[float] = 50.0,
        sigma: float | Sequence[float] = 5.0,
        interpolation: InterpolationMode | str | int = "bilinear",
        fill: float | Sequence[float] | dict[Any, Any] | None = 0,
    ) -> None:
        super().__init__()
        self.alpha, self.sigma = number_or_two(alpha, "alpha"), number_or_two(sigma, "sigma")
        self.interpolation = interpolation
        self.fill = fill
        self._fill = fills(fill)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The shifts of every pixel, (1, H, W, 2)."""
        size = query_size(flat_inputs)
        parts = []
        for strength, smooth, length in zip(self.alpha, self.sigma, reversed(size)):
            drawn = empty(1, 1, *size).uniform_() * 2 - 1
            if smooth > 0.0:
                kernel = int(8 * smooth + 1) | 1  # odd
                drawn = self._call_kernel(
                    F.gaussian_blur, drawn, [kernel, kernel], list(self.sigma)
                )
            parts.append(drawn * strength / length)
        return {"displacement": cat(parts, 1).permute(0, 2, 3, 1)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The part with its pixels moved."""
        fill = fill_for(self._fill, inpt)
        return self._call_kernel(F.elastic, inpt, **params, fill=fill, interpolation=self.interpolation)  # fmt: skip
