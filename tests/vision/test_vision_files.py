"""Datasets read from tiny files in their published formats, and what is said when files are missing or damaged."""

from __future__ import annotations

import bz2
import json
from pathlib import Path

import numpy as np
import pytest

from rushlight.io.errors import CorruptFileError
from rushlight.vision import datasets

Image = pytest.importorskip("PIL.Image")


def picture(path: Path, colour: int | tuple = (10, 20, 30), mode: str = "RGB") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new(mode, (8, 6), colour).save(path)


XML = """<annotation><folder>VOC2012</folder><size><width>8</width><height>6</height></size>
<object><name>cat</name><bndbox><xmin>1</xmin><ymin>2</ymin><xmax>5</xmax><ymax>6</ymax></bndbox></object>
</annotation>"""


def test_voc(tmp_path: Path) -> None:
    base = tmp_path / "VOCdevkit" / "VOC2012"
    for name, kind in (("Main", "a\n"), ("Segmentation", "a\n")):
        (base / "ImageSets" / name).mkdir(parents=True)
        (base / "ImageSets" / name / "val.txt").write_text(kind)
    picture(base / "JPEGImages" / "a.jpg")
    picture(base / "SegmentationClass" / "a.png", 15, "L")
    (base / "Annotations").mkdir()
    (base / "Annotations" / "a.xml").write_text(XML)
    boxes = datasets.VOCDetection(tmp_path, image_set="val")
    image, target = boxes[0]
    assert len(boxes) == 1 and image.size == (8, 6) and image.mode == "RGB"
    assert target["annotation"]["size"] == {"width": "8", "height": "6"}
    (found,) = target["annotation"]["object"]  # a list, also of one
    assert found["name"] == "cat" and found["bndbox"]["xmax"] == "5"
    masks = datasets.VOCSegmentation(tmp_path, image_set="val", target_transform=np.asarray)
    assert (masks[0][1] == 15).all() and masks.masks[0].endswith("a.png")
    (base / "Annotations" / "a.xml").write_text('<!DOCTYPE x [<!ENTITY a "b">]><annotation>&a;</annotation>')
    with pytest.raises(CorruptFileError, match="declarations"):
        boxes[0]
    (base / "Annotations" / "a.xml").write_text("<annotation>")
    with pytest.raises(CorruptFileError, match="damaged"):
        boxes[0]
    with pytest.raises(RuntimeError, match=r"VOCtrainval_11-May-2012\.tar"):
        datasets.VOCDetection(tmp_path / "other")
    with pytest.raises(ValueError, match="image_set"):
        datasets.VOCDetection(tmp_path, image_set="test")


def test_coco(tmp_path: Path) -> None:
    picture(tmp_path / "images" / "7.png")
    picture(tmp_path / "images" / "3.png")
    content = {
        "images": [{"id": 7, "file_name": "7.png"}, {"id": 3, "file_name": "3.png"}],
        "annotations": [
            {"id": 1, "image_id": 7, "bbox": [1, 2, 3, 4], "category_id": 2, "caption": "one"},
            {"id": 2, "image_id": 7, "bbox": [0, 0, 2, 2], "category_id": 1, "caption": "two"},
        ],
        "categories": [{"id": 1, "name": "person"}],
    }
    file = tmp_path / "annotations.json"
    file.write_text(json.dumps(content))
    found = datasets.CocoDetection(tmp_path / "images", file)
    assert found.ids == [3, 7] and found[0][1] == []
    image, target = found[1]
    assert image.size == (8, 6) and [row["category_id"] for row in target] == [2, 1]
    assert found.coco.loadCats(1)[0]["name"] == "person"
    assert datasets.CocoCaptions(tmp_path / "images", file)[1][1] == ["one", "two"]
    with pytest.raises(ValueError, match="integer"):
        found["7"]
    file.write_text("[1, 2]")
    with pytest.raises(CorruptFileError, match="annotations"):
        datasets.CocoDetection(tmp_path, file)
    with pytest.raises(FileNotFoundError, match=r"cocodataset\.org"):
        datasets.CocoDetection(tmp_path, tmp_path / "none.json")


def test_pets(tmp_path: Path) -> None:
    base = tmp_path / "oxford-iiit-pet"
    for name in ("great_dane_1", "Abyssinian_2"):
        picture(base / "images" / f"{name}.jpg")
        picture(base / "annotations" / "trimaps" / f"{name}.png", 2, "L")
    (base / "annotations" / "trainval.txt").write_text("great_dane_1 2 2 1\nAbyssinian_2 1 1 1\n")
    both = datasets.OxfordIIITPet(tmp_path, target_types=["category", "binary-category", "segmentation"])
    assert both.classes == ["Abyssinian", "Great Dane"] and both.class_to_idx["Great Dane"] == 1
    image, (breed, kind, mask) = both[0]
    assert image.size == (8, 6) and (breed, kind) == (1, 1) and mask.getpixel((0, 0)) == 2
    assert datasets.OxfordIIITPet(tmp_path)[1][1] == 0
    with pytest.raises(RuntimeError, match="download=True"):
        datasets.OxfordIIITPet(tmp_path, split="test")
    with pytest.raises(ValueError, match="target_types"):
        datasets.OxfordIIITPet(tmp_path, target_types="mask")


def test_food(tmp_path: Path) -> None:
    base = tmp_path / "food-101"
    picture(base / "images" / "waffles" / "5.jpg")
    picture(base / "images" / "apple_pie" / "9.jpg")
    (base / "meta").mkdir()
    (base / "meta" / "train.json").write_text('{"waffles": ["waffles/5"], "apple_pie": ["apple_pie/9"]}')
    found = datasets.Food101(tmp_path, target_transform=lambda n: n + 10)
    assert found.classes == ["apple_pie", "waffles"] and len(found) == 2
    assert found[0][1] == 11 and found[0][0].size == (8, 6)
    (base / "meta" / "test.json").write_text("[")
    with pytest.raises(CorruptFileError, match="damaged"):
        datasets.Food101(tmp_path, split="test")
    with pytest.raises(RuntimeError, match="food-101"):
        datasets.Food101(tmp_path / "other")


def test_usps(tmp_path: Path) -> None:
    cells = " ".join(f"{i + 1}:{-1 + i / 127.5:.4f}" for i in range(256))
    (tmp_path / "usps.bz2").write_bytes(bz2.compress(f"10 {cells}\n1 {cells}\n".encode()))
    found = datasets.USPS(tmp_path)
    image, target = found[0]
    assert target == 9 and found[1][1] == 0 and image.size == (16, 16) and image.mode == "L"
    assert abs(int(np.asarray(image)[-1, -1]) - 255) <= 1 and np.asarray(image)[0, 0] == 0
    (tmp_path / "usps.t.bz2").write_bytes(b"no archive")
    with pytest.raises(CorruptFileError, match="damaged"):
        datasets.USPS(tmp_path, train=False)
    with pytest.raises(RuntimeError, match="usps"):
        datasets.USPS(tmp_path / "other")


def test_stl10(tmp_path: Path) -> None:
    base = tmp_path / "stl10_binary"
    base.mkdir()
    pictures = np.arange(3 * 3 * 96 * 96, dtype=np.uint32).astype(np.uint8).reshape(3, 3, 96, 96)
    pictures.tofile(base / "train_X.bin")
    np.array([1, 10, 3], np.uint8).tofile(base / "train_y.bin")
    pictures[:1].tofile(base / "unlabeled_X.bin")
    (base / "class_names.txt").write_text("airplane\nbird\n")
    (base / "fold_indices.txt").write_text("2 0\n1\n")
    found = datasets.STL10(tmp_path)
    assert len(found) == 3 and found[1][1] == 9 and found.classes == ["airplane", "bird"]
    assert np.array_equal(np.asarray(found[2][0]), pictures[2].transpose(2, 1, 0))
    assert list(datasets.STL10(tmp_path, "train+unlabeled").labels) == [0, 9, 2, -1]
    assert list(datasets.STL10(tmp_path, folds=0).labels) == [2, 0]
    with pytest.raises(RuntimeError, match="test_X"):
        datasets.STL10(tmp_path, "test")
    (base / "train_y.bin").write_bytes(b"\1")
    with pytest.raises(CorruptFileError, match="belong together"):
        datasets.STL10(tmp_path)
    with pytest.raises(ValueError, match="folds"):
        datasets.STL10(tmp_path, folds=10)
