"""`rushlight bench`: in its time, honest about what it could not compare."""

from __future__ import annotations

import json
import re

import pytest

import rushlight as rl
from rushlight.cli import bench, main


def places(labels: list[str], monkeypatch) -> None:
    made = [bench.TimedPlace(label, "cpu", i + 1) for i, label in enumerate(labels)]
    monkeypatch.setattr(bench, "_places", lambda *args: made)


def test_two_thread_counts(tmp_path, capsys, monkeypatch) -> None:
    places(["1 thread", "2 threads"], monkeypatch)
    before = rl.get_num_threads()
    code = main(["bench", "--seconds", "2", "--widths", "1,2", "--batches", "1,8", "--out", str(tmp_path)])
    assert code == 0
    assert rl.get_num_threads() == before
    out = capsys.readouterr().out
    assert len(re.findall(r"^ +\d+ +\d+ +[\d,]+ +[\d,]+ +[\d.]+x", out, re.M)) >= 1  # more on an idle machine
    assert "2 threads / 1 thread" in out
    assert "2 threads win from" in out or "2 threads never clearly beat 1 thread" in out
    if not rl.cuda.is_available():
        assert "There is no GPU to compare with: " in out
    found = json.loads((tmp_path / "bench.json").read_text())
    assert found["places"] == ["1 thread", "2 threads"]
    assert [(r["width"], r["batch"]) for r in found["rows"]] == [(1, 1), (1, 8), (2, 1), (2, 8)]
    assert found["rows"][0]["1 thread"] > 0
    assert (tmp_path / "bench.svg").read_text().count("<polyline") == 4


def test_one_core_has_nothing_to_compare(tmp_path, capsys, monkeypatch) -> None:
    places(["cpu"], monkeypatch)
    args = ["--model", "mlp", "--seconds", "1", "--widths", "1", "--batches", "4"]
    assert main(["bench", *args, "--out", str(tmp_path)]) == 0
    assert "There is nothing to compare on one core." in capsys.readouterr().out


def test_the_time_is_kept(tmp_path, capsys, monkeypatch) -> None:
    """A step that would take longer than what is left is not begun."""
    places(["cpu"], monkeypatch)
    monkeypatch.setattr(bench, "_time", lambda step, seconds: 0.01)
    steps = []
    monkeypatch.setattr(bench, "_step", lambda rl, model, width, batch, device: steps.append(batch))
    args = ["--model", "mlp", "--seconds", "30", "--widths", "1", "--batches", "1,2,64,128"]
    assert main(["bench", *args, "--out", str(tmp_path)]) == 0
    assert steps == [1, 2, 64, 128]  # as quick whatever the batch
    steps.clear()
    monkeypatch.setattr(bench, "_time", lambda step, seconds: float(steps[-1]))
    assert main(["bench", *args, "--out", str(tmp_path)]) == 0
    assert steps == [1, 2]  # 64 seconds a step do not fit
    assert capsys.readouterr().out.count("no time") == 2


def test_what_it_tells_of_a_gpu() -> None:
    labels = ["cpu", "cuda:0"]
    rows = [
        {"width": 1, "batch": 4, "cpu": 100.0, "cuda:0": 50.0},
        {"width": 1, "batch": 64, "cpu": 100.0, "cuda:0": 103.0},
        {"width": 1, "batch": 256, "cpu": 100.0, "cuda:0": 800.0},
        {"width": 2, "batch": 4, "cpu": 100.0, "cuda:0": 110.0},
        {"width": 2, "batch": 64, "cpu": None, "cuda:0": 900.0},
    ]
    marks = ["<-" in bench._line(rows[: i + 1], labels) for i in range(5)]
    assert marks == [False, False, True, True, False]
    said = bench._explain(rows, labels, None)
    assert said.startswith("cuda:0 wins from batch 256 at width 1, batch 4 at width 2; the most")
    assert "8.00x at width 1, batch 256" in said and said.count(". ") == 1
    assert "never clearly beat cpu: at best 1.03x" in bench._explain(rows[:2], labels, None)
    assert "too short" in bench._explain(rows[4:], labels, None)


@pytest.mark.parametrize(
    "args, says",
    [
        (["--widths", "1,x"], "whole numbers"),
        (["--batches", "0"], "all above 0"),
        (["--batches", ","], "at least one"),
        (["--seconds", "0"], "out of range"),
        (["--model", "gpt"], "there is no network 'gpt'"),
    ],
    ids=lambda v: v[0] if isinstance(v, list) else "",
)
def test_refusals(tmp_path, capsys, args: list[str], says: str) -> None:
    assert main(["bench", *args, "--out", str(tmp_path)]) == 2
    out, err = capsys.readouterr()
    assert out == "" and says in err and err.count("\n") == 1
