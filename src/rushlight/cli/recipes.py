"""Optimisers and learning-rate schedules by the names of the command line."""

from __future__ import annotations

from typing import Any


def make_optimizer(args: Any, net: Any) -> Any:
    """The optimiser `args` describes, over all parameters."""
    import rushlight as rl

    kinds = {n.lower(): getattr(rl.optim, n) for n in dir(rl.optim) if not n.startswith("_")}
    options = {"lr": args.lr, "weight_decay": args.weight_decay}
    if args.optimizer in ("sgd", "rmsprop"):
        options["momentum"] = args.momentum
    return kinds[args.optimizer](net.parameters(), **options)


def make_schedule(args: Any, optimizer: Any, steps: int) -> Any:
    """The schedule `args` describes, stepped after each of `steps` steps an epoch."""
    import rushlight as rl

    kinds = rl.optim.lr_scheduler
    total = args.epochs * steps
    if args.schedule == "cosine":
        return kinds.OneCycleLR(
            optimizer, args.lr, total_steps=total + 1, pct_start=0.15, cycle_momentum=False
        )
    if args.schedule == "step":
        return kinds.MultiStepLR(optimizer, [total // 2, total * 3 // 4], gamma=0.1)
    return kinds.LambdaLR(optimizer, lambda step: 1.0)
