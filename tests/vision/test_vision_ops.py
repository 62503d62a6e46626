"""Box functions, building blocks, grids of pictures and picture files."""

from __future__ import annotations

import io

import numpy as np
import pytest

import rushlight
from rushlight import nn
from rushlight.vision import io as vio
from rushlight.vision import ops, utils

BOXES = rushlight.tensor([[0.0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 40], [0, 0, 10, 10], [5, 5, 5, 9]])


def _iou(a, b) -> float:
    w = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    h = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    area = lambda r: (r[2] - r[0]) * (r[3] - r[1])
    return w * h / (area(a) + area(b) - w * h)


def test_box_iou() -> None:
    got = ops.box_iou(BOXES[:4], BOXES[:3])
    wanted = [[_iou(a, b) for b in BOXES[:3].tolist()] for a in BOXES[:4].tolist()]
    assert rushlight.allclose(got, rushlight.tensor(wanted))
    assert ops.box_area(BOXES).tolist() == [100, 100, 200, 100, 0]
    apart = ops.generalized_box_iou(BOXES[:1], BOXES[2:3]).item()
    assert abs(apart - (0 - (30 * 40 - 300) / (30 * 40))) < 1e-6


def test_nms() -> None:
    scores = rushlight.tensor([0.5, 0.9, 0.3, 0.8, 0.1])
    assert ops.nms(BOXES, scores, 0.5).tolist() == [1, 2, 4]
    assert ops.nms(BOXES, scores, 0.99).tolist() == [1, 3, 2, 4]
    assert ops.nms(BOXES[:0], scores[:0], 0.5).tolist() == []
    groups = rushlight.tensor([0, 1, 0, 1, 1])
    assert ops.batched_nms(BOXES, scores, groups, 0.5).tolist() == [1, 0, 2, 4]
    with pytest.raises(RuntimeError, match="same number of elements"):
        ops.nms(BOXES, scores[:2], 0.5)


def test_nms_greedily() -> None:
    rng = np.random.default_rng(0)
    low = rng.random((60, 2)) * 50
    boxes = np.concatenate([low, low + 1 + rng.random((60, 2)) * 20], 1)
    scores = rng.random(60)
    kept: list[int] = []
    for i in np.argsort(-scores):
        if all(_iou(boxes[i], boxes[j]) <= 0.3 for j in kept):
            kept.append(int(i))
    got = ops.nms(rushlight.from_numpy(boxes), rushlight.from_numpy(scores), 0.3)
    assert got.tolist() == kept


@pytest.mark.parametrize("source", ["xyxy", "xywh", "cxcywh"])
@pytest.mark.parametrize("target", ["xyxy", "xywh", "cxcywh"])
def test_box_convert(source: str, target: str) -> None:
    there = ops.box_convert(BOXES, source, target)
    assert rushlight.allclose(ops.box_convert(there, target, source), BOXES)
    assert ops.box_convert(BOXES[2:3], "xyxy", "cxcywh").tolist() == [[25, 30, 10, 20]]
    with pytest.raises(ValueError, match="Unsupported"):
        ops.box_convert(BOXES, "xyxy", "other")


def test_small_and_outer_boxes() -> None:
    assert ops.remove_small_boxes(BOXES, 1).tolist() == [0, 1, 2, 3]
    assert ops.clip_boxes_to_image(BOXES, (15, 25))[2].tolist() == [20, 15, 25, 15]


def test_roi_pool() -> None:
    x = rushlight.arange(64.0).reshape(1, 1, 8, 8).requires_grad_()
    out = ops.roi_pool(x, rushlight.tensor([[0.0, 0, 0, 3, 3], [0, 4, 4, 7, 7]]), (2, 2))
    assert out.flatten().tolist() == [9, 11, 25, 27, 45, 47, 61, 63]
    out.sum().backward()
    assert x.grad.sum() == 8 and x.grad[0, 0, 1, 1] == 1
    listed = ops.roi_pool(x, [rushlight.tensor([[0.0, 0, 3, 3]])], 2, 1.0)
    assert listed.tolist() == out[:1].tolist()
    half = ops.roi_pool(x, rushlight.tensor([[0.0, 0, 0, 14, 14]]), 1, 0.5)
    assert half.item() == 63
    outside = ops.roi_pool(x, rushlight.tensor([[0.0, 20, 20, 25, 25]]), 2)
    assert outside.flatten().tolist() == [0, 0, 0, 0]
    assert ops.roi_pool(x, rushlight.zeros(0, 5), 2).shape == (0, 1, 2, 2)
    assert ops.RoIPool(2, 1.0)(x, rushlight.zeros(1, 5)).shape == (1, 1, 2, 2)


def test_conv_norm_activation() -> None:
    block = ops.Conv2dNormActivation(3, 8, 5, 2, dilation=2)
    assert [type(m).__name__ for m in block] == ["Conv2d", "BatchNorm2d", "ReLU"]
    assert block[0].padding == (4, 4) and block[0].bias is None and block.out_channels == 8
    bare = ops.Conv2dNormActivation(3, 8, norm_layer=None, activation_layer=nn.SiLU, inplace=None)
    assert bare[0].bias is not None and isinstance(bare[1], nn.SiLU)
    assert ops.Conv3dNormActivation(1, 2)(rushlight.rand(2, 1, 4, 4, 4)).shape == (2, 2, 4, 4, 4)
    uneven = ops.Conv2dNormActivation(1, 1, kernel_size=(3, 5))
    assert uneven(rushlight.rand(2, 1, 7, 7)).shape == (2, 1, 7, 7)


def test_squeeze_excitation() -> None:
    torch = pytest.importorskip("torch")
    F = torch.nn.functional
    layer = ops.SqueezeExcitation(6, 2, activation=nn.SiLU)
    assert list(layer.state_dict()) == ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"]
    x = rushlight.rand(2, 6, 5, 5)
    w = {k: torch.from_numpy(v.numpy()) for k, v in layer.state_dict().items()}
    t = torch.from_numpy(x.numpy())
    s = F.silu(F.conv2d(t.mean((2, 3), keepdim=True), w["fc1.weight"], w["fc1.bias"]))
    wanted = torch.sigmoid(F.conv2d(s, w["fc2.weight"], w["fc2.bias"])) * t
    assert np.allclose(layer(x).detach().numpy(), wanted.numpy(), atol=1e-6)


def test_stochastic_depth() -> None:
    x = rushlight.ones(1000, 2, 2)
    rushlight.manual_seed(0)
    rows = ops.stochastic_depth(x, 0.25, "row")
    assert all(v == 0.0 or v == pytest.approx(1 / 0.75) for v in rows.flatten().tolist())
    assert ((rows == 0).all((1, 2)) == (rows == 0).any((1, 2))).all()
    assert abs((rows[:, 0, 0] == 0).to(rushlight.float32).mean().item() - 0.25) < 0.05
    assert len(set(ops.stochastic_depth(x, 0.5, "batch").flatten().tolist())) == 1
    assert ops.stochastic_depth(x, 0.5, "row", training=False) is x
    assert (ops.stochastic_depth(x, 1.0, "batch") == 0).all()
    layer = ops.StochasticDepth(0.3, "row")
    assert layer.eval()(x) is x and repr(layer) == "StochasticDepth(p=0.3, mode=row)"
    with pytest.raises(ValueError, match="between 0 and 1"):
        ops.stochastic_depth(x, 1.5, "row")
    with pytest.raises(ValueError, match="either 'batch' or 'row'"):
        ops.stochastic_depth(x, 0.5, "column")


def test_other_blocks() -> None:
    frozen = ops.FrozenBatchNorm2d(3)
    x = rushlight.rand(2, 3, 4, 4)
    assert rushlight.allclose(frozen(x), x, atol=1e-4) and not list(frozen.parameters())
    assert ops.MLP(4, [8, 2], dropout=0.1)(rushlight.rand(5, 4)).shape == (5, 2)
    assert ops.Permute([0, 2, 3, 1])(x).shape == (2, 4, 4, 3)


# -- grids ---------------------------------------------------------------------------------------


def test_make_grid() -> None:
    x = rushlight.arange(5.0).reshape(5, 1, 1, 1).expand(5, 3, 4, 6)
    grid = utils.make_grid(x, nrow=3, padding=2, pad_value=9.0)
    assert grid.shape == (3, 2 * 6 + 2, 3 * 8 + 2)
    assert grid[0, 2, 2] == 0 and grid[0, 2, 10] == 1 and grid[0, 8, 2] == 3 and grid[0, 8, 10] == 4
    assert grid[0, 0, 0] == 9 and grid[0, 8, 18] == 9  # the last place is empty
    assert utils.make_grid(rushlight.rand(4, 6)).shape == (3, 4, 6)
    assert utils.make_grid(rushlight.rand(3, 4, 6)).shape == (3, 4, 6)
    assert utils.make_grid([rushlight.rand(1, 4, 6)] * 3).shape == (3, 8, 26)
    with pytest.raises(TypeError, match="tensor or list of tensors"):
        utils.make_grid("x")


def test_make_grid_scales() -> None:
    x = rushlight.stack([rushlight.full((3, 2, 2), v) for v in (-1.0, 1.0, 3.0)])
    whole = utils.make_grid(x, normalize=True, padding=0)
    assert whole[0, 0].tolist() == [0, 0, 0.5, 0.5, 1, 1]
    ranged = utils.make_grid(x, normalize=True, value_range=(-1, 1), padding=0)
    assert ranged[0, 0].tolist() == [0, 0, 1, 1, 1, 1]
    each = utils.make_grid(x * rushlight.tensor([1.0, 0, 0]).reshape(3, 1, 1), normalize=True,
                           scale_each=True, padding=0)  # fmt: skip
    assert each[0, 0].tolist() == [0, 0, 1, 1, 1, 1]
    assert (x[0] == -1).all()  # the input is left alone


# -- files ---------------------------------------------------------------------------------------


def test_save_and_read(tmp_path) -> None:
    pytest.importorskip("PIL")
    x = rushlight.rand(4, 3, 8, 8)
    utils.save_image(x, tmp_path / "grid.png", nrow=2)
    back = vio.read_image(str(tmp_path / "grid.png"))
    wanted = utils.make_grid(x, nrow=2).mul(255).add(0.5).clamp(0, 255).to(rushlight.uint8)
    assert back.dtype == rushlight.uint8 and (back == wanted).all()
    memory = io.BytesIO()
    utils.save_image(x[0], memory, format="png")
    raw = rushlight.from_numpy(np.frombuffer(bytearray(memory.getvalue()), np.uint8))
    assert vio.decode_image(raw).shape == (3, 8, 8)
    with pytest.raises(ValueError, match="unknown file extension"):
        utils.save_image(x, tmp_path / "grid.nothing")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["grid.png"]


@pytest.mark.parametrize("channels", [1, 3])
def test_png_and_jpeg(tmp_path, channels: int) -> None:
    pytest.importorskip("PIL")
    x = (rushlight.rand(channels, 9, 7) * 255).to(rushlight.uint8)
    path = str(tmp_path / "a.png")
    vio.write_png(x, path)
    assert (vio.read_image(path) == x).all()
    for mode, n in (("GRAY", 1), ("GRAY_ALPHA", 2), ("RGB", 3), ("RGB_ALPHA", 4)):
        assert vio.read_image(path, vio.ImageReadMode[mode]).shape == (n, 9, 7)
        assert vio.read_image(path, mode).shape == (n, 9, 7)
    smooth = rushlight.full((channels, 16, 16), 100, dtype=rushlight.uint8)
    raw = vio.encode_jpeg(smooth, quality=95)
    assert (vio.decode_jpeg(raw).to(rushlight.int32) - 100).abs().max() <= 2
    vio.write_jpeg(smooth, str(tmp_path / "a.jpg"))
    assert (vio.read_file(str(tmp_path / "a.jpg"))[:2] == rushlight.tensor([255, 216])).all()


def test_files_that_are_no_pictures(tmp_path) -> None:
    pytest.importorskip("PIL")
    with pytest.raises(RuntimeError, match="No such file"):
        vio.read_image(str(tmp_path / "nothing.png"))
    (tmp_path / "a.png").write_bytes(b"hello")
    with pytest.raises(RuntimeError, match="no picture"):
        vio.read_image(str(tmp_path / "a.png"))
    noise = (rushlight.rand(3, 20, 20) * 255).to(rushlight.uint8)
    vio.write_png(noise, str(tmp_path / "b.png"))
    whole = (tmp_path / "b.png").read_bytes()
    for size in range(0, len(whole) - 100, 7):
        (tmp_path / "b.png").write_bytes(whole[:size])
        with pytest.raises(RuntimeError):
            vio.read_image(str(tmp_path / "b.png"))
    with pytest.raises(RuntimeError, match="uint8"):
        vio.encode_png(rushlight.rand(3, 4, 4))
    with pytest.raises(RuntimeError, match="1 or 3 channels"):
        vio.encode_png(rushlight.zeros(2, 4, 4, dtype=rushlight.uint8))
    with pytest.raises(ValueError, match="quality"):
        vio.encode_jpeg(rushlight.zeros(3, 4, 4, dtype=rushlight.uint8), 0)


def test_the_ranking_of_names() -> None:
    """Every torchvision name that public scripts use often is here."""
    import rushlight.vision as tv

    for name in """transforms.ToTensor transforms.Normalize transforms.Compose transforms.Resize
        datasets.MNIST utils.save_image transforms.RandomHorizontalFlip datasets.CIFAR10
        transforms.RandomResizedCrop transforms.RandomCrop datasets.ImageFolder transforms.CenterCrop
        models.resnet18 utils.make_grid transforms.ColorJitter io.read_image models.vgg19
        datasets.FashionMNIST transforms.functional.crop transforms.GaussianBlur
        transforms.RandomGrayscale transforms.Lambda datasets.CIFAR100 datasets.FakeData
        io.image.ImageReadMode ops.misc.Conv2dNormActivation models.WeightsEnum
        models._utils._ovewrite_named_param ops.StochasticDepth ops.stochastic_depth
        models.VGG16_Weights models.Weights models._api.register_model
        models._utils.handle_legacy_interface models.resnet152 models.resnet34 models.vgg16
        ops.misc.SqueezeExcitation ops.roi_pool transforms.InterpolationMode transforms.Pad
        transforms.RandomRotation transforms.RandomVerticalFlip transforms.ToPILImage
        transforms._presets.ImageClassification utils._log_api_usage_once""".split():
        found = tv
        for part in name.split("."):
            found = getattr(found, part)
    assert tv.get_image_backend() == "PIL"
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        tv.nothing  # noqa: B018
