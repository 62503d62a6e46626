"""Augmentation by drawn operations: AutoAugment, RandAugment, TrivialAugment and AugMix, with torchvision's draws in its order."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any

from ...core.tensor import Tensor
from ...operators.create.filled import empty
from ...operators.create.from_data import tensor
from ...operators.create.ranges import arange, linspace
from ...operators.random.draws import randint
from .._shown import ShownModule
from . import functional as F
from ._modes import InterpolationMode

if TYPE_CHECKING:
    from .._pillow import Picture

_Space = dict[str, tuple[Tensor, bool]]  # operation -> strengths, and whether the sign is drawn

_AFFINE = {"ShearX": 0, "ShearY": 1, "TranslateX": 0, "TranslateY": 1}


def apply_op(
    img: Picture,
    name: str,
    strength: float,
    interpolation: InterpolationMode | int,
    fill: float | Sequence[float] | None,
) -> Any:
    """One operation on a picture."""
    if name in _AFFINE:
        shear, shift = [0.0, 0.0], [0, 0]
        if name.startswith("Shear"):
            shear[_AFFINE[name]] = math.degrees(math.atan(strength))
        else:
            shift[_AFFINE[name]] = int(strength)
        centre = [0, 0] if name.startswith("Shear") else None
        return F.affine(img, 0.0, shift, 1.0, shear, interpolation, fill, center=centre)
    if name == "Rotate":
        return F.rotate(img, strength, interpolation=interpolation, fill=fill)
    if name == "Posterize":
        return F.posterize(img, int(strength))
    if name == "Solarize":
        return F.solarize(img, strength)
    if name in _COLOURS:
        return _COLOURS[name](img, 1.0 + strength)
    if name in _PLAIN:
        return _PLAIN[name](img)
    raise ValueError(f"The provided operator {name} is not recognized.")


_COLOURS = {
    "Brightness": F.adjust_brightness, "Color": F.adjust_saturation, "Contrast": F.adjust_contrast,
    "Sharpness": F.adjust_sharpness,
}  # fmt: skip
_PLAIN = {"AutoContrast": F.autocontrast, "Equalize": F.equalize, "Invert": F.invert, "Identity": lambda img: img}


def _nothing() -> tuple[Tensor, bool]:
    return tensor(0.0), False


def _bits(bins: int, span: float, most: int = 8) -> Tensor:
    """Bits that are kept, fewer and fewer."""
    return most - (arange(bins) / ((bins - 1) / span)).round().int()


def _space(bins: int, shear: float, across: float, down: float, turn: float, colour: float, bits: float) -> _Space:
    """The operations that all these transforms share, weakest first."""
    found: _Space = {name: (linspace(0.0, shear, bins), True) for name in ("ShearX", "ShearY")}
    found["TranslateX"] = (linspace(0.0, across, bins), True)
    found["TranslateY"] = (linspace(0.0, down, bins), True)
    found["Rotate"] = (linspace(0.0, turn, bins), True)
    for name in _COLOURS:
        found[name] = (linspace(0.0, colour, bins), True)
    found["Posterize"] = (_bits(bins, bits), False)
    found["Solarize"] = (linspace(255.0, 0.0, bins), False)
    found["AutoContrast"] = _nothing()
    found["Equalize"] = _nothing()
    return found


def _size(img: Picture) -> tuple[int, int]:
    _, height, width = F.get_dimensions(img)
    return height, width


def _drawn(n: int) -> int:
    return int(randint(n, (1,)).item())


class _Drawn(ShownModule):
    """What all of these are made with: how pictures are interpolated, and what fills the gaps."""

    def __init__(self, interpolation: InterpolationMode | int, fill: float | Sequence[float] | None) -> None:
        super().__init__()
        self.interpolation, self.fill = interpolation, fill

    def _filling(self, img: Picture) -> Any:
        """The fill, a number for each channel of a tensor."""
        if not isinstance(img, Tensor) or self.fill is None:
            return self.fill
        if isinstance(self.fill, (int, float)):
            return [float(self.fill)] * F.get_dimensions(img)[0]
        return [float(f) for f in self.fill]


class AutoAugmentPolicy(Enum):
    """The data sets whose policies were searched for.

    Example:
        >>> [policy.name for policy in transforms.AutoAugmentPolicy]
        ['IMAGENET', 'CIFAR10', 'SVHN']
    """

    IMAGENET = "imagenet"
    CIFAR10 = "cifar10"
    SVHN = "svhn"


# Each policy: twice an operation, its probability in tenths, its strength (None where it has none). From the paper's tables.
_POLICIES = {
    AutoAugmentPolicy.IMAGENET: (
        "Posterize 4 8 Rotate 6 9", "Solarize 6 5 AutoContrast 6 -", "Equalize 8 - Equalize 6 -", "Posterize 6 7 Posterize 6 6",
        "Equalize 4 - Solarize 2 4", "Equalize 4 - Rotate 8 8", "Solarize 6 3 Equalize 6 -", "Posterize 8 5 Equalize 10 -",
        "Rotate 2 3 Solarize 6 8", "Equalize 6 - Posterize 4 6", "Rotate 8 8 Color 4 0", "Rotate 4 9 Equalize 6 -",
        "Equalize 0 - Equalize 8 -", "Invert 6 - Equalize 10 -", "Color 6 4 Contrast 10 8", "Rotate 8 8 Color 10 2",
        "Color 8 8 Solarize 8 7", "Sharpness 4 7 Invert 6 -", "ShearX 6 5 Equalize 10 -", "Color 4 0 Equalize 6 -",
        "Equalize 4 - Solarize 2 4", "Solarize 6 5 AutoContrast 6 -", "Invert 6 - Equalize 10 -", "Color 6 4 Contrast 10 8",
        "Equalize 8 - Equalize 6 -",
    ),
    AutoAugmentPolicy.CIFAR10: (
        "Invert 1 - Contrast 2 6", "Rotate 7 2 TranslateX 3 9", "Sharpness 8 1 Sharpness 9 3", "ShearY 5 8 TranslateY 7 9",
        "AutoContrast 5 - Equalize 9 -", "ShearY 2 7 Posterize 3 7", "Color 4 3 Brightness 6 7", "Sharpness 3 9 Brightness 7 9",
        "Equalize 6 - Equalize 5 -", "Contrast 6 7 Sharpness 6 5", "Color 7 7 TranslateX 5 8", "Equalize 3 - AutoContrast 4 -",
        "TranslateY 4 3 Sharpness 2 6", "Brightness 9 6 Color 2 8", "Solarize 5 2 Invert 0 -", "Equalize 2 - AutoContrast 6 -",
        "Equalize 2 - Equalize 6 -", "Color 9 9 Equalize 6 -", "AutoContrast 8 - Solarize 2 8", "Brightness 1 3 Color 7 0",
        "Solarize 4 5 AutoContrast 9 -", "TranslateY 9 9 TranslateY 7 9", "AutoContrast 9 - Solarize 8 3", "Equalize 8 - Invert 1 -",
        "TranslateY 7 9 AutoContrast 9 -",
    ),
    AutoAugmentPolicy.SVHN: (
        "ShearX 9 4 Invert 2 -", "ShearY 9 8 Invert 7 -", "Equalize 6 - Solarize 6 6", "Invert 9 - Equalize 6 -",
        "Equalize 6 - Rotate 9 3", "ShearX 9 4 AutoContrast 8 -", "ShearY 9 8 Invert 4 -", "ShearY 9 5 Solarize 2 6",
        "Invert 9 - AutoContrast 8 -", "Equalize 6 - Rotate 9 3", "ShearX 9 4 Solarize 3 3", "ShearY 8 8 Invert 7 -",
        "Equalize 9 - TranslateY 6 6", "Invert 9 - Equalize 6 -", "Contrast 3 3 Rotate 8 4", "Invert 8 - TranslateY 0 2",
        "ShearY 7 6 Solarize 4 8", "Invert 6 - Rotate 8 4", "ShearY 3 7 TranslateX 9 3", "ShearX 1 6 Invert 6 -",
        "Solarize 7 2 TranslateY 6 7", "ShearY 8 4 Invert 8 -", "ShearX 7 9 TranslateY 8 3", "ShearY 8 5 AutoContrast 7 -",
        "ShearX 7 2 Invert 1 -",
    ),
}  # fmt: skip


def _pairs(policy: AutoAugmentPolicy) -> list[tuple[tuple[str, float, int | None], ...]]:
    """A table's rows as pairs of (operation, probability, strength)."""
    found = []
    for row in _POLICIES[policy]:
        words = row.split()
        found.append(
            tuple(
                (words[i], int(words[i + 1]) / 10, None if words[i + 2] == "-" else int(words[i + 2])) for i in (0, 3)
            )
        )
    return found


class AutoAugment(_Drawn):
    """Two operations of a policy that was found by search (Cubuk et al. 2018).

    Args:
        policy: an `AutoAugmentPolicy`.
        interpolation: an `InterpolationMode`.
        fill: the colour of what was outside; black if not given.

    Example:
        >>> transforms.AutoAugment()(torch.zeros(3, 32, 32, dtype=torch.uint8)).shape
        torch.Size([3, 32, 32])
    """

    _shows = ("policy", "fill")

    def __init__(
        self, policy: AutoAugmentPolicy = AutoAugmentPolicy.IMAGENET,
        interpolation: InterpolationMode | int = InterpolationMode.NEAREST, fill: float | Sequence[float] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(interpolation, fill)
        if policy not in _POLICIES:
            raise ValueError(f"The provided policy {policy} is not recognized.")
        self.policy = policy
        self.policies = _pairs(policy)

    def _augmentation_space(self, bins: int, size: tuple[int, int]) -> _Space:
        height, width = size
        found = _space(bins, 0.3, 150.0 / 331.0 * width, 150.0 / 331.0 * height, 30.0, 0.9, 4)
        return {**found, "Invert": _nothing()}

    @staticmethod
    def get_params(transform_num: int) -> tuple[int, Tensor, Tensor]:
        """Which policy, two probabilities, two signs."""
        return _drawn(transform_num), empty(2).uniform_(), randint(2, (2,))

    def forward(self, img: Picture) -> Any:
        which, chances, signs = self.get_params(len(self.policies))
        space, fill = self._augmentation_space(10, _size(img)), self._filling(img)
        for i, (name, p, strength) in enumerate(self.policies[which]):
            if chances[i] <= p:
                strengths, signed = space[name]
                much = float(strengths[strength].item()) if strength is not None else 0.0
                if signed and signs[i] == 0:
                    much = -much
                img = apply_op(img, name, much, self.interpolation, fill)
        return img


class RandAugment(_Drawn):
    """A few operations of one strength (Cubuk et al. 2019).

    Args:
        num_ops: how many.
        magnitude: the strength, below `num_magnitude_bins`.
        num_magnitude_bins: steps of strength.
        interpolation: an `InterpolationMode`.
        fill: the colour of what was outside; black if not given.

    Example:
        >>> transforms.RandAugment()(torch.zeros(3, 32, 32, dtype=torch.uint8)).shape
        torch.Size([3, 32, 32])
    """

    _shows = ("num_ops", "magnitude", "num_magnitude_bins", "interpolation", "fill")

    def __init__(
        self, num_ops: int = 2, magnitude: int = 9, num_magnitude_bins: int = 31,
        interpolation: InterpolationMode | int = InterpolationMode.NEAREST, fill: float | Sequence[float] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(interpolation, fill)
        self.num_ops, self.magnitude, self.num_magnitude_bins = (num_ops, magnitude, num_magnitude_bins)

    def _augmentation_space(self, bins: int, size: tuple[int, int]) -> _Space:
        height, width = size
        found = _space(bins, 0.3, 150.0 / 331.0 * width, 150.0 / 331.0 * height, 30.0, 0.9, 4)
        return {"Identity": _nothing(), **found}

    def forward(self, img: Picture) -> Any:
        fill = self._filling(img)
        for _ in range(self.num_ops):
            space = self._augmentation_space(self.num_magnitude_bins, _size(img))
            name = list(space)[_drawn(len(space))]
            strengths, signed = space[name]
            much = float(strengths[self.magnitude].item()) if strengths.ndim > 0 else 0.0
            if signed and _drawn(2):
                much *= -1.0
            img = apply_op(img, name, much, self.interpolation, fill)
        return img


class TrivialAugmentWide(_Drawn):
    """One operation of any strength (Mueller and Hutter 2021).

    Args:
        num_magnitude_bins: steps of strength.
        interpolation: an `InterpolationMode`.
        fill: the colour of what was outside; black if not given.

    Example:
        >>> transforms.TrivialAugmentWide()(torch.zeros(3, 32, 32, dtype=torch.uint8)).shape
        torch.Size([3, 32, 32])
    """

    _shows = ("num_magnitude_bins", "interpolation", "fill")

    def __init__(
        self, num_magnitude_bins: int = 31, interpolation: InterpolationMode | int = InterpolationMode.NEAREST, fill: float | Sequence[float] | None = None
    ) -> None:  # fmt: skip
        super().__init__(interpolation, fill)
        self.num_magnitude_bins = num_magnitude_bins

    def _augmentation_space(self, bins: int) -> _Space:
        return {"Identity": _nothing(), **_space(bins, 0.99, 32.0, 32.0, 135.0, 0.99, 6)}

    def forward(self, img: Picture) -> Any:
        space, fill = self._augmentation_space(self.num_magnitude_bins), self._filling(img)
        name = list(space)[_drawn(len(space))]
        strengths, signed = space[name]
        much = float(strengths[_drawn(len(strengths))].item()) if strengths.ndim > 0 else 0.0
        if signed and _drawn(2):
            much *= -1.0
        return apply_op(img, name, much, self.interpolation, fill)


class AugMix(_Drawn):
    """Chains of operations mixed with the picture (Hendrycks et al. 2019).

    Args:
        severity: 1 to 10.
        mixture_width: how many chains.
        chain_depth: operations in each; 1 to 3 at random if not positive.
        alpha: of the distributions that mix them.
        all_ops: use brightness, contrast, colour and sharpness, too.
        interpolation: an `InterpolationMode`.
        fill: the colour of what was outside; black if not given.

    Example:
        >>> transforms.AugMix()(torch.zeros(3, 32, 32, dtype=torch.uint8)).shape
        torch.Size([3, 32, 32])
    """

    _shows = ("severity", "mixture_width", "chain_depth", "alpha", "all_ops", "interpolation", "fill")

    _LEVELS = 10

    def __init__(
        self, severity: int = 3, mixture_width: int = 3, chain_depth: int = -1, alpha: float = 1.0, all_ops: bool = True,
        interpolation: InterpolationMode | int = InterpolationMode.BILINEAR, fill: float | Sequence[float] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(interpolation, fill)
        if not 1 <= severity <= self._LEVELS:
            raise ValueError(f"The severity must be between [1, {self._LEVELS}]. Got {severity} instead.")
        self.severity, self.mixture_width, self.chain_depth = severity, mixture_width, chain_depth
        self.alpha, self.all_ops = alpha, all_ops

    def _augmentation_space(self, bins: int, size: tuple[int, int]) -> _Space:
        height, width = size
        found = _space(bins, 0.3, width / 3.0, height / 3.0, 30.0, 0.9, 4)
        found["Posterize"] = (_bits(bins, 4, 4), False)
        colours = {name: found.pop(name) for name in _COLOURS}
        return {**found, **colours} if self.all_ops else found

    def _sample_dirichlet(self, params: Tensor) -> Tensor:
        from ...operators.random.gamma_draws import _sample_dirichlet

        return _sample_dirichlet(params)

    def forward(self, img: Picture) -> Any:
        picture = img if isinstance(img, Tensor) else F.pil_to_tensor(img)
        fill = self._filling(picture)
        space = self._augmentation_space(self._LEVELS, _size(img))
        shape = list(picture.shape)
        batch = picture.view([1] * max(4 - picture.ndim, 0) + shape)
        many = [batch.size(0), -1]
        parts = self._sample_dirichlet(tensor([self.alpha, self.alpha], device=batch.device).expand(many[0], -1))
        weights = self._sample_dirichlet(
            tensor([self.alpha] * self.mixture_width, device=batch.device).expand(many[0], -1)
        ) * parts[:, 1].view(many)
        mixed = parts[:, 0].view([many[0], 1, 1, 1]) * batch
        for i in range(self.mixture_width):
            chain = batch
            depth = self.chain_depth if self.chain_depth > 0 else int(randint(1, 4, (1,)).item())
            for _ in range(depth):
                name = list(space)[_drawn(len(space))]
                strengths, signed = space[name]
                much = float(strengths[_drawn(self.severity)].item()) if strengths.ndim > 0 else 0.0
                if signed and _drawn(2):
                    much *= -1.0
                chain = apply_op(chain, name, much, self.interpolation, fill)
            mixed.add_(weights[:, i].view([many[0], 1, 1, 1]) * chain)
        made = mixed.view(shape).to(dtype=picture.dtype)
        return made if isinstance(img, Tensor) else F.to_pil_image(made)
