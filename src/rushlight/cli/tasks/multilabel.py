"""Any number of labels for each picture: a yes or no for every label, F1 of the pictures, average precision of the labels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import printable, short
from ..report import svg
from .task import SHOWN, Card, Picture, Result, Task, interval, key_of, tested, to_try, wilson

if TYPE_CHECKING:
    from argparse import Namespace

MANY = 20  # labels on a screen
YES = 0.5  # from this probability on a label is part of the answer
Answer = list[tuple[str, float]]  # every label with its probability, the likeliest first


def by_rarest(targets: Sequence[tuple[int, ...]]) -> list[Hashable]:
    """Of each picture the rarest name, so that rare ones are tested, too."""
    often = Counter(i for target in targets for i in target)
    return [min(target, key=lambda i: (often[i], i), default=-1) for target in targets]


class Multilabel(Task):
    """A target is the numbers of a picture's labels, none of them perhaps."""

    kind, score, score_name = "multilabel", "f1", "F1"
    one, many = "label", "labels"
    meaning = "a sigmoid of each score is the probability of that label; from one half on it is there"
    recipe = {"label_smoothing": 0.0}

    def groups(self, targets: Sequence[tuple[int, ...]]) -> list[Hashable]:
        return by_rarest(targets)

    def members(self, target: tuple[int, ...]) -> tuple[int, ...]:
        return target

    def renumbered(self, target: tuple[int, ...], number: dict[int, int]) -> tuple[int, ...]:
        return tuple(number[i] for i in target if i in number)

    def tensor(self, target: tuple[int, ...]) -> np.ndarray:
        row = np.zeros(len(self.names), np.float32)
        row[list(target)] = 1
        return row

    def in_words(self, target: tuple[int, ...]) -> str:
        return ", ".join(self.names[i] for i in target) or "no label"

    def criterion(self, args: Namespace, counts: list[int], total: int, device: str) -> Callable[[Any, Any], Any]:
        import rushlight as rl

        weight = None
        if args.class_weights:  # as if every label were there in half of the pictures
            every = [(total - n) / n if 0 < n < total else 1.0 for n in counts]
            weight = rl.tensor(every).to(device)
        loss = rl.nn.BCEWithLogitsLoss(pos_weight=weight)
        softer = args.label_smoothing
        return (lambda out, y: loss(out, y * (1 - softer) + softer / 2)) if softer else loss

    def good(self, out: Any, y: Any) -> Any:
        """F1 of each picture, which is 1 where there is no label and none is answered."""
        yes = (out > 0).to(y.dtype)
        return ((2 * (yes * y).sum(1) + 1e-9) / (yes.sum(1) + y.sum(1) + 1e-9)).sum()

    def both(self, one: Any, other: Any) -> Any:
        return ((one.sigmoid() + other.sigmoid()) / 2).logit(1e-7)

    def rows(self, out: Any, y: Any) -> tuple[Any, ...]:
        import rushlight.nn.functional as F

        return y, out.sigmoid(), F.binary_cross_entropy_with_logits(out, y, reduction="none").mean(1)

    def result(self, columns: Sequence[np.ndarray] | None) -> LabelsResult:
        none = np.zeros((0, len(self.names)))
        truth, shares, losses = columns or (none, none, np.zeros(0))
        return LabelsResult(self.names, truth > 0.5, shares, losses, self.noun)

    def answers(self, out: Any, top: int) -> list[Answer]:
        shares = out.sigmoid().numpy()
        return [sorted(zip(self.names, row.tolist()), key=lambda p: -p[1]) for row in shares]

    def likeliness(self, out: Any) -> Any:
        return out.sigmoid()[:, int(out[0].argmax())]

    def said(self, answer: Answer) -> str:
        """The labels; the likeliest where there are none."""
        there = [f"{printable(name)} {p:.1%}" for name, p in answer if p >= YES]
        name, p = answer[0]
        return "   ".join(there) or f"none (likeliest {printable(name)} {p:.1%})"

    def heads(self, top: int) -> list[str]:
        return ["labels", *map(printable, self.names)]

    def cells(self, answer: Answer) -> list[str]:
        shares = dict(answer)
        return ["|".join(_labels(answer)), *(f"{shares[name]:.6f}" for name in self.names)]

    def as_json(self, answer: Answer) -> dict[str, Any]:
        return {"labels": _labels(answer),
                "answers": [{"label": printable(n), "probability": round(p, 6)} for n, p in answer]}  # fmt: skip


def _labels(answer: Answer) -> list[str]:
    return [printable(name) for name, p in answer if p >= YES]


def average_precision(truth: np.ndarray, shares: np.ndarray) -> float:
    """The area under the curve of precision over recall, in steps; nan where no picture has the label."""
    if not truth.any():
        return float("nan")
    order = np.argsort(-shares, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(shares[order])), len(order) - 1)  # of equal shares, all at once
    found = np.cumsum(truth[order])[ends]
    precision, recall = found / (ends + 1), found / truth.sum()
    return float((np.diff(recall, prepend=0.0) * precision).sum())


def f1_of(truth: np.ndarray, yes: np.ndarray) -> np.ndarray:
    """F1 of each picture."""
    sizes = truth.sum(1) + yes.sum(1)
    return np.where(sizes > 0, 2 * (truth & yes).sum(1) / np.maximum(sizes, 1), 1.0)


@dataclass(frozen=True)
class LabelsResult(Result):
    """Every label of every picture of a test: whether it is there, and how likely the network finds it."""

    labels: list[str]
    truth: np.ndarray
    shares: np.ndarray
    losses: np.ndarray
    noun: str = "picture"

    @property
    def answers(self) -> np.ndarray:
        return self.shares >= YES

    @property
    def score(self) -> float:
        return float(f1_of(self.truth, self.answers).mean()) if len(self.truth) else 0.0

    def exact(self) -> tuple[int, int]:
        """Pictures of which all labels are right, of how many."""
        return int((self.truth == self.answers).all(1).sum()), len(self.truth)

    def by_label(self) -> dict[str, np.ndarray]:
        """Pictures, recall, precision, F1 and average precision of every label."""
        hits = (self.truth & self.answers).sum(0)
        there, answered = self.truth.sum(0), self.answers.sum(0)
        area = [average_precision(self.truth[:, i], self.shares[:, i]) for i in range(len(self.labels))]
        return {
            "pictures": there, "recall": hits / np.maximum(there, 1), "precision": hits / np.maximum(answered, 1),
            "f1": 2 * hits / np.maximum(there + answered, 1), "average_precision": np.array(area),
        }  # fmt: skip

    def mean_precision(self) -> float:
        """The mean over the labels that occur in the test."""
        found = self.by_label()["average_precision"]
        return float(np.nanmean(found)) if np.isfinite(found).any() else 0.0

    def constant(self) -> np.ndarray:
        """Of all answers that are the same for every picture, the F1 of the best."""
        order = np.argsort(-self.truth.sum(0), kind="stable")
        tried = []
        for count in range(len(order) + 1):
            same = np.zeros_like(self.truth)
            same[:, order[:count]] = True
            tried.append(f1_of(self.truth, same))
        return max(tried, key=lambda f1: f1.mean())

    def as_dict(self) -> dict[str, Any]:
        right, count = self.exact()
        by = self.by_label()
        f1 = f1_of(self.truth, self.answers)
        return {
            "f1": round(self.score, 6), "interval_95": [round(v, 6) for v in _within(f1)], "loss": round(self.loss, 6),
            "exact": round(right / max(count, 1), 6), "mean_average_precision": round(self.mean_precision(), 6), key_of(self.noun): count,
            "labels": {name: {key: None if np.isnan(v[i]) else round(float(v[i]), 6) for key, v in by.items()}
                       for i, name in enumerate(self.labels)},
        }  # fmt: skip

    def table(self, by_class: bool = False) -> str:
        low, high = _within(f1_of(self.truth, self.answers))
        right, count = self.exact()
        by = self.by_label()
        order = np.arange(len(self.labels))
        if not by_class and len(order) > MANY:
            order = np.argsort(by["f1"], kind="stable")[:10]
        wide = max(len("label"), *(len(short(name)) for name in self.labels))
        lines = [f"{'label':<{wide}}  {self.noun + 's':>8}  recall  precision     F1  average precision"]
        for i in order:
            area = by["average_precision"][i]
            lines.append(
                f"{short(self.labels[i]):<{wide}}  {int(by['pictures'][i]):>8}  {by['recall'][i]:6.1%}  {by['precision'][i]:9.1%}  "
                f"{by['f1'][i]:5.3f}  {'-' if np.isnan(area) else f'{area:.3f}':>17}"
            )
        if len(order) < len(self.labels):
            lines.append(f"(the ten worst of {len(self.labels)} labels; test.json has all)")
        return "\n".join([
            f"F1 of the network on the {tested(count)}: {self.score:.3f}",
            f"Between {low:.3f} and {high:.3f} at 95 % confidence; all labels right in {right / max(count, 1):.1%}; "
            f"mean average precision {self.mean_precision():.3f}.", "", *lines,
        ])  # fmt: skip

    def warning(self) -> str | None:
        same, mine = self.constant(), f1_of(self.truth, self.answers)
        if not len(mine) or interval(mine - same)[0] > 0:
            return None
        told = "may be chance" if self.score > same.mean() else "is no better than chance"
        return (f"Warning: an F1 of {self.score:.3f} {told}: always giving the same labels gets {same.mean():.3f}. "
                f"{to_try('the labels', self.noun)}")  # fmt: skip

    def cards(self, tested: str) -> list[Card]:
        low, high = _within(f1_of(self.truth, self.answers))
        right, count = self.exact()
        exact = wilson(right, count)
        return [
            Card(f"{self.score:.3f}", f"F1 on {tested}", f"95 % interval {low:.3f} to {high:.3f}"),
            Card(f"{right / max(count, 1):.1%}", "all labels right", f"95 % interval {exact[0]:.1%} to {exact[1]:.1%}"),
            Card(f"{self.mean_precision():.3f}", "mean average precision of the labels"),
        ]

    def sections(self) -> str:
        by = self.by_label()
        order = np.argsort(by["f1"], kind="stable")
        names = [printable(name) for name in self.labels]
        rows = [(names[i], [("one", float(by["f1"][i]), f"F1 {by['f1'][i]:.3f}"), ("two", float(by["recall"][i]), f"recall {by['recall'][i]:.1%}"),
                            ("three", float(by["precision"][i]), f"precision {by['precision'][i]:.1%}")]) for i in order]  # fmt: skip
        best = [(names[i], [("one", float(np.nan_to_num(by["average_precision"][i])), f"{by['average_precision'][i]:.3f}")])
                for i in np.argsort(np.nan_to_num(by["average_precision"]), kind="stable")]  # fmt: skip
        return (
            "<h2>Where it is right</h2><p class='faint'>A label counts as answered from a probability of one half on.</p>"
            f"<div class='grid-2'><div class='card'><h3>labels, the hardest first</h3>{svg.bars(rows)}{svg.legend('F1', 'recall', 'precision')}</div>"
            f"<div class='card'><h3>average precision: how well the {self.noun}s with a label come first</h3>{svg.bars(best)}</div></div>"
            "<div class='card' style='margin-top:16px'><h3>what the numbers mean</h3><p>"
            f"Recall: of the {self.noun}s that have a label, how many got it. "
            "Precision: of the answers with a label, how many were right. F1 is high only when both are; the one at the head is of each "
            f"{self.noun}'s labels, averaged over the {self.noun}s. Average precision does not depend on the limit of one half: where it is high and "
            "F1 is low, another limit would do better.</p></div>"
        )

    def pictures(self) -> list[tuple[str, str, list[Picture]]]:
        right = (self.truth == self.answers).all(1)
        far = np.abs(self.truth - self.shares).max(1) if len(right) else np.zeros(0)
        worst = [i for i in np.argsort(-far, kind="stable").tolist() if not right[i]][:SHOWN]
        best = [i for i in np.argsort(far, kind="stable").tolist() if right[i]][:SHOWN]
        return [("The worst mistakes", "A label too many or too few, and most sure of it: look here for wrong labels first.",
                 [self._shown(i, "wrong") for i in worst]),
                ("The surest right answers", "What it has learnt best.", [self._shown(i, "right") for i in best])]  # fmt: skip

    def _shown(self, i: int, kind: str) -> Picture:
        names = [printable(name) for name in self.labels]
        said = ", ".join(f"{n} {p:.0%}" for n, p, yes in zip(names, self.shares[i], self.answers[i]) if yes)
        true = ", ".join(n for n, there in zip(names, self.truth[i]) if there)
        return Picture(i, kind, said or "no label", "", (true or "no label") if kind == "wrong" else "")


def _within(f1: np.ndarray) -> tuple[float, float]:
    """As wide as for a share of right answers, which is the widest for values between 0 and 1."""
    return wilson(float(f1.sum()), len(f1))
