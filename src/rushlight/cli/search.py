"""`rushlight train --search N`: N recipes tried for a short time, the better half for longer, the best one in full."""

from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from . import config
from .data.inputs import PICTURES
from .data.readings import READINGS
from .data.sources import find_source
from .errors import UsageError
from .folds import refuse_beside
from .pick_device import pick_device
from .tasks.kinds import KINDS
from .train import Outcome, train
from .training import folder_of_run, recipe, zoo

if TYPE_CHECKING:
    from argparse import Namespace

    from .training.loop import Run

SHARE = 0.5  # of the time, for trying; the rest is the best one's
FARTHEST = 4.0  # times the recipe's rate, up and down
FILE = "search.json"


def train_searched(args: Namespace, begin: Callable[[Run], None]) -> Outcome:
    """Try, halve, try longer; then train with the settings that did best on the validation part."""
    refuse_beside(args, "search")
    base = folder_of_run.choose(args.out, False, args.data)
    if os.path.exists(os.path.join(base, "search")):
        raise UsageError(f"--out {base} holds a search already: choose another folder")
    known = _settled(args)
    left = [{}, *_drawn(args, known)]
    rungs = max(1, math.ceil(math.log2(len(left))))
    tried: list[dict[str, Any]] = []
    for rung in range(1, rungs + 1):
        scored = []
        for number, settings in enumerate(left, 1):
            mine = _with(args, settings, os.path.join(base, "search", f"{rung}-{number}"))
            mine.quiet = mine.trial = True
            if known.timed:
                mine.minutes = known.minutes * SHARE / rungs / len(left)
            else:
                mine.epochs = max(1, known.epochs >> (rungs + 1 - rung))
            done = train(mine, lambda run: None)
            if done.code or done.net is None:
                return done
            scored.append((_best(done, mine.task), settings))
            tried.append({"round": rung, "path": done.path, "validation": scored[-1][0][0], **_words(mine)})
            if not args.quiet:
                shown = KINDS[mine.task](()).shown(scored[-1][0][0])
                print(f"Tried {number} of {len(left)} in round {rung} of {rungs}: {_told(mine)}: validation {shown}")
        scored.sort(key=lambda one: one[0], reverse=True)
        left = [settings for _, settings in scored[: max(1, len(left) // 2)]]
    _write(base, tried)
    last = _with(args, left[0], base)
    if known.timed:
        last.minutes = known.minutes * (1 - SHARE)
    if not args.quiet:
        print(f"\nThe best of {len(tried)} trials is trained in full; all are in {os.path.join(base, 'search', FILE)}.")
    return train(last, begin)


def _settled(args: Namespace) -> Any:
    """The settings as the recipe alone would make them."""
    probe = copy.copy(args)
    config.settle(probe, None, "")
    if not probe.val_split:
        raise UsageError("--search chooses by a validation part: leave out --val-split 0")
    device, _ = pick_device(args.device)
    recipe.settle(probe, find_source(probe.data, probe.task, probe.target, probe.input), device != "cpu")
    return probe


def _drawn(args: Namespace, known: Any) -> list[dict[str, Any]]:
    """Other rates, sizes and kinds of variety than the recipe's, of what the command line leaves open."""
    draw = np.random.default_rng(known.seed)
    sizes, kinds = [known.size], [known.augment]
    if known.size is not None and args.size is None and known.input == PICTURES:
        sizes.append(zoo.fitting_size(known.model, known.size * 3 // 2))
    if args.augment is None:
        kinds += [k for k in ("light", "strong") if k != known.augment] if known.augment in ("light", "strong", "auto") else []  # fmt: skip
    found = []
    others = () if known.input == PICTURES or args.model is not None else READINGS[known.input].networks
    models = [m for m in others if m != known.model]
    for number in range(args.search - 1):
        made: dict[str, Any] = {"size": sizes[draw.integers(len(sizes))], "augment": kinds[draw.integers(len(kinds))]}
        times = FARTHEST ** draw.uniform(-1, 1)
        if args.lr is None:
            made["lr"] = float(f"{known.lr * times:.2g}")
            if known.head_lr is not None and args.head_lr is None:
                made["head_lr"] = float(f"{known.head_lr * times:.2g}")
        found.append(made if number >= len(models) else {"model": models[number]})
    return found


def _with(args: Namespace, settings: dict[str, Any], out: str) -> Any:
    mine = copy.copy(args)
    for name, value in settings.items():
        setattr(mine, name, value)
    mine.out = out
    return mine


def _best(done: Outcome, task: str) -> tuple[float, float]:
    """The best epoch's score and loss of the validation part, to be compared."""
    key = f"val_{KINDS[task].score}"
    return max((line[key], -line["val_loss"]) for line in done.history if key in line)


def _words(args: Any) -> dict[str, Any]:
    return {name: getattr(args, name) for name in ("model", "lr", "head_lr", "size", "augment", "epochs")}


def _told(args: Any) -> str:
    size = "" if args.size is None else f", size {args.size}"
    variety = f", augment {args.augment}" if args.input == PICTURES else ""
    return f"{args.model}, rate {args.lr:g}{size}{variety}"


def _write(base: str, tried: list[dict[str, Any]]) -> None:
    from rushlight.io import atomic_write

    with atomic_write(os.path.join(base, "search", FILE), "w") as f:
        json.dump(tried, f, indent=1)
