"""The Python door: `rushlight.fit` gives what the command gives, callbacks are called by Lightning's names."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import rushlight as rl
from cli_help import cli, write_pictures

pytest.importorskip("PIL.Image")

SETTINGS = {"size": 20, "model": "lenet", "batch_size": 16, "augment": "none"}


@pytest.fixture(scope="module")
def photos(tmp_path_factory) -> Path:
    return write_pictures(tmp_path_factory.mktemp("fit") / "photos", 12)


def test_it_gives_what_the_command_gives(photos: Path, tmp_path, capsys) -> None:
    state = rl.get_rng_state()
    done = rl.fit(photos, out=tmp_path / "here", epochs=2, quiet=True, **SETTINGS)
    assert rl.equal(state, rl.get_rng_state())
    options = [w for k, v in SETTINGS.items() for w in ("--" + k.replace("_", "-"), v)]
    ran = cli("train", "--data", photos, "--out", tmp_path / "there", "--epochs", 2, "--quiet", *options, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    theirs = json.loads((tmp_path / "there" / "test.json").read_text())
    for name in ("accuracy", "loss", "confusion", "best_epoch"):
        assert done.metrics[name] == theirs[name]
    assert ran.stdout == capsys.readouterr().out
    assert Path(done.path, "report.html").exists() and len(done.history) == 2
    assert done.model(rl.zeros(1, 3, 20, 20)).shape == (1, 3) and not done.model.training
    (answer,) = done.predict(photos / "bars" / "0.png")
    assert answer["answers"][0]["class"] in ("bars", "dots", "plain")


class Heard(rl.Callback):
    """What was called, and where."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def on_fit_start(self, trainer, model) -> None:
        assert trainer.current_epoch == 0 and trainer.max_epochs == 5
        self.calls.append("fit_start")

    def on_train_batch_end(self, trainer, model, outputs, batch, batch_idx) -> None:
        assert float(outputs["loss"]) > 0 and len(batch[0]) and batch_idx == trainer.global_step % 2
        self.calls.append("batch")

    def on_validation_end(self, trainer, model) -> None:
        assert 0 <= trainer.callback_metrics["val_accuracy"] <= 1
        self.calls.append("validation")

    def on_train_epoch_end(self, trainer, model) -> None:
        self.calls.append(f"epoch {trainer.current_epoch}")
        trainer.should_stop = trainer.current_epoch == 2

    def on_test_end(self, trainer, model) -> None:
        self.calls.append("test")


def test_callbacks(photos: Path, tmp_path, capsys) -> None:
    heard = Heard()
    rl.Trainer([heard], epochs=5, out=tmp_path / "run", **SETTINGS).fit(photos)
    each = ["batch", "batch", "validation"]
    assert heard.calls == ["fit_start", *each, "epoch 1", *each, "epoch 2", "test"]
    assert "Stopped early: a callback asked for it." in capsys.readouterr().out


def test_an_error_is_heard_and_goes_on(photos: Path, tmp_path) -> None:
    class Bad:
        def on_train_epoch_end(self, trainer, model) -> None:
            raise LookupError("mine")

        def on_exception(self, trainer, model, exception) -> None:
            self.seen = exception

    bad = Bad()
    with pytest.raises(LookupError, match="mine"):
        rl.fit(photos, callbacks=[bad], out=tmp_path / "run", epochs=1, quiet=True, **SETTINGS)
    assert isinstance(bad.seen, LookupError)


@pytest.mark.parametrize(
    "settings, says",
    [
        ({"epochs": 0}, "0 is out of range"),
        ({"epoch": 2}, "there is no setting 'epoch' - did you mean epochs"),
        ({"task": "regression"}, "needs a .csv file"),
        ({"nproc": 2}, "use `rushlight train --nproc`"),
    ],
    ids=str,
)
def test_refusals_are_value_errors(photos: Path, tmp_path, settings, says) -> None:
    with pytest.raises(ValueError, match=says):
        rl.fit(photos, out=tmp_path / "run", **settings)


def test_a_notebook_sees_curves(photos: Path, tmp_path, monkeypatch, capsys) -> None:
    """Drawn once and then again in the same place; no line is printed for an epoch."""
    pages: list[str] = []

    class Place:
        def update(self, page) -> None:
            pages.append(page)

    def display(page, display_id) -> Place:
        assert display_id
        pages.append(page)
        return Place()

    shell, shown = ModuleType("IPython"), ModuleType("IPython.display")
    shell.get_ipython = type("ZMQInteractiveShell", (), {})  # type: ignore[attr-defined]
    shown.HTML, shown.display = str, display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", shown)
    rl.fit(photos, out=tmp_path / "run", epochs=2, **SETTINGS)
    assert len(pages) == 2 and all("<svg" in p and "How it learnt" in p for p in pages)
    style = pages[0].partition("<style>")[2].partition("</style>")[0]
    assert style.startswith(".rushlight {") and not re.search(r"^\}", style.rstrip()[:-1], re.M)
    assert ":root" not in style and "body" not in style  # the notebook around it stays as it is
    said = capsys.readouterr().out
    assert "epoch 1/2" not in said and "Accuracy of the network" in said
