"""Checkpoints that are no checkpoints: `predict`, `eval` and `train --resume` answer with one line."""

from __future__ import annotations

import copy
import os
from pathlib import Path

import numpy as np
import pytest

import rushlight as rl
from rushlight.cli import main

pytest.importorskip("PIL")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A run of one epoch over eight images of two classes."""
    from PIL import Image

    root = tmp_path_factory.mktemp("hostile")
    rng = np.random.default_rng(0)
    for part in ("train", "test"):
        for name in ("cats", "dogs"):
            folder = root / "data" / part / name
            folder.mkdir(parents=True)
            for i in range(4):
                Image.fromarray(rng.integers(0, 255, (16, 16, 3), np.uint8)).save(folder / f"{i}.png")
    args = ["train", "--data", str(root / "data"), "--size", "16", "--out", str(root / "out"),
            "--epochs", "2", "--batch-size", "4", "--quiet", "--model", "lenet", "--width", "1"]  # fmt: skip
    assert main(args) == 0
    return root


def change(**fields):
    return lambda saved: saved.update(fields)


def inside(name: str, **fields):
    return lambda saved: saved[name].update(fields)


HOSTILE = {
    "classes are numbers": change(classes=[1, 2]),
    "classes are a dict": change(classes={"a": 1}),
    "no classes": change(classes=[]),
    "a giant network": inside("config", width=10**9),
    "a wide network": inside("config", width=64, model="resnet50"),
    "a model of another name": inside("config", model="os.system"),
    "a model that is a list": inside("config", model=["lenet"]),
    "a task of another name": inside("config", task="os.system"),
    "a task that has a scale": inside("config", task="regression"),
    "a scale for classes": change(scale=[[0.0, 0.0], [1.0, 1.0]]),
    "a scale of zero": change(scale=[[0.0, 0.0], [1.0, 0.0]]),
    "no config": change(config=None),
    "config without width": lambda saved: saved["config"].pop("width"),
    "channels": change(channels=2),
    "channels as text": change(channels="3"),
    "a size of -1": change(size=-1),
    "a size of 2**40": change(size=2**40),
    "std of zero": change(std=(0.0, 0.0, 0.0)),
    "std of text": change(std="abc"),
    "mean of another length": change(mean=(0.5,)),
    "mean of nan": change(mean=(float("nan"),) * 3),
    "weights are a list": change(model=[1, 2]),
    "weights are numbers": lambda saved: saved["model"].update(dict.fromkeys(saved["model"], 1.0)),
    "weights of other sizes": lambda saved: saved["model"].update({k: rl.zeros(3) for k in saved["model"]}),
    "weights without one": lambda saved: saved["model"].pop(next(iter(saved["model"]))),
    "weights of one element": lambda saved: saved["model"].update(
        {k: rl.zeros(1).expand(10**6, 10**6) for k in saved["model"]}
    ),
    "format is a tensor": change(format=rl.ones(2)),
    "history of nothing": change(history=[None]),
    "data with a NUL": change(data="a\0b"),
}
ONLY_RESUME = {
    "steps beyond the end": change(step=10**9, epoch=0),
    "epochs beyond the end": change(epoch=10**9),
    "optimizer is empty": change(optimizer={}),
    "optimizer of other groups": change(optimizer={"state": {}, "param_groups": [{}, {}]}),
    "schedule": change(schedule={"x": 1, "last_epoch": "soon"}),
    "rng": change(rng=rl.zeros(3)),
    "sums": change(sums=[1, 2]),
}


def damaged(run: Path, tmp_path: Path, how) -> Path:
    saved = copy.deepcopy(rl.load(run / "out" / "last.pth"))
    how(saved)
    path = tmp_path / "last.pth"
    rl.save(saved, path)
    return path


def refused(args: list[str], capsys) -> str:
    code = main(args)
    err = capsys.readouterr().err
    assert code == 2 and err.count("\n") == 1 and err.startswith("rushlight: "), (code, err)
    return err


@pytest.mark.parametrize("name", HOSTILE)
def test_predict_and_eval_refuse(name: str, run: Path, tmp_path, capsys) -> None:
    path = str(damaged(run, tmp_path, HOSTILE[name]))
    picture = str(run / "data" / "test" / "cats" / "0.png")
    refused(["predict", path, picture], capsys)
    refused(["eval", path], capsys)


@pytest.mark.parametrize("name", [*HOSTILE, *ONLY_RESUME])
def test_resume_refuses(name: str, run: Path, tmp_path, capsys) -> None:
    damaged(run, tmp_path, {**HOSTILE, **ONLY_RESUME}[name])
    if name == "schedule":
        code = main(["train", "--out", str(tmp_path), "--resume", "--quiet"])
        assert code in (0, 2)  # unknown keys of a schedule mean nothing
        return
    refused(["train", "--out", str(tmp_path), "--resume", "--quiet"], capsys)


def test_terminal_escapes_are_shown_not_obeyed(run: Path, tmp_path, capsys) -> None:
    """A class called like a command of the terminal, in answers, tables and errors."""
    evil = "\x1b[2J\x1b]0;owned\x07cats\n\u202e"
    path = damaged(run, tmp_path, change(classes=[evil, "dogs"]))
    picture = str(run / "data" / "test" / "cats" / "0.png")
    assert main(["predict", str(path), picture]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1 and "\\x1b[2J" in out
    assert all(c.isprintable() or c == "\n" for c in out)
    said = refused(["eval", str(path)], capsys)
    assert all(c.isprintable() or c == "\n" for c in said)


@pytest.mark.skipif(not os.path.isdir("/proc/self/fdinfo"), reason="needs Linux's /proc")
def test_a_folder_that_cannot_be_written(run: Path, capsys) -> None:
    """It is there, and nobody may write into it, not even root."""
    out = "/proc/self/fdinfo"
    data = str(run / "data")
    said = refused(["train", "--data", data, "--out", out, "--epochs", "1", "--quiet"], capsys)
    assert "--out /proc/self/fdinfo cannot be written to" in said


def test_a_weights_name_of_several_lines_is_told_in_one() -> None:
    from rushlight.cli.errors import UsageError
    from rushlight.cli.evaluate import check_weights
    from rushlight.cli.training import networks

    net = networks.build("mlp", channels=1, size=8, classes=2, width=1)
    weights = {**net.state_dict(), "0\n\x1b[2J": rl.zeros(1)}
    saved = {"config": {"model": "mlp", "width": 1, "task": "classification"}, "channels": 1, "size": 8, "classes": ["a", "b"], "model": weights}  # fmt: skip
    with pytest.raises(UsageError, match=r"0\\n\\x1b\[2J is not in both") as caught:
        check_weights(saved)
    assert str(caught.value).isprintable()
