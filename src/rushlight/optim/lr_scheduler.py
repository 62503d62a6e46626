"""`torch.optim.lr_scheduler`: every schedule under its PyTorch path."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from typing import Any

from .cycles import CyclicLR, OneCycleLR, ReduceLROnPlateau
from .optimizer import Optimizer
from .schedule_base import LRScheduler, _LRScheduler, load_functions, per_group, rates, saved_functions, set_rate


class LambdaLR(LRScheduler):
    """The initial rate times a function of the epoch.

    Args:
        lr_lambda: a function from the epoch to a factor, or one for each group.

    Example:
        >>> optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (epoch + 1))
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(scheduler.get_last_lr()[0])
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(r, 3) for r in rates]
        [1.0, 0.5, 0.333, 0.25]
    """

    def __init__(self, optimizer: Optimizer, lr_lambda: Any, last_epoch: int = -1) -> None:
        groups = len(optimizer.param_groups)
        if isinstance(lr_lambda, (list, tuple)) and len(lr_lambda) != groups:
            raise ValueError(f"Expected {groups} lr_lambdas, but got {len(lr_lambda)}")
        self.lr_lambdas = per_group(optimizer, lr_lambda, "lr_lambda")
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        return [base * f(self.last_epoch) for f, base in zip(self.lr_lambdas, self.base_lrs, strict=True)]

    def state_dict(self) -> dict[str, Any]:
        state = {k: v for k, v in super().state_dict().items() if k != "lr_lambdas"}
        return {**state, "lr_lambdas": saved_functions(self.lr_lambdas)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        rest = dict(state_dict)
        load_functions(self.lr_lambdas, rest.pop("lr_lambdas"))
        self.__dict__.update(rest)


class MultiplicativeLR(LambdaLR):
    """The last rate times a function of the epoch.

    Args:
        lr_lambda: a function from the epoch to a factor, or one for each group.

    Example:
        >>> optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(scheduler.get_last_lr()[0])
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 0.25, 0.125]
    """

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        if self._is_initial:
            return self._same()
        return [g["lr"] * f(self.last_epoch) for f, g in zip(self.lr_lambdas, self._groups, strict=True)]


class StepLR(LRScheduler):
    """Times `gamma` every `step_size` epochs.

    Args:
        step_size: epochs between two changes.
        gamma: the factor.

    Example:
        >>> optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
        >>> rates = []
        >>> for _ in range(5):
        ...     rates.append(scheduler.get_last_lr()[0])
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    def __init__(self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size:
            return self._same()
        return self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self.gamma ** (self.last_epoch // self.step_size) for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Times `gamma` at each milestone.

    Args:
        milestones: epochs, in any order; one that stands there twice counts twice.
        gamma: the factor.

    Example:
        >>> optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
        >>> rates = []
        >>> for _ in range(5):
        ...     rates.append(scheduler.get_last_lr()[0])
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 0.5, 0.25, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, milestones: Sequence[int], gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        if self.last_epoch not in self.milestones:
            return self._same()
        return self._scaled(self.gamma ** self.milestones[self.last_epoch])

    def _get_closed_form_lr(self) -> list[float]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """Times `factor` for the first `total_iters` epochs.

    Args:
        factor: between 0 and 1.
        total_iters: epochs with the smaller rate.

    Raises:
        ValueError: if `factor` is negative or larger than 1.

    Example:
        >>> optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.ConstantLR(optimizer, factor=0.25, total_iters=2)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(scheduler.get_last_lr()[0])
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.25, 0.25, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._scaled(self.factor)
        return self._scaled(1.0 / self.factor) if self.last_epoch == self.total_iters else self._same()

    def _get_closed_form_lr(self) -> list[float]:
        over = self.last_epoch >= self.total_iters
        return [base * (self.factor + over * (1 - self.factor)) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """From `start_factor` to `end_factor` of the rate in `total_iters` epochs.

    Args:
        start_factor, end_factor: shares of the initial rate.
        total_iters: epochs from one to the other.

    Raises:
        ValueError: if `start_factor` is not in (0, 1], or `end_factor` not in [0, 1].

    Example:
        >>> optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=3)
        >>> rates = []
        >>> for _ in range(5):
        ...     rates.append(scheduler.get_last_lr()[0])
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(r, 3) for r in rates]
        [0.25, 0.5, 0.75, 1.0, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, start_factor: float = 1.0 / 3, end_factor: float = 1.0,
        total_iters: int = 5, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError("Starting multiplicative factor expected to be greater than 0 and less or equal to 1.")
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        if self.last_epoch == 0:
            return self._scaled(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._same()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return self._scaled(1.0 + rise / before)

    def _get_closed_form_lr(self) -> list[float]:
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * share
        return [base * factor for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Times `gamma` every epoch.

    Args:
        gamma: the factor.

    Example:
        >>> optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(scheduler.get_last_lr()[0])
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.5, 0.25, 0.125]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        return self._same() if self._is_initial else self._scaled(self.gamma)

    def _get_closed_form_lr(self) -> list[float]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """Down to zero by a power of the time that is left.

    Args:
        total_iters: epochs until the rate is zero.
        power: 1 for a straight line.

    Example:
        >>> optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.PolynomialLR(optimizer, total_iters=4, power=2)
        >>> rates = []
        >>> for _ in range(6):
        ...     rates.append(scheduler.get_last_lr()[0])
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(r, 4) for r in rates]
        [1.0, 0.5625, 0.25, 0.0625, 0.0, 0.0]
    """

    def __init__(self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._same()
        left = 1.0 - self.last_epoch / self.total_iters
        return self._scaled((left / (1.0 - (self.last_epoch - 1) / self.total_iters)) ** self.power)

    def _get_closed_form_lr(self) -> list[float]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


class CosineAnnealingLR(LRScheduler):
    """Half a cosine from the initial rate to `eta_min` in `T_max` epochs.

    Args:
        T_max: epochs from the highest to the lowest rate.
        eta_min: the lowest rate.

    Example:
        >>> optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=4)
        >>> rates = []
        >>> for _ in range(5):
        ...     rates.append(scheduler.get_last_lr()[0])
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(r, 3) for r in rates]
        [1.0, 0.854, 0.5, 0.146, 0.0]
    """

    def __init__(self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        if self._is_initial:
            return self._same()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        turn = math.pi / self.T_max
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            rise = (1 - math.cos(turn)) / 2
            return [g["lr"] + (b - self.eta_min) * rise for b, g in zip(self.base_lrs, self._groups, strict=True)]
        ratio = (1 + math.cos(turn * self.last_epoch)) / (1 + math.cos(turn * (self.last_epoch - 1)))
        return [ratio * (g["lr"] - self.eta_min) + self.eta_min for g in self._groups]

    def _get_closed_form_lr(self) -> list[float]:
        height = (1 + math.cos(math.pi * self.last_epoch / self.T_max)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Cosine annealing that starts again after T_0, T_0 * T_mult, ... epochs.

    Args:
        T_0: epochs of the first cosine.
        T_mult: each cosine is this many times as long as the last.
        eta_min: the lowest rate.

    Raises:
        ValueError: if `T_0` or `T_mult` is not a positive integer.

    Example:
        >>> optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=2, T_mult=2)
        >>> rates = []
        >>> for _ in range(7):
        ...     rates.append(scheduler.get_last_lr()[0])
        ...     optimizer.step()
        ...     scheduler.step()
        >>> [round(r, 3) for r in rates]
        [1.0, 0.5, 1.0, 0.854, 0.5, 0.146, 1.0]
    """

    def __init__(
        self, optimizer: Optimizer, T_0: int, T_mult: int = 1, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}")
        self.T_0 = self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        height = (1 + math.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            self.last_epoch += 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            if epoch < 0:
                raise ValueError(f"Expected non-negative epoch, but got {epoch}")
            self._locate(epoch)
            self.last_epoch = math.floor(epoch)
        self._set(self.get_lr)

    def _locate(self, epoch: float) -> None:
        self.T_i, self.T_cur = self.T_0, epoch
        if epoch < self.T_0:
            return
        if self.T_mult == 1:
            self.T_cur = epoch % self.T_0
            return
        n = int(math.log(epoch / self.T_0 * (self.T_mult - 1) + 1, self.T_mult))
        self.T_cur = epoch - self.T_0 * (self.T_mult**n - 1) / (self.T_mult - 1)
        self.T_i = self.T_0 * self.T_mult**n


def _check_members(name: str, schedulers: Sequence[Any], optimizer: Optimizer) -> None:
    """Whether schedules may be parts of another: of one optimiser, and asked for nothing but a step."""
    if not schedulers:
        raise ValueError(f"{name} expects at least one scheduler, but got no scheduler.")
    for i, s in enumerate(schedulers):
        if not hasattr(s, "optimizer"):
            raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
        if isinstance(s, ReduceLROnPlateau):
            raise ValueError(
                f"{name} does not support `ReduceLROnPlateau` scheduler as it requires additional kwargs to be specified "
                f"when calling `step`, but got one at index {i} in the given schedulers sequence."
            )
        if s.optimizer is not optimizer:
            raise ValueError(
                f"{name} expects all schedulers to belong to the same optimizer, but got scheduler {type(s).__name__} at "
                f"index {i} has {s.optimizer}, which is different from {type(optimizer).__name__}."
            )


def _undo(schedulers: Sequence[Any]) -> None:
    """Take back the first step of every schedule, and of those inside it."""
    for s in schedulers:
        if hasattr(s, "_schedulers"):
            _undo(s._schedulers)
        else:
            s.last_epoch -= 1
            s._step_count -= 1


class SequentialLR(LRScheduler):
    """One schedule after the other, changing at the milestones.

    Args:
        optimizer: the one that all the schedules have.
        schedulers: one more than there are milestones.
        milestones: epochs, ascending.

    Raises:
        ValueError: if the numbers do not fit, or a schedule has another optimiser.

    Example:
        >>> optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> warmup = optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> decay = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = optim.lr_scheduler.SequentialLR(optimizer, [warmup, decay], milestones=[2])
        >>> rates = []
        >>> for _ in range(5):
        ...     rates.append(scheduler.get_last_lr()[0])
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.5, 0.5, 1.0, 0.5, 0.25]
    """

    def __init__(
        self, optimizer: Optimizer, schedulers: Sequence[LRScheduler], milestones: Sequence[int], last_epoch: int = -1
    ) -> None:
        _check_members("SequentialLR", schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than the "
                f"number of milestone points, but got number of schedulers {len(schedulers)} and the "
                f"number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers = list(schedulers)
        self._milestones = list(milestones)
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:  # undo the first step of every schedule
            set_rate(group, group["initial_lr"])
        _undo(self._schedulers)
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        self.last_epoch += 1
        at = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[at]
        if at > 0 and self._milestones[at - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()

    def state_dict(self) -> dict[str, Any]:
        state = {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_schedulers")}
        return {**state, "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        rest = dict(state_dict)
        for s, saved in zip(self._schedulers, rest.pop("_schedulers")):
            s.load_state_dict(saved)
        self.__dict__.update(rest)


class ChainedScheduler(LRScheduler):
    """Several schedules at once.

    Args:
        schedulers: each multiplies the rate by its own factor.
        optimizer: that of the schedules, if it is given.

    Raises:
        ValueError: if there are no schedules, or they have different optimisers.

    Example:
        >>> optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> warmup = optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=2)
        >>> decay = optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
        >>> scheduler = optim.lr_scheduler.ChainedScheduler([warmup, decay])
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(scheduler.get_last_lr()[0])
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [0.5, 0.25, 0.25, 0.125]
    """

    def __init__(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None) -> None:
        if not schedulers:
            raise ValueError("ChainedScheduler expects at least one scheduler to be chained, but got no scheduler.")
        self._schedulers = list(schedulers)
        self.optimizer = optimizer or schedulers[0].optimizer
        _check_members("ChainedScheduler", schedulers, self.optimizer)
        self._last_lr = rates(self.optimizer)

    def step(self) -> None:  # type: ignore[override]
        for s in self._schedulers:
            s.step()
        self._last_lr = rates(self.optimizer)

    state_dict = SequentialLR.state_dict
    load_state_dict = SequentialLR.load_state_dict


__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR",
    "ExponentialLR", "LRScheduler", "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR",
    "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR", "StepLR", "_LRScheduler",
]  # fmt: skip
