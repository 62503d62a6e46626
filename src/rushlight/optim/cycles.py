"""Schedules that go up and down or watch a number: OneCycle, Cyclic, ReduceOnPlateau."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from .optimizer import Optimizer
from .schedule_base import LRScheduler, check_optimizer, per_group, rates, set_rate, warn_of_epoch


def _cosine(start: float, end: float, share: float) -> float:
    return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def _linear(start: float, end: float, share: float) -> float:
    return (end - start) * share + start


_PHASE = ("end_step", "start_lr", "end_lr", "start_momentum", "end_momentum")


def _phase(*values: Any) -> dict[str, Any]:
    """A part of a cycle as files have it: its last step, what it starts from and what it goes to."""
    return dict(zip(_PHASE, values))


class OneCycleLR(LRScheduler):
    """Up to `max_lr`, then far below the start (Smith and Topin, 2018); momentum the other way.

    Call `step()` after every batch.

    Args:
        max_lr: the highest rate, or one for each group.
        total_steps: how many steps there will be; or `epochs` and `steps_per_epoch`.
        pct_start: the share of the steps in which the rate rises.
        anneal_strategy: "cos" or "linear".
        cycle_momentum: move the momentum (or Adam's first beta) between
        max_momentum, base_momentum: its values at the lowest and at the highest rate.
        div_factor: the rate begins at `max_lr / div_factor`,
        final_div_factor: and ends at this fraction of its beginning.
        three_phase: fall as slowly as it rose, then to the end.

    Raises:
        ValueError: if the number of steps is not given, or a step is taken after the last.

    Example:
        >>> optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
        >>> scheduler = optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=5, pct_start=0.5)
        >>> rates = []
        >>> for _ in range(5):
        ...     rates.append(scheduler.get_last_lr()[0])
        ...     optimizer.step()
        ...     if len(rates) < 5:
        ...         scheduler.step()
        >>> [round(r, 4) for r in rates]
        [0.04, 0.76, 0.9045, 0.3455, 0.0]
    """

    def __init__(
        self, optimizer: Optimizer, max_lr: Any, total_steps: int | None = None, epochs: int | None = None,
        steps_per_epoch: int | None = None, pct_start: float = 0.3, anneal_strategy: str = "cos",
        cycle_momentum: bool = True, base_momentum: Any = 0.85, max_momentum: Any = 0.95,
        div_factor: float = 25.0, final_div_factor: float = 1e4, three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        check_optimizer(optimizer)
        if total_steps is None:
            if epochs is None or steps_per_epoch is None:
                raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
            for name, count in (("epochs", epochs), ("steps_per_epoch", steps_per_epoch)):
                if not isinstance(count, int) or count <= 0:
                    raise ValueError(f"Expected positive integer {name}, but got {count}")
            total_steps = epochs * steps_per_epoch
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        self.optimizer = optimizer
        self.total_steps = total_steps
        self._anneal_func_type = anneal_strategy
        turn = float(pct_start * total_steps) - 1
        if three_phase:
            back = float(2 * pct_start * total_steps) - 2
            self._schedule_phases = [
                _phase(turn, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                _phase(back, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                _phase(total_steps - 1, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            self._schedule_phases = [
                _phase(turn, "initial_lr", "max_lr", "max_momentum", "base_momentum"),
                _phase(total_steps - 1, "max_lr", "min_lr", "base_momentum", "max_momentum"),
            ]
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        self.cycle_momentum = cycle_momentum
        if last_epoch == -1:
            for group, top in zip(optimizer.param_groups, per_group(optimizer, max_lr, "max_lr")):
                group["initial_lr"] = top / div_factor
                group["max_lr"] = top
                group["min_lr"] = group["initial_lr"] / final_div_factor
        if cycle_momentum:
            self._prepare_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _prepare_momentum(self, base: Any, top: Any, last_epoch: int) -> None:
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
        self.use_beta1 = "betas" in defaults
        if last_epoch != -1:
            return
        groups = self.optimizer.param_groups
        tops = per_group(self.optimizer, top, "max_momentum")
        for group, low, high in zip(groups, per_group(self.optimizer, base, "base_momentum"), tops):
            _set_momentum(group, high, self.use_beta1)
            group["max_momentum"] = high
            group["base_momentum"] = low

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(f"Tried to step {step} times. The specified number of total steps is {self.total_steps}")
        anneal = _cosine if self._anneal_func_type == "cos" else _linear
        values = []
        for group in self._groups:
            start = 0.0
            for i, phase in enumerate(self._schedule_phases):
                end, lr0, lr1, m0, m1 = (phase[name] for name in _PHASE)
                if step <= end or i == len(self._schedule_phases) - 1:
                    share = (step - start) / (end - start)
                    values.append(anneal(group[lr0], group[lr1], share))
                    if self.cycle_momentum:
                        _set_momentum(group, anneal(group[m0], group[m1], share), self.use_beta1)
                    break
                start = end
        return values


def _set_momentum(group: dict[str, Any], value: float, beta1: bool) -> None:
    if beta1:
        group["betas"] = (value, *group["betas"][1:])
    else:
        group["momentum"] = value


class CyclicLR(LRScheduler):
    """Between two rates, again and again (Smith, 2017).

    Call `step()` after every batch.

    Args:
        base_lr, max_lr: the two rates, or one for each group.
        step_size_up, step_size_down: steps from one to the other and back.
        mode: "triangular", "triangular2" (half as high each time) or "exp_range" (times `gamma` at each step).
        scale_fn: a function that scales the height, in place of `mode`.
        scale_mode: whether `scale_fn` is given the "cycle" or the number of "iterations".
        cycle_momentum: move the momentum between
        max_momentum, base_momentum: its values at the lowest and at the highest rate.

    Example:
        >>> optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0, momentum=0.9)
        >>> scheduler = optim.lr_scheduler.CyclicLR(optimizer, base_lr=0.0, max_lr=1.0, step_size_up=2)
        >>> rates = []
        >>> for _ in range(6):
        ...     rates.append(scheduler.get_last_lr()[0])
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.0, 0.5, 1.0, 0.5, 0.0, 0.5]
    """

    def __init__(
        self, optimizer: Optimizer, base_lr: Any, max_lr: Any, step_size_up: int = 2000,
        step_size_down: int | None = None, mode: str = "triangular", gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None, scale_mode: str = "cycle",
        cycle_momentum: bool = True, base_momentum: Any = 0.8, max_momentum: Any = 0.9,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for group, low in zip(optimizer.param_groups, per_group(optimizer, base_lr, "base_lr")):
            if last_epoch == -1:
                set_rate(group, low)
        self.max_lrs = per_group(optimizer, max_lr, "max_lr")
        up = float(step_size_up)
        down = up if step_size_down is None else float(step_size_down)
        self.total_size = up + down
        self.step_ratio = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode if scale_fn is not None else ("iterations" if mode == "exp_range" else "cycle")
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
                raise ValueError("optimizer must support momentum or beta1 with `cycle_momentum` option enabled")
            self.use_beta1 = "betas" in optimizer.defaults
            self.base_momentums = per_group(optimizer, base_momentum, "base_momentum")
            self.max_momentums = per_group(optimizer, max_momentum, "max_momentum")
        super().__init__(optimizer, last_epoch)
        self.base_lrs = per_group(optimizer, base_lr, "base_lr")

    def scale_fn(self, x: float) -> float:
        """The factor on the height of a cycle, from the number of the cycle or of the step."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return 1 / 2.0 ** (x - 1)
        return self.gamma**x if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        height = x / self.step_ratio if x <= self.step_ratio else (x - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            for group, low, high in zip(self._groups, self.base_momentums, self.max_momentums, strict=True):
                _set_momentum(group, high - (high - low) * height * scale, self.use_beta1)
        return [low + (high - low) * height * scale for low, high in zip(self.base_lrs, self.max_lrs, strict=True)]


class ReduceLROnPlateau(LRScheduler):
    """Times `factor` when a number has not improved for `patience` epochs.

    Args:
        mode: "min" if smaller is better, "max" if larger is.
        factor: less than 1.
        patience: epochs without an improvement that are allowed.
        threshold: how much better counts as better;
        threshold_mode: "rel": as a share of the best number, "abs": as a difference.
        cooldown: epochs after a change in which nothing is counted.
        min_lr: the lowest rate, or one for each group.
        eps: smaller changes of the rate are not made.

    Raises:
        ValueError: if `factor` is not less than 1.

    Example:
        >>> optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
        >>> for loss in (3.0, 2.0, 2.0, 2.0, 2.0):
        ...     optimizer.step()
        ...     scheduler.step(loss)
        >>> scheduler.get_last_lr()
        [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, mode: str = "min", factor: float = 0.1, patience: int = 10,
        threshold: float = 1e-4, threshold_mode: str = "rel", cooldown: int = 0, min_lr: Any = 0,
        eps: float = 1e-8,
    ) -> None:  # fmt: skip
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        if mode not in {"min", "max"}:
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in {"rel", "abs"}:
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        self.mode, self.factor, self.patience = mode, factor, patience
        self.threshold, self.threshold_mode, self.cooldown = threshold, threshold_mode, cooldown
        self.min_lrs = per_group(optimizer, min_lr, "min_lr")
        self.default_min_lr = None if isinstance(min_lr, (list, tuple)) else min_lr
        self.eps = eps
        self.last_epoch = 0
        self._last_lr = rates(optimizer)
        self._reset()

    def _reset(self) -> None:
        self.mode_worse = math.inf if self.mode == "min" else -math.inf
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Look at this epoch's number."""
        if epoch is not None:
            warn_of_epoch()
        current = float(metrics)
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        if self.is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = rates(self.optimizer)

    def _reduce(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):  # groups were added since
            if self.default_min_lr is None:
                raise RuntimeError(
                    "The number of param groups in the `optimizer` "
                    f"({len(groups)}) differs from when `ReduceLROnPlateau` was initialized "
                    f"({len(self.min_lrs)}), usually due to a new param group being added to the "
                    "optimizer. Please modify the `min_lrs` field to match the length of the "
                    "`optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs):
            before = float(group["lr"])
            after = max(before * self.factor, least)
            if before - after > self.eps:
                set_rate(group, after)

    def is_better(self, a: float, best: float) -> bool:
        """Whether `a` improves on `best` by more than the threshold."""
        sign = 1 if self.mode == "min" else -1
        if self.threshold_mode == "rel":
            return (
                sign * a < sign * best * (1 - sign * self.threshold) if math.isfinite(best) else sign * a < sign * best
            )
        return sign * a < sign * best - self.threshold

    @property
    def in_cooldown(self) -> bool:
        return self.cooldown_counter > 0
