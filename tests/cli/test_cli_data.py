"""Data of the trainer: CSV files, parts, caches, odd files; and the flags that change how it trains."""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import rushlight as rl
from cli_help import CLASSES, picture, write_pictures
from rushlight.cli import config, main
from rushlight.cli.data import augment
from rushlight.cli.data.cache import make_store
from rushlight.cli.data.folders import scan
from rushlight.cli.data.listing import list_pictures
from rushlight.cli.data.pictures import TooLarge, open_picture
from rushlight.cli.data.sources import Source, find_source, load_images
from rushlight.cli.errors import UsageError
from rushlight.cli.tasks.classification import ClassResult
from rushlight.cli.tasks.task import wilson
from rushlight.cli.training import lr_find
from rushlight.cli.training.loop import overfits
from rushlight.cli.training.recipe import epochs_in, recipe_for
from rushlight.cli.training.recipes import factor

Image = pytest.importorskip("PIL.Image")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("rushlight.base.config.settings.cache_dir", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def photos(tmp_path_factory) -> Path:
    return write_pictures(tmp_path_factory.mktemp("data") / "photos", 20)


def settings(**more) -> SimpleNamespace:
    plain = {"size": 16, "augment": "none", "val_split": 0.1, "test_split": 0.2, "cache": "memory", "quiet": True,
             "strict": False, "class_weights": False, "balanced": False, "fold": None, "erase": 0.0, "data_dir": "data", "fit": None}  # fmt: skip
    return SimpleNamespace(**{**plain, **more})


def load(path: Path, **more):
    return load_images(find_source(str(path)), settings(**more))


# -- layouts ---------------------------------------------------------------------------------------


def test_a_csv_file(photos: Path, tmp_path) -> None:
    rows = [f"{photos / kind / f'{i}.png'},{kind}" for kind in CLASSES for i in range(20)]
    table = tmp_path / "all.csv"
    table.write_text("\n".join(["path,label", *rows]) + "\n")
    images = load(table)
    assert images.classes == sorted(CLASSES)
    assert (len(images.train), len(images.val), len(images.test)) == (42, 6, 12)
    parts = ["test", "val", "train", "train", "train"]
    split = [f"{row},{parts[i % 5]}" for i, row in enumerate(rows)]
    table.write_text("\n".join(["file,class,split", *split, "nowhere.png,dots,train"]) + "\n")
    images = load(table)
    assert (len(images.train), len(images.val), len(images.test)) == (36, 12, 12)
    assert [p.kind for p in images.problems] == ["missing"]


def test_parts(photos: Path, tmp_path) -> None:
    write_pictures(tmp_path / "p" / "train", 10)
    write_pictures(tmp_path / "p" / "valid", 4, first=50)
    images = load(tmp_path / "p")
    assert (len(images.train), len(images.val), len(images.test)) == (30, 12, 12) and not images.honest
    assert any("There is no test part" in note for note in images.notes)
    write_pictures(tmp_path / "p" / "test", 3, first=80)
    images = load(tmp_path / "p")
    assert (len(images.train), len(images.val), len(images.test)) == (30, 12, 9) and images.honest
    # The same picture in training and in the test: it is left out of the training.
    (tmp_path / "p" / "train" / "dots" / "x.png").write_bytes((tmp_path / "p" / "test" / "dots" / "80.png").read_bytes())  # fmt: skip
    images = load(tmp_path / "p")
    assert len(images.test) == 9 and len(images.train) == 30 and images.problems[0].kind == "duplicate"


def test_the_split_stays_when_pictures_come(photos: Path, tmp_path) -> None:
    write_pictures(tmp_path / "p", 20)
    before = set(load(tmp_path / "p").paths)
    write_pictures(tmp_path / "p", 2, first=70)
    after = set(load(tmp_path / "p").paths)
    assert len(before & after) >= len(before) - 3
    assert {p.replace(str(tmp_path / "p"), "") for p in before} == {
        p.replace(str(photos), "") for p in load(photos).paths
    }


def test_uneven_classes_are_told(tmp_path) -> None:
    write_pictures(tmp_path / "p", 6)
    for i in range(100, 130):
        Image.fromarray(picture("dots", i)).save(tmp_path / "p" / "dots" / f"{i}.png")
    assert any("--class-weights" in note for note in load(tmp_path / "p").notes)
    assert not any("--class-weights" in n for n in load(tmp_path / "p", class_weights=True).notes)


# -- pictures --------------------------------------------------------------------------------------


def test_bombs_are_refused_before_they_are_decoded(tmp_path, monkeypatch) -> None:
    Image.fromarray(np.zeros((60, 60), np.uint8)).save(tmp_path / "big.png")
    for limit in (3000, 1000):  # a warning of Pillow's, and an error of its
        monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", limit)
        monkeypatch.setattr("PIL.ImageFile.ImageFile.load", lambda self: pytest.fail("it was decoded"))
        with pytest.raises(TooLarge, match="too large an image"):
            open_picture(str(tmp_path / "big.png"))


def test_odd_files_are_the_same_picture(tmp_path) -> None:
    a = np.random.default_rng(0).integers(0, 256, (24, 32), np.uint8)
    rgb = np.dstack([a, a, a])
    Image.fromarray(a).save(tmp_path / "plain.png")
    Image.fromarray(rgb).save(tmp_path / "a.webp", lossless=True)
    Image.fromarray(a.astype(np.uint16) * 256 + 7).save(tmp_path / "deep.png")
    Image.fromarray(a.astype(np.int32) * 256).save(tmp_path / "deep.tiff")
    Image.fromarray((a / np.float32(255)).astype(np.float32)).save(tmp_path / "float.tiff")
    Image.fromarray(rgb).convert("CMYK").save(tmp_path / "cmyk.tiff")
    Image.fromarray(a).save(tmp_path / "a.gif")
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    Image.fromarray(rgb[::-1, ::-1]).save(tmp_path / "turned.png", exif=exif)
    for path in sorted(tmp_path.glob("*.*")):
        seen = np.asarray(open_picture(str(path))).astype(int)
        assert np.abs(seen - rgb).max() <= 1, path.name


@pytest.mark.parametrize("kind", ["memory", "disk", "none"])
def test_caches_give_the_same_pixels(photos: Path, kind: str, monkeypatch) -> None:
    plain = [load(photos, cache="none").train[i][0] for i in range(5)]
    for again in range(2):
        images = load(photos, cache=kind)
        if kind != "none":  # epochs do not decode any more
            with monkeypatch.context() as patch:
                patch.setattr("rushlight.cli.data.cache.open_picture", lambda path: pytest.fail("decoded again"))
                found = [images.train[i][0] for i in range(5)]
        else:
            found = [images.train[i][0] for i in range(5)]
        assert all(rl.equal(a, b) for a, b in zip(plain, found)), again


def test_the_disk_cache_is_used_and_kept_true(tmp_path, monkeypatch) -> None:
    folder = write_pictures(tmp_path / "p", 6)

    def look() -> tuple:
        listing = list_pictures(str(folder))
        store = make_store("disk", 24, len(listing.samples), str(folder))
        return scan(listing, store, 24, True), store

    first, _ = look()
    with monkeypatch.context() as patch:
        patch.setattr("rushlight.cli.data.folders.read_picture", lambda path: pytest.fail("it was decoded again"))
        second, _ = look()
    assert all((first.store[i] == second.store[i]).all() for i in range(18))
    changed = folder / "dots" / "3.png"
    Image.fromarray(255 - picture("dots", 3)).save(changed)
    third, store = look()
    place = next(i for i, s in enumerate(third.samples) if s.path == str(changed))
    assert (third.store[place][..., 0] == 255 - picture("dots", 3)).all()
    (Path(store.folder) / "index.json").write_text("{")
    look()  # a damaged index is built anew
    assert len(list(Path(store.folder).glob("*.bin"))) <= 2


# -- recipes and numbers ---------------------------------------------------------------------------


def test_recipes_by_size() -> None:
    def of(count: int, gpu: bool = False, weights: str | None = None, model: str | None = None) -> dict:
        from rushlight.cli.data.files import Listing, Sample

        listing = Listing("x", [Sample("", 0, "")] * count, ["a", "b"], "", 0)
        return recipe_for(Source("x", listing), gpu, weights, model).settings

    few, scratch = of(300), of(300, weights="none")
    assert (few["model"], few["weights"], few["size"], few["augment"]) == ("resnet18_small", "own", 64, "auto")
    assert (scratch["weights"], scratch["augment"], scratch["head_lr"]) == ("none", "strong", None)
    assert few["lr"] < few["head_lr"] and few["epochs"] is None and few["minutes"] < of(5000)["minutes"]
    assert of(300, gpu=True)["size"] > few["size"] and of(300, model="vgg11")["weights"] == "none"
    assert of(5000, weights="none")["mixup"] > 0
    assert (of(100_000)["optimizer"], of(100_000)["weights"]) == ("sgd", "none")
    assert of(300, weights="imagenet")["lr"] < few["lr"]


def test_epochs_by_the_time() -> None:
    assert epochs_in(180, 6.0, from_scratch=False) == 30
    assert epochs_in(180, 500.0, from_scratch=False) == 1
    assert epochs_in(180, 1e-3, False) < epochs_in(180, 1e-3, True) < 1000


def test_pictures_become_squares_by_their_shapes(tmp_path) -> None:
    assert augment.fit_for([(100, 100)] * 8 + [(100, 400)]) == "pad"
    assert augment.fit_for([(100, 140)] * 20 + [(100, 400)]) == "squash" == augment.fit_for([])
    page = Image.new("RGB", (40, 20), (255, 0, 0))
    squash, pad = (np.asarray(augment.squared(page, fit, 16)) for fit in ("squash", "pad"))
    assert squash.shape == pad.shape == (16, 16, 3)
    assert (squash == (255, 0, 0)).all() and (pad[8] == (255, 0, 0)).all()
    assert (pad[0] == (124, 116, 104)).all() and augment.squared(page, "crop", 16) is page
    for fit in ("squash", "pad", "crop"):
        for kind in augment.KINDS:
            varied, plain = augment.for_photos(16, fit, kind, (0.5,) * 3, (0.5,) * 3)
            assert tuple(varied(page).shape) == tuple(plain(page).shape) == (3, 16, 16)


def test_classes_of_few_pictures(tmp_path) -> None:
    """One or two pictures are trained on, three are tested, an empty class is left out: each with a sentence."""
    root = write_pictures(tmp_path / "p", 8)
    for path in sorted((root / "dots").iterdir())[2:]:
        path.unlink()
    for path in sorted((root / "plain").iterdir())[3:]:
        path.unlink()
    (root / "nothing").mkdir()
    (root / "none either").mkdir()
    images = load(root)
    assert images.classes == ["bars", "dots", "plain"] and images.counts == [5, 2, 2]
    assert set(images.test.targets) == {0, 2}
    told = "\n".join(images.notes)
    assert "No picture of classes 'none either', 'nothing' can be used to train on" in told
    assert "Too few pictures of class 'dots' to keep some for the test" in told
    for name in ("dots", "plain"):
        for path in (root / name).iterdir():
            path.write_bytes(b"no picture")
    with pytest.raises(UsageError, match=r"needs two classes or more, and classes 'dots', 'none either'.*left out"):
        load(root)


@pytest.mark.parametrize("shares", [{"val_split": 0.9}, {"test_split": 0.9}])
def test_some_of_every_class_are_left_to_train_on(tmp_path, shares: dict[str, float]) -> None:
    write_pictures(tmp_path / "few", 5)
    assert load(tmp_path / "few", **shares).counts == [1, 1, 1]


def test_no_test_part(photos: Path) -> None:
    images = load(photos, test_split=0.0)
    assert (len(images.train), len(images.val), len(images.test)) == (54, 6, 6)
    assert not images.honest and any("flatter a little" in note for note in images.notes)
    images = load(photos, test_split=0.0, val_split=0.0)
    assert len(images.test) == len(images.train) == 60 and images.val is None
    assert any("say nothing of other pictures" in note for note in images.notes)


def test_variety_grows_once_it_overfits() -> None:
    line = {"epoch": 1, "train_accuracy": 0.99, "val_accuracy": 0.85}
    assert overfits([line], "accuracy") and overfits([line, {**line, "val_accuracy": 0.99}], "accuracy")
    others = [{**line, "train_accuracy": 0.9}, {**line, "val_accuracy": 0.95}]
    assert not overfits(others, "accuracy") and not overfits([], "accuracy")
    assert not overfits([{"epoch": 1, "train_accuracy": 1.0}], "accuracy")


def test_schedules_go_on_along_a_longer_curve() -> None:
    short, long = factor("cosine", 100, 0.15), factor("cosine", 200, 0.15)
    assert short(100) == pytest.approx(1 / 250_000) and long(100) > 0.4
    assert max(short(i) for i in range(101)) == pytest.approx(1.0)
    assert [round(factor("step", 8, 0.0)(i), 6) for i in (0, 4, 6)] == [1.0, 0.1, 0.01]


def test_scores() -> None:
    truth = np.array([0, 0, 0, 1, 1, 2])
    answers = np.array([0, 0, 1, 1, 1, 0])
    result = ClassResult(["a", "b", "c"], truth, answers, np.full(6, 0.5), np.ones(6, bool), np.zeros(6))
    assert result.accuracy == pytest.approx(4 / 6) and result.top5 == 1
    assert result.per_class().tolist() == pytest.approx([2 / 3, 1, 0])
    assert result.precision().tolist() == pytest.approx([2 / 3, 2 / 3, 0])
    assert result.f1().tolist() == pytest.approx([2 / 3, 0.8, 0])
    assert result.calibration()[0] == pytest.approx(4 / 6 - 0.5)
    assert wilson(8, 10) == pytest.approx((0.4901625, 0.9433178))  # R: prop.test(8, 10, correct=FALSE)
    assert result.at_chance() and wilson(0, 0) == (0.0, 1.0)


# -- flags -----------------------------------------------------------------------------------------

FLAGS = ["--size", "16", "--model", "lenet", "--width", "1", "--epochs", "2", "--batch-size", "16", "--quiet"]


@pytest.mark.parametrize(
    "more",
    [
        ["--amp", "bf16"],
        ["--channels-last"],
        ["--accumulate", "2"],
        ["--mixup", "0.2"],
        ["--class-weights", "--label-smoothing", "0.1"],
        ["--augment", "strong", "--cache", "disk"],
        ["--val-split", "0"],
    ],
    ids=lambda v: "-".join(v).strip("-"),
)
def test_flags(photos: Path, tmp_path, capsys, more: list[str]) -> None:
    out = tmp_path / "o"
    assert main(["train", "--data", str(photos), *FLAGS, *more, "--out", str(out)]) == 0
    lines = [json.loads(x) for x in (out / "metrics.jsonl").read_text().splitlines()]
    assert len(lines) == 2 and ("val_loss" in lines[0]) == ("--val-split" not in more)
    saved = {**rl.load(out / "last.pth")["config"]}
    assert saved["model"] == "lenet" and set(saved) == set(config.DEFAULTS)


def test_accumulated_steps_are_large_steps(photos: Path, tmp_path) -> None:
    common = ["train", "--data", str(photos), "--size", "16", "--model", "mlp", "--epochs", "1", "--quiet",
              "--augment", "none", "--optimizer", "sgd", "--lr", "0.01", "--no-compile"]  # fmt: skip
    for name, parts in (("a", ["--batch-size", "16"]), ("b", ["--batch-size", "8", "--accumulate", "2"])):
        assert main([*common, *parts, "--out", str(tmp_path / name)]) == 0
    a, b = (rl.load(tmp_path / name / "last.pth")["model"] for name in "ab")
    assert all(rl.allclose(a[k], b[k], rtol=1e-4, atol=1e-6) for k in a)


def test_patience(photos: Path, tmp_path, capsys) -> None:
    out = tmp_path / "o"
    args = ["train", "--data", str(photos), "--size", "16", "--model", "mlp", "--lr", "1e-12", "--epochs", "30",
            "--schedule", "none", "--patience", "3", "--optimizer", "sgd", "--weight-decay", "0", "--out", str(out)]  # fmt: skip
    assert main(args) == 0
    said = capsys.readouterr()
    count = len((out / "metrics.jsonl").read_text().splitlines())
    assert count < 30 and "Stopped early: no better for 3 epochs." in said.out
    best = json.loads((out / "test.json").read_text())["best_epoch"]
    assert count - best == 3
    assert "no better than chance" in said.err


def test_lr_find_and_profile(photos: Path, tmp_path, capsys) -> None:
    common = ["train", "--data", str(photos), *FLAGS]
    found = ["train", "--data", str(photos), "--size", "16", "--model", "mlp", "--batch-size", "16"]
    assert main([*found, "--lr-find", "--out", str(tmp_path / "f")]) == 0
    found = re.search(r"Rate: ([\d.e-]+) \(the loss falls from", capsys.readouterr().out)
    assert found and 1e-6 < float(found[1]) < 10
    drawn = (tmp_path / "f" / "lr-find.svg").read_text()
    assert drawn.startswith("<svg xmlns=") and "polyline" in drawn
    assert main([*common, "--profile", "--out", str(tmp_path / "p")]) == 0
    assert "10 steps of 16 images" in capsys.readouterr().out
    assert json.loads((tmp_path / "p" / "trace.json").read_text())["traceEvents"]
    assert not list(tmp_path.glob("*/*.pth"))


def _fallen(seed: int, noise: float) -> list[tuple[float, float]]:
    """Losses of a hundred rates: flat, a fall around 1e-3, an explosion from 0.1 on."""
    draw = np.random.default_rng(seed)
    rates = [1e-6 * 10 ** (7 * i / 99) for i in range(85)]
    losses = [1.1 - 0.7 / (1 + (1e-3 / r) ** 1.5) + (r / 0.3) ** 2 for r in rates]
    return [(r, loss + noise * float(draw.normal())) for r, loss in zip(rates, losses)]


def test_the_rate_that_is_found_hardly_depends_on_luck() -> None:
    found = [lr_find.useful(p, lr_find.smooth(p)) for p in (_fallen(seed, 0.15) for seed in range(10))]
    rates = [f.rate for f in found if f is not None]
    assert len(rates) == 10 and max(rates) < 3 * min(rates) and 3e-4 < min(rates) < max(rates) < 1e-2
    assert all(f.low <= f.rate <= f.high for f in found if f is not None)


def test_no_rate_is_told_where_nothing_can_be_told() -> None:
    draw = np.random.default_rng(0)
    flat = [(1e-6 * 1.1**i, 1.1 + 0.2 * float(draw.normal())) for i in range(100)]
    assert lr_find.useful(flat, lr_find.smooth(flat)) is None
    rising = [(r, 1.0 + i / 50) for i, (r, _) in enumerate(flat)]
    assert lr_find.useful(rising, lr_find.smooth(rising)) is None


def test_a_config_file(photos: Path, tmp_path, capsys) -> None:
    (tmp_path / "c.toml").write_text(
        f'[train]\ndata = "{photos}"\nsize = 16\nmodel = "mlp"\nepochs = 2\ncompile = false\nclass-weights = true\n'
    )
    args = ["train", "--config", str(tmp_path / "c.toml"), "--epochs", "1", "--quiet", "--out", str(tmp_path / "o")]
    assert main(args) == 0
    saved = json.loads((tmp_path / "o" / "args.json").read_text())
    assert saved["settings"]["epochs"] == 1 and saved["settings"]["class_weights"] is True
    assert saved["others"]["compile"] is False and saved["settings"]["size"] == 16


def test_weights_under_other_names(tmp_path) -> None:
    from rushlight.cli.training.networks import build
    from rushlight.cli.training.weights import _renamed, start_from

    rl.manual_seed(1)
    theirs = build("resnet18", channels=3, size=64, classes=7, width=0.25)
    ours = build("resnet18", channels=3, size=64, classes=3, width=0.25)
    state = {f"module.{k}": v for k, v in theirs.state_dict().items()}
    rl.save({"state_dict": state, "epoch": 3}, tmp_path / "w.pth")
    said = start_from(ours, str(tmp_path / "w.pth"), "resnet18")
    assert "the head is new" in said and rl.equal(ours.conv1.weight, theirs.conv1.weight)
    rl.save({f"part{i}": v for i, v in enumerate(theirs.state_dict().values()) if v.dim()}, tmp_path / "o.pth")
    ours = build("resnet18", channels=3, size=64, classes=3, width=0.25)
    start_from(ours, str(tmp_path / "o.pth"), "resnet18")
    assert rl.equal(ours.layer4[1].bn2.running_var, theirs.layer4[1].bn2.running_var)
    assert _renamed("resnet.encoder.stages.1.layers.0.layer.1.convolution.weight") == "layer2.0.conv2.weight"
    assert _renamed("resnet.encoder.stages.2.layers.0.shortcut.normalization.bias") == "layer3.0.downsample.1.bias"
    assert _renamed("resnet.embedder.embedder.normalization.weight") == "bn1.weight"
    with pytest.raises(UsageError, match="another --width or --model"):
        start_from(build("resnet18", channels=3, size=64, classes=3), str(tmp_path / "w.pth"), "resnet18")
