"""Optimisers and learning-rate schedules by the names of the command line."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .networks import head_of

if TYPE_CHECKING:
    from argparse import Namespace

    from ...nn.modules.module import Module
    from ...optim.optimizer import Optimizer

# How far below its highest the rate begins and, in one cycle, ends.
FIRST, LAST = 25.0, 250_000.0


def make_optimizer(args: Namespace, net: Module) -> Any:
    """The optimiser `args` describes, over the parameters that are trained; biases and norms do not decay."""
    import rushlight as rl

    found = [getattr(rl.optim, n) for n in dir(rl.optim) if n[0].isupper()]
    # `optim.adamw`, once somebody has imported it, is a module.
    kinds = {c.__name__.lower(): c for c in found if isinstance(c, type)}
    options = {"lr": args.lr, "weight_decay": args.weight_decay}
    if args.optimizer in ("sgd", "rmsprop"):
        options["momentum"] = args.momentum
    head = head_of(net) + "." if args.head_lr else " "  # no name begins so
    parts: dict[tuple[bool, bool], list[Any]] = {}
    for name, p in net.named_parameters():
        if p.requires_grad:
            flat = args.optimizer == "adamw" and p.dim() <= 1
            parts.setdefault((name.startswith(head), flat), []).append(p)
    groups = [
        {"params": params, **({"lr": args.head_lr} if of_head else {}), **({"weight_decay": 0.0} if flat else {})}
        for (of_head, flat), params in sorted(parts.items(), key=lambda item: item[0])
    ]
    return kinds[args.optimizer](groups, **options)


def make_schedule(args: Namespace, optimizer: Optimizer, steps: int) -> Any:
    """The schedule `args` describes, stepped after each of `steps` steps an epoch.

    It is a formula of the step, so that a run with more epochs goes on along the longer curve.
    """
    import rushlight as rl

    return rl.optim.lr_scheduler.LambdaLR(optimizer, factor(args.schedule, args.epochs * steps, args.warmup))


def factor(kind: str, total: int, rise: float) -> Callable[[int], float]:
    """The part of the highest rate at each of `total` steps; in the first ones it rises."""
    peak = max(1.0, rise * total - 1) if rise else 0.0

    def at(step: int) -> float:
        if step < peak:
            return _between(1 / FIRST, 1.0, step / peak)
        if kind == "none":
            return 1.0
        if kind == "step":
            return 0.1 ** ((step >= total // 2) + (step >= total * 3 // 4))
        return _between(1.0, 1 / LAST, min((step - peak) / max(total - peak, 1.0), 1.0))

    return at


def _between(low: float, high: float, share: float) -> float:
    """From `low` to `high` along half a cosine."""
    return high + (low - high) / 2 * (1 + math.cos(math.pi * share))
