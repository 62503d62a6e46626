"""`rushlight train --folds K`: K networks, each tested on another part of the pictures, and how far they differ."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .data.inputs import PICTURES
from .data.readings import READINGS
from .errors import UsageError
from .tasks.kinds import KINDS
from .tasks.task import key_of
from .train import Outcome, train
from .training import folder_of_run

if TYPE_CHECKING:
    from argparse import Namespace

    from .training.loop import Run

FILE = "folds.json"


def refuse_beside(args: Namespace, name: str) -> None:
    """UsageError for what does not go with training several networks."""
    for other in ("resume", "lr_find", "profile", "fold", "folds", "search"):
        if getattr(args, other) and other != name:
            raise UsageError(f"--{name} trains whole networks from the beginning: leave --{other.replace('_', '-')} out")  # fmt: skip
    if args.nproc > 1:
        raise UsageError(f"--{name} trains one network after the other: leave --nproc out")


def train_folds(args: Namespace, begin: Callable[[Run], None]) -> Outcome:
    """Train one after the other; the answer is the best one's, with the numbers of all."""
    refuse_beside(args, "folds")
    base = folder_of_run.choose(args.out, False, args.data)
    if os.path.exists(os.path.join(base, "fold-1")):
        raise UsageError(f"--out {base} holds folds already: choose another folder")
    done: list[Outcome] = []
    for k in range(1, args.folds + 1):
        mine = copy.copy(args)
        mine.fold, mine.out = f"{k}/{args.folds}", os.path.join(base, f"fold-{k}")
        if not args.quiet:
            print(f"{chr(10) if done else ''}Fold {k} of {args.folds}, in {mine.out}.")
        done.append(train(mine, begin))
        if done[-1].code or done[-1].net is None:
            return done[-1]
    return _told(base, done, mine)


def _told(base: str, done: list[Outcome], args: Namespace) -> Outcome:
    """Print and write what the folds come to."""
    from rushlight.io import atomic_write

    noun = "picture" if args.input == PICTURES else READINGS[args.input].noun
    task, key = KINDS[args.task]((), noun=noun), key_of(noun)
    scores = [one.metrics[task.score] for one in done]
    found: dict[str, Any] = {
        task.score: round(float(np.mean(scores)), 6), "spread": round(float(np.std(scores, ddof=1)), 6),
        key: sum(one.metrics[key] for one in done),
        "folds": [{"path": one.path, task.score: score} for one, score in zip(done, scores)],
    }  # fmt: skip
    with atomic_write(os.path.join(base, FILE), "w") as f:
        json.dump(found, f, indent=1)
    each = ", ".join(task.shown(score) for score in scores)
    print(f"\nFolds: {task.score_name} {task.shown(found[task.score])} on average, with a spread of {task.shown(found['spread'])} "
          f"from fold to fold ({each}); {found[key]} {noun}s were tested once each.\nWrote {os.path.join(base, FILE)}.")  # fmt: skip
    best = done[int(np.argmax(scores))]
    return Outcome(0, best.path, found, best.history, best.net)
