"""Flips, turns, affine and perspective maps, elastic deformation; every draw is one torchvision would make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....operators.create.filled import empty
from ....operators.shape.join import cat
from .. import _batch, _random_geometry, _random_warp
from .._batch import PlannedTransform, Stage
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
    """Left and right exchanged with probability p."""

    _v1_transform_cls = _random_geometry.RandomHorizontalFlip
    _functional = F.horizontal_flip

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        return PlannedTransform(_batch.flip_some(-1, self.p), stage, 1)


class RandomVerticalFlip(Sometimes):
    """Top and bottom exchanged with probability p."""

    _v1_transform_cls = _random_geometry.RandomVerticalFlip
    _functional = F.vertical_flip

    def __batched__(self, stage: Stage) -> PlannedTransform | None:
        return PlannedTransform(_batch.flip_some(-2, self.p), stage, 1)


class RandomRotation(Transform):
    """Turned by a random angle."""

    _v1_transform_cls = _random_geometry.RandomRotation
    _functional, _given = F.rotate, ("interpolation", "expand", "center")

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


class RandomAffine(Transform):
    """Turned, shifted, scaled and sheared at random, the centre kept in its place."""

    _v1_transform_cls = _random_warp.RandomAffine
    _functional, _given = F.affine, ("interpolation", "center")

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


class RandomPerspective(Sometimes):
    """Seen from a random side, with probability p."""

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
    """Pixels moved by smooth random shifts, as if the picture lay under moving water."""

    _v1_transform_cls = _random_warp.ElasticTransform
    _functional, _given = F.elastic, ("interpolation",)

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
                drawn = self._call_kernel(F.gaussian_blur, drawn, [kernel, kernel], list(self.sigma))
            parts.append(drawn * strength / length)
        return {"displacement": cat(parts, 1).permute(0, 2, 3, 1)}
