"""`train --log`: Weights & Biases and MLflow, by the packages themselves where they are installed, and where they fail."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

from cli_help import cli
from rushlight.cli import main
from rushlight.cli.training.loggers import KINDS

SMALL = ("train", "--model", "mlp", "--width", "1", "--epochs", "2", "--quiet", "--out", "run")


def metrics(folder: Path) -> list[dict]:
    return [json.loads(line) for line in (folder / "run/metrics.jsonl").read_text().splitlines()]


def test_wandb_offline(tmp_path, monkeypatch) -> None:
    pytest.importorskip("wandb")
    monkeypatch.setenv("WANDB_MODE", "offline")
    done = cli(*SMALL, "--log", "wandb", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (written,) = (tmp_path / "run/wandb").glob("offline-run-*/*.wandb")
    content = written.read_bytes()
    for name in ("train_loss", "val_accuracy", "images_per_second", "weight_decay"):
        assert name.encode() in content


@pytest.mark.filterwarnings("ignore")  # of the packages that MLflow's client loads here
def test_mlflow_in_a_database(tmp_path, monkeypatch) -> None:
    mlflow = pytest.importorskip("mlflow")
    address = f"sqlite:///{tmp_path}/mlflow.db"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    done = cli(*SMALL, "--log", "mlflow", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    client = mlflow.MlflowClient(tracking_uri=address)
    (run,) = client.search_runs([e.experiment_id for e in client.search_experiments()])
    assert run.info.status == "FINISHED" and run.data.params["model"] == "mlp"
    found = [m.value for m in client.get_metric_history(run.info.run_id, "val_accuracy")]
    assert found == [line["val_accuracy"] for line in metrics(tmp_path)]


def test_mlflow_in_files(tmp_path, monkeypatch) -> None:
    """MLflow's file store is refused by MLflow itself unless it is asked for: its words, in one line."""
    pytest.importorskip("mlflow")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "ml").as_uri())
    refused = cli(*SMALL, "--log", "mlflow", cwd=tmp_path)
    if refused.returncode:
        assert refused.returncode == 2 and refused.stderr.startswith("rushlight: --log mlflow: ")
        monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
        done = cli(*SMALL, "--log", "mlflow", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
    assert list((tmp_path / "ml").glob("*/*/metrics/val_loss"))


class _Broken:
    """A package whose server goes away after `calls` numbers; a sum of what wandb and MLflow are asked for."""

    def __init__(self, calls: int) -> None:
        self.left, self.seen = calls, []

    def init(self, **options):
        return self.start_run(**options)

    def start_run(self, **options):
        if self.left < 0:
            raise ValueError("no\nsuch   account")
        return self

    def log_params(self, settings) -> None:
        self.seen.append(settings["model"])

    def log_metric(self, name, value, step) -> None:
        self.log({name: value}, step)

    def log(self, values, step) -> None:
        self.left -= 1
        if self.left < 0:
            raise ConnectionError("the server is gone")
        self.seen.append((step, *values))

    def end_run(self) -> None:
        raise ConnectionError("the server is gone at the end")

    finish = end_run


def broken(name: str, calls: int, monkeypatch) -> _Broken:
    module, made = ModuleType(name), _Broken(calls)
    module.__spec__ = pytest.__spec__  # find_spec asks modules that are loaded for it
    for method in ("init", "start_run", "log_params", "log_metric", "end_run"):
        setattr(module, method, getattr(made, method))
    monkeypatch.setitem(sys.modules, name, module)
    return made


@pytest.mark.parametrize("name", KINDS)
def test_a_server_that_goes_away_does_not_stop_training(name, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    made = broken(name, 1, monkeypatch)
    assert main([*SMALL, "--log", name]) == 0
    err = capsys.readouterr().err
    assert err.count(f"Warning: --log {name} failed, and training goes on without it: the server is gone\n") == 1
    assert "gone at the end" in err
    assert len(metrics(tmp_path)) == 2 and len([s for s in made.seen if isinstance(s, tuple)]) == 1


@pytest.mark.parametrize("name", KINDS)
def test_no_account(name, tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    broken(name, -1, monkeypatch)
    assert main([*SMALL, "--log", name]) == 2
    assert capsys.readouterr().err == f"rushlight: --log {name}: no such account\n"
    assert not list(tmp_path.glob("**/*.pth"))
