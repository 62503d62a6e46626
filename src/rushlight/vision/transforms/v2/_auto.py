"""Augmentation by drawn operations: AutoAugment, RandAugment, TrivialAugment and AugMix, with the draws of the second generation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....base.trees import tree_flatten, tree_unflatten
from ....core.tensor import Tensor
from ....operators.create.filled import empty
from ....operators.create.from_data import tensor
from ....operators.create.ranges import linspace
from ....operators.random.draws import randint
from ....operators.random.gamma_draws import _sample_dirichlet
from ... import tv_tensors
from ..._pillow import is_pil_image
from ...tv_tensors import BoundingBoxes, Image, KeyPoints, Mask, Video
from .. import _auto as v1
from . import functional as F
from ._query import PICTURES, check_type
from ._transform import Transform, fill_for, fills
from .functional._tones import bound_of

if TYPE_CHECKING:
    from ....base.device import device
    from ..._pillow import Picture
    from .._modes import InterpolationMode

_Space = dict[str, tuple[Tensor, bool]]  # operation -> strengths, and whether the sign is drawn


def _drawn(n: int) -> int:
    return int(randint(n, ()).item())


def _coin() -> Tensor:
    return empty(()).uniform_()


_COLOURS = {
    "Brightness": F.adjust_brightness, "Color": F.adjust_saturation, "Contrast": F.adjust_contrast,
    "Sharpness": F.adjust_sharpness,
}  # fmt: skip
_PLAIN = {"AutoContrast": F.autocontrast, "Equalize": F.equalize, "Invert": F.invert}


def _moved(image: Picture, name: str, strength: float, options: dict[str, Any]) -> Any:
    """A shear or a shift along x or y."""
    axis = 0 if name.endswith("X") else 1
    shear, shift = [0.0, 0.0], [0, 0]
    if name.startswith("Shear"):
        shear[axis] = math.degrees(math.atan(strength))
        options = {**options, "center": [0, 0]}
    else:
        shift[axis] = int(strength)
    return F.affine(image, 0.0, shift, 1.0, shear, **options)


class _Drawing(Transform):
    """What all of these share: one picture of the sample is changed by operations that are drawn."""

    def __init__(
        self,
        *,
        interpolation: InterpolationMode | str | int = "nearest",
        fill: float | Sequence[float] | dict[Any, Any] | None = None,
    ) -> None:
        super().__init__()
        self.interpolation = interpolation
        self.fill = fill
        self._fill = fills(fill)

    def _first_space(self, bins: int, *size: int | Sequence[int]) -> _Space:
        """The operations of the first generation; thresholds are parts of the range here."""
        first: Any = self._v1_transform_cls
        return {**first._augmentation_space(self, bins, *size), "Solarize": (linspace(1.0, 0.0, bins), False)}

    def _picture(self, flat_inputs: list[Any]) -> int:
        """The place of the picture in a sample."""
        found = []
        for i, (inpt, wanted) in enumerate(zip(flat_inputs, self._needs_transform_list(flat_inputs))):
            if wanted and check_type(inpt, PICTURES):
                found.append(i)
            elif isinstance(inpt, (BoundingBoxes, Mask, KeyPoints)):
                raise TypeError(f"Inputs of type {type(inpt).__name__} are not supported by {type(self).__name__}()")
        if not found:
            raise TypeError("Found no image in the sample.")
        if len(found) > 1:
            raise TypeError(
                "Auto augment transformations are only properly defined for a single image or video, "
                f"but found {len(found)}."
            )
        return found[0]

    def forward(self, *inputs: Any) -> Any:
        """The sample with its picture changed."""
        flat_inputs, spec = tree_flatten(inputs if len(inputs) > 1 else inputs[0])
        place = self._picture(flat_inputs)
        flat_inputs[place] = self._augmented(flat_inputs[place])
        return tree_unflatten(flat_inputs, spec)

    def _augmented(self, image: Picture) -> Any:
        raise NotImplementedError

    def _strength(self, space: _Space, name: str, step: Any) -> float:
        """How much; `step` is the place in the operation's strengths, or draws it."""
        strengths, signed = space[name]
        if strengths.ndim == 0:  # an operation without strengths
            return 0.0
        much = float(strengths[step() if callable(step) else step].item())
        return -much if signed and _coin() <= 0.5 else much

    def _applied(self, image: Picture, name: str, strength: float) -> Any:
        """One operation on a picture."""
        return self._apply_image_or_video_transform(image, name, strength, self.interpolation, self._fill)

    def _apply_image_or_video_transform(
        self, image: Picture, transform_id: str, magnitude: float, interpolation: Any, fill: Any
    ) -> Any:
        """The same with all that it depends on given: torchvision's name of it."""
        name, strength = transform_id, magnitude
        options = {"interpolation": interpolation, "fill": fill_for(fill, image)}
        if name == "Identity":
            return image
        if name.endswith(("X", "Y")):
            return _moved(image, name, strength, options)
        if name == "Rotate":
            return F.rotate(image, angle=strength, **options)
        if name == "Posterize":
            return F.posterize(image, bits=int(strength))
        if name == "Solarize":
            bound = bound_of(image.dtype) if isinstance(image, Tensor) else 255.0
            return F.solarize(image, threshold=bound * strength)
        if name in _COLOURS:
            return _COLOURS[name](image, 1.0 + strength)
        return _PLAIN[name](image)


class AutoAugment(_Drawing):
    """Two operations of a policy that was found by search (Cubuk et al. 2018)."""

    _v1_transform_cls = v1.AutoAugment

    def __init__(
        self,
        policy: v1.AutoAugmentPolicy = v1.AutoAugmentPolicy.IMAGENET,
        interpolation: InterpolationMode | str | int = "nearest",
        fill: float | Sequence[float] | dict[Any, Any] | None = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        self.policy = policy
        self._policies = v1.AutoAugment(policy).policies  # which checks the policy, too

    def _augmented(self, image: Picture) -> Any:
        space = self._first_space(10, F.get_size(image))
        for name, p, step in self._policies[_drawn(len(self._policies))]:
            if _coin() <= p:
                image = self._applied(image, name, self._strength(space, name, step))
        return image


class RandAugment(_Drawing):
    """A few operations of one strength (Cubuk et al. 2019)."""

    _v1_transform_cls = v1.RandAugment

    def __init__(
        self,
        num_ops: int = 2,
        magnitude: int = 9,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode | str | int = "nearest",
        fill: float | Sequence[float] | dict[Any, Any] | None = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        self.num_ops, self.magnitude = num_ops, magnitude
        self.num_magnitude_bins = num_magnitude_bins

    def _augmented(self, image: Picture) -> Any:
        bins, size = self.num_magnitude_bins, F.get_size(image)
        space = self._first_space(bins, size)
        for _ in range(self.num_ops):
            name = list(space)[_drawn(len(space))]
            image = self._applied(image, name, self._strength(space, name, self.magnitude))
        return image


class TrivialAugmentWide(_Drawing):
    """One operation of any strength (Mueller and Hutter 2021)."""

    _v1_transform_cls = v1.TrivialAugmentWide

    def __init__(
        self,
        num_magnitude_bins: int = 31,
        interpolation: InterpolationMode | str | int = "nearest",
        fill: float | Sequence[float] | dict[Any, Any] | None = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        self.num_magnitude_bins = num_magnitude_bins

    def _augmented(self, image: Picture) -> Any:
        bins = self.num_magnitude_bins
        space = self._first_space(bins)
        name = list(space)[_drawn(len(space))]
        return self._applied(image, name, self._strength(space, name, lambda: _drawn(bins)))


class AugMix(_Drawing):
    """Chains of operations mixed with the picture (Hendrycks et al. 2019)."""

    _v1_transform_cls = v1.AugMix

    def __init__(
        self,
        severity: int = 3,
        mixture_width: int = 3,
        chain_depth: int = -1,
        alpha: float = 1.0,
        all_ops: bool = True,
        interpolation: InterpolationMode | str | int = "bilinear",
        fill: float | Sequence[float] | dict[Any, Any] | None = None,
    ) -> None:
        super().__init__(interpolation=interpolation, fill=fill)
        v1.AugMix(severity)  # which checks it
        self.severity, self.mixture_width, self.chain_depth = severity, mixture_width, chain_depth
        self.alpha, self.all_ops = alpha, all_ops

    def _chain(self, batch: Tensor, space: _Space) -> Tensor:
        depth = self.chain_depth if self.chain_depth > 0 else int(randint(1, 4, (1,)).item())
        for _ in range(depth):
            name = list(space)[_drawn(len(space))]
            much = self._strength(space, name, lambda: _drawn(self.severity))
            batch = self._applied(batch, name, much)
        return batch

    def _shares(self, count: int, rows: int, device: device) -> Tensor:
        return _sample_dirichlet(tensor([self.alpha] * count, device=device).expand(rows, -1))

    def _augmented(self, image: Any) -> Any:
        space = self._first_space(10, F.get_size(image))
        picture = F.pil_to_tensor(image) if is_pil_image(image) else image.as_subclass(Tensor)
        dims = 5 if isinstance(image, Video) else 4
        batch = picture.reshape([1] * max(dims - picture.ndim, 0) + list(picture.shape))
        rows, ones = batch.shape[0], [1] * (batch.ndim - 1)
        parts = self._shares(2, rows, batch.device)
        weights = self._shares(self.mixture_width, rows, batch.device) * parts[:, 1:]
        mixed = parts[:, 0].reshape(rows, *ones) * batch
        for i in range(self.mixture_width):
            mixed = mixed + weights[:, i].reshape(rows, *ones) * self._chain(batch, space)
        made = mixed.reshape(picture.shape).to(picture.dtype)
        if isinstance(image, (Image, Video)):
            return tv_tensors.wrap(made, like=image)
        return F.to_pil_image(made) if is_pil_image(image) else made
