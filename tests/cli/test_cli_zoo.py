"""Every network of rushlight.vision behind `--model`: built, taught, reloaded, refused with what to do."""

from __future__ import annotations

import inspect
import re
from types import SimpleNamespace

import pytest

import rushlight as rl
from cli_help import write_pictures
from rushlight.cli import config, main
from rushlight.cli.data.files import Listing, Sample
from rushlight.cli.data.images import Source
from rushlight.cli.errors import UsageError
from rushlight.cli.export import how_to_load
from rushlight.cli.training import recipe, zoo
from rushlight.cli.training.networks import build, head_of
from rushlight.vision import models

pytest.importorskip("PIL")

# One of each family; the others differ by their numbers of layers and channels alone.
FAMILIES = [
    "alexnet", "convnext_tiny", "densenet121", "efficientnet_b0", "efficientnet_v2_s", "googlenet", "inception_v3",
    "mnasnet0_5", "mobilenet_v2", "mobilenet_v3_small", "regnet_x_400mf", "regnet_y_400mf", "resnet101",
    "resnext50_32x4d", "shufflenet_v2_x0_5", "squeezenet1_0", "squeezenet1_1", "swin_t", "swin_v2_t", "vgg11",
    "vgg11_bn", "vit_b_16", "wide_resnet50_2",
]  # fmt: skip


def test_every_classifier_is_offered() -> None:
    assert len(zoo.names()) >= 80
    assert set(FAMILIES) <= set(zoo.names()) and "resnet18_cifar" not in zoo.names()
    begins = {name.split("_")[0].rstrip("0123456789") for name in zoo.names()} - {"lenet", "mlp"}
    assert begins <= {name.split("_")[0].rstrip("0123456789") for name in [*FAMILIES, "resnet18"]}


@pytest.mark.parametrize("name", FAMILIES)
def test_the_smallest_size_is_true(name: str) -> None:
    size = zoo.smallest(name)
    with rl.device("meta"):
        net = build(name, channels=3, size=size, classes=7).train()
        assert net(rl.empty(4, 3, size, size)).shape == (4, 7)
        assert dict(net.named_parameters())[head_of(net) + ".weight"].shape[0] == 7
        norms = any(isinstance(m, rl.nn.BatchNorm2d) for m in net.modules())
        assert zoo.gentle(name) != norms
        if zoo.patch(name) == 1 and size > 8:
            with pytest.raises((RuntimeError, ValueError)):
                net(rl.empty(4, 3, size - 1, size - 1))
    with pytest.raises(UsageError, match="larger --size"):
        build(name, channels=3, size=size - 1, classes=7)


# Every network, some of them at other widths, for colours and (where it takes them) for grey, small and larger.
EXPORTED = [
    (name, width, channels, size)
    for name, width in [*((n, 1) for n in zoo.names()), ("lenet", 3), ("mlp", 2),
                        *((n, w) for n in ("resnet18", "resnet34", "resnet50") for w in (0.25, 0.5, 2))]
    for channels in ((1, 3) if name in config.WIDE else (3,))
    for size in (32, 64)
]  # fmt: skip


@pytest.mark.parametrize("name, width, channels, size", EXPORTED)
def test_exported_weights_load_into_what_the_message_names(name, width, channels, size) -> None:
    """Built by the words of the message, as torchvision's where it says so, with the same names and shapes."""
    size = zoo.fitting_size(name, size)
    saved = {"config": {"model": name, "width": width, "task": "classification"}, "channels": channels, "size": size,
             "classes": list("abc"), "scale": None}  # fmt: skip
    said = how_to_load("pth", saved, "model.pth")
    found = re.match(r"A state_dict for (torchvision|rushlight\.vision)\.models\.(\w+)\((.*)\), which", said)
    assert found, said
    with rl.device("meta"):
        named = eval(f"models.{found[2]}({found[3]})", {"models": models})
        ours = build(name, channels=channels, size=size, classes=3, width=width)
    shapes = [{k: tuple(v.shape) for k, v in net.state_dict().items()} for net in (named, ours)]
    assert shapes[0] == shapes[1]
    theirs = set(inspect.signature(models.resnet18).parameters) | {"num_classes", "image_size", "aux_logits", "transform_input", "init_weights"}  # fmt: skip
    given = set(re.findall(r"(\w+)=", found[3]))
    assert found[1] != "torchvision" or (given <= theirs - {"width", "in_channels"} and not found[2].endswith("_cifar"))


def test_sizes_that_fit() -> None:
    assert zoo.fitting_size("resnet101", 64) == 64
    assert zoo.fitting_size("inception_v3", 64) == 75
    assert zoo.fitting_size("vit_b_32", 65) == 96
    assert zoo.fitting_size("vit_h_14", 64) == 70
    with pytest.raises(UsageError, match="try --size 96"):
        build("vit_b_16", channels=3, size=90, classes=2)
    assert zoo.trained_size("swin_v2_t") == 256 and zoo.trained_size("lenet") is None


def _settled(**given: object) -> SimpleNamespace:
    names = ("augment", "label_smoothing", "mixup", "weight_decay", "optimizer", "lr", "batch_size", "size", "width",
             "model", "epochs", "weights", "minutes", "head_lr", "ema", "views", "task", "input", "warmup", "schedule", "balanced", "class_weights")  # fmt: skip
    args = SimpleNamespace(**dict.fromkeys(names), freeze=False, patience=0, val_split=0.1)
    args.__dict__.update(given)
    samples = [Sample(f"{i}.png", 0, "") for i in range(300)]
    recipe.settle(args, Source("photos", Listing(".", samples, ["a"], "folders", 0)), on_gpu=False)
    return args


def test_recipes_follow_the_network() -> None:
    plain, deep = _settled(weights="none"), _settled(model="vit_h_14")
    assert (plain.model, plain.size, plain.width, plain.timed) == ("resnet18_small", 64, 1, True)
    assert not _settled(epochs=3).timed and _settled(minutes=2.0).minutes == 2
    assert (deep.size, deep.width) == (70, 1) and deep.lr == plain.lr / zoo.GENTLER
    assert _settled(model="vgg11_bn").lr == _settled(model="densenet121").lr == plain.lr
    assert _settled(model="vgg11", lr=0.5).lr == 0.5
    assert _settled(model="inception_v3", weights="imagenet").size == 299
    assert _settled(model="inception_v3", size=80).size == 80


@pytest.mark.parametrize("name", ["squeezenet1_1", "shufflenet_v2_x0_5"])
def test_train_and_use(name: str, tmp_path, monkeypatch, capsys) -> None:
    """A head that is a convolution, and one of grouped channels: trained, resumed, reloaded, tested."""
    monkeypatch.chdir(tmp_path)
    write_pictures(tmp_path / "photos", 8)
    typed = ["train", "--data", "photos", "--model", name, "--size", "32", "--out", "run"]
    assert main([*typed, "--epochs", "1"]) == 0
    assert main([*typed, "--epochs", "2", "--resume"]) == 0
    assert "epoch 2/2" in capsys.readouterr().out
    assert main(["eval", "run"]) == 0
    saved = rl.load("run/best.pth")["model"]
    rl.save(saved, "start.pth")
    again = ["train", "--data", "photos", "--model", name, "--size", "32", "--out", "again"]
    assert main([*again, "--epochs", "1", "--weights", "start.pth", "--freeze"]) == 0
    kept = rl.load("again/last.pth")["model"]
    head = head_of(models.get_model(name))
    assert {k for k in saved if not rl.equal(saved[k], kept[k])} <= {head + ".weight", head + ".bias"}


def test_models_are_listed(capsys) -> None:
    assert main(["models"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n{name} " in out for name in zoo.names())
