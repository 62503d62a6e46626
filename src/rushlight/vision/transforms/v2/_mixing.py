"""MixUp and CutMix: the pictures and labels of a batch mixed with those of their neighbours."""

from __future__ import annotations

from math import sqrt
from typing import Any

from ....core.tensor import Tensor
from ....distributions import Beta
from ....nn import Module
from ....nn.functional import one_hot
from .._draw import whole


class _Mixing(Module):
    """A batch (pictures, labels), mixed by a share that is drawn once for all."""

    def __init__(
        self, *, alpha: float = 1.0, num_classes: int | None = None, labels_getter: Any = "default"
    ) -> None:
        super().__init__()
        self.alpha, self.num_classes = float(alpha), num_classes
        self._labels_getter = labels_getter
        self._dist = Beta(self.alpha, self.alpha)

    def forward(self, *inputs: Any) -> Any:
        batch = (
            inputs[0] if len(inputs) == 1 and isinstance(inputs[0], (tuple, list, dict)) else inputs
        )
        labels = self._labels(batch)
        self._check(labels)
        values = list(batch.values()) if isinstance(batch, dict) else list(batch)
        pictures = next(
            (v for v in values if isinstance(v, Tensor) and v is not labels and v.ndim >= 4), None
        )
        if pictures is None:
            raise ValueError("Expected a batch with 4 or 5 dimensions, but found no such tensor.")
        if pictures.shape[0] != labels.shape[0]:
            raise ValueError(f"The batch size of the image or video does not match the batch size of the labels: {pictures.shape[0]} != {labels.shape[0]}.")  # fmt: skip
        share, change = self._drawn(pictures)
        made = {id(pictures): change(pictures), id(labels): self._mixed_labels(labels, share)}
        new = [made.get(id(v), v) for v in values]
        return dict(zip(batch, new)) if isinstance(batch, dict) else type(batch)(new)

    def _labels(self, batch: Any) -> Any:
        if callable(self._labels_getter):
            return self._labels_getter(batch)
        if isinstance(batch, dict):
            return next((v for k, v in batch.items() if "label" in str(k).lower()), None)
        return batch[-1]

    def _check(self, labels: Any) -> None:
        if not isinstance(labels, Tensor):
            raise ValueError(f"The labels must be a tensor, but got {type(labels)} instead.")
        if labels.ndim not in (1, 2):
            raise ValueError(
                "labels should be index based with shape (batch_size,) or probability based with shape (batch_size, "
                f"num_classes), but got a tensor of shape {labels.shape} instead."
            )
        if labels.ndim == 1 and self.num_classes is None:
            raise ValueError("num_classes must be passed if the labels are index-based (1D)")
        if (
            labels.ndim == 2
            and self.num_classes is not None
            and labels.shape[-1] != self.num_classes
        ):
            raise ValueError(
                "When passing 2D labels, the number of elements in last dimension must match num_classes: "
                f"{labels.shape[-1]} != {self.num_classes}. You can Leave num_classes to None."
            )

    def _mixed_labels(self, labels: Tensor, share: float) -> Tensor:
        if labels.ndim == 1:
            labels = one_hot(labels, num_classes=self.num_classes or -1)
        if not labels.is_floating_point():
            labels = labels.float()
        return labels.roll(1, 0).mul_(1.0 - share).add_(labels.mul(share))

    def _drawn(self, pictures: Tensor) -> tuple[float, Any]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}(alpha={self.alpha}, num_classes={self.num_classes})"


class MixUp(_Mixing):
    """Every picture a little transparent over its neighbour (Zhang et al. 2017).

    Args:
        alpha: of the distribution that the share is drawn from.
        num_classes: needed where labels are class numbers.
        labels_getter: a function that finds the labels of a batch.

    Example:
        >>> from rushlight.vision.transforms import v2
        >>> pictures, labels = v2.MixUp(num_classes=3)(torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 0]))
        >>> pictures.shape, labels.shape
        (torch.Size([4, 3, 8, 8]), torch.Size([4, 3]))
    """

    def _drawn(self, pictures: Tensor) -> tuple[float, Any]:
        share = float(self._dist.sample())
        return share, lambda x: x.roll(1, 0).mul_(1.0 - share).add_(x.mul(share))


class CutMix(_Mixing):
    """A rectangle of every picture is its neighbour's (Yun et al. 2019).

    Args:
        alpha: of the distribution that the share is drawn from.
        num_classes: needed where labels are class numbers.
        labels_getter: a function that finds the labels of a batch.

    Example:
        >>> from rushlight.vision.transforms import v2
        >>> pictures, labels = v2.CutMix(num_classes=3)(torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 0]))
        >>> pictures.shape, labels.shape
        (torch.Size([4, 3, 8, 8]), torch.Size([4, 3]))
    """

    def _drawn(self, pictures: Tensor) -> tuple[float, Any]:
        share = float(self._dist.sample())
        height, width = pictures.shape[-2:]
        across, down = whole(width), whole(height)
        half = 0.5 * sqrt(1.0 - share)
        wide, tall = int(half * width), int(half * height)
        left, top = max(across - wide, 0), max(down - tall, 0)
        right, bottom = min(across + wide, width), min(down + tall, height)
        share = float(1.0 - (right - left) * (bottom - top) / (width * height))

        def change(x: Tensor) -> Tensor:
            made = x.clone()
            made[..., top:bottom, left:right] = x.roll(1, 0)[..., top:bottom, left:right]
            return made

        return share, change
