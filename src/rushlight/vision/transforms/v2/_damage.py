"""Damage: random holes, and JPEG."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

from ....operators.random.draws import randint
from .. import _random_geometry
from . import functional as F
from ._query import query_chw
from ._transform import Sometimes, Transform, check_sequence
from ._windows import warn_of_passing


class RandomErasing(Sometimes):
    """A random rectangle replaced, with probability p."""

    _v1_transform_cls = _random_geometry.RandomErasing

    def __init__(
        self,
        p: float = 0.5,
        scale: Sequence[float] = (0.02, 0.33),
        ratio: Sequence[float] = (0.3, 3.3),
        value: Any = 0.0,
        inplace: bool = False,
    ) -> None:
        super().__init__(p=p)
        _random_geometry.RandomErasing(p, scale, ratio, value)  # which checks them
        self.scale, self.ratio = scale, ratio
        values: Any = [value] if isinstance(value, numbers.Number) else value
        self.value = None if isinstance(value, str) else [float(v) for v in values]
        self.inplace = inplace

    def _extract_params_for_v1_transform(self) -> dict[str, Any]:
        given = super()._extract_params_for_v1_transform()
        return {**given, "value": "random" if self.value is None else self.value}

    def _call_kernel(self, functional: Callable, inpt: Any, *args: Any, **kwargs: Any) -> Any:
        warn_of_passing(self, inpt)
        return super()._call_kernel(functional, inpt, *args, **kwargs)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The rectangle and what comes there; nothing where none was found in ten trials."""
        channels, height, width = query_chw(flat_inputs)
        if self.value is not None and len(self.value) not in (1, channels):
            raise ValueError(
                f"If value is a sequence, it should have either a single value or {channels} (number of inpt channels)"
            )
        sizes = (channels, height, width)
        found = _random_geometry.drawn_hole(*sizes, self.scale, self.ratio, self.value)
        return dict(zip("ijhwv", found or (0, 0, height, width, None)))

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The part with the rectangle."""
        if params["v"] is None:
            return inpt
        return self._call_kernel(F.erase, inpt, **params, inplace=self.inplace)


class JPEG(Transform):
    """Pictures of bytes as they look after they were stored as JPEG.

    Args:
        quality: 1 to 100, or limits to draw it from.

    Raises:
        ValueError: if it is out of range.

    Example:
        >>> import PIL
        >>> v2.JPEG((20, 50))(torch.zeros(3, 8, 8, dtype=torch.uint8)).shape
        torch.Size([3, 8, 8])
    """

    _functional = F.jpeg

    def __init__(self, quality: int | Sequence[int]) -> None:
        super().__init__()
        if isinstance(quality, bool):
            raise TypeError("quality can't be bool")
        if isinstance(quality, int):
            quality = [quality, quality]
        check_sequence(quality, "quality")
        whole_numbers = all(isinstance(q, int) for q in quality)
        if not (1 <= quality[0] <= quality[1] <= 100 and whole_numbers):
            raise ValueError(f"quality must be an integer from 1 to 100, got quality ={quality}")
        self.quality = quality

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The quality."""
        return {"quality": randint(self.quality[0], self.quality[1] + 1, ()).item()}
