"""`rushlight train --lr-find`: rates tried on a few steps, smallest first, and which of them to take."""

from __future__ import annotations

import math
import os
from typing import TYPE_CHECKING

from ..errors import UsageError
from ..report import svg
from ..report.page_style import STYLE
from .loop import Run

if TYPE_CHECKING:
    from argparse import Namespace

LOW, HIGH, STEPS = 1e-6, 10.0, 100
SMOOTH = 0.9  # of the loss from step to step
WORSE = 4.0  # times the best loss: the rest is not worth trying


def find_rate(args: Namespace, run: Run) -> int:
    """Raise the rate from step to step until the loss explodes; print and draw what was found."""
    points = try_rates(run)
    if len(points) < 8:
        raise UsageError(
            "--lr-find: the loss explodes at once; look at the data, or try another --model"
        )
    best = steepest(points)
    path = os.path.join(args.out, "lr-find.svg")
    _draw(path, points, best)
    print(f"Rate: {best:.2g} (where the loss falls fastest, of {len(points)} rates tried).\n"
          f"Drew {path}. Train with: rushlight train --lr {best:.2g} and the same options.")  # fmt: skip
    return 0


def try_rates(run: Run) -> list[tuple[float, float]]:
    """(rate, smoothed loss) of up to a hundred steps, each with a higher rate than the one before."""
    points: list[tuple[float, float]] = []
    mean, lowest, step = 0.0, math.inf, 0
    run.stepper.train_mode()
    while step < STEPS:
        for x, y in run._batches():
            rate = LOW * (HIGH / LOW) ** (step / (STEPS - 1))
            for group in run.optimizer.param_groups:
                group["lr"] = rate
            loss = run.stepper(x.to(run.device), y.to(run.device))[0].item()
            step += 1
            mean = SMOOTH * mean + (1 - SMOOTH) * loss
            smooth = mean / (1 - SMOOTH**step)
            if not math.isfinite(smooth) or smooth > WORSE * lowest:
                return points
            lowest = min(lowest, smooth)
            points.append((rate, smooth))
            if step == STEPS:
                break
        run.epoch += 1  # another order of the pictures
    return points


def steepest(points: list[tuple[float, float]]) -> float:
    """The rate at which the loss falls most from one rate to the next, before it is lowest."""
    lowest = min(range(len(points)), key=lambda i: points[i][1])
    room = points[: max(lowest, 4) + 1]
    falls = [(room[i + 1][1] - room[i - 1][1], room[i][0]) for i in range(1, len(room) - 1)]
    return min(falls)[1]


def _draw(path: str, points: list[tuple[float, float]], best: float) -> None:
    from rushlight.io import atomic_write

    drawn = svg.line_chart("loss by rate", [svg.Line("", "one", points)], "learning rate", log_x=True, mark=best)  # fmt: skip
    drawn = drawn.replace("<svg ", "<svg xmlns='http://www.w3.org/2000/svg' ", 1)
    drawn = drawn.replace(">", f"><style>{STYLE}</style><rect width='100%' height='100%' fill='var(--card)'/>", 1)  # fmt: skip
    with atomic_write(path, "wb") as f:
        f.write(drawn.encode(errors="backslashreplace"))
