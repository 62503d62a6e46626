"""--folds: every picture is tested by one of K networks, and what the folds come to."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cli_help import write_pictures
from rushlight.cli.commands import main
from rushlight.cli.data.files import Listing, Sample
from rushlight.cli.data.folders import _split
from rushlight.cli.errors import UsageError
from rushlight.cli.tasks.classification import Classification

pytest.importorskip("PIL.Image")


def test_every_picture_is_tested_once() -> None:
    samples = [Sample(f"/set/{c}/{i}.png", c, "") for c, n in enumerate((11, 4, 2)) for i in range(n)]
    task, listing = (Classification(["a", "b", "c"]), Listing("/set", samples, ["a", "b", "c"], "", 0))
    parts = [_split(task, listing, samples, 0.1, 0.2, f"{k}/5") for k in range(1, 6)]
    tested = sorted(i for one in parts for i in one["test"])
    assert tested == list(range(15))  # the last two are too few to be tested
    with pytest.raises(UsageError, match="the most that a class has is 1 picture: add pictures"):
        _split(task, listing, [samples[0], samples[11]], 0.1, 0.2, "1/2")
    for one in parts:
        assert sorted(i for part in one.values() for i in part) == list(range(17))
        assert 2 <= len(one["test"]) <= 4 and one["val"]
    assert _split(task, listing, samples, 0.1, 0.2)["test"] != parts[0]["test"]


def test_a_run_of_folds(tmp_path, capsys) -> None:
    photos = str(write_pictures(tmp_path / "photos", 12))
    words = ["train", "--data", photos, "--size", "20", "--model", "lenet", "--epochs", "2", "--lr", "0.01", "--out", str(tmp_path / "run")]  # fmt: skip
    assert main([*words, "--folds", "3"]) == 0
    said = capsys.readouterr().out
    found = json.loads((tmp_path / "run" / "folds.json").read_text())
    each = [json.loads((tmp_path / "run" / f"fold-{k}" / "test.json").read_text()) for k in (1, 2, 3)]
    scores = [one["accuracy"] for one in each]
    assert found["images"] == sum(one["images"] for one in each) == 36
    assert found["accuracy"] == pytest.approx(np.mean(scores), abs=1e-6)
    assert found["spread"] == pytest.approx(np.std(scores, ddof=1), abs=1e-6)
    assert "Fold 3 of 3" in said and "36 pictures were tested once each" in said
    assert main(["eval", str(tmp_path / "run" / "fold-2"), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again == {name: each[1][name] for name in again}
    for more, says in ((["--folds", "3"], "holds folds already"), (["--folds", "3", "--resume"], "leave --resume out"),
                       (["--folds", "1"], "at least 2"), (["--fold", "6/5"], "no part of some parts"),
                       (["--folds", "2", "--data", "fashion-mini", "--out", str(tmp_path / "no")], "fashion-mini has one already")):  # fmt: skip
        assert main([*words, *more]) == 2
        assert says in capsys.readouterr().err


def test_folds_from_python(tmp_path) -> None:
    import rushlight

    photos = write_pictures(tmp_path / "photos", 8)
    done = rushlight.fit(photos, folds=2, size=20, model="lenet", epochs=1, quiet=True, out=str(tmp_path / "run"))
    assert len(done.metrics["folds"]) == 2 and done.path in [one["path"] for one in done.metrics["folds"]]
    assert len(done.predict(str(photos / "bars" / "1.png"))) == 1


def test_a_search(tmp_path, capsys) -> None:
    photos = str(write_pictures(tmp_path / "photos", 12))
    words = ["train", "--data", photos, "--size", "20", "--model", "lenet", "--epochs", "4", "--out", str(tmp_path / "run")]  # fmt: skip
    assert main([*words, "--search", "4"]) == 0
    said = capsys.readouterr().out
    tried = json.loads((tmp_path / "run" / "search" / "search.json").read_text())
    assert [one["round"] for one in tried] == [1] * 4 + [2] * 2
    assert [one["epochs"] for one in tried] == [1] * 4 + [2] * 2
    assert {one["size"] for one in tried} == {20} and len({one["lr"] for one in tried}) == 4
    first = sorted(tried[:4], key=lambda one: -one["validation"])
    assert {one["validation"] for one in first[:2]} >= {max(one["validation"] for one in tried[:4])}
    settings = json.loads((tmp_path / "run" / "args.json").read_text())["settings"]
    best = max(tried[4:], key=lambda one: one["validation"])["validation"]
    assert settings["epochs"] == 4
    assert settings["lr"] in {one["lr"] for one in tried[4:] if one["validation"] == best}
    assert "Tried 4 of 4 in round 1 of 2" in said and "The best of 6 trials" in said
    assert said.count("Accuracy of the network") == 1
    (tmp_path / "run" / "args.json").unlink()
    (tmp_path / "run" / "last.pth").unlink()
    for more, says in ((["--search", "4"], "holds a search already"), (["--search", "4", "--folds", "2"], "leave --search out"),
                       (["--search", "4", "--val-split", "0", "--out", str(tmp_path / "no")], "chooses by a validation part")):  # fmt: skip
        assert main([*words, *more]) == 2
        assert says in capsys.readouterr().err
