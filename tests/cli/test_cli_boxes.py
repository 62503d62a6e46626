"""Boxes around things: COCO's and YOLO's files, the scores, what moves together, and the whole story."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import rushlight as rl
from rushlight.cli.commands import main
from rushlight.cli.data import augment
from rushlight.cli.data.images import PHOTO_SCALE
from rushlight.cli.data.listing import list_pictures
from rushlight.cli.data.outlines import names_of_yaml
from rushlight.cli.errors import UsageError
from rushlight.cli.tasks.boxes import Box, Boxes, BoxesResult, Found, Outlines, matched, overlaps

Image = pytest.importorskip("PIL.Image")


def picture(seed: int, wide: int, high: int) -> tuple[np.ndarray, list[tuple[int, int, int, int, int]]]:
    """A dark picture with up to two blocks, warm or cold: (kind, x, y, wide, high)."""
    draw = np.random.default_rng(seed)
    pixels = draw.integers(0, 40, (high, wide, 3), dtype=np.uint8)
    found = []
    for half in range(int(draw.integers(0, 3))):
        kind, w, h = int(draw.integers(2)), int(draw.integers(14, 24)), int(draw.integers(14, 24))
        x = half * wide // 2 + int(draw.integers(0, max(1, wide // 2 - w)))
        y = int(draw.integers(0, high - h))
        pixels[y : y + h, x : x + w] = ((240, 120, 20), (20, 120, 240))[kind]
        found.append((kind, x, y, w, h))
    return pixels, found


def write(root: Path, count: int) -> dict:
    """Pictures in `images`, and what COCO says of them."""
    (root / "images").mkdir(parents=True)
    content: dict = {"images": [], "annotations": [], "categories": [{"id": 7, "name": "cold"}, {"id": 3, "name": "warm"}]}  # fmt: skip
    for i in range(count):
        wide, high = 64 + i % 7, 60
        pixels, boxes = picture(i, wide, high)
        Image.fromarray(pixels).save(root / "images" / f"{i}.png")
        content["images"].append({"id": 100 + i, "file_name": f"{i}.png", "width": wide, "height": high})
        content["annotations"] += [{"image_id": 100 + i, "category_id": (3, 7)[k], "bbox": box} for k, *box in boxes]
    (root / "boxes.json").write_text(json.dumps(content))
    return content


# -- files -----------------------------------------------------------------------------------------


def test_coco_and_yolo_say_the_same(tmp_path) -> None:
    content = write(tmp_path / "coco", 12)
    (tmp_path / "yolo" / "labels").mkdir(parents=True)
    (tmp_path / "coco" / "images").rename(tmp_path / "yolo" / "images")
    write(tmp_path / "again", 12)
    (tmp_path / "again" / "images").rename(tmp_path / "coco" / "images")
    for image in content["images"]:
        w, h = image["width"], image["height"]
        mine = [a for a in content["annotations"] if a["image_id"] == image["id"]]
        lines = [f"{a['category_id'] // 7} {(x + dx / 2) / w} {(y + dy / 2) / h} {dx / w} {dy / h}"
                 for a in mine for x, y, dx, dy in [a["bbox"]]]  # fmt: skip
        if lines:
            name = image["file_name"].replace("png", "txt")
            (tmp_path / "yolo" / "labels" / name).write_text("\n".join(lines))
    (tmp_path / "yolo" / "data.yaml").write_text("path: .\nnames:\n  0: warm\n  1: 'cold'\n")
    one, two = (list_pictures(str(tmp_path / name)) for name in ("coco", "yolo"))
    assert one.task == two.task == "boxes" and one.classes == two.classes == ["warm", "cold"]
    theirs = {Path(s.path).name: s.target for s in two.samples}
    for sample in one.samples:
        other = theirs[Path(sample.path).name]
        assert (sample.target.size, sample.target.room) == (other.size, other.room)
        assert np.allclose(sample.target.boxes, other.boxes)
    assert "without a box: taken for pictures of nothing" in one.notes[0]
    assert list_pictures(str(tmp_path / "coco" / "boxes.json")).samples == one.samples


def test_parts_of_coco(tmp_path) -> None:
    write(tmp_path / "train", 4)
    write(tmp_path / "valid", 2)
    assert [s.part for s in list_pictures(str(tmp_path)).samples] == ["train"] * 4 + ["val"] * 2
    (tmp_path / "b" / "annotations").mkdir(parents=True)
    for part in ("train", "valid"):
        (tmp_path / part / "boxes.json").rename(tmp_path / "b" / "annotations" / f"instances_{part[:5]}2017.json")
        (tmp_path / part / "images").rename(tmp_path / "b" / f"{part[:5]}2017")
    (tmp_path / "b" / "annotations" / "captions.json").write_text("[]")
    found = list_pictures(str(tmp_path / "b"))
    assert [s.part for s in found.samples] == ["train"] * 4 + ["val"] * 2
    assert all(Path(s.path).exists() for s in found.samples)


@pytest.mark.parametrize(
    "text, names",
    [
        ("nc: 2\nnames: ['a', \"b c\"]\n", ["a", "b c"]),
        ("names:\n- a\n- b # the second\nnc: 2", ["a", "b"]),
        ("names:\n  0: a\n  2: c\ntrain: x", ["a", "1", "c"]),
        ("names: {0: a, 1: b}", ["a", "b"]),
        ("nc: 3", []),
    ],
)
def test_names_in_yaml(text, names) -> None:
    assert names_of_yaml(text) == names


def test_what_is_wrong_with_files(tmp_path) -> None:
    content = write(tmp_path, 5)
    file = tmp_path / "boxes.json"
    content["annotations"] += [
        {"image_id": 100, "category_id": 3, "bbox": [200, 0, 5, 5]},
        {"image_id": 100, "category_id": 3, "bbox": [0, 0, 5, 5], "iscrowd": 1},
    ]
    content["images"][1]["width"] = 300
    file.write_text(json.dumps(content))
    found = list_pictures(str(tmp_path))
    assert found.notes[:2] == ("1 crowd of no single thing: left out.", "1 box without an area inside the picture: left out.")  # fmt: skip
    task = Boxes(found.classes)
    assert "another shape" in task.misfit(found.samples[1].target, 65, 60, 96)
    assert not task.misfit(found.samples[2].target, 66, 60, 96)
    kind = content["annotations"][0].pop("category_id")
    for changed, says in (({}, "it lacks 'category_id'"), ({"category_id": 77}, "no category has the id 77")):
        content["annotations"][0].update(changed)
        file.write_text(json.dumps(content))
        with pytest.raises(UsageError, match=says):
            list_pictures(str(tmp_path))
    content["annotations"][0].update(category_id=kind, bbox=["a"])
    file.write_text(json.dumps(content))
    with pytest.raises(UsageError, match="not as COCO's files are"):
        list_pictures(str(tmp_path))
    file.unlink()
    with pytest.raises(UsageError, match="--task boxes needs boxes in a COCO .json file"):
        list_pictures(str(tmp_path), "boxes")
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / "0.txt").write_text("0 0.5 0.5 0.2 0.2\n1 0.1 0.1 0.4 0.1 0.4 0.5")
    (tmp_path / "labels" / "1.txt").write_text("0 17 5 3 2")
    found = list_pictures(str(tmp_path))
    assert found.classes == ["0", "1"]
    assert found.samples[0].target.boxes[1] == Box(1, 0.1, 0.1, 0.4, 0.5)  # around a polygon
    assert "line 1: parts of the picture, from 0 to 1" in found.samples[1].target.why


# -- scores ----------------------------------------------------------------------------------------


def test_average_precision_by_hand() -> None:
    true = np.array([[0, 0.0, 0, 0.5, 0.5], [0, 0.5, 0.5, 1, 1], [1, 0, 0.5, 0.5, 1]])
    found = np.array(
        [[0, 0.9, 0.0, 0, 0.5, 0.5], [0, 0.8, 0.05, 0, 0.5, 0.5], [1, 0.7, 0.6, 0.6, 1, 1], [0, 0.4, 0.5, 0.5, 1, 1]]
    )
    assert overlaps(found[:, 2:], true[:, 1:])[1, 0] == pytest.approx(0.9)
    assert matched(found, true, 0.5).tolist() == [0, -1, -1, 1]  # a double is no hit
    result = BoxesResult(["a", "b"], [found], [true], np.ones(1))
    assert result.precisions(0.5)[0].tolist() == pytest.approx([0.5 + 0.5 * 2 / 3, 0])
    assert result.score == pytest.approx((0.5 + 0.5 * 2 / 3) / 2)
    assert result.matrix.tolist() == [[1, 1, 0], [0, 0, 1], [2, 0, 0]]
    assert result.within == (0.0, 1.0)  # of one picture nothing is known
    twice = BoxesResult(["a", "b", "c"], [found, found[:0]], [true, true[:0]], np.ones(2))
    assert np.isnan(twice.precisions(0.5)[0][2]) and twice.as_dict()["classes"]["c"]["ap50"] is None
    assert twice.score == result.score and twice.within[0] <= twice.score <= twice.within[1]


def test_the_losses_are_those_of_fcos() -> None:
    """Of the vision package's FCOS on the same maps, whose places stand elsewhere: its own losses of our matching."""
    from rushlight.vision.models.detection import places
    from rushlight.vision.models.detection.places import losses

    rl.manual_seed(0)
    net = places(num_classes=2)
    y = rl.tensor([[[1, 0.1, 0.1, 0.7, 0.6], [0, 0.5, 0.5, 0.9, 0.9]], [[-1.0] * 5] * 2])
    out = net(rl.randn(2, 3, 64, 64))
    apart, count = losses(out, y)
    apart.sum().backward()
    assert all(p.grad.isfinite().all() for p in net.decoder.parameters() if p.grad is not None)
    assert count[0] > 0 and count[1] == 0
    from rushlight.vision.models.detection.places import _answers_for

    mine = _answers_for(out[..., 7:], y)
    matched_at = [rl.where(one.sum(1) > 0, one.argmax(1), -1) for one in mine]
    middle, size = out[..., 7:9], out[..., 9:]
    anchors = list(rl.cat([middle - size / 2, middle + size / 2], 2).detach())
    reach = rl.cat([(middle - out[..., 3:5]) / size, (out[..., 5:7] - middle) / size], 2)
    given = {"cls_logits": out[..., :2], "bbox_ctrness": out[..., 2:3], "bbox_regression": reach}
    targets = [{"labels": one[:, 0].long(), "boxes": one[:, 1:]} for one in y]
    theirs = net.decoder.head.compute_loss(targets, given, anchors, matched_at)
    assert sum(v.item() for v in theirs.values()) == pytest.approx((apart.sum() / count.sum()).item(), rel=1e-5)


@pytest.mark.parametrize("fit", ["squash", "pad"])
@pytest.mark.parametrize("kind", augment.KINDS)
def test_boxes_move_with_their_picture(fit, kind) -> None:
    varied, plain = augment.for_both(48, fit, kind, *PHOTO_SCALE)
    task = Boxes(["warm", "cold"])
    seen = 0
    for seed in range(8):
        rl.manual_seed(seed)
        pixels, boxes = picture(seed, 90, 70)
        target = Outlines(tuple(Box(k, x / 90, y / 70, (x + w) / 90, (y + h) / 70) for k, x, y, w, h in boxes), (90, 70), 3)  # fmt: skip
        for transform in (varied, plain):
            x, made = task.sample(Image.fromarray(pixels), target, transform, 72)
            assert made.shape == (3, 5) and x.shape == (3, 48, 48)
            for number, *box in made[made[:, 0] >= 0]:
                x1, y1, x2, y2 = (round(float(v) * 48) for v in box)
                middle = x[:, (y1 + y2) // 2, (x1 + x2) // 2]
                if kind in ("none", "light", "auto") or transform is plain:
                    assert (middle[0] > middle[2]) == (number == 0)  # red before blue
                seen += 1
    assert seen >= 10


@pytest.mark.parametrize("fit, wide, high", [("squash", 90, 60), ("pad", 90, 60), ("pad", 300, 50)])
def test_an_answer_is_told_in_pixels_of_its_picture(fit, wide, high) -> None:
    task = Boxes(["a"])
    box = (0.45 * wide, 0.2 * high, 0.55 * wide, 0.9 * high)
    target = Outlines((Box(0, 0.45, 0.2, 0.55, 0.9),), (wide, high), 1)
    kept = Image.new("RGB", (wide, high)).crop(augment.middle(wide, high))
    _, plain = augment.for_both(64, fit, "none", *PHOTO_SCALE)
    _, made = task.sample(kept, target, plain, 96)
    (again,) = task.inside([Found("a", 1.0, tuple(made[0, 1:]))], fit, (wide, high), 64)
    assert again.box == pytest.approx(box, abs=0.02 * max(wide, high))


@pytest.mark.parametrize(
    "more, says",
    [
        (["--fit", "crop"], "--fit crop cuts away what boxes tell of"),
        (["--model", "vgg11"], "stands on a ResNet, not on vgg11"),
        (["--mixup", "0.2"], "--mixup means nothing for --task boxes"),
        (["--views", "2"], "--views 2 means nothing for --task boxes"),
        (["--augment", "auto"], "--augment auto means nothing for --task boxes"),
    ],
)
def test_what_does_not_go_with_boxes(tmp_path, capsys, more, says) -> None:
    write(tmp_path / "set", 6)
    assert main(["train", "--data", str(tmp_path / "set"), "--out", str(tmp_path / "no"), *more]) == 2
    assert says in capsys.readouterr().err
