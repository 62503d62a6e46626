"""A class for every pixel: how pictures find their masks, the scores, what moves together, and the whole story."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import rushlight as rl
from rushlight.cli.commands import main
from rushlight.cli.data import augment
from rushlight.cli.data.images import PHOTO_SCALE
from rushlight.cli.data.listing import list_pictures
from rushlight.cli.data.pictures import read_mask
from rushlight.cli.errors import UsageError
from rushlight.cli.tasks.masks import NOTHING, Masks, MasksResult

Image = pytest.importorskip("PIL.Image")


def drawn(seed: int, wide: int, high: int) -> tuple[np.ndarray, np.ndarray]:
    """A dark picture with a bright block somewhere, and where that is."""
    draw = np.random.default_rng(seed)
    pixels = draw.integers(0, 40, (high, wide, 3), dtype=np.uint8)
    y, x = int(draw.integers(2, high // 2)), int(draw.integers(2, wide // 2))
    mask = np.zeros((high, wide), np.uint8)
    mask[y : y + high // 3, x : x + wide // 3] = 1
    pixels[mask > 0] = 230
    return pixels, mask


def write(root: Path, count: int, value: int = 1) -> None:
    for inner in ("images", "masks"):
        (root / inner).mkdir(parents=True)
    for i in range(count):
        pixels, mask = drawn(i, 30 + i % 5, 24)
        Image.fromarray(pixels).save(root / "images" / f"{i}.png")
        Image.fromarray(mask * np.uint8(value)).save(root / "masks" / f"{i}_mask.png")


def test_pictures_find_their_masks(tmp_path) -> None:
    write(tmp_path / "a", 3, 255)
    (tmp_path / "a" / "images" / "alone.png").write_bytes(b"x")
    found = list_pictures(str(tmp_path / "a"))
    assert (found.task, found.classes, len(found.samples)) == ("masks", ["background", "object"], 3)
    assert found.notes == ("1 picture without a mask of the same name: left out.",)
    assert found.samples[0].target.path.endswith("0_mask.png")
    (tmp_path / "b").mkdir()
    (tmp_path / "a").rename(tmp_path / "b" / "train")
    write(tmp_path / "b" / "test", 2, 255)
    assert [s.part for s in list_pictures(str(tmp_path / "b")).samples] == ["test"] * 2 + ["train"] * 3


def test_values_of_masks(tmp_path) -> None:
    write(tmp_path, 2)
    odd = np.zeros((24, 31), np.uint8)
    odd[:4], odd[4:8] = 3, NOTHING
    Image.fromarray(np.stack([odd] * 3, 2)).save(tmp_path / "masks" / "1_mask.png")  # grey, as RGB
    found = list_pictures(str(tmp_path))
    assert found.classes == ["0", "1", "3"] and "255 are not asked for" in found.notes[0]
    numbers = np.asarray(found.samples[1].target.numbers(100))
    assert numbers[0, 0] == 2 and numbers[5, 0] == NOTHING and found.samples[1].target.there == (0, 2)
    (tmp_path / "classes.txt").write_text("sky\nroad\n")
    with pytest.raises(UsageError, match="a name of its own for every value up to 3"):
        list_pictures(str(tmp_path))
    (tmp_path / "classes.txt").write_text("sky\nroad\ntree\ncar\n")
    assert list_pictures(str(tmp_path)).classes == ["sky", "road", "car"]
    red = np.zeros((24, 30, 3), np.uint8)
    red[..., 0] = 9
    Image.fromarray(red).save(tmp_path / "masks" / "0_mask.png")
    with pytest.raises(UsageError, match="colour picture"):
        read_mask(str(tmp_path / "masks" / "0_mask.png"))
    assert "colour picture" in list_pictures(str(tmp_path)).samples[0].target.why
    noise = np.random.default_rng(0).integers(0, 250, (24, 30), np.uint8)
    Image.fromarray(noise).save(tmp_path / "masks" / "0_mask.png")
    with pytest.raises(UsageError, match="64 are the most"):
        list_pictures(str(tmp_path))
    (tmp_path / "none").mkdir()
    with pytest.raises(UsageError, match="needs a folder images and a folder masks"):
        list_pictures(str(tmp_path / "none"), "masks")


def test_overlap_by_hand() -> None:
    matrices = np.array([[[6, 2], [0, 8]], [[16, 0], [0, 0]]], float)  # the second has one class
    found = MasksResult(["a", "b"], matrices, np.ones(2))
    assert found.overlaps().tolist() == pytest.approx([(6 / 8 + 8 / 10) / 2, 1.0])
    assert found.by_class()["iou"].tolist() == pytest.approx([22 / 24, 8 / 10])
    assert found.accuracy() == pytest.approx(30 / 32)
    assert found.constant().tolist() == pytest.approx([0.25, 1.0])
    task = Masks(["a", "b"])
    y = rl.tensor([[[0, 0], [1, NOTHING]]])
    out = rl.tensor([[[[1.0, 0], [0, 0]], [[0.0, 1], [1, 1]]]])
    assert task.good(out, y).item() == pytest.approx((1 / 2 + 1 / 2) / 2)  # what nobody asks for does not count
    truth, loss = task.rows(out, y)
    assert truth.tolist() == [[[1, 1], [0, 1]]]
    assert loss.item() == pytest.approx(np.log1p(np.exp([-1, 1, -1])).mean(), rel=1e-6)
    assert task.both(out, out.flip(3)).argmax(1).tolist() == out.argmax(1).tolist()


@pytest.mark.parametrize("fit", ["squash", "pad"])
@pytest.mark.parametrize("kind", augment.KINDS)
def test_a_mask_moves_with_its_picture(fit, kind) -> None:
    varied, plain = augment.for_both(48, fit, kind, *PHOTO_SCALE)
    for seed in range(6):
        rl.manual_seed(seed)
        pixels, mask = drawn(seed, 90, 70)
        for transform in (varied, plain):
            x, over = transform(Image.fromarray(pixels), augment.MaskOver(Image.fromarray(mask)))
            y = over.tensor()
            assert x.shape == (3, 48, 48) and y.shape == (48, 48) and y.dtype == rl.int64
            known = y != NOTHING
            assert (fit == "pad") == bool((~known).any()) or transform is varied
            if transform is plain or kind in ("none", "light", "auto"):
                bright = x.mean(0) > 0.5
                assert (bright == (y == 1))[known].float().mean() > 0.93


@pytest.mark.parametrize("fit, wide, high", [("squash", 90, 60), ("pad", 90, 60), ("pad", 61, 90), ("pad", 300, 50)])
def test_an_answer_becomes_as_large_as_its_picture(fit, wide, high) -> None:
    _, mask = drawn(1, wide, high)
    one = Image.fromarray(mask)
    kept = one.crop(augment.middle(wide, high))
    square = np.asarray(augment.squared(kept, fit, 64, mask=True))
    task = Masks(["a", "b"])
    found = np.asarray(task.picture_of(task.inside(square, fit, (wide, high), 64), "", (wide, high)))
    assert found.shape == (high, wide)
    seen = found != NOTHING
    assert seen.mean() == pytest.approx(0.5 if wide == 300 else 1.0)
    assert (found == mask)[seen].mean() > 0.94


@pytest.mark.parametrize(
    "more, says",
    [
        (["--fit", "crop"], "--fit crop cuts away"),
        (["--model", "vgg11"], "stands on a ResNet, not on vgg11"),
        (["--mixup", "0.2"], "--mixup means nothing for --task masks"),
    ],
)
def test_what_does_not_go_with_masks(tmp_path, capsys, more, says) -> None:
    write(tmp_path / "set", 6)
    assert main(["train", "--data", str(tmp_path / "set"), "--out", str(tmp_path / "no"), *more]) == 2
    assert says in capsys.readouterr().err
