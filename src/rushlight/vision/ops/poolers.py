"""MultiScaleRoIAlign: regions read from the map of a pyramid that suits their size."""

from __future__ import annotations

import math
from typing import Any

from ...base import dtypes
from ...core.tensor import Tensor
from ...operators.create.filled import full
from ...operators.shape.join import cat
from .._shown import ShownModule
from ._regions import pair
from .boxes import box_area
from .roi_align import roi_align

__all__ = ["MultiScaleRoIAlign"]


class LevelMapper:
    """Which map of a pyramid a box is read from: the larger the box, the coarser (Lin et al. 2017).

    Args:
        k_min: the level of the finest map.
        k_max: the level of the coarsest.
        canonical_scale: the side of a box ...
        canonical_level: ... that belongs to this level.
        eps: added before rounding down.

    Example:
        >>> from rushlight.vision.ops.poolers import LevelMapper
        >>> LevelMapper(2, 5)([torch.tensor([[0.0, 0, 30, 30], [0, 0, 224, 224], [0, 0, 900, 900]])])
        tensor([0, 2, 3])
    """

    def __init__(
        self, k_min: int, k_max: int, canonical_scale: int = 224, canonical_level: int = 4, eps: float = 1e-6
    ) -> None:
        self.k_min, self.k_max = k_min, k_max
        self.s0, self.lvl0, self.eps = canonical_scale, canonical_level, eps

    def __call__(self, boxlists: list[Tensor]) -> Tensor:
        side = cat([box_area(b) for b in boxlists]).sqrt()
        level = (self.lvl0 + (side / self.s0).log2() + self.eps).floor()
        return level.clamp(self.k_min, self.k_max).to(dtypes.int64) - self.k_min


def _scale(feature: Tensor, original: tuple[int, int]) -> float:
    """The size of a map over that of the pictures: a power of two."""
    shares = {2.0 ** round(math.log2(n / m)) for n, m in zip(feature.shape[-2:], original)}
    if len(shares) > 1:
        raise ValueError(f"the map {tuple(feature.shape)} does not fit pictures of {original}")
    return shares.pop()


class MultiScaleRoIAlign(ShownModule):
    """`roi_align` on several maps: each region is read from the one that suits its size.

    Args:
        featmap_names: the names of the maps to use.
        output_size: height and width of the result, or one number for both.
        sampling_ratio: points read in each cell along each axis.
        canonical_scale: the side of a box ...
        canonical_level: ... that is read from this level.

    Example:
        >>> pool = ops.MultiScaleRoIAlign(["a", "b"], 3, 2)
        >>> maps = {"a": torch.rand(1, 5, 64, 64), "b": torch.rand(1, 5, 32, 32)}
        >>> pool(maps, [torch.tensor([[10.0, 10, 40, 50]])], [(512, 512)]).shape
        torch.Size([1, 5, 3, 3])
    """

    _shows = ("featmap_names", "output_size", "sampling_ratio")

    def __init__(
        self,
        featmap_names: list[str],
        output_size: Any,
        sampling_ratio: int,
        *,
        canonical_scale: int = 224,
        canonical_level: int = 4,
    ) -> None:
        super().__init__()
        self.featmap_names = featmap_names
        self.sampling_ratio = sampling_ratio
        self.output_size = pair(output_size)
        self.scales: list[float] | None = None
        self.map_levels: LevelMapper | None = None
        self.canonical_scale = canonical_scale
        self.canonical_level = canonical_level

    def _set_up(self, maps: list[Tensor], image_shapes: list[tuple[int, int]]) -> None:
        if not image_shapes:
            raise ValueError("images list should not be empty")
        original = (max(s[0] for s in image_shapes), max(s[1] for s in image_shapes))
        self.scales = [_scale(m, original) for m in maps]
        self.map_levels = LevelMapper(
            int(-math.log2(self.scales[0])),
            int(-math.log2(self.scales[-1])),
            self.canonical_scale,
            self.canonical_level,
        )

    def forward(self, x: dict[str, Tensor], boxes: list[Tensor], image_shapes: list[tuple[int, int]]) -> Tensor:
        maps = [v for k, v in x.items() if k in self.featmap_names]
        if self.scales is None or self.map_levels is None:
            self._set_up(maps, image_shapes)
        assert self.scales is not None and self.map_levels is not None
        picture = [full((len(b), 1), i, dtype=b.dtype, device=b.device) for i, b in enumerate(boxes)]
        rois = cat([cat([i, b], 1) for i, b in zip(picture, boxes)], 0)
        if len(maps) == 1:
            return roi_align(maps[0], rois, self.output_size, self.scales[0], self.sampling_ratio)
        levels = self.map_levels(boxes)
        parts, places = [], []
        for level, (scale, features) in enumerate(zip(self.scales, maps)):
            chosen = (levels == level).nonzero()[:, 0]
            places.append(chosen)
            parts.append(roi_align(features, rois[chosen], self.output_size, scale, self.sampling_ratio))
        return cat(parts, 0)[cat(places, 0).argsort()]
