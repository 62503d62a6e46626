"""One number for each picture, or several: Huber's loss over values of spread 1, mean error and R² in the units given."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import UsageError, printable, short
from ..report import svg
from ..words import plain
from .task import SHOWN, Card, Picture, Result, Task, interval, key_of, tested, to_try

if TYPE_CHECKING:
    from argparse import Namespace

    from ...nn.modules.module import Module

MOST_CHARTS = 8  # of quantities in a report


class Regression(Task):
    """A target is a number for each quantity. The network learns them less their mean, over their spread."""

    kind, score, score_name, span = "regression", "r2", "R²", None
    one, many = "number", "numbers"
    output = "values"
    meaning = "the values themselves, in the units of the training data"
    # A moved, turned or mirrored picture may have another value.
    recipe = {"label_smoothing": 0.0, "mixup": 0.0, "augment": "colours", "views": 1}
    scaled = True
    not_for = ("label_smoothing", "cutmix", "class_weights", "balanced")

    def groups(self, targets: Sequence[tuple[float, ...]]) -> list[Hashable]:
        return [0] * len(targets)

    def members(self, target: tuple[float, ...]) -> tuple[int, ...]:
        return tuple(range(len(self.names)))

    def renumbered(self, target: tuple[float, ...], number: dict[int, int]) -> tuple[float, ...]:
        return target

    def learn(self, targets: Sequence[tuple[float, ...]]) -> None:
        values = np.asarray(targets, np.float64)
        spread = values.std(0)
        for name, each, value in zip(self.names, spread, values[0]):
            if not each > 0:
                raise UsageError(f"every {self.noun} to train on has {printable(name)} {plain(value)}: there is nothing to learn")  # fmt: skip
        self.scale = [values.mean(0).tolist(), spread.tolist()]

    def tensor(self, target: tuple[float, ...]) -> np.ndarray:
        mean, spread = np.asarray(self.scale)
        return ((np.asarray(target) - mean) / spread).astype(np.float32)

    def _in_units(self, values: np.ndarray) -> np.ndarray:
        mean, spread = np.asarray(self.scale)
        return values.astype(np.float64) * spread + mean

    def in_words(self, target: tuple[float, ...]) -> str:
        if len(self.names) == 1:
            return plain(target[0])
        return ", ".join(f"{name} {plain(v)}" for name, v in zip(self.names, target))

    def summary(self, targets: Sequence[tuple[float, ...]]) -> str:
        values = np.asarray(targets)
        of = [f"{name} from {plain(v.min())} to {plain(v.max())}, mean {plain(v.mean())}"
              for name, v in zip(self.names, values.T)]  # fmt: skip
        more = f" ... and {len(of) - 6} more" if len(of) > 6 else ""
        return f"Values: {'; '.join(of[:6])}{more}"

    def chart(self, counts: list[int], targets: Sequence[tuple[float, ...]]) -> tuple[str, str]:
        drawn = [svg.histogram([t[i] for t in targets]) for i in range(min(len(self.names), MOST_CHARTS))]
        titled = [f"<h3>{escape(printable(name))}</h3>{d}" for name, d in zip(self.names, drawn)]
        return f"{self.noun}s to train on, by value", "".join(titled if len(self.names) > 1 else drawn)

    def check_head(self, model: str, layer: Module) -> None:
        import rushlight as rl

        if not isinstance(layer, rl.nn.Linear):  # SqueezeNet cuts off what is below 0
            raise UsageError(f"--model {model} does not end in a linear layer and cannot answer any number: try resnet18")  # fmt: skip

    def criterion(self, args: Namespace, counts: list[int], total: int, device: str) -> Callable[[Any, Any], Any]:
        import rushlight as rl

        return rl.nn.SmoothL1Loss()

    def good(self, out: Any, y: Any) -> Any:
        """R² of a picture, so to speak: 1 less its squared error, whose mean is 1 for who always answers the mean."""
        return (1 - (out - y).square()).mean(1).sum()

    def both(self, one: Any, other: Any) -> Any:
        return (one + other) / 2

    def rows(self, out: Any, y: Any) -> tuple[Any, ...]:
        import rushlight.nn.functional as F

        return y, out, F.smooth_l1_loss(out, y, reduction="none").mean(1)

    def result(self, columns: Sequence[np.ndarray] | None) -> ValuesResult:
        none = np.zeros((0, len(self.names)))
        truth, answers, losses = columns or (none, none, np.zeros(0))
        return ValuesResult(self.names, self._in_units(truth), self._in_units(answers), losses, self.noun)

    def strongest(self, out: Any) -> Any:
        return out.abs().sum(1)

    def likeliness(self, out: Any) -> Any:
        return out[:, 0]

    def compared(self, truth: np.ndarray, answers: np.ndarray) -> tuple[float, None]:
        truth = truth.reshape(len(truth), -1)
        return ValuesResult(self.names, truth, answers.reshape(truth.shape), np.zeros(0)).score, None

    def answers(self, out: Any, top: int) -> list[list[float]]:
        return self._in_units(out.numpy()).tolist()

    def said(self, answer: list[float]) -> str:
        if len(answer) == 1:
            return plain(answer[0])
        return "   ".join(f"{printable(n)} {plain(v)}" for n, v in zip(self.names, answer))

    def heads(self, top: int) -> list[str]:
        return [printable(name) for name in self.names]

    def cells(self, answer: list[float]) -> list[str]:
        return [f"{v:.7g}" for v in answer]

    def as_json(self, answer: list[float]) -> dict[str, Any]:
        return {"values": {printable(n): float(f"{v:.7g}") for n, v in zip(self.names, answer)}}

    def exported(self, net: Module, head: str) -> None:
        """The last layer takes over the scale: outputs are in the units of the data."""
        import rushlight as rl

        layer: Any = net.get_submodule(head)
        mean, spread = (rl.tensor(v, dtype=rl.float64) for v in self.scale)
        with rl.no_grad():
            layer.bias.copy_(layer.bias.double() * spread + mean)
            layer.weight.copy_(layer.weight.double() * spread[:, None])


@dataclass(frozen=True)
class ValuesResult(Result):
    """True and answered values of every picture of a test, in their units."""

    names: list[str]
    truth: np.ndarray
    answers: np.ndarray
    losses: np.ndarray
    noun: str = "picture"

    @property
    def score(self) -> float:
        return float(self.r2().mean()) if len(self.truth) else 0.0

    def r2(self) -> np.ndarray:
        """Of each quantity, the share of its variance that the answers explain; 0 where it does not vary."""
        errors = ((self.answers - self.truth) ** 2).sum(0)
        around = ((self.truth - self.truth.mean(0)) ** 2).sum(0)
        return np.where(around > 0, 1 - errors / np.where(around > 0, around, 1.0), 0.0)

    def off(self) -> np.ndarray:
        """How far each answer is off."""
        return np.abs(self.answers - self.truth)

    def _far(self) -> np.ndarray:
        """How far each picture is off, in spreads of the truth where there are several quantities."""
        spread = self.truth.std(0)
        return (self.off() / np.where(spread > 0, spread, 1.0)).mean(1)

    def by_name(self) -> dict[str, dict[str, float]]:
        off = self.off()
        same = np.abs(self.truth - np.median(self.truth, axis=0)).mean(0)
        return {
            name: {"mean_error": float(off[:, i].mean()), "median_error": float(np.median(off[:, i])),
                   "root_mean_square": float(np.sqrt((off[:, i] ** 2).mean())), "r2": float(self.r2()[i]),
                   "bias": float((self.answers - self.truth)[:, i].mean()), "same_answer": float(same[i])}
            for i, name in enumerate(self.names)
        }  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        found = {"r2": round(self.score, 6), "loss": round(self.loss, 6), key_of(self.noun): len(self.truth)}
        if not len(self.truth):
            return {**found, "values": {}}
        each = {n: {k: float(f"{v:.7g}") for k, v in by.items()} for n, by in self.by_name().items()}
        for i, name in enumerate(self.names):
            low, high = _within(self.off()[:, i])
            each[name]["interval_95"] = [float(f"{low:.7g}"), float(f"{high:.7g}")]  # type: ignore[assignment]
        return {**found, "values": each}

    def table(self, by_class: bool = False) -> str:
        if not len(self.truth):
            return f"There are no {tested(2, self.noun)[2:]}."
        by = self.by_name()
        first = by[self.names[0]]
        low, high = _within(self.off()[:, 0])
        of = f" of {short(self.names[0])}"
        lines = [
            f"Mean error{of} on the {tested(len(self.truth), self.noun)}: {plain(first['mean_error'])}",
            f"Between {plain(low)} and {plain(high)} at 95 % confidence; half of the errors are below {plain(first['median_error'])}; "
            f"R² {first['r2']:.3f}; always the same answer would be off by {plain(first['same_answer'])}.",
        ]
        if len(self.names) > 1 or by_class:
            wide = max(len("number"), *(len(short(n)) for n in self.names))
            lines += ["", f"{'number':<{wide}}  mean error  root mean square     R²        bias  same answer"]
            lines += [f"{short(n):<{wide}}  {plain(b['mean_error']):>10}  {plain(b['root_mean_square']):>16}  {b['r2']:5.3f}  "
                      f"{plain(b['bias']):>10}  {plain(b['same_answer']):>11}" for n, b in by.items()]  # fmt: skip
        return "\n".join(lines)

    def warning(self) -> str | None:
        if not len(self.truth):
            return None
        spread = np.where(self.truth.std(0) > 0, self.truth.std(0), 1.0)
        around = ((self.truth - self.truth.mean(0)) / spread) ** 2
        gain = (around - (self.off() / spread) ** 2).mean(1)
        if interval(gain)[0] > 0:
            return None
        told = "may be chance" if self.score > 0 else "is no better than chance"
        return (f"Warning: an R² of {self.score:.3f} {told}: always answering the mean gets 0. "
                f"{to_try('the values', self.noun)}")  # fmt: skip

    def cards(self, tested: str) -> list[Card]:
        if not len(self.truth):
            return [Card("-", f"mean error on {tested}")]
        cards = []
        for i, (name, by) in enumerate(list(self.by_name().items())[:3]):
            low, high = _within(self.off()[:, i])
            cards.append(Card(plain(by["mean_error"]), f"mean error of {printable(name)} on {tested}",
                              f"95 % interval {plain(low)} to {plain(high)}; always the same answer: {plain(by['same_answer'])}"))  # fmt: skip
        several = ", mean of the numbers" if len(self.names) > 1 else ""
        return [*cards, Card(f"{self.score:.3f}", f"R²: the part of the variance that is explained{several}")]

    def sections(self) -> str:
        parts = []
        for i, (title, drawn) in enumerate(chart for _, charts in self.charts() for chart in charts):
            errors = (self.answers[:, i] - self.truth[:, i]).tolist()
            parts.append(f"<div class='card'><h3>{escape(title)}</h3>{drawn}</div><div class='card'>"
                         f"<h3>{escape(printable(self.names[i]))}: errors, answered less true</h3>{svg.histogram(errors)}</div>")  # fmt: skip
        return (
            "<h2>Where it is right</h2><p class='faint'>On the dashed line an answer is the true value; above it too high.</p>"
            f"<div class='grid-2'>{''.join(parts)}</div><div class='card' style='margin-top:16px'><h3>what the numbers mean</h3>"
            "<p>The mean error is how far answers are off on average, in the units of the data; its interval is where it lies for other "
            f"{self.noun}s of the same kind, 19 times in 20. R² is 1 where all answers are right and 0 where they are no better than always the mean.</p></div>"
        )

    def pictures(self) -> list[tuple[str, str, list[Picture]]]:
        far = self._far() if len(self.truth) else np.zeros(0)
        order = np.argsort(-far, kind="stable").tolist()
        worst = [self._shown(i, "wrong") for i in order[: min(SHOWN, len(order) - len(order) // 2)]]
        best = [self._shown(i, "right") for i in order[::-1][: min(SHOWN, len(order) // 2)]]
        return [("The largest errors", "Look here for wrong values first.", worst),
                ("The smallest errors", "What it has learnt best.", best)]  # fmt: skip

    def _shown(self, i: int, kind: str) -> Picture:
        task = Regression(self.names)
        return Picture(i, kind, task.in_words(self.answers[i]), "", task.in_words(self.truth[i]))

    def charts(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Answered against true values, a chart for each quantity."""
        found = []
        for i, name in enumerate(self.names[:MOST_CHARTS] if len(self.truth) else []):
            true, said = self.truth[:, i].tolist(), self.answers[:, i].tolist()
            dots = [(t, a, f"true {plain(t)}, answered {plain(a)}") for t, a in zip(true, said)]
            title = f"{printable(name)}: answered (upwards) against true"
            found.append((title, svg.scatter(name, dots, "true value")))
        return [("scatter.svg", found)] if found else []


def _within(off: np.ndarray) -> tuple[float, float]:
    low, high = interval(off)
    if not np.isfinite(high):
        return float(off.min()), float(off.max())
    return max(low, 0.0), high
