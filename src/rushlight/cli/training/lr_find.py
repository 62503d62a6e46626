"""`rushlight train --lr-find`: rates tried on a few steps, smallest first, and which of them to take."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING, NamedTuple

from ..errors import UsageError
from ..report import svg
from .loop import Run

if TYPE_CHECKING:
    from argparse import Namespace

LOW, HIGH, STEPS = 1e-6, 10.0, 100
WINDOW = 8  # neighbours to each side that a point of the curve is averaged with
WORSE = 4.0  # times the best loss: the rest is not worth trying
# Useful rates begin where so much of the fall is done; the one to take is so many times the fall's middle.
BEGIN, BEYOND = 0.2, 2.0
# A fall that is not so many times the noise of the curve, or such a part of the loss, may be none.
CLEAR, LEAST = 4.0, 0.05


class Found(NamedTuple):
    """The rate to take, and the range of those that teach something."""

    rate: float
    low: float
    high: float


def find_rate(args: Namespace, run: Run) -> int:
    """Raise the rate from step to step until the loss explodes; print and draw what was found."""
    points = try_rates(run)
    if len(points) < 3 * WINDOW:
        raise UsageError("--lr-find: the loss explodes at once; look at the data, or try another --model")
    curve = smooth(points)
    found = useful(points, curve)
    path = os.path.join(args.out, "lr-find.svg")
    drawn = svg.line_chart("loss by rate", [svg.Line("", "one", curve)], "learning rate", log_x=True, mark=found and found.rate)  # fmt: skip
    svg.write(path, svg.sheet(("loss by rate", drawn)))
    if found is None:
        raise UsageError(
            f"--lr-find cannot tell: over {len(points)} rates the loss falls no more than it wavers (drew {path}); "
            "try a larger --batch-size, or keep the recipe's rate"
        )
    print(f"Rate: {found.rate:.2g} (the loss falls from {found.low:.2g} on and is lowest at {found.high:.2g}, of {len(points)} rates tried).\n"
          f"Drew {path}. Train with: rushlight train --lr {found.rate:.2g} and the same options.")  # fmt: skip
    return 0


def try_rates(run: Run) -> list[tuple[float, float]]:
    """(rate, loss) of up to a hundred steps, each with a higher rate than the one before."""
    points: list[tuple[float, float]] = []
    lowest, step = math.inf, 0
    groups = run.optimizer.param_groups
    first = min(group["initial_lr"] for group in groups)
    run.stepper.train_mode()
    while step < STEPS:
        for x, y in run._batches():
            rate = LOW * (HIGH / LOW) ** (step / (STEPS - 1))
            for group in groups:
                group["lr"] = rate * group["initial_lr"] / first  # a head's own rate goes along
            loss = run.stepper(x.to(run.device), y.to(run.device))[0].item()
            step += 1
            if not math.isfinite(loss) or loss > WORSE * lowest:
                return points
            points.append((rate, loss))
            lowest = min(lowest, sum(v for _, v in points[-WINDOW:]) / len(points[-WINDOW:]))
            if step == STEPS:
                break
        run.epoch += 1  # another order of the pictures
    return points


def smooth(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Every loss averaged with its neighbours to both sides, so that the curve does not lag behind the rates.

    Points that lack some of them, at both ends, are left out.
    """
    kept = []
    for i in range(WINDOW, len(points) - WINDOW):
        near = [loss for _, loss in points[i - WINDOW : i + WINDOW + 1]]
        kept.append((points[i][0], sum(near) / len(near)))
    return kept


def useful(points: list[tuple[float, float]], curve: list[tuple[float, float]]) -> Found | None:
    """Where the fall begins, twice the rate in its middle, where it ends; None where it may be noise.

    The middle is found by the area under the curve, which hardly moves with the noise of single steps.
    """
    lowest = min(range(len(curve)), key=lambda i: curve[i][1])
    start = sum(loss for _, loss in points[: 2 * WINDOW]) / (2 * WINDOW)  # too small to teach anything
    fall = start - curve[lowest][1]
    apart = [(loss - even) ** 2 for (_, loss), (_, even) in zip(points[WINDOW:], curve[: lowest + 1])]
    noise = math.sqrt(sum(apart) / len(apart) / WINDOW)  # of the difference of two averages
    if fall < CLEAR * noise or fall < LEAST * start:
        return None
    done = [min(max((start - loss) / fall, 0.0), 1.0) for _, loss in curve[: lowest + 1]]
    middle = curve[lowest][0] * (curve[0][0] / curve[1][0]) ** sum(done)
    low = next(rate for (rate, _), share in zip(curve, done) if share >= BEGIN)
    return Found(min(BEYOND * middle, curve[lowest][0]), min(low, middle), curve[lowest][0])
