"""The story of every task: scanned, trained, reported, tested again, asked, exported, served, resumed. One test body for all."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shutil
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import rushlight as rl
from cli_help import ROOT, start
from rushlight.cli.commands import main
from rushlight.cli.predict import Reader
from rushlight.cli.tasks.kinds import KINDS
from rushlight.cli.training import checkpoint
from rushlight.cli.training.networks import head_of

Image = pytest.importorskip("PIL.Image")
sys.path.append(str(ROOT / "tools"))
import drawn_set  # noqa: E402

SMALL = ("--size", 32, "--augment", "none", "--batch-size", 8)


def classes(place: Path) -> None:
    drawn_set.write(place, ("circle", "checks"), 30)


def labelled_rows(place: Path) -> None:
    """A table of which a class is learnt; some cells are missing, one column is constant, one numbers the rows."""
    draw = np.random.default_rng(0)
    lines = ["id;height;kind;seen;always;label"]
    for i in range(150):
        height, kind = draw.uniform(0, 10), str(draw.choice(["oak", "elm", "ash"]))
        label = "tall" if height + 3 * (kind == "oak") > 6 else "low"
        day = np.datetime64("2024-01-01") + int(draw.integers(0, 300))
        shown = f"{height:.2f}".replace(".", ",") if i % 11 else ""
        lines.append(f"{i};{shown};{kind};{day};same;{label}")
    place.mkdir()
    (place / "trees.csv").write_text("\n".join(lines))


def masks(place: Path) -> None:
    """One of the masks has another shape than its picture."""
    drawn_set.masks(place, 40)
    Image.new("L", (9, 240)).save(place / "masks" / "007.png")


class Story(NamedTuple):
    """A set, how it is trained, and what must be found on the way."""

    task: str
    write: Callable[[Path], Any]
    train: tuple[Any, ...]
    least: float  # of the score
    asked: str  # of `predict`, in the folder of the set
    sent: str  # to the server: a file there, or the words themselves
    said: tuple[str, ...]  # by `train`
    shown: tuple[str, ...]  # in the report
    columns: str  # of `predict --csv`
    refused: tuple[tuple[str, ...], str]  # options that mean nothing here


STORIES = {
    "classes": Story("classification", classes, (*SMALL, "--epochs", 4, "--ema", 0), 0.8, "checks/003.png", "checks/003.png",
                     ("Classes: checks (22), circle (22); to train on",), ("confusion matrix", "What it was shown"), "class_1",
                     (("--input", "table"), "is for a .csv file")),
    "tags": Story("multilabel", lambda place: drawn_set.tags(place, 60), (*SMALL, "--epochs", 2), 0.2, "003.png", "003.png",
                  ("Labels: circle",), ("labels, the hardest first", "Grad-CAM"), "labels,", (("--views", "2", "--input", "text"), "--views is for pictures")),
    "number": Story("regression", lambda place: drawn_set.number(place, 60), (*SMALL, "--epochs", 4), 0.2, "003.png", "003.png",
                    ("Values: covered from",), ("answered (upwards) against true", "The largest errors"), "path,covered",
                    (("--label-smoothing", "0.1"), "--label-smoothing means nothing for --task regression")),
    "masks": Story("masks", masks, ("--size", 32, "--epochs", 4, "--ema", 0, "--batch-size", 4), 0.1, "images/003.jpg", "images/003.jpg",
                   ("folders of pictures and masks", "Left out as misfit: 1 picture", "has another shape"), ("the mask that was given, then the answer",), "area_of_background",
                   (("--fit", "crop"), "--fit crop cuts away")),
    "boxes": Story("boxes", lambda place: drawn_set.boxes(place, 40), ("--size", 64, "--epochs", 2, "--augment", "none"), 0.0, "images/003.jpg", "images/003.jpg",
                   ("COCO's annotations",), ("the boxes that were given, then the answer",), "found,boxes",
                   (("--model", "vgg11"), "stands on a ResNet, not on vgg11")),
    "rows": Story("classification", labelled_rows, ("--epochs", 15), 0.75, "trees.csv", '{"height": 2.5, "kind": "elm", "seen": "2024-05-01"}',
                  ("Left out column id: every row has its own number", "Left out column always: it has one value only.", "height: 14 cells of 150 missing.",
                   "3 columns (1 number, 1 date, 1 category)"),
                  ("what the answers need", "what the network is given", "The worst mistakes", "line "), "class_1", (("--mixup", "0.2"), "--mixup is for pictures, and these are rows")),
    "values": Story("regression", lambda place: drawn_set.table(place, 200), ("--epochs", 12), 0.6, "rents.csv", '{"area": 80, "rooms": 3, "district": "river"}',
                    ("What is learnt is the last column, rent", "Values: rent from"), ("what the answers need", "The largest errors"), "path,rent",
                    (("--model", "resnet18"), "looks at pictures, and these are rows")),
    "texts": Story("classification", lambda place: drawn_set.text(place, 40), ("--epochs", 4), 0.6, "order", "please send two lamps",
                   ("Classes: complaint", "different words and pieces of words"), ("confusion matrix", "The surest right answers"), "class_1",
                   (("--weights", "own"), "--weights own are of pictures, and these are texts")),
}  # fmt: skip


def say(*words: object) -> str:
    """What a command that succeeds prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main([str(w) for w in words]) == 0, out.getvalue()
    return out.getvalue()


class Told(NamedTuple):
    """A story that was trained, where it lies, and what the training printed."""

    about: Story
    root: Path
    said: str


@pytest.fixture(scope="module", params=STORIES)
def story(request, tmp_path_factory) -> Told:
    about, root = STORIES[request.param], tmp_path_factory.mktemp(request.param)
    about.write(root / "set")
    return Told(about, root, say("train", "--data", root / "set", "--out", root / "run", *about.train))


def test_it_learns_and_its_test_is_repeated(story) -> None:
    about, root, said = story
    found = json.loads((root / "run" / "test.json").read_text())
    assert found[KINDS[about.task].score] >= about.least, said
    assert all(words in said for words in about.said), said
    assert json.loads((root / "run" / "args.json").read_text())["settings"]["task"] == about.task
    again = json.loads(say("eval", root / "run", "--json"))
    assert again == {name: found[name] for name in again}
    lines = [json.loads(x) for x in (root / "run" / "metrics.jsonl").read_text().splitlines()]
    key = f"val_{KINDS[about.task].score}"
    assert found["best_epoch"] == max(lines, key=lambda x: (x[key], -x["val_loss"]))["epoch"]
    assert KINDS[about.task].score_name in say("runs", root)


def test_its_report(story) -> None:
    about, root, _ = story
    page = re.sub(r"data:[^']*", "", (root / "run" / "report.html").read_text())
    assert [words for words in about.shown if words not in page] == []
    assert not re.search(r"\bnan\b|None|http://|https://", page.replace("none", ""))
    assert "<svg" in page and "To repeat it" in page


def test_its_answers_are_those_of_the_server(story) -> None:
    about, root, _ = story
    one = root / "set" / about.asked
    answers = [json.loads(line) for line in say("predict", root / "run", one, "--json").splitlines()]
    rows = list(csv.DictReader(io.StringIO(say("predict", root / "run", one, "--csv"))))
    assert len(rows) == len(answers) and about.columns in ",".join(rows[0])
    assert say("predict", root / "run", one).count("\n") == len(rows)
    if KINDS[about.task].writes:
        say("predict", root / "run", one, "--out", root / "answers")
        with Image.open(one) as given, Image.open(root / "answers" / "003.png") as drawn:
            assert given.size == drawn.size
    pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    place = root / "set" / about.sent
    body = place.read_bytes() if place.is_file() else about.sent.encode()
    reader = Reader(checkpoint.read(str(root / "run")), "cpu", 5)
    content = str(place) if reader.inputs is None else reader.inputs.parsed(body)[0]
    told = reader.task.as_json(reader.answers([reader.input(content)])[0])
    process = start("serve", root / "run", "--port", 0, cwd=root)
    assert process.stdout is not None
    try:
        found = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
        assert found
        with urllib.request.urlopen(found[0] + "predict", body, timeout=600) as sent:
            answer = json.loads(sent.read())
        with urllib.request.urlopen(found[0] + "info", timeout=600) as sent:
            assert json.loads(sent.read())["task"] == about.task
    finally:
        process.terminate()
        process.communicate()
    assert {name: answer[name] for name in told} == told


def test_its_export_answers_the_same(story) -> None:
    about, root, _ = story
    pytest.importorskip("onnx")
    ort = pytest.importorskip("onnxruntime")
    assert KINDS[about.task].meaning in say("export", root / "run")
    session = ort.InferenceSession(str(root / "run" / "model.onnx"))
    known = session.get_modelmeta().custom_metadata_map
    assert known["task"] == about.task and session.get_outputs()[0].name == KINDS[about.task].output
    reader = Reader(checkpoint.read(str(root / "run")), "cpu", 5)
    items = list(reader.items([str(root / "set" / about.asked)]))[:5]
    x = rl.stack([reader.input(item.name if reader.inputs is None else item.content).x for item in items])
    (out,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    reader.task.exported(reader.net, head_of(reader.net))
    with rl.no_grad():
        wanted = reader.net(x).numpy()
    np.testing.assert_allclose(out, wanted, atol=1e-4 * max(1.0, np.abs(wanted).max()))
    told = say("export", root / "run", "--to", "pth")
    if KINDS[about.task].over:  # the message names a network that takes the file
        from rushlight.vision import models

        net = eval(re.search(r"rushlight\.vision\.(models\.\S+?\(.*?\))", told)[1], {"models": models})
        net.load_state_dict(rl.load(root / "run" / "model.pth"))


def test_it_goes_on_where_it_stopped(story) -> None:
    about, root, _ = story
    done = about.train[about.train.index("--epochs") + 1]
    shutil.copytree(root / "run", root / "more")
    said = say("train", "--out", root / "more", "--epochs", done + 1, "--resume")
    assert re.findall(r"epoch (\d+/\d+)  loss", said) == [f"{done + 1}/{done + 1}"]


def test_settings_that_mean_nothing_are_refused(story, capsys) -> None:
    about, root, _ = story
    options, says = about.refused
    assert main(["train", "--data", str(root / "set"), "--out", str(root / "no"), *options]) == 2
    assert says in capsys.readouterr().err
