"""Random colours; every draw is one torchvision would make."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....operators.create.filled import empty
from ....operators.random.draws import randperm
from .. import _fixed, _random_colour
from .._draw import rand, uniform
from . import functional as F
from ._query import query_chw
from ._transform import Sometimes, Transform


class Grayscale(Transform):
    """Without colour, in one channel or three."""

    _v1_transform_cls = _fixed.Grayscale
    _functional, _given = F.rgb_to_grayscale, ("num_output_channels",)

    def __init__(self, num_output_channels: int = 1) -> None:
        super().__init__()
        self.num_output_channels = num_output_channels


class RandomGrayscale(Sometimes):
    """Without colour, with probability p."""

    _v1_transform_cls = _random_colour.RandomGrayscale

    def __init__(self, p: float = 0.1) -> None:
        super().__init__(p=p)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The number of channels."""
        return {"num_input_channels": query_chw(flat_inputs)[0]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The part without colour."""
        return self._call_kernel(F.rgb_to_grayscale, inpt, num_output_channels=params["num_input_channels"])


class RGB(Transform):
    """A grey picture in three channels; one in colour as it is.

    Example:
        >>> v2.RGB()(torch.zeros(1, 2, 4)).shape
        torch.Size([3, 2, 4])
    """

    _functional = F.grayscale_to_rgb


_CHANGES = (
    ("brightness_factor", F.adjust_brightness), ("contrast_factor", F.adjust_contrast),
    ("saturation_factor", F.adjust_saturation), ("hue_factor", F.adjust_hue),
)  # fmt: skip


class ColorJitter(Transform):
    """Brightness, contrast, saturation and hue changed at random, in a random order."""

    _v1_transform_cls = _random_colour.ColorJitter

    def __init__(
        self,
        brightness: float | Sequence[float] | None = None,
        contrast: float | Sequence[float] | None = None,
        saturation: float | Sequence[float] | None = None,
        hue: float | Sequence[float] | None = None,
    ) -> None:
        super().__init__()
        self.brightness = self._limits(brightness, "brightness")
        self.contrast = self._limits(contrast, "contrast")
        self.saturation = self._limits(saturation, "saturation")
        self.hue = self._limits(hue, "hue", 0.0, (-0.5, 0.5))

    @staticmethod
    def _limits(
        value: Any, name: str, centre: float = 1.0, bound: tuple[float, float] = (0, float("inf"))
    ) -> tuple[float, float] | None:
        """A strength as limits of the factor; None for one that changes nothing."""
        if value is None:
            return None
        if isinstance(value, (int, float)):
            if value < 0:
                raise ValueError(f"If {name} is a single number, it must be non negative.")
            found = [centre - value, centre + value]
            found[0] = max(found[0], 0.0) if centre else found[0]
        elif isinstance(value, (tuple, list)) and len(value) == 2:
            found = [float(v) for v in value]
        else:
            raise TypeError(f"{name}={value} should be a single number or a sequence with length 2.")
        if not bound[0] <= found[0] <= found[1] <= bound[1]:
            raise ValueError(f"{name} values should be between {bound} and increasing, but got {found}.")
        return None if found[0] == found[1] == centre else (float(found[0]), float(found[1]))

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The order of the four changes, and their factors."""
        params: dict[str, Any] = {"fn_idx": randperm(4)}
        ranges = (self.brightness, self.contrast, self.saturation, self.hue)
        for (name, _), limits in zip(_CHANGES, ranges):
            params[name] = None if limits is None else float(uniform(limits[0], limits[1]))
        return params

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The part in other colours."""
        for i in params["fn_idx"].tolist():
            name, change = _CHANGES[i]
            if params[name] is not None:
                inpt = self._call_kernel(change, inpt, **{name: params[name]})
        return inpt


class RandomChannelPermutation(Transform):
    """The channels in a random order.

    Example:
        >>> v2.RandomChannelPermutation()(torch.arange(3).reshape(3, 1, 1)).sum()
        tensor(3)
    """

    _functional = F.permute_channels

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The order."""
        return {"permutation": randperm(query_chw(flat_inputs)[0])}


class RandomPhotometricDistort(Transform):
    """Each change of colour with probability p, as SSD is trained (Liu et al. 2016).

    Args:
        brightness, contrast, saturation, hue: two limits of the factor each.

    Example:
        >>> v2.RandomPhotometricDistort()(torch.zeros(3, 32, 32)).shape
        torch.Size([3, 32, 32])
    """

    def __init__(
        self,
        brightness: tuple[float, float] = (0.875, 1.125),
        contrast: tuple[float, float] = (0.5, 1.5),
        saturation: tuple[float, float] = (0.5, 1.5),
        hue: tuple[float, float] = (-0.05, 0.05),
        p: float = 0.5,
    ) -> None:
        super().__init__()
        self.brightness, self.contrast = brightness, contrast
        self.hue, self.saturation = hue, saturation
        self.p = p

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The factors, None for what is left out; when the contrast changes; and the order of channels."""
        channels = query_chw(flat_inputs)[0]
        params: dict[str, Any] = {}
        ranges = (self.brightness, self.contrast, self.saturation, self.hue)
        for (name, _), (low, high) in zip(_CHANGES, ranges):
            params[name] = float(uniform(low, high)) if rand() < self.p else None
        params["contrast_before"] = bool(empty(()).uniform_() < 0.5)
        params["channel_permutation"] = randperm(channels) if rand() < self.p else None
        return params

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The part in other colours."""
        order = (0, 1, 2, 3) if params["contrast_before"] else (0, 2, 3, 1)
        for name, change in (_CHANGES[i] for i in order):
            if params[name] is not None:
                inpt = self._call_kernel(change, inpt, **{name: params[name]})
        if params["channel_permutation"] is not None:
            inpt = self._call_kernel(F.permute_channels, inpt, params["channel_permutation"])
        return inpt


class RandomEqualize(Sometimes):
    """As `vision.transforms.RandomEqualize`, of every part of a sample that it concerns."""

    _v1_transform_cls = _random_colour.RandomEqualize
    _functional = F.equalize


class RandomInvert(Sometimes):
    """The negative, with probability p."""

    _v1_transform_cls = _random_colour.RandomInvert
    _functional = F.invert


class RandomPosterize(Sometimes):
    """Only the highest bits kept, with probability p."""

    _v1_transform_cls = _random_colour.RandomPosterize
    _functional, _given = F.posterize, ("bits",)

    def __init__(self, bits: int, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.bits = bits


class RandomSolarize(Sometimes):
    """The bright parts inverted, with probability p."""

    _v1_transform_cls = _random_colour.RandomSolarize
    _functional, _given = F.solarize, ("threshold",)

    def __init__(self, threshold: float, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.threshold = threshold


class RandomAutocontrast(Sometimes):
    """Every channel stretched over the whole range, with probability p."""

    _v1_transform_cls = _random_colour.RandomAutocontrast
    _functional = F.autocontrast


class RandomAdjustSharpness(Sometimes):
    """Sharper or softer, with probability p."""

    _v1_transform_cls = _random_colour.RandomAdjustSharpness
    _functional, _given = F.adjust_sharpness, ("sharpness_factor",)

    def __init__(self, sharpness_factor: float, p: float = 0.5) -> None:
        super().__init__(p=p)
        self.sharpness_factor = sharpness_factor
