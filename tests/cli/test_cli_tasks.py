"""Tasks beside one class for each picture: what a table asks for, the scores, and each task's whole story."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from cli_help import start
from rushlight.cli.commands import main
from rushlight.cli.data.listing import list_pictures
from rushlight.cli.errors import UsageError
from rushlight.cli.tasks.kinds import KINDS
from rushlight.cli.tasks.multilabel import LabelsResult, average_precision
from rushlight.cli.tasks.regression import Regression, ValuesResult

Image = pytest.importorskip("PIL.Image")

TRAIN = ("--size", "20", "--model", "lenet", "--batch-size", "16", "--optimizer", "adam", "--lr", "0.005", "--augment", "none")  # fmt: skip


# -- what a table asks for -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, task, names, targets",
    [
        ("path,label\na,cat\nb,dog", "classification", ["cat", "dog"], [0, 1]),
        ("path,label\na,3\nb,7", "classification", ["3", "7"], [0, 1]),
        ("path,species\na,cat\nb,dog", "classification", ["cat", "dog"], [0, 1]),
        ("path,label\na,3.5\nb,7", "regression", ["label"], [(3.5,), (7.0,)]),
        ("path,Age\na,3\nb,7", "regression", ["Age"], [(3.0,), (7.0,)]),
        ("file,value,who\na,3,x\nb,7,y", "regression", ["value"], [(3.0,), (7.0,)]),
        ("path;x;y\na;1,5;2\nb;3;4", "regression", ["x", "y"], [(1.5, 2.0), (3.0, 4.0)]),
        ("path,labels\na,cat|dog\nb,", "multilabel", ["cat", "dog"], [(0, 1), ()]),
        ("path,label\na,cat|dog\nb,dog", "multilabel", ["cat", "dog"], [(0, 1), (1,)]),
        ("path,tags\na,cat dog\nb,dog", "multilabel", ["cat", "dog"], [(0, 1), (1,)]),
        ('path,labels\na,"cat, dog"\nb,dog', "multilabel", ["cat", "dog"], [(0, 1), (1,)]),
        ("path,cat,dog,split\na,1,1,train\nb,0,1,train", "multilabel", ["cat", "dog"], [(0, 1), (1,)]),
        ("path,cat,dog\na,yes,no\nb,no,", "multilabel", ["cat", "dog"], [(0,), ()]),
    ],
)  # fmt: skip
def test_the_task_is_found_in_the_table(tmp_path, text, task, names, targets) -> None:
    (tmp_path / "t.csv").write_text(text)
    found = list_pictures(str(tmp_path / "t.csv"))
    assert (found.task, found.classes) == (task, names)
    assert [s.target for s in found.samples] == targets


def test_a_task_can_be_forced_and_a_column_chosen(tmp_path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("path,label,age,sex\na,1,30,f\nb,2,40,m\nc,3,50,f")
    path = str(file)
    assert list_pictures(path).task == "classification"
    assert "--task regression takes them for values" in list_pictures(path).notes[0]
    assert list_pictures(path, "regression").samples[2].target == (3.0,)
    found = list_pictures(path, None, "age")
    assert found.task == "regression" and found.samples[0].target == (30.0,)
    assert "--task classification" in found.notes[0]
    assert list_pictures(path, None, "sex").classes == ["f", "m"]
    assert list_pictures(path, None, "label,age").classes == ["label", "age"]
    for task, target, says in (
        ("regression", "sex", "line 2: a number is expected under sex, not 'f'"),
        (None, "ages", r"has the columns path, label, age, sex - did you mean age"),
        ("multilabel", "label,sex", "line 3: 0 or 1 is expected under label, not '2'"),
        ("classification", "label,sex", "2 columns beside the path"),
    ):
        with pytest.raises(UsageError, match=says):
            list_pictures(path, task, target)
    with pytest.raises(UsageError, match="needs a .csv file"):
        (tmp_path / "classes" / "a").mkdir(parents=True)
        (tmp_path / "classes" / "b").mkdir()
        list_pictures(str(tmp_path / "classes"), "regression")


# -- scores ----------------------------------------------------------------------------------------


def test_average_precision_by_hand() -> None:
    truth, shares = np.array([1, 0, 1, 0], bool), np.array([0.9, 0.8, 0.7, 0.1])
    assert average_precision(truth, shares) == pytest.approx((1 + 2 / 3) / 2)
    assert average_precision(truth, np.full(4, 0.5)) == pytest.approx(0.5)  # all at once
    assert np.isnan(average_precision(truth & False, shares))


def test_scores_of_labels_by_hand() -> None:
    truth = np.array([[1, 1, 0], [0, 0, 0], [1, 0, 0]], bool)
    shares = np.array([[0.9, 0.2, 0.1], [0.1, 0.4, 0.2], [0.8, 0.1, 0.7]])
    found = LabelsResult(["a", "b", "c"], truth, shares, np.ones(3))
    assert found.score == pytest.approx((2 / 3 + 1 + 2 / 3) / 3) and found.exact() == (1, 3)
    by = found.by_label()
    assert by["recall"].tolist() == [1, 0, 0] and by["precision"].tolist() == [1, 0, 0]
    assert found.as_dict()["labels"]["c"]["average_precision"] is None
    import rushlight as rl

    task = KINDS["multilabel"](["a", "b", "c"])
    good = task.good(rl.tensor(shares).logit(), rl.tensor(truth.astype(float)))
    assert good.item() / 3 == pytest.approx(found.score)


def test_scores_of_values_by_hand() -> None:
    truth = np.array([[1.0], [2.0], [3.0]])
    found = ValuesResult(["x"], truth, truth + [[0.5], [-0.5], [0]], np.zeros(3))
    assert found.score == pytest.approx(1 - 0.5 / 2)
    assert found.as_dict()["values"]["x"]["mean_error"] == pytest.approx(1 / 3)
    same = ValuesResult(["x"], truth, truth * 0 + 2, np.zeros(3))
    assert same.score == 0 and "no better than chance" in (same.warning() or "")
    with pytest.raises(UsageError, match="there is nothing to learn"):
        Regression(["x"]).learn([(3.0,), (3.0,)])


def test_the_places_that_count() -> None:
    """A network that looks at the left half alone is said to look there."""
    import rushlight as rl
    from rushlight.cli.report.saliency import marked, places

    class Left(rl.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = rl.nn.Conv2d(1, 1, 3, padding=1)

        def forward(self, x):
            seen = self.conv(x).relu()[:, :, :, :4].mean((2, 3))
            return rl.cat([seen, -seen], 1)

    net = Left()
    rl.nn.init.ones_(net.conv.weight)
    x = rl.ones(1, 8, 8)
    x[:, :, 4:] = 0.1
    heat = places(KINDS["classification"](["a", "b"]), net, x)
    assert heat is not None and heat.shape == (8, 8) and heat.max() == 1
    assert heat[:, :4].mean() > 3 * heat[:, 5:].mean()
    assert marked(np.zeros((8, 8), np.uint8), heat).shape == (8, 8, 3)
    assert net.conv.weight.grad is None and not net.conv._forward_hooks
    flat = rl.nn.Sequential(rl.nn.Flatten(), rl.nn.Linear(64, 2))
    assert places(KINDS["classification"](["a", "b"]), flat, x) is None


# -- stories ---------------------------------------------------------------------------------------


def bright(draw: np.random.Generator, left: bool, top: bool, wide: int) -> np.ndarray:
    """A dark picture of which some parts are bright."""
    a = draw.integers(0, 30, (20, 20), dtype=np.uint8)
    if left:
        a[12:, :8] = 220
    if top:
        a[:8, 12:] = 220
    a[10, : wide + 1] = 250
    return a


def say(*words: object) -> str:
    """What a command that succeeds prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main([str(w) for w in words]) == 0, out.getvalue()
    return out.getvalue()


@pytest.fixture(scope="module", params=["multilabel", "regression"])
def story(request, tmp_path_factory) -> tuple[str, Path, str]:
    """A folder with a table beside its pictures, and a run on it."""
    root = tmp_path_factory.mktemp(request.param)
    several = request.param == "multilabel"
    draw = np.random.default_rng(0)
    lines = ["file,labels" if several else "file,wide,left"]
    (root / "set" / "pictures").mkdir(parents=True)
    for i in range(70):
        left, top, wide = bool(i % 2), bool(i // 2 % 2), int(draw.integers(0, 20))
        Image.fromarray(bright(draw, left, top, wide)).save(root / "set" / "pictures" / f"{i}.png")
        names = "|".join(n for n, there in (("left", left), ("top", top)) if there)
        lines.append(f"{i}.png,{names}" if several else f"{i}.png,{1000 + wide / 4},{left * 0.5}")
    (root / "set" / "labels.csv").write_text("\n".join(lines))
    said = say("train", "--data", root / "set", "--out", root / "run", "--epochs", "12", *TRAIN)
    return request.param, root, said


def test_it_learns(story) -> None:
    task, root, said = story
    numbers = json.loads((root / "run" / "test.json").read_text())
    assert (
        numbers[KINDS[task].score] > 0.5
        and numbers["images"] == {"multilabel": 15, "regression": 14}[task]
    ), said
    assert ("Labels: left" in said) if task == "multilabel" else ("Values: wide from 1000" in said)
    lines = [json.loads(x) for x in (root / "run" / "metrics.jsonl").read_text().splitlines()]
    best = max(lines, key=lambda x: (x[f"val_{KINDS[task].score}"], -x["val_loss"]))
    assert numbers["best_epoch"] == best["epoch"]
    settings = json.loads((root / "run" / "args.json").read_text())["settings"]
    assert settings["task"] == task


def test_its_test_is_repeated(story) -> None:
    task, root, _ = story
    found = json.loads(say("eval", root / "run", "--json"))
    before = json.loads((root / "run" / "test.json").read_text())
    assert found == {name: before[name] for name in found}
    assert ("average precision" if task == "multilabel" else "root mean square") in say("eval", root / "run", "--by-class")  # fmt: skip


def test_its_report(story) -> None:
    task, root, _ = story
    page = (root / "run" / "report.html").read_text()
    wanted = ("labels, the hardest first", "The worst mistakes") if task == "multilabel" else (
        "wide: answered (upwards) against true", "The largest errors")  # fmt: skip
    assert all(w in page for w in wanted) and page.count("<img") >= 20 and "nan" not in page
    assert ("Grad-CAM" in page) == (task == "regression")  # nothing went wrong with the labels
    assert "http://" not in page and "https://" not in page
    assert KINDS[task].score_name in say("runs", root)


def test_its_answers(story) -> None:
    task, root, _ = story
    one = root / "set" / "pictures" / "3.png"
    rows = list(csv.DictReader(io.StringIO(say("predict", root / "run", one, "--csv"))))
    answer = json.loads(say("predict", root / "run", one, "--json"))
    assert say("predict", root / "run", one).startswith(str(one))
    if task == "multilabel":
        assert rows[0]["labels"] == "|".join(answer["labels"]) and 0 <= float(rows[0]["left"]) <= 1
        assert {a["label"] for a in answer["answers"]} == {"left", "top"}
    else:
        assert answer["values"]["wide"] == pytest.approx(float(rows[0]["wide"]))
        assert 990 < answer["values"]["wide"] < 1015 and -0.5 < answer["values"]["left"] < 1


def test_its_export_answers_the_same(story) -> None:
    task, root, _ = story
    pytest.importorskip("onnx")
    ort = pytest.importorskip("onnxruntime")
    assert KINDS[task].meaning in say("export", root / "run")
    session = ort.InferenceSession(str(root / "run" / "model.onnx"))
    about = session.get_modelmeta().custom_metadata_map
    assert about["task"] == task and session.get_outputs()[0].name == KINDS[task].output
    one = root / "set" / "pictures" / "3.png"
    with Image.open(one) as opened:
        x = np.asarray(opened.convert("RGB"), np.float32) / 255
    x = (x - json.loads(about["mean"])) / json.loads(about["std"])
    (out,) = session.run(None, {"image": x.transpose(2, 0, 1)[None].astype(np.float32)})
    answer = json.loads(say("predict", root / "run", one, "--json"))
    if task == "regression":
        assert out[0].tolist() == pytest.approx(list(answer["values"].values()), rel=1e-5)
    say("export", root / "run", "--to", "pth")
    import rushlight as rl

    last = list(rl.load(root / "run" / "model.pth").values())[-1]
    assert task == "multilabel" or float(last[0]) > 500  # the scale of `wide` is in the layer


def test_it_is_served(story) -> None:
    task, root, _ = story
    pytest.importorskip("uvicorn")
    pytest.importorskip("starlette")
    one = root / "set" / "pictures" / "3.png"
    process = start("serve", root / "run", "--port", 0, cwd=root)
    assert process.stdout is not None
    try:
        found = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
        assert found
        with urllib.request.urlopen(found[0] + "predict", one.read_bytes(), timeout=600) as sent:
            answer = json.loads(sent.read())
        with urllib.request.urlopen(found[0] + "info", timeout=600) as sent:
            assert json.loads(sent.read())["task"] == task
    finally:
        process.terminate()
        process.communicate()
    told = json.loads(say("predict", root / "run", one, "--json"))
    assert {k: answer[k] for k in told if k != "path"} == {k: told[k] for k in told if k != "path"}


def test_it_goes_on_where_it_stopped(story) -> None:
    _, root, _ = story
    say("train", "--data", root / "set", "--out", root / "short", "--epochs", "2", *TRAIN)
    said = say("train", "--out", root / "short", "--epochs", "3", "--resume")
    assert "epoch 3/3" in said and "epoch 2/3" not in said


def test_settings_that_mean_nothing_are_refused(story, capsys) -> None:
    task, root, _ = story
    for more, says in ((("--label-smoothing", "0.1"), "--label-smoothing means nothing for --task regression"),
                       (("--model", "squeezenet1_1", "--size", "32"), "does not end in a linear layer")):  # fmt: skip
        if task == "regression":
            assert (
                main(["train", "--data", str(root / "set"), "--out", str(root / "no"), *more]) == 2
            )
            assert says in capsys.readouterr().err
