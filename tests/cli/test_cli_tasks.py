"""Tasks beside one class for each picture: what a table asks for, the scores, and each task's whole story."""

from __future__ import annotations

import numpy as np
import pytest

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
        ("path,tags\na,cat\nb,\nc,dog", "multilabel", ["cat", "dog"], [(0,), (), (1,)]),
        ('path,labels\na,"cat, dog"\nb,dog', "multilabel", ["cat", "dog"], [(0, 1), (1,)]),
        ("path,cat,dog,split\na,1,1,train\nb,0,1,train", "multilabel", ["cat", "dog"], [(0, 1), (1,)]),
        ("path,cat,dog\na,yes,no\nb,no,", "multilabel", ["cat", "dog"], [(0,), ()]),
    ],
)
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
