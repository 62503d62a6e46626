"""Detectors and models of segmentation: losses and answers of torchvision from the same seed, names, wrong targets."""

from __future__ import annotations

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.vision import models
from rushlight.vision.models import detection, segmentation

# What torchvision 0.28 gives for the same lines: the losses, in alphabetical order.
LOSSES = {
    "FasterRCNN": [0.0693342, 1.14662, 0.692144, 0.00601071],
    "MaskRCNN": [0.0599744, 1.02183, 0.83989, 0.693261, 0.00607761],
    "KeypointRCNN": [0.0703074, 0.696695, 8.05567, 0.69424, 0.00607863],
    "RetinaNet": [0.657391, 1.12848],
    "FCOS": [0.695723, 0.999882, 1.1227],
    "SSD": [5.71429, 7.94242],
}


def build(torch, nn, detection, name):
    """A detector on one convolution, from a fixed seed."""
    torch.manual_seed(0)
    backbone = nn.Conv2d(3, 32, 3, stride=16, padding=1)
    if name == "SSD":
        boxes = detection.anchor_utils.DefaultBoxGenerator([[2]])
        return detection.ssd.SSD(nn.Sequential(backbone), boxes, (96, 96), 3, score_thresh=0.3)
    backbone.out_channels = 32
    single = name == "FCOS"
    anchors = detection.anchor_utils.AnchorGenerator(
        ((16,),) if single else ((24, 48),), ((1.0,),) if single else ((0.5, 1.0),)
    )
    key = "rpn_anchor_generator" if name.endswith("RCNN") else "anchor_generator"
    more = {"box_score_thresh": 0.0, "box_detections_per_img": 4} if name.endswith("RCNN") else {"score_thresh": 0.01}
    classes = 2 if name == "KeypointRCNN" else 3
    return getattr(detection, name)(backbone, classes, min_size=96, max_size=128, **{key: anchors}, **more)


def pictures(torch):
    return [
        torch.linspace(0, 1, 3 * 80 * 100).reshape(3, 80, 100) ** 2,
        torch.linspace(0, 40, 3 * 90 * 70).reshape(3, 90, 70).sin().abs(),
    ]


def targets(torch):
    found = []
    for height, width in ((80, 100), (90, 70)):
        masks = torch.zeros(2, height, width, dtype=torch.uint8)
        masks[0, 10:40, 8:30] = 1
        masks[1, 20:70, 30:60] = 1
        points = torch.linspace(5, 60, 2 * 17 * 3).reshape(2, 17, 3)
        points[..., 2] = 1
        boxes = torch.tensor([[5.0, 8, 42, 45], [22.0, 15, 66, 75]])
        found.append({"boxes": boxes, "labels": torch.tensor([1, 1]), "masks": masks, "keypoints": points})
    return found


@pytest.mark.parametrize("name", LOSSES)
def test_losses_and_answers_of_torchvision(name: str) -> None:
    model = build(torch, nn, detection, name)
    torch.manual_seed(1)
    losses = model(pictures(torch), targets(torch))
    got = [float(losses[k]) for k in sorted(losses)]
    assert np.allclose(got, LOSSES[name], rtol=2e-4, atol=2e-5), got
    sum(losses.values()).backward()
    assert all(p.grad is not None for p in model.backbone.parameters())
    model.eval()
    with torch.no_grad():
        answers = model(pictures(torch))
    for answer, (height, width) in zip(answers, ((80, 100), (90, 70))):
        n = len(answer["scores"])
        assert answer["boxes"].shape == (n, 4) and answer["labels"].shape == (n,)
        assert n == 0 or (answer["boxes"][:, 2].max() <= width + 1e-3 and answer["boxes"].min() >= 0)
        if name == "MaskRCNN":
            assert answer["masks"].shape == (n, 1, height, width)
        if name == "KeypointRCNN":
            assert answer["keypoints"].shape == (n, 17, 3)


@pytest.mark.parametrize("name", ["FasterRCNN", "RetinaNet", "FCOS", "SSD"])
def test_pictures_without_objects(name: str) -> None:
    model = build(torch, nn, detection, name)
    nothing = {"boxes": torch.zeros(0, 4), "labels": torch.zeros(0, dtype=torch.int64)}
    losses = model(pictures(torch), [nothing, targets(torch)[1]])
    assert all(torch.isfinite(v) for v in losses.values())


def test_wrong_targets() -> None:
    model = build(torch, nn, detection, "FasterRCNN")
    with pytest.raises(AssertionError, match="targets should not be none"):
        model(pictures(torch))
    wrong = targets(torch)
    wrong[1]["boxes"][0, 2] = 0.0
    with pytest.raises(AssertionError, match="positive height and width"):
        model(pictures(torch), wrong)
    with pytest.raises(TypeError, match="floating type"):
        model.eval()([torch.zeros(3, 8, 8, dtype=torch.uint8)])
    with pytest.raises(ValueError, match="out_channels"):
        detection.FasterRCNN(nn.ReLU(), 2)


def test_learning_to_find() -> None:
    """A square in a dark picture is found after a few steps."""
    model = build(torch, nn, detection, "FasterRCNN")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    picture = torch.zeros(3, 96, 96)
    picture[:, 32:72, 24:64] = 1
    target = {"boxes": torch.tensor([[24.0, 32, 64, 72]]), "labels": torch.tensor([2])}
    for _ in range(30):
        loss = sum(model([picture], [dict(target)]).values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    best = model.eval()([picture])[0]
    assert best["labels"][0] == 2 and best["scores"][0] > 0.5
    assert torch.allclose(best["boxes"][0], target["boxes"][0], atol=8)


OUR_OWN = {"places", "pyramid"}  # torchvision has none of this name, and nobody has published weights
BUILDERS = [n for n in models.list_models() if n not in OUR_OWN and models.get_model_builder(n).__module__.startswith(
    ("rushlight.vision.models.detection", "rushlight.vision.models.segmentation"))]  # fmt: skip


def test_all_builders_are_there() -> None:
    assert len(BUILDERS) == 12 + 6


@pytest.mark.parametrize("name", BUILDERS)
def test_numbers_of_parameters(name: str) -> None:
    kinds = models.get_model_weights(name)
    options = {"aux_loss": True} if name.startswith(("fcn", "deeplab")) else {}
    with torch.device("meta"):
        model = models.get_model(name, weights_backbone=None, **options)
    # Frozen norms, which published weights have, are no parameters; untrained models have learnable ones.
    count = sum(p.numel() for p in model.parameters())
    frozen = sum(p.numel() for k, p in model.named_parameters() if ".bn" in k or "downsample.1" in k)
    weights = kinds.DEFAULT
    assert weights.meta["num_params"] in (count, count - frozen) or "mobilenet" in name
    assert models.get_weight(f"{kinds.__name__}.{weights.name}") is weights
    assert len(weights.meta["categories"]) in (2, 21, 91)


def test_names_of_parameters() -> None:
    with torch.device("meta"):
        names = set(models.get_model("maskrcnn_resnet50_fpn", weights_backbone=None).state_dict())
        names |= set(models.get_model("deeplabv3_resnet50", weights_backbone=None).state_dict())
    for name in (
        "backbone.body.layer1.0.conv1.weight", "backbone.fpn.inner_blocks.0.0.weight",
        "rpn.head.conv.0.0.weight", "rpn.head.cls_logits.bias", "roi_heads.box_head.fc6.weight",
        "roi_heads.box_predictor.cls_score.weight", "roi_heads.mask_head.3.0.weight",
        "roi_heads.mask_predictor.mask_fcn_logits.weight", "backbone.conv1.weight",
        "classifier.0.convs.4.1.weight", "classifier.4.bias",
    ):  # fmt: skip
        assert name in names, name


def test_older_files_load() -> None:
    model = build(torch, nn, detection, "FasterRCNN")
    state = {k.replace("conv.0.0", "conv"): v for k, v in model.state_dict().items()}
    assert "rpn.head.conv.weight" in state
    build(torch, nn, detection, "FasterRCNN").load_state_dict(state)


def test_categories() -> None:
    names = models.ResNet50_Weights.DEFAULT.meta["categories"]
    assert len(names) == 1000 and names[0] == "tench" and names[281] == "tabby"
    assert detection.FasterRCNN_ResNet50_FPN_Weights.DEFAULT.meta["categories"][1] == "person"
    assert segmentation.FCN_ResNet50_Weights.DEFAULT.meta["categories"][15] == "person"
    points = detection.KeypointRCNN_ResNet50_FPN_Weights.DEFAULT.meta["keypoint_names"]
    assert len(points) == 17


# What torchvision gives at manual_seed(0) for linspace(-1, 1) as a picture of 64 x 64: the means of "out".
MEANS = {
    "deeplabv3_mobilenet_v3_large": [0.00954778, 0.0221762, 0.0495851, 0.0453606],
    "lraspp_mobilenet_v3_large": [-0.0104618, 0.130136, -0.0125023, 0.0991594],
}


@pytest.mark.parametrize("name", MEANS)
def test_segmentation_of_torchvision(name: str) -> None:
    torch.manual_seed(0)
    model = models.get_model(name, weights_backbone=None, num_classes=4).eval()
    with torch.no_grad():
        out = model(torch.linspace(-1, 1, 3 * 64 * 64).reshape(1, 3, 64, 64))["out"]
    assert out.shape == (1, 4, 64, 64)
    assert np.allclose(out.mean((0, 2, 3)).numpy(), MEANS[name], atol=1e-5)


def test_segmentation_learns() -> None:
    body = nn.Sequential(nn.Conv2d(3, 16, 3, stride=2, padding=1), nn.ReLU())

    class Body(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body = body

        def forward(self, x):
            return {"out": self.body(x)}

    torch.manual_seed(0)
    model = segmentation.FCN(Body(), segmentation.fcn.FCNHead(16, 2))
    x = torch.zeros(2, 3, 16, 16)
    x[:, :, 4:12, 4:12] = 1
    wanted = x[:, 0].long()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(20):
        loss = nn.functional.cross_entropy(model(x)["out"], wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss))
    assert losses[-1] < 0.5 * losses[0]


def test_builders_refuse() -> None:
    with pytest.raises(ValueError, match="fixed"):
        detection.ssd300_vgg16(weights_backbone=None, size=(512, 512))
    with pytest.warns(UserWarning, match="no effect"):
        detection.fasterrcnn_mobilenet_v3_large_fpn(weights_backbone=None, trainable_backbone_layers=2)
    with pytest.raises(TypeError, match="Invalid Weight class"):
        segmentation.fcn_resnet50(weights=models.ResNet50_Weights.DEFAULT)
