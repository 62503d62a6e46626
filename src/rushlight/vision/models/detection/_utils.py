"""What detectors share: codes of boxes, matching with what is there, and balanced samples."""

from __future__ import annotations

import math
from typing import Any

from .... import nn
from ....base import dtypes
from ....core.modes import no_grad
from ....core.tensor import Tensor
from ....nn import functional as F
from ....operators.create.filled import zeros
from ....operators.create.like import zeros_like
from ....operators.create.ranges import arange
from ....operators.random.draws import randperm
from ....operators.shape.join import cat, stack
from ...ops import FrozenBatchNorm2d, complete_box_iou_loss, distance_box_iou_loss, generalized_box_iou_loss


class BalancedPositiveNegativeSampler:
    """Some anchors of each picture, a fixed share of them positive.

    Args:
        batch_size_per_image: how many are drawn.
        positive_fraction: the share of positive ones, if there are as many.

    Example:
        >>> from rushlight.vision.models.detection._utils import BalancedPositiveNegativeSampler
        >>> positive, negative = BalancedPositiveNegativeSampler(4, 0.5)([torch.tensor([1, 0, -1, 0, 1])])
        >>> positive[0].tolist(), negative[0].tolist()
        ([1, 0, 0, 0, 1], [0, 1, 0, 1, 0])
    """

    def __init__(self, batch_size_per_image: int, positive_fraction: float) -> None:
        self.batch_size_per_image = batch_size_per_image
        self.positive_fraction = positive_fraction

    def __call__(self, matched_idxs: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        """Masks of what is drawn, for pictures' labels: 1 and more positive, 0 negative, -1 ignored."""
        found: tuple[list[Tensor], list[Tensor]] = ([], [])
        for labels in matched_idxs:
            positive = (labels >= 1).nonzero()[:, 0]
            negative = (labels == 0).nonzero()[:, 0]
            few = min(positive.numel(), int(self.batch_size_per_image * self.positive_fraction))
            rest = min(negative.numel(), self.batch_size_per_image - few)
            for masks, places, count in zip(found, (positive, negative), (few, rest)):
                order = randperm(places.numel(), device=places.device)[:count]
                mask = zeros_like(labels, dtype=dtypes.uint8)
                mask[places[order]] = 1
                masks.append(mask)
        return found


def _middle(boxes: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Centre and sides of boxes."""
    w, h = boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]
    return boxes[..., 0] + 0.5 * w, boxes[..., 1] + 0.5 * h, w, h


class BoxCoder:
    """Boxes as differences from other boxes: shifts in units of their sides, and logarithms of ratios.

    Args:
        weights: factors of the four numbers.
        bbox_xform_clip: the largest logarithm that is taken back.

    Example:
        >>> from rushlight.vision.models.detection._utils import BoxCoder
        >>> coder = BoxCoder((1.0, 1.0, 1.0, 1.0))
        >>> code = coder.encode_single(torch.tensor([[5.0, 0, 15, 20]]), torch.tensor([[0.0, 0, 10, 20]]))
        >>> code
        tensor([[0.5000, 0.0000, 0.0000, 0.0000]])
        >>> coder.decode_single(code, torch.tensor([[0.0, 0, 10, 20]]))
        tensor([[ 5.,  0., 15., 20.]])
    """

    def __init__(
        self, weights: tuple[float, float, float, float], bbox_xform_clip: float = math.log(1000.0 / 16)
    ) -> None:
        self.weights = weights
        self.bbox_xform_clip = bbox_xform_clip

    def encode(self, reference_boxes: list[Tensor], proposals: list[Tensor]) -> list[Tensor]:
        """The codes of the boxes of each picture, seen from its proposals."""
        counts = [len(b) for b in reference_boxes]
        codes = self.encode_single(cat(reference_boxes, 0), cat(proposals, 0))
        return list(codes.split(counts, 0))

    def encode_single(self, reference_boxes: Tensor, proposals: Tensor) -> Tensor:
        """The codes of (N, 4) boxes, seen from (N, 4) proposals."""
        wx, wy, ww, wh = self.weights
        x, y, w, h = _middle(proposals)
        gx, gy, gw, gh = _middle(reference_boxes)
        codes = [wx * (gx - x) / w, wy * (gy - y) / h, ww * (gw / w).log(), wh * (gh / h).log()]
        return stack(codes, 1)

    def decode(self, rel_codes: Tensor, boxes: list[Tensor]) -> Tensor:
        """(N, classes, 4) boxes from the codes of all pictures' boxes."""
        joined = cat(boxes, 0)
        total = joined.shape[0]
        codes = rel_codes.reshape(total, -1) if total else rel_codes
        made = self.decode_single(codes, joined)
        return made.reshape(total, -1, 4) if total else made

    def decode_single(self, rel_codes: Tensor, boxes: Tensor) -> Tensor:
        """(N, 4 classes) boxes from (N, 4 classes) codes and (N, 4) boxes."""
        wx, wy, ww, wh = self.weights
        x, y, w, h = (side[:, None] for side in _middle(boxes.to(rel_codes.dtype)))
        cx, cy = rel_codes[:, 0::4] / wx * w + x, rel_codes[:, 1::4] / wy * h + y
        half_w = (rel_codes[:, 2::4] / ww).clamp(max=self.bbox_xform_clip).exp() * w * 0.5
        half_h = (rel_codes[:, 3::4] / wh).clamp(max=self.bbox_xform_clip).exp() * h * 0.5
        return stack([cx - half_w, cy - half_h, cx + half_w, cy + half_h], 2).flatten(1)


class BoxLinearCoder:
    """Boxes as distances of their edges from the centre of other boxes.

    Args:
        normalize_by_size: divide them by the sides of those boxes.

    Example:
        >>> from rushlight.vision.models.detection._utils import BoxLinearCoder
        >>> BoxLinearCoder().encode(torch.tensor([[0.0, 0, 10, 10]]), torch.tensor([[0.0, 5, 10, 10]]))
        tensor([[0.5000, 0.0000, 0.5000, 0.5000]])
    """

    def __init__(self, normalize_by_size: bool = True) -> None:
        self.normalize_by_size = normalize_by_size

    def _frame(self, boxes: Tensor) -> tuple[Tensor, Tensor, Any]:
        x, y = 0.5 * (boxes[..., 0] + boxes[..., 2]), 0.5 * (boxes[..., 1] + boxes[..., 3])
        if not self.normalize_by_size:
            return x, y, 1
        w, h = boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]
        return x, y, stack([w, h, w, h], -1)

    def encode(self, reference_boxes: Tensor, proposals: Tensor) -> Tensor:
        """The codes of `proposals`, seen from `reference_boxes`."""
        x, y, size = self._frame(reference_boxes.to(proposals.dtype))
        left, top, right, bottom = proposals.unbind(-1)
        return stack([x - left, y - top, right - x, bottom - y], -1) / size

    def decode(self, rel_codes: Tensor, boxes: Tensor) -> Tensor:
        """Boxes from their codes, seen from `boxes`."""
        x, y, size = self._frame(boxes.to(rel_codes.dtype))
        left, top, right, bottom = (rel_codes * size).unbind(-1)
        return stack([x - left, y - top, x + right, y + bottom], -1)


class Matcher:
    """Which true box a predicted one belongs to, by their overlap.

    Args:
        high_threshold: from here on they belong together.
        low_threshold: below it, the prediction is background; between both, it is ignored.
        allow_low_quality_matches: a true box also gets its best predictions, however small the overlap.

    Example:
        >>> from rushlight.vision.models.detection._utils import Matcher
        >>> Matcher(0.7, 0.3)(torch.tensor([[0.9, 0.5, 0.1], [0.2, 0.1, 0.0]]))
        tensor([ 0, -2, -1])
    """

    BELOW_LOW_THRESHOLD = -1
    BETWEEN_THRESHOLDS = -2

    def __init__(self, high_threshold: float, low_threshold: float, allow_low_quality_matches: bool = False) -> None:
        if low_threshold > high_threshold:
            raise ValueError("low_threshold should be <= high_threshold")
        self.high_threshold = high_threshold
        self.low_threshold = low_threshold
        self.allow_low_quality_matches = allow_low_quality_matches

    def __call__(self, match_quality_matrix: Tensor) -> Tensor:
        """For (true, predicted) overlaps: the number of the true box, -1 for none, -2 for doubt."""
        if match_quality_matrix.numel() == 0:
            what = "ground-truth" if match_quality_matrix.shape[0] == 0 else "proposal"
            raise ValueError(f"No {what} boxes available for one of the images during training")
        values, matches = match_quality_matrix.max(0)
        best = matches.clone()
        below = values < self.low_threshold
        matches[below] = self.BELOW_LOW_THRESHOLD
        matches[~below & (values < self.high_threshold)] = self.BETWEEN_THRESHOLDS
        if self.allow_low_quality_matches:
            self.set_low_quality_matches_(matches, best, match_quality_matrix)
        return matches

    def set_low_quality_matches_(self, matches: Tensor, all_matches: Tensor, match_quality_matrix: Tensor) -> None:
        """Give each true box back the predictions that overlap it most."""
        most = match_quality_matrix.max(1).values
        places = (match_quality_matrix == most[:, None]).nonzero()[:, 1]
        matches[places] = all_matches[places]


class SSDMatcher(Matcher):
    """As `Matcher` with one threshold; the best prediction of a true box is always its own.

    Args:
        threshold: from this overlap on they belong together.

    Example:
        >>> from rushlight.vision.models.detection._utils import SSDMatcher
        >>> SSDMatcher(0.5)(torch.tensor([[0.9, 0.5, 0.1], [0.2, 0.1, 0.3]]))
        tensor([0, 0, 1])
    """

    def __init__(self, threshold: float) -> None:
        super().__init__(threshold, threshold, allow_low_quality_matches=False)

    def __call__(self, match_quality_matrix: Tensor) -> Tensor:
        matches = super().__call__(match_quality_matrix)
        best = match_quality_matrix.max(1).indices
        matches[best] = arange(best.shape[0], dtype=dtypes.int64, device=best.device)
        return matches


def overwrite_eps(model: nn.Module, eps: float) -> None:
    """Another eps in every frozen norm: some published weights were trained without one."""
    for module in model.modules():
        if isinstance(module, FrozenBatchNorm2d):
            module.eps = eps


def retrieve_out_channels(model: nn.Module, size: tuple[int, int]) -> list[int]:
    """How many channels each map of a backbone has, found by running it once."""
    was_training = model.training
    model.eval()
    with no_grad():
        device = next(model.parameters()).device
        made = model(zeros((1, 3, size[1], size[0]), device=device))
    if was_training:
        model.train()
    maps = [made] if isinstance(made, Tensor) else list(made.values())
    return [m.shape[1] for m in maps]


_LOSSES = {"giou": generalized_box_iou_loss, "diou": distance_box_iou_loss, "ciou": complete_box_iou_loss}


def _box_loss(
    type: str,
    box_coder: BoxCoder,
    anchors_per_image: Tensor,
    matched_gt_boxes_per_image: Tensor,
    bbox_regression_per_image: Tensor,
    cnf: dict[str, float] | None = None,
) -> Tensor:
    """The sum of one kind of loss between predicted codes and true boxes."""
    options = cnf or {}
    if type in ("l1", "smooth_l1"):
        target = box_coder.encode_single(matched_gt_boxes_per_image, anchors_per_image)
        if type == "l1":
            return F.l1_loss(bbox_regression_per_image, target, reduction="sum")
        beta = options.get("beta", 1.0)
        return F.smooth_l1_loss(bbox_regression_per_image, target, reduction="sum", beta=beta)
    if type not in _LOSSES:
        raise ValueError(f"Unsupported loss: {type}")
    made = box_coder.decode_single(bbox_regression_per_image, anchors_per_image)
    eps = options.get("eps", 1e-7)
    return _LOSSES[type](made, matched_gt_boxes_per_image, reduction="sum", eps=eps)
