"""Data as strangers have it: spreadsheets of other countries, archives, files of telephones, masks and boxes of other programs."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from cli_help import write_pictures
from rushlight.cli import main
from rushlight.cli.data.inputs import number_of
from rushlight.cli.data.listing import list_pictures
from rushlight.cli.data.rows import MOST_MIXED, NUMBER, SHUFFLES, Column, Rows
from rushlight.cli.data.sources import find_source, load_images
from rushlight.cli.errors import UsageError
from rushlight.cli.report import svg

Image = pytest.importorskip("PIL.Image")
SETTINGS = {"size": 16, "augment": "none", "val_split": 0.1, "test_split": 0.2, "cache": "memory", "quiet": True, "strict": False,
            "class_weights": False, "balanced": False, "fold": None, "erase": 0.0, "data_dir": "data", "fit": None}  # fmt: skip


@pytest.mark.parametrize(
    ("cell", "comma", "value"),
    [
        ("$1,234.50", False, 1234.5), ("85%", False, 85), ("1,234,567", False, 1234567), ("-€ 5", False, -5),
        ("1.234,50 €", True, 1234.5), ("1.234.567", True, 1234567), ("1.234", True, 1.234), ("12 500,5", True, 12500.5),
        ("0,123", False, math.nan), ("1,23", False, math.nan), ("1_000", False, math.nan), ("inf", False, math.nan),
        ("a 5", False, math.nan), ("%", False, math.nan), ("3 m", False, math.nan),
    ],
)  # fmt: skip
def test_numbers_as_spreadsheets_write_them(cell: str, comma: bool, value: float) -> None:
    np.testing.assert_equal(number_of(cell, comma), value)


def test_a_table_of_prices(tmp_path: Path) -> None:
    table = tmp_path / "prices.csv"
    table.write_text("rate,target\n" + "".join(f'{7 * i % 100}%,"${5000 + 100 * i:,}"\n' for i in range(100)))
    found = list_pictures(str(table))
    assert found.task == "regression" and found.samples[1].target == (5100.0,)
    assert [c.kind for c in found.inputs.columns] == [NUMBER]


@pytest.mark.parametrize(
    ("cells", "task", "kept", "line"),
    [
        (["1.5", "nan", "inf", "", "2.5"], "regression", [(1.5,), (2.5,)], "3 lines without a value under value"),
        (["good", "", "none", "bad", "good"], "classification", [1, 2, 0, 1], "1 line without a value under value"),
    ],
)
def test_pictures_without_an_answer_are_left_out(tmp_path: Path, cells, task, kept, line) -> None:
    table = tmp_path / "l.csv"
    table.write_text("path,value\n" + "".join(f"{i}.png,{cell}\n" for i, cell in enumerate(cells)))
    found = list_pictures(str(table))
    assert found.task == task and [s.target for s in found.samples] == kept and line in found.notes[0]


def test_a_column_of_pictures_has_any_name(tmp_path: Path) -> None:
    table = tmp_path / "daten.csv"
    table.write_text("Datei;Größe\r\n" + "".join(f"{i}.PNG;{i},5\r\n" for i in range(9)), encoding="utf-8-sig")
    found = list_pictures(str(table))
    assert found.task == "regression" and found.inputs is None and found.samples[3].target == (3.5,)


def _texts(folder: Path) -> None:
    (folder / "t.csv").write_text("fine weather today,good\n" + "".join(f"text {i} of us,{'good' if i % 2 else 'bad'}\n" for i in range(9)))  # fmt: skip


def _pictures(folder: Path) -> None:
    (folder / "t.csv").write_text("a.jpg,cat\nb.jpg,dog\n")


def _backslashes(folder: Path) -> None:
    for i in range(3):
        Image.new("RGB", (9, 9)).save(folder / f"photos\\roses\\{i}.png")


def _broken_boxes(folder: Path) -> None:
    (folder / "images").mkdir()
    (folder / "boxes.json").write_text('{"images": [')


def _lacking_boxes(folder: Path) -> None:
    (folder / "images").mkdir()
    (folder / "boxes.json").write_text(json.dumps({"images": [], "annotations": []}))


def _archive(folder: Path) -> None:
    (folder / "photos.zip").write_bytes(b"PK")


@pytest.mark.parametrize(
    ("make", "inside", "says"),
    [
        (_texts, "t.csv", "'good' stands in its first line and below it, too"),
        (_pictures, "t.csv", "its first line names a picture"),
        (_backslashes, "", "unpack the archive again"),
        (_broken_boxes, "", "boxes.json cannot be read"),
        (_lacking_boxes, "", "boxes.json lacks the list categories"),
        (_archive, "", "unpack photos.zip first"),
        (_archive, "photos.zip", "unpack it first"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, make, inside: str, says: str) -> None:
    make(tmp_path)
    with pytest.raises(UsageError, match=says):
        list_pictures(str(tmp_path / inside))


def test_what_is_passed_over_is_told(tmp_path: Path) -> None:
    write_pictures(tmp_path / "d", 6)
    (tmp_path / "d" / "boxes.json").write_text("{")
    for i in range(2):
        (tmp_path / "d" / "dots" / f"{i}.HEIC").write_bytes(b"heic")
    notes = load_images(find_source(str(tmp_path / "d")), SimpleNamespace(**SETTINGS)).notes
    assert any("No boxes were found:" in n and "boxes.json cannot be read" in n for n in notes)
    assert "Not looked at, because no picture: 2 other files (2 .heic: save .heic files as JPEG or PNG first)." in notes


def test_masks_of_other_sizes_and_of_other_formats(tmp_path: Path) -> None:
    for name in ("images", "masks"):
        (tmp_path / name).mkdir()
    mask = np.zeros((20, 30), np.uint8)
    mask[5:15, 8:20] = 255
    for i, size in enumerate([(30, 20), (60, 40), (15, 10), (40, 40)]):
        Image.new("RGB", (30, 20), (i, 9, 9)).save(tmp_path / "images" / f"{i}.png")
        Image.fromarray(mask).resize(size, Image.Resampling.NEAREST).save(tmp_path / "masks" / f"{i}.png")
    Image.new("RGB", (30, 20)).save(tmp_path / "images" / "jpeg.png")
    Image.fromarray(mask).save(tmp_path / "masks" / "jpeg.jpg", quality=60)
    images = load_images(find_source(str(tmp_path)), SimpleNamespace(**SETTINGS))
    assert sorted((Path(p.path).stem, p.kind) for p in images.problems) == [("3", "misfit"), ("jpeg", "misfit")]
    assert any("JPEG file, which changes the numbers" in p.why for p in images.problems)
    target = next(t for t in images.train.targets + images.test.targets if t.path.endswith("1.png"))
    np.testing.assert_array_equal(np.asarray(target.numbers(99, (30, 20))), mask // 255)


@pytest.mark.parametrize("wide", [2, MOST_MIXED + 30])
def test_a_wide_table_is_mixed_where_the_network_listens(wide: int, monkeypatch) -> None:
    from rushlight.cli.tasks import task

    calls = []
    monkeypatch.setattr(task, "measure", lambda *a, **k: calls.append(1) or SimpleNamespace(score=0.0))
    rows = Rows([Column(str(i), NUMBER) for i in range(wide)])
    test = _Sized(np.random.default_rng(0).normal(size=(9, rows.size)).astype(np.float32), [0] * 9)
    images = SimpleNamespace(test=test, task=SimpleNamespace(tensor=lambda t: np.asarray(t)))
    heard = {str(i) for i in range(max(0, wide - MOST_MIXED), wide)}
    found = rows.extra(images, lambda x: x[:, -2 * len(heard) :])["importance"]
    assert found.keys() == heard and len(calls) == 1 + SHUFFLES * len(heard)


def test_a_report_of_many_classes_has_an_end() -> None:
    drawn = svg.bars([(f"class {i}", [("one", 0.5, "50%")]) for i in range(svg.MOST_BARS + 7)])
    assert drawn.count("bar-name") == svg.MOST_BARS and "and 7 more" in drawn
    assert "more" not in svg.bars([("a", [("one", 0.5, "50%")])])


class _Sized:
    def __init__(self, x: np.ndarray, targets: list[int]) -> None:
        self.x, self.targets = x, targets

    def __len__(self) -> int:
        return len(self.targets)


def test_a_data_set_of_a_name_has_a_size_of_its_own(tmp_path: Path, capsys) -> None:
    write_pictures(tmp_path / "d", 6)
    run = tmp_path / "run"
    assert main(["train", "--data", str(tmp_path / "d"), "--out", str(run), "--epochs", "1", "--size", "32", "--width", "0.25",
                 "--model", "resnet18", "--weights", "none", "--quiet", "--device", "cpu"]) == 0  # fmt: skip
    capsys.readouterr()
    assert main(["eval", str(run), "--data", "fashion-mini", "--device", "cpu"]) == 2
    said = capsys.readouterr().err
    assert "--size" not in said and "fashion-mini has class" in said
