"""What a test found, as text for a terminal."""

from __future__ import annotations

import numpy as np

from ..errors import short
from .scores import TOP, Result

# With more classes than this the matrix does not fit a screen.
MANY = 20


def table(result: Result, by_class: bool = False) -> str:
    """Overall accuracy and what belongs to it, then the confusion matrix or every class's numbers."""
    images = len(result.truth)
    low, high = result.interval()
    error, _ = result.calibration()
    tested = "1 test image" if images == 1 else f"{images} test images"
    head = f"Accuracy of the network on the {tested}: {result.accuracy:.2%}"
    more = f"Between {low:.1%} and {high:.1%} at 95 % confidence; F1 {result.f1().mean():.3f}; "
    if len(result.classes) > 2 * TOP:  # of six, five are nearly all
        more += f"among the five likeliest {result.top5:.1%}; "
    more += f"confidence is off by {error:.1%} on average."
    if by_class:
        lines = _classes(result)
    else:
        lines = _matrix(result) if len(result.classes) <= MANY else _worst(result)
    return "\n".join([head, more, "", *lines])


def _names(result: Result) -> tuple[list[str], int]:
    names = [short(name) for name in result.classes]
    return names, max(len("true class"), *map(len, names))


def _matrix(result: Result) -> list[str]:
    """One line a class: its accuracy, and how often each answer was given."""
    names, wide = _names(result)
    matrix = result.matrix
    cell = max(6, len(str(matrix.max())) + 2)
    heads = "".join(f"{n[: cell - 1]:>{cell}}" for n in names)
    lines = [f"{'':<{wide}}  accuracy  answered:", f"{'true class':<{wide}}  {'':8}{heads}"]
    for name, row, share in zip(names, matrix, result.per_class()):
        cells = "".join(f"{int(n) or '.':>{cell}}" for n in row)
        lines.append(f"{name:<{wide}}  {share:8.1%}{cells}")
    return lines


def _classes(result: Result) -> list[str]:
    """Every class: pictures, recall, precision, F1, and what it is most often taken for."""
    names, wide = _names(result)
    matrix = result.matrix
    lines = [f"{'true class':<{wide}}  pictures  recall  precision     F1  most often taken for"]
    for i, name in enumerate(names):
        wrong = matrix[i].copy()
        wrong[i] = 0
        taken = f"{names[int(wrong.argmax())]} ({int(wrong.max())})" if wrong.max() else "-"
        lines.append(
            f"{name:<{wide}}  {int(matrix[i].sum()):>8}  {result.per_class()[i]:6.1%}  "
            f"{result.precision()[i]:9.1%}  {result.f1()[i]:5.3f}  {taken}"
        )
    return lines


def _worst(result: Result) -> list[str]:
    """The classes that went worst, where there are too many for a matrix on a screen."""
    shares = result.per_class()
    names, wide = _names(result)
    order = np.argsort(shares, kind="stable")[:10]
    lines = [f"{names[i]:<{wide}}  {shares[i]:6.1%}" for i in order]
    return [*lines, f"(the ten worst of {len(shares)} classes; test.json has all, with the matrix)"]


def chance_warning(result: Result) -> str | None:
    """What to try when a network knows no more than how common the classes are; None when it does."""
    if not result.at_chance():
        return None
    name, share = result.commonest()
    told = "is no better than chance"
    if result.accuracy > share:
        low, high = result.interval()
        told = f"of {len(result.truth)} pictures may be chance (between {low:.1%} and {high:.1%} at 95 %)"
    return (
        f"Warning: {result.accuracy:.1%} {told}: always answering {short(name)!r} gets "
        f"{share:.1%}. Try more --minutes, --lr-find for another rate, a larger --size, or --weights imagenet to start "
        f"from; look at the pictures in the report to see that the labels are right."
    )
