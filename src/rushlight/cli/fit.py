"""The Python door of the trainer: `rushlight.fit` and `Trainer`; `rushlight train` runs the same session."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from . import config
from .callbacks import Session
from .errors import UsageError
from .options import parser
from .options_train import arguments_of
from .suggest import did_you_mean
from .train import Outcome

if TYPE_CHECKING:
    from argparse import Namespace

__all__ = ["Fitted", "Trainer", "fit"]


class Fitted:
    """What a training came to: `path` of its folder, `metrics` of the test, `history` of the epochs, the best `model`."""

    def __init__(self, outcome: Outcome) -> None:
        self.path = outcome.path
        self.metrics: dict[str, Any] = outcome.metrics
        self.history: list[dict[str, Any]] = outcome.history
        self.model: Any = outcome.net
        self.report = os.path.join(self.path, "report.html")
        self._reader: Any = None

    def predict(self, pictures: Any) -> list[dict[str, Any]]:
        """What `rushlight predict --json` answers to paths of pictures, rows (dicts by their columns) or texts, one dict for each."""
        from .predict import Reader
        from .training import checkpoint

        if self._reader is None:
            self._reader = Reader(checkpoint.read(self.path), "cpu", top=5)
        several: list[Any] = [pictures] if isinstance(pictures, (str, os.PathLike, dict)) else list(pictures)
        other = self._reader.inputs
        inputs = [self._reader.input(os.fspath(one) if other is None else other.row(one)) for one in several]
        return [self._reader.task.as_json(a) for a in self._reader.answers(inputs)]

    def __repr__(self) -> str:
        return f"Fitted({self.path!r}, {', '.join(f'{k}={v}' for k, v in list(self.metrics.items())[:1])})"


class Trainer(Session):
    """A training with callbacks. Settings are the options of `rushlight train` with underscores: `epochs=5`, `val_split=0.2`.

    Example:
        >>> trainer = torch.Trainer(callbacks=[], epochs=2, out="runs/mine")
        >>> trainer.settings["epochs"], trainer.global_step
        (2, 0)
    """

    def __init__(self, callbacks: Iterable[Any] = (), **settings: Any) -> None:
        super().__init__(callbacks)
        self.settings = settings

    def fit(self, data: str | os.PathLike[str]) -> Fitted:
        """Train on a folder, a .csv file or a named data set, test, report: what `rushlight train --data` does.

        Raises:
            ValueError: in the command's words, for whatever the command would refuse.
            KeyboardInterrupt: where Ctrl-C ended it; what was trained is saved, and `resume=True` goes on.
        """
        import rushlight as rl

        from ..core.hot import tracing

        traced, drawn = tracing(False), rl.get_rng_state()
        try:
            outcome = self.run(_arguments(data, self.settings))
        except UsageError as error:
            raise ValueError(error.sentence()) from None
        finally:
            tracing(traced)
            rl.set_rng_state(drawn)
        if outcome.net is None:
            raise KeyboardInterrupt(f"stopped, see {outcome.path}")
        return Fitted(outcome)


def fit(data: str | os.PathLike[str], *, callbacks: Iterable[Any] = (), **settings: Any) -> Fitted:
    """Train a network on pictures, a table or texts, test it, write a report: `rushlight train --data` from Python.

    In a notebook the curves are drawn while it trains.

    Args:
        data: a folder with a folder of pictures for each class, a .csv file (which may ask for several labels or for
            numbers, or be a table of values), a folder with a folder of texts for each class, or the name of a data set.
        callbacks: objects whose methods are called by Lightning's names, see `Callback`.
        settings: the command's options with underscores (`epochs=5`); what is not given is chosen by the data.

    Example:
        >>> try:
        ...     done = torch.fit("photos-that-are-not-there", epochs=2)
        ... except ValueError as error:
        ...     print(str(error)[:48])
        --data photos-that-are-not-there: no such folder

    Raises:
        ValueError: in the command's words, for whatever the command would refuse.
    """
    return Trainer(callbacks, **settings).fit(data)


def _arguments(data: str | os.PathLike[str], settings: dict[str, Any]) -> Namespace:
    """The settings as the command's parser makes them, with its checks and its words."""
    known = {*config.DEFAULTS, *config.OTHERS, "resume"} - {"nproc", "max_restarts", "global_batch"}
    for name in settings:
        if name == "nproc":
            raise UsageError("nproc starts the command several times: use `rushlight train --nproc`")
        if name not in known:
            hint = did_you_mean(name, known) or ", see `rushlight train --help`"
            raise UsageError(f"there is no setting {name!r}{hint}")
    words = ["train", *arguments_of({"data": os.fspath(data), **settings})]
    args = parser().parse_args(words)
    args.argv = words
    return args
