"""Pictures mixed, erased and drawn by class, and rates that rise: what --cutmix, --erase, --balanced and --warmup do."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

import rushlight as rl
from cli_help import write_pictures
from rushlight.cli.commands import main
from rushlight.cli.data import augment
from rushlight.cli.data.images import PHOTO_SCALE
from rushlight.cli.tasks.classification import Classification
from rushlight.cli.tasks.multilabel import Multilabel
from rushlight.cli.training.loop import Run, Stepper, cutmix_box
from rushlight.cli.training.recipes import factor

Image = pytest.importorskip("PIL.Image")


def test_cutmix_counts_by_area() -> None:
    """The loss of a network that answers the mean is mixed as the pixels are."""
    rl.manual_seed(0)
    net = rl.nn.Sequential(rl.nn.AdaptiveAvgPool2d(1), rl.nn.Flatten(), rl.nn.Linear(1, 2))
    task = Classification(["a", "b"])
    args = SimpleNamespace(batch_size=8, amp=None, freeze=False, channels_last=False, class_weights=False, label_smoothing=0.0)  # fmt: skip
    images = SimpleNamespace(task=task, counts=[1, 1], train=[0, 1])
    step = Stepper(args, net, rl.optim.SGD(net.parameters(), lr=0.0), images, "cpu")  # type: ignore[arg-type]
    x, y = rl.zeros(2, 1, 10, 10), rl.tensor([0, 1])
    x[1] = 1
    loss, _ = step(x, y, None, rl.tensor([0.1, 0.2, 0.6, 0.6]))  # 5 rows of 4 pixels
    seen = rl.zeros(2, 1, 10, 10)
    seen[0, :, 1:6, 2:6] = 1
    seen[1] = 1 - seen[0]
    with rl.no_grad():
        out = net(seen)
        wanted = sum(share * rl.nn.functional.cross_entropy(out, to) for share, to in ((0.8, y), (0.2, y.flip(0))))
    assert loss.item() == pytest.approx(wanted.item(), rel=1e-6)
    boxes = rl.stack([cutmix_box(1.0) for _ in range(500)])
    size = boxes[:, 2:] - boxes[:, :2]
    assert boxes.min() >= 0 and boxes.max() <= 1 and (size >= 0).all()
    assert 0.25 < size.prod(1).mean() < 0.45  # one half, less what is cut off at the edges


def test_rare_classes_are_shown_as_often() -> None:
    targets = [0] * 90 + [1] * 10
    run = SimpleNamespace(args=SimpleNamespace(balanced=True), task=Classification(["a", "b"]),
                          images=SimpleNamespace(train=targets, targets=targets, counts=[90, 10]))  # fmt: skip
    shown = [targets[i] for e in range(20) for i in Run._order(run, rl.Generator().manual_seed(e))]  # type: ignore[arg-type]
    assert len(shown) == 2000 and 900 < sum(shown) < 1100
    first = Run._order(run, rl.Generator().manual_seed(3))  # type: ignore[arg-type]
    assert first == Run._order(run, rl.Generator().manual_seed(3))  # type: ignore[arg-type]
    several = [(0,)] * 80 + [(0, 1)] * 10 + [()] * 10
    run.task, run.images = Multilabel(["a", "b"]), SimpleNamespace(train=several, targets=several, counts=[90, 10])
    drawn = [several[i] for e in range(20) for i in Run._order(run, rl.Generator().manual_seed(e))]  # type: ignore[arg-type]
    assert 0.45 < sum(1 in t for t in drawn) / len(drawn) < 0.6  # by the rarest label of each
    run.args.balanced = False
    assert sorted(Run._order(run, rl.Generator().manual_seed(0))) == list(range(100))  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["cosine", "step", "none"])
def test_the_rate_rises(kind) -> None:
    risen = factor(kind, 100, 0.2)
    assert [risen(i) for i in range(20)] == sorted(risen(i) for i in range(20))
    assert risen(0) == pytest.approx(1 / 25) and risen(19) == 1.0
    assert factor("none", 100, 0.0)(0) == factor("step", 100, 0.0)(0) == 1.0


@pytest.mark.parametrize("kind", augment.KINDS)
def test_rectangles_are_erased_in_training_only(kind) -> None:
    varied, plain = augment.for_photos(32, "squash", kind, *PHOTO_SCALE, 1.0)
    rl.manual_seed(0)
    page = Image.new("RGB", (40, 40), (255, 255, 255))
    assert (plain(page) > 2).all()
    assert 0.01 < (varied(page) == 0).float().mean() < 0.5


def test_a_run_with_all_of_them(tmp_path, capsys) -> None:
    write_pictures(tmp_path / "photos", 12)
    common = ["--out", str(tmp_path / "run"), "--cutmix", "1", "--mixup", "0.2", "--erase", "0.25", "--warmup", "0.3", "--balanced"]  # fmt: skip
    words = ["train", "--data", str(tmp_path / "photos"), "--size", "20", "--model", "lenet", "--epochs", "2", "--schedule", "step"]  # fmt: skip
    assert main([*words, *common]) == 0
    said = capsys.readouterr().out
    assert "mixup 0.2, cutmix 1, a rectangle erased in 25%, rare classes shown as often as common ones" in said
    settings = json.loads((tmp_path / "run" / "args.json").read_text())["settings"]
    assert (settings["cutmix"], settings["erase"], settings["warmup"], settings["balanced"]) == (1.0, 0.25, 0.3, True)
    assert main(["train", "--out", str(tmp_path / "run"), "--resume", "--epochs", "3"]) == 0
    every = [json.loads(line)["seconds"] for line in (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()]
    assert (
        json.loads((tmp_path / "run" / "test.json").read_text())["seconds"] >= round(sum(every), 1) - 0.1
    )  # of both parts
    assert main([*words, "--balanced", "--class-weights", "--out", str(tmp_path / "no")]) == 2
    assert "give one of them" in capsys.readouterr().err
