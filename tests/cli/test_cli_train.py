"""`rushlight train` interrupted and resumed, in a terminal and without one, and its default run."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path

import pytest

import rushlight as rl
from cli_help import cli, in_terminal, start, write_pictures
from rushlight.cli import main
from rushlight.cli.training.loop import Run

pytest.importorskip("PIL")


@pytest.fixture(scope="module")
def pictures(tmp_path_factory) -> Path:
    return write_pictures(tmp_path_factory.mktemp("data") / "pictures", 25)


def interrupt_after(monkeypatch, steps: int, number: int = signal.SIGTERM) -> None:
    """Send this process a signal when so many batches have been trained on."""
    plain = Run._batches
    done = 0

    def batches(self):
        nonlocal done
        for batch in plain(self):
            yield batch
            done += 1
            if done == steps:
                os.kill(os.getpid(), number)

    monkeypatch.setattr(Run, "_batches", batches)


def lines(out: Path) -> list[dict]:
    """What metrics.jsonl says, without the times."""
    found = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in f.items() if k not in ("seconds", "images_per_second")} for f in found]


def same_everywhere(a, b) -> bool:
    """Equality to the last bit, through dicts and lists."""
    if isinstance(a, rl.Tensor):
        return rl.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same_everywhere(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same_everywhere, a, b))
    return a == b


# Five batches of 12 an epoch, three epochs; stopped in the first, between two, in the last.
@pytest.mark.parametrize(
    "more, stop",
    [
        (["--model", "lenet", "--width", "1"], 2),
        (["--model", "lenet", "--width", "1"], 4),
        (["--model", "lenet", "--width", "1"], 12),
        (["--model", "lenet", "--width", "1", "--no-compile"], 6),
        (["--model", "mlp", "--optimizer", "adam", "--augment"], 6),
        (["--model", "mlp", "--augment", "--workers", "2", "--schedule", "step"], 2),
        (["--model", "mlp", "--augment", "--workers", "2"], 4),
        (["--model", "mobilenet_v2", "--size", "32", "--no-compile", "--epochs", "2"], 2),  # batch norm, dropout
    ],
    ids=["1st", "between", "last", "python", "adam-augment", "workers", "workers-between", "dropout"],
)
def test_resumed_as_if_never_interrupted(
    pictures: Path, tmp_path, capsys, monkeypatch, more: list[str], stop: int
) -> None:
    size = [] if "--size" in more else ["--size", "16"]
    common = ["--data", str(pictures), "--batch-size", "12", "--epochs", "3", *size, *more]
    common += ["--device", "cpu"]  # a GPU's step has other last bits before it is compiled than after
    assert main(["train", *common, "--out", str(tmp_path / "whole")]) == 0
    with monkeypatch.context() as patch:
        interrupt_after(patch, stop)
        assert main(["train", *common, "--out", str(tmp_path / "parts")]) == 128 + signal.SIGTERM
    said = capsys.readouterr().out
    epoch, step = divmod(stop + 1, 5)
    assert f"Stopped in epoch {epoch + 1} after {step} of 5 steps; saved" in said
    again = re.search(r"Go on with: rushlight (train .*--resume)\n", said)
    assert again, said
    assert rl.load(tmp_path / "parts" / "last.pth")["step"] == step
    assert main(again[1].split()) == 0
    assert f"Going on in epoch {epoch + 1} after {step} of 5 steps." in capsys.readouterr().out
    assert lines(tmp_path / "parts") == lines(tmp_path / "whole")
    whole, parts = (rl.load(tmp_path / name / "last.pth") for name in ("whole", "parts"))
    for key in ("model", "optimizer", "schedule", "rng", "config"):
        assert same_everywhere(whole[key], parts[key]), key
    a, b = (json.loads((tmp_path / name / "test.json").read_text()) for name in ("whole", "parts"))
    assert {**a, "seconds": 0} == {**b, "seconds": 0}


def test_resume_remembers_its_settings(pictures: Path, tmp_path, capsys, monkeypatch) -> None:
    out = str(tmp_path / "o")
    with monkeypatch.context() as patch:
        interrupt_after(patch, 1, signal.SIGINT)
        code = main(["train", "--data", str(pictures), "--size", "16", "--model", "mlp", "--lr", "0.02",
                     "--batch-size", "12", "--epochs", "1", "--seed", "5", "--out", out])  # fmt: skip
    assert code == 128 + signal.SIGINT
    capsys.readouterr()
    assert main(["train", "--out", out, "--resume", "--lr", "0.1"]) == 2
    err = capsys.readouterr().err
    assert "was trained with --lr 0.02, not 0.1" in err
    assert main(["train", "--out", out, "--resume", "--lr", "0.02", "--seed", "5", "--quiet"]) == 0
    # A finished run only repeats its test.
    first = capsys.readouterr().out
    assert main(["train", "--out", out, "--resume", "--quiet"]) == 0
    assert capsys.readouterr().out == first


def test_same_seed_same_network(pictures: Path, tmp_path) -> None:
    common = ["--data", str(pictures), "--size", "16", "--model", "mlp", "--epochs", "1", "--quiet"]
    for name, seed in (("a", "1"), ("b", "1"), ("c", "2")):
        assert main(["train", *common, "--seed", seed, "--out", str(tmp_path / name)]) == 0
    a, b, c = (rl.load(tmp_path / name / "last.pth")["model"] for name in "abc")
    assert same_everywhere(a, b) and not same_everywhere(a, c)


def test_other_images_cannot_be_resumed_on(tmp_path, capsys) -> None:
    folder = write_pictures(tmp_path / "p", 5)
    common = ["train", "--out", str(tmp_path / "o"), "--quiet"]
    first = ["--data", str(folder), "--size", "16", "--model", "mlp", "--epochs", "1"]
    assert main([*common, *first]) == 0
    write_pictures(folder, 5, first=5)
    capsys.readouterr()
    assert main([*common, "--resume"]) == 2
    assert "9 images of 3 classes" in capsys.readouterr().err


def test_steps_that_are_too_long(pictures: Path, tmp_path, capsys) -> None:
    code = main(["train", "--data", str(pictures), "--size", "16", "--model", "mlp", "--epochs", "3",
                 "--lr", "1e30", "--schedule", "none", "--out", str(tmp_path / "o")])  # fmt: skip
    assert code == 2
    assert re.search(r"the loss of epoch \d is (nan|inf): .* smaller --lr", capsys.readouterr().err)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_from_outside(pictures: Path, tmp_path, number: int) -> None:
    process = start("train", "--data", pictures, "--size", 16, "--model", "mlp", "--epochs", 5000,
                    "--workers", 1, "--out", "o", cwd=tmp_path)  # fmt: skip
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("epoch 2/"):
            break
    process.send_signal(number)
    rest = process.stdout.read()
    process.stdout.close()
    assert process.wait(600) == 128 + number
    assert "Go on with: rushlight train --out o --workers 1 --resume" in rest
    assert "Traceback" not in rest
    assert rl.load(tmp_path / "o" / "last.pth")["epoch"] >= 2
    process = start("train", "--out", "o", "--resume", cwd=tmp_path)
    assert process.stdout is not None
    assert any(line.startswith("Going on in epoch") for line in process.stdout)
    assert any(line.startswith("epoch ") for line in process.stdout)
    process.send_signal(number)
    assert "Go on with:" in process.stdout.read()
    process.stdout.close()
    assert process.wait(600) == 128 + number


def test_in_a_terminal(tmp_path) -> None:
    pytest.importorskip("rich")
    code, shown = in_terminal("train", "--width", 1, "--epochs", 1, "--batch-size", 256, cwd=tmp_path)
    assert code == 0, shown
    assert "\x1b[" in shown and "━" in shown  # a bar that moves
    bar = re.search(r"\d+/43.*loss [\d.]+  accuracy [\d.]+%  [\d,]+ images/s  \d+:\d\d left", shown)
    assert bar, shown
    assert "Accuracy of the network on the 3000 test images" in shown
    assert "\x1b[?25h" in shown  # the cursor is back


def test_ctrl_c_in_a_terminal(tmp_path, pictures: Path) -> None:
    code, shown = in_terminal(
        "train", "--data", pictures, "--size", 16, "--model", "mlp", "--epochs", 5000, "--workers", 2,
        cwd=tmp_path, keys={"epoch 3/5000": b"\x03"},
    )  # fmt: skip
    assert code == 128 + signal.SIGINT, shown
    assert "Go on with: rushlight train --out runs/train --workers 2 --resume" in shown
    assert "Traceback" not in shown
    assert (tmp_path / "runs" / "train" / "last.pth").exists()


def test_the_default_run_learns(tmp_path) -> None:
    """What `make train` does, with fewer epochs; the whole of it reaches more than 88 %."""
    done = cli("train", "--epochs", 2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    found = re.search(r"3000 test images: ([\d.]+)%", done.stdout)
    assert found and float(found[1]) > 80, done.stdout
    assert "fashion-mini, 1x28x28, 10 classes" in done.stdout
    again = cli("eval", "runs/train", cwd=tmp_path)
    start = done.stdout.index("Accuracy")
    table = done.stdout[start : done.stdout.index("\n\nWrote")]
    assert again.stdout.partition("\n")[2].strip() == table


def test_optimizers_are_found_beside_modules_of_their_names() -> None:
    """`import torch.optim.adamw`, as libraries do, puts a module of that name beside the class."""
    import argparse
    import importlib

    import rushlight as rl
    from rushlight.cli.training.recipes import make_optimizer

    for name in ("adam", "adamw", "sgd", "rmsprop"):
        importlib.import_module(f"rushlight.optim.{name}")
        args = argparse.Namespace(lr=0.1, weight_decay=0.0, momentum=0.9, optimizer=name, head_lr=None)
        assert type(make_optimizer(args, rl.nn.Linear(2, 2))).__name__.lower() == name
