"""Models: torchvision's names, shapes and parameter counts; weights that load; numbers."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

import rushlight
from rushlight import hub, nn
from rushlight.vision import models
from rushlight.vision.models import _utils
from rushlight.vision.models._api import WeightsEnum


def on_meta(name: str, **options):
    with rushlight.device("meta"):
        return models.get_model(name, **options)


# Names and shapes as in torchvision's published files.
ENTRIES = {
    "resnet18": {
        "conv1.weight": (64, 3, 7, 7),
        "bn1.running_mean": (64,),
        "bn1.num_batches_tracked": (),
        "layer1.0.conv1.weight": (64, 64, 3, 3),
        "layer2.0.downsample.0.weight": (128, 64, 1, 1),
        "layer2.0.downsample.1.weight": (128,),
        "layer4.1.bn2.bias": (512,),
        "fc.weight": (1000, 512),
    },
    "resnet50": {
        "layer1.0.conv3.weight": (256, 64, 1, 1),
        "layer1.0.downsample.0.weight": (256, 64, 1, 1),
        "layer3.5.bn3.weight": (1024,),
        "fc.bias": (1000,),
    },
    "vgg19": {
        "features.0.weight": (64, 3, 3, 3),
        "features.34.bias": (512,),
        "classifier.0.weight": (4096, 25088),
        "classifier.6.weight": (1000, 4096),
    },
    "vgg16_bn": {"features.1.running_var": (64,), "features.40.weight": (512, 512, 3, 3)},
    "alexnet": {"features.10.weight": (256, 256, 3, 3), "classifier.1.weight": (4096, 9216)},
    "mobilenet_v2": {
        "features.0.0.weight": (32, 3, 3, 3),
        "features.0.1.weight": (32,),
        "features.1.conv.0.0.weight": (32, 1, 3, 3),
        "features.1.conv.1.weight": (16, 32, 1, 1),
        "features.2.conv.0.0.weight": (96, 16, 1, 1),
        "features.17.conv.3.running_mean": (320,),
        "features.18.0.weight": (1280, 320, 1, 1),
        "classifier.1.weight": (1000, 1280),
    },
    "squeezenet1_1": {
        "features.0.weight": (64, 3, 3, 3),
        "features.3.squeeze.weight": (16, 64, 1, 1),
        "features.12.expand3x3.weight": (256, 64, 3, 3),
        "classifier.1.weight": (1000, 512, 1, 1),
    },
    "squeezenet1_0": {"features.12.expand1x1.bias": (256,), "features.0.weight": (96, 3, 7, 7)},
}
SIZES = {"resnet18": 122, "resnet50": 320, "vgg19": 38, "vgg16_bn": 97, "alexnet": 16,
         "mobilenet_v2": 314, "squeezenet1_1": 52, "squeezenet1_0": 52}  # fmt: skip


@pytest.mark.parametrize("name", ENTRIES)
def test_names_and_shapes(name: str) -> None:
    state = on_meta(name).state_dict()
    assert len(state) == SIZES[name]
    for key, shape in ENTRIES[name].items():
        assert tuple(state[key].shape) == shape


@pytest.mark.parametrize(
    "name, size",
    [("resnet18", 64), ("resnet50", 64), ("mobilenet_v2", 32), ("squeezenet1_0", 48),
     ("squeezenet1_1", 48), ("resnet18_cifar", 32), ("resnet34_cifar", 16), ("resnet50_cifar", 16),
     ("resnext50_32x4d", 32), ("lenet", 32)],
)  # fmt: skip
def test_outputs(name: str, size: int) -> None:
    model = models.get_model(name, num_classes=7).eval()
    with rushlight.no_grad():
        assert model(rushlight.rand(2, 3, size, size)).shape == (2, 7)


@pytest.mark.parametrize("name", ["vgg11", "vgg13_bn", "vgg16", "alexnet"])
def test_outputs_of_the_large_ones(name: str) -> None:
    model = on_meta(name, num_classes=7).eval()
    assert model(rushlight.rand(2, 3, 64, 64, device="meta")).shape == (2, 7)


def test_the_lab_network() -> None:
    net = models.LeNet()
    shapes = {k: tuple(v.shape) for k, v in net.state_dict().items()}
    assert shapes["conv2.weight"] == (16, 6, 5, 5) and shapes["fc1.weight"] == (120, 400)
    assert list(shapes) == [
        f"{layer}.{part}" for layer in ("conv1", "conv2", "fc1", "fc2", "fc3") for part in ("weight", "bias")
    ]
    assert models.LeNet(10, 1, 28)(rushlight.rand(3, 1, 28, 28)).shape == (3, 10)
    with pytest.raises(ValueError, match="16x16"):
        models.LeNet(size=12)
    assert models.MLP(784, [30, 20], 5)(rushlight.rand(3, 1, 28, 28)).shape == (3, 5)


def _torch_resnet(torch, state: dict, x, training: bool):
    """ResNet-18 with a CIFAR stem, written out with torch's functions."""
    F = torch.nn.functional

    def norm(x, name):
        stats = state[name + ".running_mean"].clone(), state[name + ".running_var"].clone()
        return F.batch_norm(x, *stats, state[name + ".weight"], state[name + ".bias"], training)

    x = F.relu(norm(F.conv2d(x, state["conv1.weight"], padding=1), "bn1"))
    for stage in range(1, 5):
        for block in range(2):
            at = f"layer{stage}.{block}."
            stride = 2 if stage > 1 and block == 0 else 1
            y = F.conv2d(x, state[at + "conv1.weight"], stride=stride, padding=1)
            y = F.relu(norm(y, at + "bn1"))
            y = norm(F.conv2d(y, state[at + "conv2.weight"], padding=1), at + "bn2")
            if at + "downsample.0.weight" in state:
                x = norm(F.conv2d(x, state[at + "downsample.0.weight"], stride=stride), at + "downsample.1")
            x = F.relu(x + y)
    return F.linear(x.mean((2, 3)), state["fc.weight"], state["fc.bias"])


@pytest.mark.parametrize("training", [False, True])
def test_resnet_against_torch(training: bool) -> None:
    torch = pytest.importorskip("torch")
    rushlight.manual_seed(0)
    net = models.resnet18_cifar(width=8).double().train(training)
    state = {k: torch.from_numpy(v.numpy().copy()) for k, v in net.state_dict().items()}
    for name, _ in net.named_parameters():
        state[name].requires_grad_()
    a = np.random.default_rng(0).normal(size=(4, 3, 16, 16))
    ours = net(rushlight.from_numpy(a))
    theirs = _torch_resnet(torch, state, torch.from_numpy(a), training)
    assert np.allclose(ours.detach().numpy(), theirs.detach().numpy(), atol=1e-9)
    ours.square().sum().backward()
    theirs.square().sum().backward()
    for name, p in net.named_parameters():
        wanted = state[name].grad.numpy()
        assert np.allclose(p.grad.numpy(), wanted, atol=1e-7 * (1 + np.abs(wanted).max()))


def test_first_numbers_of_a_seed() -> None:
    """Layers draw when they are made, in order; then convolutions are drawn anew, in order."""
    torch = pytest.importorskip("torch")
    rushlight.manual_seed(1)
    net = models.resnet18_cifar(width=4)
    torch.manual_seed(1)
    blocks = [b for stage in (net.layer1, net.layer2, net.layer3, net.layer4) for b in stage]
    made = [net.conv1]
    for b in blocks:  # a shortcut is made before its block
        made += [*([] if b.downsample is None else [b.downsample[0]]), b.conv1, b.conv2]
    theirs = {m: torch.nn.Conv2d(m.in_channels, m.out_channels, m.kernel_size, bias=False) for m in made}
    linear = torch.nn.Linear(net.fc.in_features, net.fc.out_features)
    assert np.allclose(net.fc.weight.detach().numpy(), linear.weight.detach().numpy(), atol=1e-7)
    for m in net.modules():
        if isinstance(m, nn.Conv2d):
            t = theirs.pop(m).weight
            torch.nn.init.kaiming_normal_(t, mode="fan_out", nonlinearity="relu")
            assert np.allclose(m.weight.detach().numpy(), t.detach().numpy(), atol=1e-5)
    assert not theirs


def test_zero_init_residual() -> None:
    net = models.ResNet(models.resnet.BasicBlock, [1, 1, 1, 1], zero_init_residual=True, width=4)
    assert (net.layer3[0].bn2.weight == 0).all() and (net.layer3[0].bn1.weight == 1).all()


def test_arguments_of_resnet() -> None:
    with pytest.raises(ValueError, match="stem"):
        models.resnet18(stem="other")
    with pytest.raises(ValueError, match="3-element"):
        models.resnet50(replace_stride_with_dilation=[True])
    with pytest.raises(NotImplementedError, match="Dilation"):
        models.resnet18(replace_stride_with_dilation=[False, False, True])
    with rushlight.device("meta"):
        wide = models.resnet50(replace_stride_with_dilation=[False, True, True])
        out = wide.layer4(wide.layer3(wide.layer2(rushlight.rand(1, 256, 16, 16))))
    assert out.shape == (1, 2048, 8, 8)
    grouped = models.resnet18(norm_layer=lambda c: nn.GroupNorm(4, c), width=8)
    assert isinstance(grouped.bn1, nn.GroupNorm)


# -- weights -------------------------------------------------------------------------------------


def test_weight_enums() -> None:
    weights = models.ResNet50_Weights
    assert weights.DEFAULT is weights.IMAGENET1K_V2 and len(weights) == 2
    assert repr(weights.DEFAULT) == "ResNet50_Weights.IMAGENET1K_V2"
    assert weights.verify("DEFAULT") is weights.verify("ResNet50_Weights.DEFAULT")
    assert weights.verify(None) is None
    assert weights.DEFAULT.url.endswith("resnet50-11ad3fa6.pth")
    assert weights.DEFAULT.transforms().resize_size == [232]
    assert weights.IMAGENET1K_V1.transforms().resize_size == [256]
    with pytest.raises(TypeError, match="expected ResNet50_Weights but received ResNet18_Weights"):
        weights.verify(models.ResNet18_Weights.DEFAULT)
    with pytest.raises(KeyError):
        weights.verify("IMAGENET21K")
    assert models.get_weight("VGG16_Weights.DEFAULT") is models.VGG16_Weights.DEFAULT
    assert models.get_model_weights("resnet18") is models.ResNet18_Weights
    assert issubclass(models.ResNet18_Weights, WeightsEnum)
    for bad in ("ResNet18_Weights", "Nothing_Weights.DEFAULT"):
        with pytest.raises(ValueError):
            models.get_weight(bad)


def test_the_preset_of_weights() -> None:
    image = pytest.importorskip("PIL.Image")
    preset = models.ResNet18_Weights.DEFAULT.transforms()
    out = preset(image.new("RGB", (300, 400), (255, 0, 0)))
    assert out.shape == (3, 224, 224)
    assert abs(out[0, 0, 0].item() - (1 - 0.485) / 0.229) < 1e-5


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """Random weights of SqueezeNet, saved where downloads are kept."""
    net = models.squeezenet1_1()
    monkeypatch.setattr(hub, "_own_dir", str(tmp_path))
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    rushlight.save(net.state_dict(), folder / "squeezenet1_1-b8a52dc0.pth")
    return net


def test_weights_that_are_there_are_loaded(cached) -> None:
    net = models.squeezenet1_1(weights="DEFAULT")
    for a, b in zip(net.parameters(), cached.parameters()):
        assert (a == b).all()
    with pytest.raises(ValueError, match="'num_classes' expected value 1000 but got 10"):
        models.squeezenet1_1(weights=models.SqueezeNet1_1_Weights.DEFAULT, num_classes=10)


def test_the_older_spelling(cached) -> None:
    for args, kwargs in (((), {"pretrained": True}), ((True,), {}), ((True, False), {})):
        with pytest.warns(UserWarning, match="'pretrained' is deprecated"):
            net = models.squeezenet1_1(*args, **kwargs)
        assert (next(net.parameters()) == next(cached.parameters())).all()
    with pytest.warns(UserWarning, match="'pretrained' is deprecated"):
        models.squeezenet1_1(pretrained=False, num_classes=3)


def test_weights_without_a_network(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(hub, "_own_dir", str(tmp_path))
    monkeypatch.setattr(hub, "_open", _unreachable)
    with pytest.raises(RuntimeError, match="cannot be reached") as error:
        models.resnet18(weights="DEFAULT")
    assert f"place the file resnet18-f37072fd.pth in {tmp_path}/checkpoints" in str(error.value)
    with pytest.raises(RuntimeError, match="wide_resnet50_2-9ba9bcbe.pth"):
        models.wide_resnet50_2(weights="DEFAULT")


def _unreachable(url: str, *rest: object):
    from urllib.error import URLError

    raise URLError("no route to host")


def test_torch_reads_and_writes_the_weights(tmp_path) -> None:
    torch = pytest.importorskip("torch")
    net = models.resnet18_cifar(width=4)
    rushlight.save(net.state_dict(), tmp_path / "ours.pth")
    state = torch.load(tmp_path / "ours.pth")
    assert hashlib.md5(state["fc.weight"].numpy().tobytes()).digest() == (
        hashlib.md5(net.fc.weight.detach().numpy().tobytes()).digest()
    )
    torch.save({k: v * 2 for k, v in state.items()}, tmp_path / "theirs.pth")
    other = models.resnet18_cifar(width=4)
    other.load_state_dict(rushlight.load(tmp_path / "theirs.pth"))
    assert (other.fc.weight == net.fc.weight * 2).all()


# -- the register and the helpers ------------------------------------------------------------------


def test_the_register() -> None:
    assert "resnet18" in models.list_models()
    assert models.list_models(include="vgg1*", exclude="*_bn") == ["vgg11", "vgg13", "vgg16", "vgg19"]
    assert models.list_models(module=models.small) == ["lenet", "mlp"]
    assert models.__dict__["resnet18"] is models.resnet18
    assert callable(models.alexnet)
    with pytest.raises(ValueError, match="Unknown model nothing"):
        models.get_model("nothing")
    with pytest.raises(ValueError, match="already registered"):
        models._api.register_model("vgg11")(lambda: None)


def test_make_divisible() -> None:
    assert [_utils._make_divisible(v, 8) for v in (1, 11, 12, 33.6, 100)] == [8, 16, 16, 32, 104]


def test_intermediate_layers() -> None:
    net = models.resnet18(width=4)
    getter = _utils.IntermediateLayerGetter(net, {"layer1": "low", "layer3": "high"})
    out = getter(rushlight.rand(1, 3, 64, 64))
    assert [(k, tuple(v.shape)) for k, v in out.items()] == [("low", (1, 4, 16, 16)), ("high", (1, 16, 4, 4))]
    with pytest.raises(ValueError, match="not present"):
        _utils.IntermediateLayerGetter(net, {"nothing": "x"})
