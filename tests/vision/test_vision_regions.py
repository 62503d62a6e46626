"""Regions, deformable convolutions, pyramids and the losses of boxes, against plain formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest

import rushlight as torch
from rushlight import nn
from rushlight.autograd import gradcheck
from rushlight.vision import ops

RNG = np.random.default_rng(0)
ROIS = np.array(
    [
        [0, 1.2, 0.7, 9.4, 8.3],
        [1, -3.0, 2.0, 14.0, 30.0],
        [1, 4.0, 4.0, 4.0, 4.0],
        [0, 50.0, 50.0, 60.0, 60.0],
        [0, 2.5, 3.5, 6.5, 11.0],
    ],
    np.float32,
)


def _between(plane: np.ndarray, y: float, x: float) -> float:
    """A value between pixels; zero more than a pixel outside."""
    height, width = plane.shape
    if y < -1 or y > height or x < -1 or x > width:
        return 0.0
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    a, b = y - top, x - left
    upper = plane[top, left] * (1 - b) + plane[top, right] * b
    return upper * (1 - a) + (plane[bottom, left] * (1 - b) + plane[bottom, right] * b) * a


def _aligned_by_points(x, size, scale, ratio, aligned, sensitive=False):
    rows, columns = size
    channels = x.shape[1] // (rows * columns) if sensitive else x.shape[1]
    out = np.zeros((len(ROIS), channels, rows, columns))
    for k, (n, x1, y1, x2, y2) in enumerate(ROIS.astype(float)):
        shift = 0.5 if aligned else 0.0
        left, top = x1 * scale - shift, y1 * scale - shift
        wide, tall = (x2 - x1) * scale, (y2 - y1) * scale
        if not aligned:
            wide, tall = max(wide, 1), max(tall, 1)
        high, broad = tall / rows, wide / columns
        ny = ratio if ratio > 0 else math.ceil(high)
        nx = ratio if ratio > 0 else math.ceil(broad)
        for c in range(channels):
            for i in range(rows):
                for j in range(columns):
                    plane = x[int(n), (c * rows + i) * columns + j if sensitive else c]
                    values = [
                        _between(plane, top + (i + (a + 0.5) / ny) * high, left + (j + (b + 0.5) / nx) * broad)
                        for a in range(ny)
                        for b in range(nx)
                    ]
                    out[k, c, i, j] = sum(values) / max(len(values), 1)
    return out


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("ratio", [-1, 2])
def test_roi_align(ratio: int, aligned: bool, device: str) -> None:
    x = RNG.standard_normal((2, 3, 9, 11)).astype(np.float32)
    got = ops.roi_align(torch.from_numpy(x).to(device), torch.from_numpy(ROIS).to(device), (2, 3), 0.6, ratio, aligned)
    assert got.device.type == torch.device(device).type
    wanted = _aligned_by_points(x, (2, 3), 0.6, ratio, aligned)
    assert np.allclose(got.cpu().numpy(), wanted, atol=2e-5)


def test_regions_of_torchvision() -> None:
    """Numbers of torchvision 0.28."""
    x = torch.linspace(-1, 1, 2 * 4 * 8 * 8).reshape(2, 4, 8, 8)
    rois = torch.tensor([[0.0, 0.5, 1.0, 9.0, 13.0], [1.0, 3.0, 2.0, 12.0, 7.0]])
    found = {
        "roi_align": ops.roi_align(x, rois, 2, 0.5, 2, True),
        "ps_roi_align": ops.ps_roi_align(x, rois, 2, 0.5),
        "ps_roi_pool": ops.ps_roi_pool(x, rois, 2, 0.5),
        "roi_pool": ops.roi_pool(x, rois, 2, 0.5),
    }
    for name, made in found.items():
        assert np.allclose(made.flatten()[:4].numpy(), TORCHVISION[name], atol=1e-5), name


TORCHVISION = {
    "roi_align": [-0.94985, -0.94154, -0.85592, -0.8476],
    "ps_roi_align": [-0.94985, -0.69105, -0.35494, -0.09614],
    "ps_roi_pool": [-0.93346, -0.67515, -0.33855, -0.08023],
    "roi_pool": [-0.86693, -0.85519, -0.77299, -0.76125],
}


def test_position_sensitive() -> None:
    x = RNG.standard_normal((2, 12, 9, 11)).astype(np.float32)
    got = ops.ps_roi_align(torch.from_numpy(x), torch.from_numpy(ROIS), (2, 3), 0.6, 2)
    wanted = _aligned_by_points(x, (2, 3), 0.6, 2, True, sensitive=True)
    assert np.allclose(got.numpy(), wanted, atol=2e-5)
    with pytest.raises(RuntimeError, match="multiple of pooling height"):
        ops.ps_roi_pool(torch.zeros(1, 5, 4, 4), torch.zeros(0, 5), 2)


@pytest.mark.parametrize("name", ["roi_align", "ps_roi_align", "ps_roi_pool", "roi_pool"])
def test_derivatives_of_regions(name: str) -> None:
    x = torch.from_numpy(RNG.standard_normal((2, 4, 7, 7))).requires_grad_()
    rois = torch.tensor([[0.0, 0.3, 1.2, 5.1, 6.0], [1.0, 2.0, 2.0, 9.0, 4.0], [0.0, 1, 1, 1, 1]])
    region = getattr(ops, name)
    assert gradcheck(lambda x: region(x, rois.double(), 2), (x,))
    (g,) = torch.autograd.grad((region(x, rois.double(), 2) ** 2).sum(), x, create_graph=True)
    (twice,) = torch.autograd.grad(g.sum(), x)  # linear but for the square
    assert twice.shape == x.shape


def test_regions_of_lists_and_wrong_ones() -> None:
    x = torch.from_numpy(RNG.standard_normal((2, 3, 9, 11)).astype(np.float32))
    rois = torch.from_numpy(ROIS[np.argsort(ROIS[:, 0], kind="stable")])
    parts = [rois[rois[:, 0] == i, 1:] for i in (0, 1)]
    assert torch.equal(ops.roi_align(x, rois, 3), ops.roi_align(x, parts, 3))
    assert ops.roi_align(x, rois[:0], 3).shape == (0, 3, 3, 3)
    assert ops.RoIAlign(3, 1.0, -1)(x.half(), rois).dtype is torch.float16
    with pytest.raises(ValueError, match=r"Tensor\[K, 5\]"):
        ops.roi_align(x, rois[:, 1:], 3)
    with pytest.raises(ValueError, match=r"List\[Tensor"):
        ops.roi_align(x, [rois, rois], 3)
    with pytest.raises(IndexError, match="belongs to picture 7"):
        ops.roi_align(x, torch.tensor([[7.0, 0, 0, 1, 1]]), 3)
    with pytest.raises(RuntimeError, match="batch"):
        ops.roi_pool(x[0], rois, 3)


def test_multi_scale() -> None:
    maps = {k: torch.from_numpy(RNG.standard_normal((1, 2, n, n))) for k, n in (("a", 64), ("b", 32))}
    boxes = torch.tensor([[0.0, 0, 20, 30], [10, 10, 400, 300], [0, 0, 90, 90]], dtype=torch.float64)
    pool = ops.MultiScaleRoIAlign(["a", "b"], 3, 2, canonical_scale=112)
    got = pool(maps, [boxes], [(512, 512)])
    for k, (name, scale) in enumerate([("a", 1 / 8), ("b", 1 / 16), ("a", 1 / 8)]):
        assert torch.allclose(got[k], ops.roi_align(maps[name], [boxes[k : k + 1]], 3, scale, 2)[0])


# -- deformable convolution ------------------------------------------------------------------------------


def test_deform_conv_without_offsets() -> None:
    x, w, b = torch.randn(2, 4, 7, 8), torch.randn(6, 2, 3, 3), torch.randn(6)
    wanted = nn.functional.conv2d(x, w, b, (2, 1), (1, 2), (1, 2), groups=2)
    offset = torch.zeros(2, 2 * 9, *wanted.shape[2:])
    got = ops.deform_conv2d(x, offset, w, b, (2, 1), (1, 2), (1, 2))
    assert torch.allclose(got, wanted, atol=1e-5)
    half = torch.full((2, 9, *wanted.shape[2:]), 0.5)
    scaled = ops.deform_conv2d(x, offset, w, None, (2, 1), (1, 2), (1, 2), half)
    assert torch.allclose(scaled, (wanted - b[:, None, None]) * 0.5, atol=1e-5)


def test_deform_conv_by_points() -> None:
    x = RNG.standard_normal((1, 2, 6, 5))
    offset = RNG.standard_normal((1, 2 * 2 * 4, 5, 4)) * 2
    weight = RNG.standard_normal((3, 2, 2, 2))
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))  # zeros, so that reads fade out
    wanted = np.zeros((1, 3, 5, 4))
    for o in range(3):
        for c in range(2):  # an offset group for each channel
            for t in range(4):
                for i in range(5):
                    for j in range(4):
                        dy, dx = offset[0, (c * 4 + t) * 2 : (c * 4 + t) * 2 + 2, i, j]
                        y, at = i + t // 2 + dy, j + t % 2 + dx
                        if -1 < y < 6 and -1 < at < 5:
                            value = _between(padded[0, c], y + 1, at + 1)
                            wanted[0, o, i, j] += weight[o, c, t // 2, t % 2] * value
    got = ops.deform_conv2d(*(torch.from_numpy(a) for a in (x, offset, weight)))
    assert np.allclose(got.numpy(), wanted)


def test_deform_conv_derivatives() -> None:
    sizes = ((1, 2, 4, 4), (1, 18, 2, 2), (2, 2, 3, 3), (1, 9, 2, 2))
    x, offset, w, mask = (torch.from_numpy(RNG.random(s)).requires_grad_() for s in sizes)
    assert gradcheck(lambda x, o, w, m: ops.deform_conv2d(x, o, w, mask=m), (x, offset, w, mask))


def test_deform_conv_wrong() -> None:
    with pytest.raises(RuntimeError, match="offset tensor at dimension 1 is not valid"):
        ops.deform_conv2d(torch.zeros(1, 1, 5, 5), torch.zeros(1, 3, 3, 3), torch.zeros(1, 1, 3, 3))
    with pytest.raises(RuntimeError, match="invalid offset shape"):
        ops.deform_conv2d(torch.zeros(1, 1, 5, 5), torch.zeros(1, 18, 5, 5), torch.zeros(1, 1, 3, 3))
    with pytest.raises(ValueError, match="divisible by groups"):
        ops.DeformConv2d(3, 4, 3, groups=2)
    assert str(ops.DeformConv2d(2, 4, 3, padding=1, bias=False)) == (
        "DeformConv2d(2, 4, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False)"
    )


# -- boxes ---------------------------------------------------------------------------------------------------


def _boxes(n: int) -> torch.Tensor:
    low = RNG.random((n, 2)) * 20
    return torch.from_numpy(np.concatenate([low, low + 1 + RNG.random((n, 2)) * 9], 1))


@pytest.mark.parametrize(
    "loss, pairs",
    [
        (ops.generalized_box_iou_loss, ops.generalized_box_iou),
        (ops.distance_box_iou_loss, ops.distance_box_iou),
        (ops.complete_box_iou_loss, ops.complete_box_iou),
    ],
)
def test_losses_are_of_pairs(loss, pairs) -> None:
    a, b = _boxes(6), _boxes(6)
    b[:3] = a[:3] + 0.5
    wanted = 1 - pairs(a, b).diagonal()
    assert torch.allclose(loss(a, b), wanted, atol=1e-6)
    assert torch.allclose(loss(a, b, reduction="mean"), wanted.mean(), atol=1e-6)
    assert torch.allclose(loss(a, b, reduction="sum"), wanted.sum(), atol=1e-6)
    assert loss(a[:0], b[:0], reduction="mean") == 0
    assert loss(a, a).abs().max() < 1e-6
    with pytest.raises(ValueError, match="Supported reduction modes"):
        loss(a, b, reduction="other")
    if loss is not ops.complete_box_iou_loss:  # its factor alpha is a constant by definition
        assert gradcheck(loss, (a.requires_grad_(), b.requires_grad_()))


def test_focal_loss() -> None:
    x, t = torch.randn(4, 3, dtype=torch.float64), (torch.rand(4, 3) > 0.5).double()
    p = torch.where(t == 1, x.sigmoid(), 1 - x.sigmoid())
    plain = -((1 - p) ** 1.5) * p.log()
    assert torch.allclose(ops.sigmoid_focal_loss(x, t, -1, 1.5), plain)
    weight = torch.where(t == 1, 0.3, 0.7)
    assert torch.allclose(ops.sigmoid_focal_loss(x, t, 0.3, 1.5, "sum"), (plain * weight).sum())
    with pytest.raises(ValueError, match="Invalid alpha"):
        ops.sigmoid_focal_loss(x, t, 2.0)


def test_boxes_of_masks() -> None:
    masks = torch.zeros(3, 6, 8, dtype=torch.bool)
    masks[0, 2:5, 1:7] = True
    masks[2, 0, 0] = True
    assert ops.masks_to_boxes(masks).tolist() == [[1, 2, 6, 4], [0, 0, 0, 0], [0, 0, 0, 0]]
    assert ops.masks_to_boxes(masks[:0]).shape == (0, 4)


@pytest.mark.parametrize("source", ["xywhr", "cxcywhr", "xyxyxyxy"])
@pytest.mark.parametrize("target", ["xywhr", "cxcywhr", "xyxyxyxy"])
def test_turned_boxes(source: str, target: str) -> None:
    boxes = torch.tensor([[10.0, 20, 6, 4, 0], [3, 4, 5, 6, 30], [1, 2, 8, 3, -120]])
    first = ops.box_convert(boxes, "xywhr", source)
    back = ops.box_convert(ops.box_convert(first, source, target), target, "xywhr")
    assert torch.allclose(back, boxes, atol=1e-4)
    corners = ops.box_convert(boxes, "xywhr", "xyxyxyxy")[0].tolist()
    assert corners == [10, 20, 16, 20, 16, 24, 10, 24]
    with pytest.raises(NotImplementedError, match="Unsupported"):
        ops.box_convert(boxes, "xywhr", "xyxy")


def test_drop_block() -> None:
    torch.manual_seed(0)
    x = torch.ones(2, 3, 20, 20)
    y = ops.drop_block2d(x, 0.2, 3)
    dropped = (y == 0).float()
    assert 0.1 < dropped.mean() < 0.3 and abs(y.mean() - 1) < 1e-4
    # every dropped pixel lies in a block of three by three that is dropped whole
    whole = nn.functional.avg_pool2d(dropped, 3, 1) > 0.999
    covered = nn.functional.max_pool2d(nn.functional.pad(whole.float(), [2] * 4), 3, 1)
    assert torch.equal(covered, dropped)
    assert ops.drop_block3d(torch.ones(1, 1, 5, 5, 5), 0.3, 1).shape == (1, 1, 5, 5, 5)
    with pytest.raises(ValueError, match="between 0 and 1"):
        ops.drop_block2d(x, 1.5, 3)
    with pytest.raises(ValueError, match="odd"):
        ops.drop_block2d(x, 0.5, 4)


def test_pyramid() -> None:
    pyramid = ops.FeaturePyramidNetwork([4, 8], 5, ops.feature_pyramid_network.LastLevelMaxPool())
    assert list(pyramid.state_dict()) == [
        f"{part}_blocks.{i}.0.{kind}" for part in ("inner", "layer") for i in (0, 1) for kind in ("weight", "bias")
    ]
    fine, coarse = torch.randn(1, 4, 7, 9), torch.randn(1, 8, 4, 5)
    made = pyramid({"fine": fine, "coarse": coarse})
    assert list(made) == ["fine", "coarse", "pool"]
    above = nn.functional.interpolate(pyramid.inner_blocks[1](coarse), size=(7, 9))
    wanted = pyramid.layer_blocks[0](pyramid.inner_blocks[0](fine) + above)
    assert torch.allclose(made["fine"], wanted, atol=1e-6)
    with pytest.raises(TypeError, match="ExtraFPNBlock"):
        ops.FeaturePyramidNetwork([4], 5, nn.ReLU())
