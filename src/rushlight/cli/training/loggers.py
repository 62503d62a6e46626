"""Where the numbers of each epoch go beside metrics.jsonl: TensorBoard's events, Weights & Biases, MLflow."""

from __future__ import annotations

import contextlib
import os
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..errors import UsageError, printable

if TYPE_CHECKING:
    from argparse import Namespace

KINDS = ("wandb", "mlflow")


class Loggers:
    """All places that a run reports to; opened and closed with it."""

    def __init__(self, args: Namespace) -> None:
        self.args = args
        self.board_note = "TensorBoard events"
        self.open: list[Any] = []
        self.stack = contextlib.ExitStack()
        if args.log is not None and find_spec(args.log) is None:
            raise UsageError(f"--log {args.log} needs the package: pip install {args.log}")

    def __enter__(self) -> Loggers:
        board = self._tensorboard()
        if board is not None:
            self.open.append(self.stack.enter_context(board))
        if self.args.log is not None:
            kind: Any = {"wandb": _Wandb, "mlflow": _Mlflow}[self.args.log]
            try:
                self.open.append(_Outside(self.stack.enter_context(kind(self.args)), self.args.log))
            except Exception as error:  # their errors are of many kinds: no account, no server, no permission
                self.stack.close()
                raise UsageError(f"--log {self.args.log}: {' '.join(str(error).split())}") from None
        return self

    def __exit__(self, *error: object) -> None:
        self.open.clear()
        try:
            self.stack.close()
        except Exception as failed:
            if self.args.log is None:
                raise
            _tell(self.args.log, failed)

    def _tensorboard(self) -> Any:
        """The TensorBoard writer, or none where that part of rushlight is missing."""
        try:
            from rushlight.utils.tensorboard import SummaryWriter
        except ImportError:
            self.board_note = "no TensorBoard events (rushlight.utils.tensorboard is missing)"
            return None
        return SummaryWriter(self.args.out)

    def write(self, line: dict[str, Any]) -> None:
        """One epoch's numbers."""
        numbers = {k: v for k, v in line.items() if k not in ("epoch", "seconds")}
        for one in self.open:
            for name, value in numbers.items():
                one.add_scalar(name, value, line["epoch"])
            one.flush()


class _Outside:
    """A logger that may lose its server: then one warning is printed, and training goes on without it."""

    def __init__(self, inner: Any, name: str) -> None:
        self.inner, self.name, self.lost = inner, name, False

    def add_scalar(self, name: str, value: float, epoch: int) -> None:
        self._try(self.inner.add_scalar, name, value, epoch)

    def flush(self) -> None:
        self._try(self.inner.flush)

    def _try(self, call: Any, *args: Any) -> None:
        if self.lost:
            return
        try:
            call(*args)
        except Exception as error:
            self.lost = True
            _tell(self.name, error)


def _tell(name: str, error: Exception) -> None:
    said = printable(" ".join(str(error).split()))
    print(f"Warning: --log {name} failed, and training goes on without it: {said}", file=sys.stderr)


def _settings(args: Namespace) -> dict[str, Any]:
    from .. import config

    return {name: getattr(args, name) for name in config.DEFAULTS}


class _Wandb:
    """A run of Weights & Biases, under the run folder's name."""

    def __init__(self, args: Namespace) -> None:
        self.args = args
        self.waiting: dict[str, Any] = {}

    def __enter__(self) -> _Wandb:
        import wandb

        name = os.path.basename(os.path.abspath(self.args.out))
        self.run = wandb.init(project="rushlight", name=name, dir=self.args.out, config=_settings(self.args))
        return self

    def add_scalar(self, name: str, value: float, epoch: int) -> None:
        self.waiting[name], self.epoch = value, epoch

    def flush(self) -> None:
        self.run.log(self.waiting, step=self.epoch)
        self.waiting = {}

    def __exit__(self, *error: object) -> None:
        self.run.finish()


class _Mlflow:
    """A run of MLflow, under the run folder's name."""

    def __init__(self, args: Namespace) -> None:
        self.args = args

    def __enter__(self) -> _Mlflow:
        import mlflow

        self.module = mlflow
        mlflow.start_run(run_name=os.path.basename(os.path.abspath(self.args.out)))
        mlflow.log_params(_settings(self.args))
        return self

    def add_scalar(self, name: str, value: float, epoch: int) -> None:
        self.module.log_metric(name, value, step=epoch)

    def flush(self) -> None:
        """MLflow writes at once."""

    def __exit__(self, *error: object) -> None:
        self.module.end_run()
