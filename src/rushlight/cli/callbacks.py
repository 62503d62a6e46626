"""Callbacks of a training by Lightning's names, and the session that calls them: the command's, or a Trainer's."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .folds import train_folds
from .search import train_searched
from .train import Outcome, train

if TYPE_CHECKING:
    from argparse import Namespace

    from ..nn.modules.module import Module
    from .training.loop import Run

__all__ = ["Callback", "Session"]


class Callback:
    """What a training calls, by Lightning's names: override the methods you need.

    `trainer` tells where the training is (`current_epoch`, `global_step`, `callback_metrics`), and ends it after
    this epoch where `trainer.should_stop` is set; `model` is the network that is trained.

    Example:
        >>> class Enough(torch.Callback):
        ...     def on_validation_end(self, trainer, model):
        ...         trainer.should_stop = trainer.callback_metrics["val_accuracy"] > 0.99
        >>> trainer = torch.Trainer([Enough()], epochs=5)
    """

    def on_fit_start(self, trainer: Session, model: Module) -> None:
        """Before the first epoch."""

    def on_train_epoch_start(self, trainer: Session, model: Module) -> None:
        """Before each epoch."""

    def on_train_batch_start(self, trainer: Session, model: Module, batch: Any, batch_idx: int) -> None:
        """Before each step."""

    def on_train_batch_end(self, trainer: Session, model: Module, outputs: Any, batch: Any, batch_idx: int) -> None:
        """After each step; `outputs["loss"]` is a tensor, and reading it waits for the device."""

    def on_validation_start(self, trainer: Session, model: Module) -> None:
        """Before the validation part is looked at."""

    def on_validation_end(self, trainer: Session, model: Module) -> None:
        """After it; `trainer.callback_metrics` has its numbers."""

    def on_train_epoch_end(self, trainer: Session, model: Module) -> None:
        """After each epoch, its validation included."""

    def on_fit_end(self, trainer: Session, model: Module) -> None:
        """After the last epoch."""

    def on_test_start(self, trainer: Session, model: Module) -> None:
        """Before the best network is tested; `model` is that one."""

    def on_test_end(self, trainer: Session, model: Module) -> None:
        """After it."""

    def on_exception(self, trainer: Session, model: Module, exception: BaseException) -> None:
        """Before an error leaves the training."""


class Session:
    """A training that calls callbacks, and what they may ask of it."""

    def __init__(self, callbacks: Iterable[Any] = ()) -> None:
        self.callbacks = list(callbacks)
        self.should_stop = False
        self._run: Run | None = None

    @property
    def current_epoch(self) -> int:
        """Epochs that are done, or the number of the one that is under way, counted from 0."""
        return self._run.epoch if self._run is not None else 0

    @property
    def max_epochs(self) -> int | None:
        """How many there will be; where the time decides, a guess until it is measured."""
        return self._run.args.epochs if self._run is not None else None

    @property
    def global_step(self) -> int:
        """Steps that are done."""
        return self._run.epoch * self._run.steps + self._run.step if self._run is not None else 0

    @property
    def callback_metrics(self) -> dict[str, Any]:
        """The numbers of the newest epoch, as in metrics.jsonl."""
        return dict(self._run.history[-1]) if self._run is not None and self._run.history else {}

    def run(self, args: Namespace) -> Outcome:
        """Train by parsed options."""
        shown = _curves()
        if shown is not None and not args.quiet:
            self.callbacks = [*self.callbacks, shown]
            args.lines = False
        try:
            many = train_folds if args.folds else train_searched if args.search else train
            return many(args, self._begin)
        except Exception as error:
            self._call("on_exception", self._run.net if self._run is not None else None, error)
            raise

    def _begin(self, run: Run) -> None:
        """Let a run call the callbacks."""
        self._run, self.should_stop = run, False
        known = {name for c in self.callbacks for name in dir(c) if name.startswith("on_")}
        run.stops = lambda: self.should_stop
        run.hook = lambda name, net, *more: self._call(name, net, *more) if name in known else None

    def _call(self, name: str, net: Any, *more: Any) -> None:
        for callback in self.callbacks:
            method = getattr(callback, name, None)
            if method is not None:
                method(self, net, *more)


# -- notebooks -------------------------------------------------------------------------------------


def _curves() -> Any:
    """A callback that draws, where this is a notebook."""
    shell = sys.modules.get("IPython")
    kernel = shell.get_ipython() if shell is not None else None
    return _Curves() if type(kernel).__name__ == "ZMQInteractiveShell" else None


class _Curves(Callback):
    """Loss and score over the epochs, drawn anew after each."""

    def __init__(self) -> None:
        self.place: Any = None

    def on_train_epoch_end(self, trainer: Session, model: Module) -> None:
        from IPython.display import HTML, display

        from .report.page import curves
        from .report.page_style import STYLE

        assert trainer._run is not None
        run = trainer._run
        drawn = curves(run.history, run.best["epoch"], run.task, run.args.augment != "none")
        style = STYLE.replace(":root {", "& {").replace("body {", "& {")  # nested: of the notebook nothing else changes
        page = HTML(f"<style>.rushlight {{{style}}}</style><div class='rushlight'>{drawn}</div>")
        if self.place is None:
            self.place = display(page, display_id=True)
        else:
            self.place.update(page)
