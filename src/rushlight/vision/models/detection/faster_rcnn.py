"""Faster R-CNN (Ren et al. 2015), with torchvision's names and weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from .... import nn
from ....core.tensor import Tensor
from ....nn import functional as F
from ...ops import Conv2dNormActivation, MultiScaleRoIAlign
from ...ops import misc as misc_nn_ops
from .. import mobilenetv3, resnet
from .._api import WeightsEnum
from .._build import build_on
from .._initial import drawn, relu_normal
from ._utils import overwrite_eps
from .anchor_utils import AnchorGenerator
from .backbone_utils import _mobilenet_extractor, _resnet_fpn_extractor, _validate_trainable_layers
from .generalized_rcnn import GeneralizedRCNN
from .roi_heads import RoIHeads
from .rpn import RegionProposalNetwork, RPNHead
from .transform import GeneralizedRCNNTransform

if TYPE_CHECKING:
    from ....nn.modules.module import Module

__all__ = [
    "FasterRCNN", "FasterRCNN_MobileNet_V3_Large_320_FPN_Weights", "FasterRCNN_MobileNet_V3_Large_FPN_Weights",
    "FasterRCNN_ResNet50_FPN_V2_Weights", "FasterRCNN_ResNet50_FPN_Weights",
    "fasterrcnn_mobilenet_v3_large_320_fpn", "fasterrcnn_mobilenet_v3_large_fpn", "fasterrcnn_resnet50_fpn",
    "fasterrcnn_resnet50_fpn_v2",
]  # fmt: skip

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def _default_anchorgen() -> AnchorGenerator:
    """One size for each map of a pyramid."""
    return AnchorGenerator(((32,), (64,), (128,), (256,), (512,)), ((0.5, 1.0, 2.0),) * 5)


def check_backbone(backbone: nn.Module) -> None:
    """Refuse a backbone that does not say how many channels its maps have."""
    if not hasattr(backbone, "out_channels"):
        raise ValueError(
            "backbone should contain an attribute out_channels specifying the number of output channels (assumed to "
            "be the same for all the levels)"
        )


def _check_parts(backbone: Any, anchors: Any, pool: Any, classes: Any, predictor: Any) -> None:
    check_backbone(backbone)
    if not isinstance(anchors, (AnchorGenerator, type(None))):
        raise TypeError(f"rpn_anchor_generator should be of type AnchorGenerator or None instead of {type(anchors)}")
    if not isinstance(pool, (MultiScaleRoIAlign, type(None))):
        raise TypeError(f"box_roi_pool should be of type MultiScaleRoIAlign or None instead of {type(pool)}")
    if classes is not None and predictor is not None:
        raise ValueError("num_classes should be None when box_predictor is specified")
    if classes is None and predictor is None:
        raise ValueError("num_classes should not be None when box_predictor is not specified")


class FasterRCNN(GeneralizedRCNN):
    """Faster R-CNN: boxes and classes of the objects in pictures.

    In training it takes pictures and targets and gives losses; otherwise it takes pictures and gives a
    dictionary with "boxes", "labels" and "scores" for each.

    Args:
        backbone: from a batch of pictures to a map or maps by name; with an attribute `out_channels`.
        num_classes: the number of classes, with the background.
        min_size: the shorter edge of resized pictures.
        max_size: the longest that the other edge may be.
        image_mean: subtracted from each channel.
        image_std: divides each channel.
        rpn_anchor_generator: makes the anchors.
        rpn_head: gives objectness and boxes of the anchors.
        rpn_pre_nms_top_n_train: proposals kept before doubles are removed, in training.
        rpn_pre_nms_top_n_test: the same otherwise.
        rpn_post_nms_top_n_train: proposals kept after, in training.
        rpn_post_nms_top_n_test: the same otherwise.
        rpn_nms_thresh: overlap from which on proposals are doubles.
        rpn_fg_iou_thresh: an anchor that overlaps a true box so much is positive.
        rpn_bg_iou_thresh: one that overlaps none so much is negative.
        rpn_batch_size_per_image: anchors drawn for the losses.
        rpn_positive_fraction: the share of positive ones among them.
        rpn_score_thresh: the smallest objectness of a proposal.
        box_roi_pool: reads regions from the maps.
        box_head: from regions to vectors.
        box_predictor: from vectors to classes and boxes.
        box_score_thresh: the smallest probability of a detection.
        box_nms_thresh: overlap from which on detections are doubles.
        box_detections_per_img: the most detections of a picture.
        box_fg_iou_thresh: a proposal that overlaps a true box so much is an object.
        box_bg_iou_thresh: one that overlaps none so much is background.
        box_batch_size_per_image: proposals drawn in training.
        box_positive_fraction: the share of objects among them.
        bbox_reg_weights: factors of the codes of boxes.

    Example:
        >>> backbone = nn.Conv2d(3, 8, 3, stride=16, padding=1)
        >>> backbone.out_channels = 8
        >>> anchors = detection.anchor_utils.AnchorGenerator(((16, 32),), ((0.5, 1.0),))
        >>> model = detection.FasterRCNN(backbone, 3, 64, 64, rpn_anchor_generator=anchors)
        >>> boxes, labels = torch.tensor([[4.0, 4, 40, 40]]), torch.tensor([1])
        >>> sorted(model([torch.rand(3, 48, 64)], [{"boxes": boxes, "labels": labels}]))
        ['loss_box_reg', 'loss_classifier', 'loss_objectness', 'loss_rpn_box_reg']
        >>> sorted(model.eval()([torch.rand(3, 48, 64)])[0])
        ['boxes', 'labels', 'scores']
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int | None = None,
        min_size: int | Sequence[int] = 800,
        max_size: int = 1333,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        rpn_anchor_generator: Module | None = None,
        rpn_head: Module | None = None,
        rpn_pre_nms_top_n_train: int = 2000,
        rpn_pre_nms_top_n_test: int = 1000,
        rpn_post_nms_top_n_train: int = 2000,
        rpn_post_nms_top_n_test: int = 1000,
        rpn_nms_thresh: float = 0.7,
        rpn_fg_iou_thresh: float = 0.7,
        rpn_bg_iou_thresh: float = 0.3,
        rpn_batch_size_per_image: int = 256,
        rpn_positive_fraction: float = 0.5,
        rpn_score_thresh: float = 0.0,
        box_roi_pool: Module | None = None,
        box_head: Module | None = None,
        box_predictor: Module | None = None,
        box_score_thresh: float = 0.05,
        box_nms_thresh: float = 0.5,
        box_detections_per_img: int = 100,
        box_fg_iou_thresh: float = 0.5,
        box_bg_iou_thresh: float = 0.5,
        box_batch_size_per_image: int = 512,
        box_positive_fraction: float = 0.25,
        bbox_reg_weights: tuple[float, float, float, float] | None = None,
        **kwargs: Any,
    ) -> None:
        _check_parts(backbone, rpn_anchor_generator, box_roi_pool, num_classes, box_predictor)
        channels: Any = backbone.out_channels
        anchors = rpn_anchor_generator or _default_anchorgen()
        head = rpn_head or RPNHead(channels, anchors.num_anchors_per_location()[0])
        before = {"training": rpn_pre_nms_top_n_train, "testing": rpn_pre_nms_top_n_test}
        after = {"training": rpn_post_nms_top_n_train, "testing": rpn_post_nms_top_n_test}
        rpn = RegionProposalNetwork(
            anchors, head, rpn_fg_iou_thresh, rpn_bg_iou_thresh, rpn_batch_size_per_image,
            rpn_positive_fraction, before, after, rpn_nms_thresh, score_thresh=rpn_score_thresh,
        )  # fmt: skip
        pool = box_roi_pool or MultiScaleRoIAlign(["0", "1", "2", "3"], 7, 2)
        if box_head is None:
            box_head = TwoMLPHead(channels * pool.output_size[0] ** 2, 1024)
        if box_predictor is None:
            box_predictor = FastRCNNPredictor(1024, num_classes or 0)
        heads = RoIHeads(
            pool, box_head, box_predictor, box_fg_iou_thresh, box_bg_iou_thresh, box_batch_size_per_image,
            box_positive_fraction, bbox_reg_weights, box_score_thresh, box_nms_thresh, box_detections_per_img,
        )  # fmt: skip
        transform = GeneralizedRCNNTransform(min_size, max_size, image_mean or MEAN, image_std or STD, **kwargs)
        super().__init__(backbone, rpn, heads, transform)


class TwoMLPHead(nn.Module):
    """Two linear layers over a flattened region.

    Args:
        in_channels: numbers in a region.
        representation_size: numbers in the result.

    Example:
        >>> from rushlight.vision.models.detection.faster_rcnn import TwoMLPHead
        >>> TwoMLPHead(2 * 3 * 3, 5)(torch.zeros(4, 2, 3, 3)).shape
        torch.Size([4, 5])
    """

    def __init__(self, in_channels: int, representation_size: int) -> None:
        super().__init__()
        self.fc6 = nn.Linear(in_channels, representation_size)
        self.fc7 = nn.Linear(representation_size, representation_size)

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.fc7(F.relu(self.fc6(x.flatten(1)))))


class FastRCNNConvFCHead(nn.Sequential):
    """Convolutions and linear layers over a region.

    Args:
        input_size: channels, height and width of a region.
        conv_layers: channels of the convolutions.
        fc_layers: sizes of the linear layers.
        norm_layer: a normalisation after each convolution.

    Example:
        >>> from rushlight.vision.models.detection.faster_rcnn import FastRCNNConvFCHead
        >>> FastRCNNConvFCHead((2, 3, 3), [4], [5])(torch.zeros(6, 2, 3, 3)).shape
        torch.Size([6, 5])
    """

    def __init__(
        self,
        input_size: tuple[int, int, int],
        conv_layers: list[int],
        fc_layers: list[int],
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        channels, height, width = input_size
        blocks: list[nn.Module] = []
        for size in conv_layers:
            blocks.append(Conv2dNormActivation(channels, size, norm_layer=norm_layer))
            channels = size
        blocks.append(nn.Flatten())
        channels *= height * width
        for size in fc_layers:
            blocks += [nn.Linear(channels, size), nn.ReLU(inplace=True)]
            channels = size
        super().__init__(*blocks)
        drawn(self.modules(), relu_normal)


class FastRCNNPredictor(nn.Module):
    """Logits of the classes and codes of their boxes, from a vector.

    Args:
        in_channels: numbers in the vector.
        num_classes: the number of classes, with the background.

    Example:
        >>> from rushlight.vision.models.detection.faster_rcnn import FastRCNNPredictor
        >>> scores, codes = FastRCNNPredictor(8, 3)(torch.zeros(5, 8))
        >>> scores.shape, codes.shape
        (torch.Size([5, 3]), torch.Size([5, 12]))
    """

    def __init__(self, in_channels: int, num_classes: int) -> None:
        super().__init__()
        self.cls_score = nn.Linear(in_channels, num_classes)
        self.bbox_pred = nn.Linear(in_channels, num_classes * 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        if x.ndim == 4 and tuple(x.shape[2:]) != (1, 1):
            raise AssertionError(
                f"x has the wrong shape, expecting the last two dimensions to be [1,1] instead of {list(x.shape[2:])}"
            )
        x = x.flatten(1)
        return self.cls_score(x), self.bbox_pred(x)


# -- builders ------------------------------------------------------------------------------------------------


def resnet50_backbone(
    below: WeightsEnum | str | None,
    trained: bool,
    trainable: int | None,
    progress: bool,
    frozen: bool = True,
    extra_blocks: Callable[[], Any] | None = None,
    **options: Any,
) -> nn.Module:
    """ResNet-50 with a pyramid; its norms are frozen where weights are loaded and `frozen`."""
    is_trained = trained or below is not None
    count = _validate_trainable_layers(is_trained, trainable, 5, 3)
    norm = misc_nn_ops.FrozenBatchNorm2d if is_trained and frozen else nn.BatchNorm2d
    net = resnet.resnet50(weights=below, progress=progress, norm_layer=norm)
    extra = None if extra_blocks is None else extra_blocks()  # its weights are drawn after the network's
    return _resnet_fpn_extractor(net, count, extra_blocks=extra, **options)


def on(
    model: Callable[..., nn.Module],
    backbone: Callable[..., nn.Module],
    parts: Callable[[Any, int], dict[str, Any]] | None = None,
    usual: dict[str, Any] | None = None,
) -> Callable[..., nn.Module]:
    """How a model is made on a backbone: `parts` are arguments of its own, `usual` those that callers may replace."""

    def make(
        num_classes: int, below: WeightsEnum | str | None, trained: bool, progress: bool = True,
        trainable_backbone_layers: int | None = None, **kwargs: Any,
    ) -> nn.Module:  # fmt: skip
        net = backbone(below, trained, trainable_backbone_layers, progress)
        own = {} if parts is None else parts(net, num_classes)
        return model(net, num_classes, **own, **{**(usual or {}), **kwargs})

    return make


second_backbone = partial(resnet50_backbone, frozen=False, norm_layer=nn.BatchNorm2d)


def second_parts(backbone: Any, num_classes: int) -> dict[str, Any]:
    """What the second versions of the models on ResNet-50 have instead of the first's."""
    anchors = _default_anchorgen()
    count = anchors.num_anchors_per_location()[0]
    return {
        "rpn_anchor_generator": anchors,
        "rpn_head": RPNHead(backbone.out_channels, count, conv_depth=2),
        "box_head": FastRCNNConvFCHead((backbone.out_channels, 7, 7), [256] * 4, [1024], norm_layer=nn.BatchNorm2d),
    }


def _mobilenet_backbone(
    below: WeightsEnum | str | None, trained: bool, trainable: int | None, progress: bool
) -> nn.Module:
    is_trained = trained or below is not None
    count = _validate_trainable_layers(is_trained, trainable, 6, 3)
    norm = misc_nn_ops.FrozenBatchNorm2d if is_trained else nn.BatchNorm2d
    net = mobilenetv3.mobilenet_v3_large(weights=below, progress=progress, norm_layer=norm)
    return _mobilenet_extractor(net, True, count)


def _mobilenet_parts(backbone: Any, num_classes: int) -> dict[str, Any]:
    sizes, shapes = ((32, 64, 128, 256, 512),) * 3, ((0.5, 1.0, 2.0),) * 3
    return {"rpn_anchor_generator": AnchorGenerator(sizes, shapes)}


def _on_mobilenet(**usual: Any) -> Callable[..., nn.Module]:
    return on(FasterRCNN, _mobilenet_backbone, _mobilenet_parts, usual)


def without_eps(model: nn.Module, weights: WeightsEnum | str | None) -> None:
    """The first weights on ResNet-50 were trained without an eps in the norms."""
    overwrite_eps(model, 0.0)


FasterRCNN_ResNet50_FPN_Weights, fasterrcnn_resnet50_fpn = build_on(
    "FasterRCNN_ResNet50_FPN", on(FasterRCNN, resnet50_backbone), "Faster R-CNN on ResNet-50.",
    backbone=resnet.ResNet50_Weights.IMAGENET1K_V1, classes=91, after=without_eps,
)  # fmt: skip
FasterRCNN_ResNet50_FPN_V2_Weights, fasterrcnn_resnet50_fpn_v2 = build_on(
    "FasterRCNN_ResNet50_FPN_V2", on(FasterRCNN, second_backbone, second_parts),
    "Faster R-CNN on ResNet-50, with the improvements of Li et al. 2021.", backbone=resnet.ResNet50_Weights, classes=91,
)  # fmt: skip
FasterRCNN_MobileNet_V3_Large_320_FPN_Weights, fasterrcnn_mobilenet_v3_large_320_fpn = build_on(
    "FasterRCNN_MobileNet_V3_Large_320_FPN", _on_mobilenet(
        min_size=320, max_size=640, rpn_pre_nms_top_n_test=150, rpn_post_nms_top_n_test=150, rpn_score_thresh=0.05,
    ),
    "Faster R-CNN on MobileNetV3, for small pictures.",
    backbone=mobilenetv3.MobileNet_V3_Large_Weights.IMAGENET1K_V1, classes=91,
)  # fmt: skip
FasterRCNN_MobileNet_V3_Large_FPN_Weights, fasterrcnn_mobilenet_v3_large_fpn = build_on(
    "FasterRCNN_MobileNet_V3_Large_FPN", _on_mobilenet(rpn_score_thresh=0.05), "Faster R-CNN on MobileNetV3.",
    backbone=mobilenetv3.MobileNet_V3_Large_Weights.IMAGENET1K_V1, classes=91,
)  # fmt: skip
