"""Tables and texts before the training: what a column is, what is told of it, how the parts are made, what the network is given."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from zlib import crc32

import numpy as np
import pytest

import rushlight as rl
from rushlight.cli.config import DEFAULTS
from rushlight.cli.data.listing import list_pictures
from rushlight.cli.data.rows import CATEGORY, Column, Rows, columns_of, leaks
from rushlight.cli.data.sources import find_source, load_images
from rushlight.cli.data.texts import Texts, decoded, longer, pieces_of
from rushlight.cli.errors import UsageError
from rushlight.cli.training.readers import OfBytes, OfPieces, OfRows
from rushlight.cli.words import plain

COUNT = 30


@pytest.mark.parametrize(
    "cells, kind, note",
    [
        ([f"{i / 7:.2f}" for i in range(COUNT)], "number", ""),
        ([f"{i / 7:.2f}" if i % 3 else "NA" for i in range(COUNT)], "number", "10 cells of 30 missing"),
        (["abc", *(f"{i / 7:.2f}" for i in range(COUNT - 1))], "number", "no finite number, the first is 'abc'"),
        (
            [f"{i / 7:.2f}" if i % 3 else "k.A." for i in range(3 * COUNT)],
            "number",
            "30 cells no finite number, the first is 'k.A.'",
        ),
        ([f"{i / 7:.2f}" if i % 3 else f"{i}?" for i in range(3 * COUNT)], None, "as names of rows have"),
        ([str(i + 5) for i in range(COUNT)], None, "every row has its own number"),
        ([str(i % 4) for i in range(COUNT)], "number", ""),
        (["x", "y"] * 15, "category", ""),
        (["x"] * COUNT, None, "it has one value only"),
        ([""] * COUNT, None, "it is empty"),
        ([f"n{i}" for i in range(COUNT)], None, "as names of rows have"),
        ([f"these are words number {i}" for i in range(COUNT)], None, "(--input text does)"),
        ([f"2024-01-{i + 1:02} 10:30" for i in range(COUNT)], "date", ""),
        ([f"{i + 1}.1.2024" for i in range(COUNT)], "date", ""),
        ([f"{i + 1}/1/2024" for i in range(COUNT)], "date", "day/month/year"),
        ([f"1/{i + 1}/2024" for i in range(COUNT)], "date", "month/day/year"),
        (["inf", "-inf", *(str(i / 4) for i in range(COUNT - 2))], "number", "2 cells of 30 missing"),
    ],
)
def test_what_a_column_is(cells, kind, note) -> None:
    (found,), notes = columns_of(["a"], [(cell,) for cell in cells], False)
    assert (found and found.kind) == kind
    assert note in " ".join(notes) and bool(notes) == bool(note)


@pytest.mark.parametrize(
    "value, shown",
    [(0.12345, "0.1235"), (1234.56, "1235"), (372_912.4, "372,900"), (-2e6, "-2,000,000"), (3e15, "3e+15"), (0, "0")],
)
def test_numbers_are_written_out(value: float, shown: str) -> None:
    assert plain(value) == shown


def test_commas_are_points_where_they_part_no_cells() -> None:
    (found,), _ = columns_of(["a"], [(f"{i},5",) for i in range(9)], True)
    rows = Rows([found])
    rows.learn([(f"{i},5",) for i in range(9)])
    assert rows.columns[0].mean == 4.5


def test_a_row_becomes_a_vector_by_what_the_training_part_tells() -> None:
    rows = Rows([Column("a", "number"), Column("b", CATEGORY), Column("c", "date", format="iso")])
    train = [(str(i), "xyz"[i % 3], f"2024-01-{i + 1:02}") for i in range(10)]
    rows.learn([("", "x", "2024-01-01"), *train])
    x = rows.encode([("4.5", "y", "2024-01-05"), ("", "never seen", ""), ("1e9", "", "2024-01-05")])
    assert x.shape == (3, rows.size) == (3, 9) and x.dtype == np.float32
    assert x[0, 0] == pytest.approx(0) and x[1, :3].tolist() == [0, 0, 1] and x[2, 0] == 5
    assert x[:, -1].tolist() == [2, 0, 0] and rows.places() == [[0, 1, 2], [8], [3, 4, 5, 6, 7]]
    rows.learn([("1e308", "x", "2024-01-01"), ("-1e308", "x", "2024-01-02"), *train])
    assert np.isfinite(rows.encode([("1e308", "x", ""), ("0", "y", "")])).all()
    again = Rows.from_dict(rows.as_dict())
    assert (again.encode(train) == rows.encode(train)).all()
    for damage in ({"spread": 0.0}, {"kind": "else"}, {"values": (3,)}):
        told = rows.as_dict()
        told["columns"][0].update(damage)
        with pytest.raises(ValueError, match="not what it should be"):
            Rows.from_dict(told)


def test_columns_that_tell_the_answer_are_named() -> None:
    draw = np.random.default_rng(0)
    columns = [Column("a", "number"), Column("code", CATEGORY), Column("late", "number")]
    answers = [i % 2 for i in range(60)]
    rows = [(f"{draw.uniform():.3f}", "pq"[y], f"{y * 5 + draw.uniform():.3f}") for y in answers]
    told = leaks(columns, rows, answers)
    assert [line.split()[0] for line in told] == ["code", "late"]
    values = [(float(row[0]) * 3,) for row in rows]
    assert [line.split()[0] for line in leaks(columns, rows, values)] == ["a"]


def settings(**more: object) -> SimpleNamespace:
    return SimpleNamespace(**{**DEFAULTS, "quiet": True, "strict": False, "cache": "none", **more})


def test_rows_that_are_the_same_lie_in_one_part_wherever_they_stand(tmp_path: Path) -> None:
    lines = [f"{i % 23},{'uv'[i % 2]},{'xy'[i // 3 % 2]}" for i in range(90)]
    parts = []
    for turn in (0, 31):
        (tmp_path / "t.csv").write_text("\n".join(["a,b,label", *lines[turn:], *lines[:turn]]))
        images = load_images(find_source(str(tmp_path / "t.csv")), settings())
        parts.append([sorted(part.contents) for part in (images.train, images.val, images.test)])
    assert parts[0] == parts[1] and min(map(len, parts[0])) > 0
    for label in range(2):
        kept = [{c for c, t in zip(p.contents, p.targets) if t == label} for p in (images.train, images.val, images.test)]  # fmt: skip
        assert not kept[0] & kept[1] and not kept[0] & kept[2] and not kept[1] & kept[2]


def test_texts_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    for kind in ("a", "b"):
        (tmp_path / kind).mkdir()
        for i in range(12):
            (tmp_path / kind / f"{i}.txt").write_text(f"{kind} says {i} {i}")
    (tmp_path / "a" / "empty.txt").write_text(" \n")
    (tmp_path / "a" / "big.txt").write_text("lorem ipsum " * 900_000)
    (tmp_path / "b" / "bytes.txt").write_bytes(b"\0\1" * 50)
    (tmp_path / "b" / "latin.txt").write_bytes("Köln".encode("latin-1"))
    (tmp_path / "b" / "again.txt").write_text("b says 3 3")
    (tmp_path / "b" / "doubt.txt").write_text("a says 4 4")
    images = load_images(find_source(str(tmp_path)), settings())
    often = {kind: sum(p.kind == kind for p in images.problems) for kind in ("empty", "broken", "duplicate", "contradiction")}  # fmt: skip
    assert often == {"empty": 1, "broken": 2, "duplicate": 1, "contradiction": 2}
    assert isinstance(images.inputs, Texts) and images.inputs.size <= 512
    assert any("Left out as broken: 2 texts" in line for line in images.notes)
    some = Texts(512, model="transformer")
    assert "only the beginning is read" in longer(["x" * 600], some) and not longer(["x"], some)


def test_pieces() -> None:
    def pieces(text: str) -> set[int]:
        return set(pieces_of(text))

    assert pieces_of("") == [] and pieces("Lamps, lamps\n") == pieces("lamps,  LAMPS")
    assert {crc32(p) % 2**20 for p in (b"two", b"two lamps", b"\0 two ", b"\0mps")} < pieces("two lamps")
    assert len(pieces_of("no end " + "x" * 60_000 + " ".join(map(str, range(60_000))))) <= 1024
    texts = Texts()
    texts.learn(["two lamps", "two"])
    assert texts.size == 32 and "texts with more than 32 pieces" in longer(["many words " * 9] * 2, texts)
    net = OfPieces(3)
    rl.nn.init.normal_(net.pieces.weight)
    both = net(rl.from_numpy(texts.encode(["two lamps", "two"])))
    alone = net(rl.from_numpy(texts.encode(["two"])[:, :28]))
    assert rl.allclose(both[1], alone[0], atol=1e-5) and not rl.allclose(both[0], both[1], atol=1e-3)


def test_bytes() -> None:
    texts = Texts(8, model="transformer")
    assert texts.encode(["ab", "é" * 9]).tolist() == [[98, 99, 0, 0, 0, 0, 0, 0], [196, 170] * 4]
    assert decoded("Köln".encode()[:-1] + "ö".encode()[:1], "x", whole=False) == "Köl"
    assert decoded("\ufeffab".encode("utf-16"), "x").endswith("ab")
    with pytest.raises(UsageError, match="not UTF-8"):
        decoded(b"\xff", "x")


@pytest.mark.parametrize(
    "text, kind, noun",
    [
        ("text,label\nhello dear you,a\ngood bye now,b\nsee you soon,a", "classification", "text"),
        ("id,said,y\n1,hello dear you,1.5\n2,good bye now,2\n3,see you soon,4", "regression", "text"),
        ("a,b,target\n1,x,u\n2,y,v\n5,x,w\n3,x,u\n4,y,u\n6,x,v", "classification", "row"),
        ("a,b,survived\n1,x,0\n2,y,1\n5,x,0", "classification", "row"),
        ("a,b,price\n1,x,10\n2,y,11\n5,x,12", "regression", "row"),
        ("a,b,target\n1,x,151.0\n2,y,75.0\n5,x,141.0\n3,x,75.0", "regression", "row"),
        ("a,b,target\n" + "1,x,0\n2,y,1\n5,x,2\n" * 6, "classification", "row"),
        ("path,label\na.png,x\nb.png,y", "classification", "picture"),
    ],
)
def test_what_a_table_holds(tmp_path: Path, text: str, kind: str, noun: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    found = list_pictures(str(tmp_path / "t.csv"))
    assert (found.task, found.noun) == (kind, noun)
    if noun != "picture":
        forced = list_pictures(str(tmp_path / "t.csv"), None, None, "table" if "x," in text else "text")
        assert forced.noun in ("row", "text")


def test_padding_is_not_read() -> None:
    """The answer to a text is the same, however many zeros come behind it."""
    rl.manual_seed(0)
    net = OfBytes(32, 3).eval()
    x = rl.zeros(2, 32, dtype=rl.int64)
    x[0, :8] = rl.arange(8) + 90
    x[1] = x[0]
    x[1, 8:] = 33
    net.places.data[:, 2:] = 7.0  # places that are padding may hold anything
    with rl.no_grad():
        one = net(x)
        net.places.data[:, 2:] = -3.0
        other = net(x)
    assert rl.allclose(one[0], other[0], atol=1e-5) and not rl.allclose(one[1], other[1], atol=1e-3)


def test_a_table_of_categories_alone_and_one_of_numbers_alone() -> None:
    assert OfRows(0, [3, 4], 2)(rl.ones(5, 2)).shape == (5, 2)
    assert OfRows(3, [], 2)(rl.ones(5, 3)).shape == (5, 2)
