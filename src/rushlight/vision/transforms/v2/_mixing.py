"""MixUp and CutMix: the pictures and labels of a batch mixed with those of their neighbours."""

from __future__ import annotations

from math import sqrt
from typing import Any

from ....base.trees import tree_flatten, tree_unflatten
from ....core.tensor import Tensor
from ....distributions import Beta
from ....nn.functional import one_hot
from ....operators.create.from_data import tensor
from ... import tv_tensors
from ..._pillow import is_pil_image
from ...tv_tensors import BoundingBoxes, Image, KeyPoints, Mask, Video
from .._draw import whole
from ._query import has_any, labels_finder, query_size
from ._transform import Transform
from .functional import is_pure_tensor


class _Mixing(Transform):
    """A batch (pictures, labels), mixed by a share that is drawn once for all."""

    def __init__(self, *, alpha: float = 1.0, num_classes: int | None = None, labels_getter: Any = "default") -> None:
        super().__init__()
        self.alpha = float(alpha)
        self._dist = Beta(tensor([alpha]), tensor([alpha]))
        self.num_classes = num_classes
        self._labels_getter = labels_finder(labels_getter)

    def forward(self, *inputs: Any) -> Any:
        """The batch, mixed."""
        batch = inputs if len(inputs) > 1 else inputs[0]
        flat_inputs, spec = tree_flatten(batch)
        needs = self._needs_transform_list(flat_inputs)
        if has_any(flat_inputs, is_pil_image, BoundingBoxes, Mask, KeyPoints):
            raise ValueError(
                f"{type(self).__name__}() does not support PIL images, bounding boxes, keypoints and masks."
            )
        labels = self._labels_getter(batch)
        self._check_labels(labels)
        params = {"labels": labels, "batch_size": labels.shape[0]}
        params |= self.make_params([x for x, wanted in zip(flat_inputs, needs) if wanted])
        made = [self.transform(x, params) if wanted or x is labels else x for x, wanted in zip(flat_inputs, needs)]
        return tree_unflatten(made, spec)

    def _check_labels(self, labels: Any) -> None:
        if not isinstance(labels, Tensor):
            raise ValueError(f"The labels must be a tensor, but got {type(labels)} instead.")
        if labels.ndim not in (1, 2):
            raise ValueError(
                "labels should be index based with shape (batch_size,) or probability based with shape (batch_size, "
                f"num_classes), but got a tensor of shape {labels.shape} instead."
            )
        wide = labels.ndim == 2 and self.num_classes is not None
        if wide and labels.shape[-1] != self.num_classes:
            raise ValueError(
                "When passing 2D labels, the number of elements in last dimension must match num_classes: "
                f"{labels.shape[-1]} != {self.num_classes}. You can Leave num_classes to None."
            )
        if labels.ndim == 1 and self.num_classes is None:
            raise ValueError("num_classes must be passed if the labels are index-based (1D)")

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """The labels or the pictures, mixed."""
        if inpt is params["labels"]:
            return self._mixed_labels(inpt, params["lam"])
        pictured = isinstance(inpt, (Image, Video))
        if not pictured and not is_pure_tensor(inpt):
            return inpt
        dims = 5 if isinstance(inpt, Video) else 4
        if inpt.ndim != dims:
            raise ValueError(f"Expected a batched input with {dims} dims, but got {inpt.ndim} dimensions instead.")
        if inpt.shape[0] != params["batch_size"]:
            raise ValueError(
                "The batch size of the image or video does not match the batch size of the labels: "
                f"{inpt.shape[0]} != {params['batch_size']}."
            )
        made = self._mixed(inpt.as_subclass(Tensor), params)
        return tv_tensors.wrap(made, like=inpt) if pictured else made

    def _mixed_labels(self, labels: Tensor, share: float) -> Tensor:
        if labels.ndim == 1:
            labels = one_hot(labels, num_classes=self.num_classes or -1)
        labels = labels if labels.is_floating_point() else labels.float()
        return labels.roll(1, 0).mul_(1.0 - share).add_(labels.mul(share))

    def _mixed(self, pictures: Tensor, params: dict[str, Any]) -> Tensor:
        raise NotImplementedError


class MixUp(_Mixing):
    """Every picture a little transparent over its neighbour (Zhang et al. 2017).

    Args:
        alpha: of the distribution that the share is drawn from.
        num_classes: needed where labels are class numbers.
        labels_getter: a function that finds the labels of a batch; by default its second part, or what a key with
            "label" in it names.

    Example:
        >>> pictures, labels = v2.MixUp(num_classes=3)(torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 0]))
        >>> pictures.shape, labels.shape
        (torch.Size([4, 3, 8, 8]), torch.Size([4, 3]))
    """

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The share."""
        return {"lam": self._dist.sample(()).item()}

    def _mixed(self, pictures: Tensor, params: dict[str, Any]) -> Tensor:
        share = params["lam"]
        return pictures.roll(1, 0).mul_(1.0 - share).add_(pictures.mul(share))


class CutMix(_Mixing):
    """As `MixUp`: a rectangle of each picture is that of another."""

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The rectangle, and the share that is left."""
        share = self._dist.sample(()).item()
        height, width = query_size(flat_inputs)
        across, down = whole(width), whole(height)
        half = 0.5 * sqrt(1.0 - share)
        wide, tall = int(half * width), int(half * height)
        left, top = max(across - wide, 0), max(down - tall, 0)
        right, bottom = min(across + wide, width), min(down + tall, height)
        left_over = 1.0 - (right - left) * (bottom - top) / (width * height)
        return {"box": (left, top, right, bottom), "lam": left_over}

    def _mixed(self, pictures: Tensor, params: dict[str, Any]) -> Tensor:
        left, top, right, bottom = params["box"]
        made = pictures.clone()
        made[..., top:bottom, left:right] = pictures.roll(1, 0)[..., top:bottom, left:right]
        return made
