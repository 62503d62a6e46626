"""What all learning rate schedules share: the count of epochs, the groups, files and warnings."""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..core.tensor import Tensor
from .optimizer import Optimizer


class LRScheduler:
    """A schedule sets the `lr` of every group of its optimiser at each `step()`.

    Derive from it and write `get_lr`. Call `step()` after the optimiser's own step, once an epoch (or once a batch,
    if the schedule counts batches).

    Args:
        last_epoch: -1 for a new schedule; the last epoch that was run, for one that goes on.

    Example:
        >>> class Halved(optim.lr_scheduler.LRScheduler):
        ...     def get_lr(self):
        ...         return [base / 2**self.last_epoch for base in self.base_lrs]
        >>> optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = Halved(optimizer)
        >>> for _ in range(3):
        ...     optimizer.step()
        ...     scheduler.step()
        >>> scheduler.get_last_lr()
        [0.125]
    """

    _skip_step_at_init = False
    _is_initial = False  # while the constructor steps: one that goes on has its rate already
    _get_lr_called_within_step = False  # else somebody asks `get_lr` for the rate of now

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        check_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", float(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{i}] when resuming scheduler "
                    "with last_epoch >= 0.\nThis typically happens when:\n1. The optimizer's own state "
                    "was not loaded from the checkpoint\n2. last_epoch >= 0 is given for a fresh run"
                )
        self.base_lrs = [float(g["initial_lr"]) for g in optimizer.param_groups]
        self.last_epoch = last_epoch
        self._step_count = 0
        self._start = optimizer._step_count
        self._initial_step()

    def _initial_step(self) -> None:
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def get_lr(self) -> list[float]:
        """The learning rates of this epoch, from those of the last one."""
        raise NotImplementedError

    def get_last_lr(self) -> list[float]:
        """The learning rates now in force."""
        return self._last_lr

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch (or to `epoch`)."""
        self._warn_order()
        self._step_count += 1
        if epoch is not None:
            warn_of_epoch()
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        """Set the rates of the next epoch (or of `epoch`), without counting a step."""
        closed = getattr(self, "_get_closed_form_lr", None)
        if epoch is None:
            self.last_epoch += 1
            self._set(self.get_lr)
        else:
            self.last_epoch = epoch
            self._set(self.get_lr if closed is None else closed)

    def _set(self, values: Callable[[], Sequence[float]]) -> None:
        self._get_lr_called_within_step = True
        try:
            made = values()
        finally:
            self._get_lr_called_within_step = False
        # Strictly one for each: a schedule that knows nothing of a group added later says so.
        for group, lr in zip(self.optimizer.param_groups, made, strict=True):
            set_rate(group, lr)
        self._last_lr = rates(self.optimizer)

    def _warn_order(self) -> None:
        if self._step_count == 1 and self.optimizer._step_count <= self._start:
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch 1.1.0 and "
                "later, you should call them in the opposite order: `optimizer.step()` before "
                "`lr_scheduler.step()`. Failure to do this will result in skipping the first value of "
                "the learning rate schedule.",
                UserWarning,
                stacklevel=3,
            )

    def _warn_outside_step(self) -> None:
        """What `get_lr` gives outside of `step` is the rate of no epoch."""
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    @property
    def _groups(self) -> list[dict[str, Any]]:
        return self.optimizer.param_groups

    def _scaled(self, factor: float) -> list[float]:
        return [g["lr"] * factor for g in self._groups]

    def _same(self) -> list[float]:
        return [g["lr"] for g in self._groups]

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimiser."""
        return {k: v for k, v in self.__dict__.items() if k not in ("optimizer", "_start")}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on where `state_dict` was taken."""
        self.__dict__.update(state_dict)


_LRScheduler = LRScheduler


def set_rate(group: dict[str, Any], lr: Any) -> None:
    """Give a group its learning rate; one that is a tensor keeps its memory, where others may look."""
    if isinstance(group["lr"], Tensor):
        group["lr"].fill_(float(lr))
    else:
        group["lr"] = lr


def rates(optimizer: Optimizer) -> list[Any]:
    """The groups' learning rates as they are now."""
    found = [g["lr"] for g in optimizer.param_groups]
    return [lr.clone() if isinstance(lr, Tensor) else lr for lr in found]


def warn_of_epoch() -> None:
    """An epoch was given to a `step` that counts by itself."""
    warnings.warn(
        "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
        "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
        "epoch is different from None, the closed form is used instead of the new chainable form, "
        "where available.",
        UserWarning,
        stacklevel=3,
    )


def check_optimizer(optimizer: Any) -> None:
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def per_group(optimizer: Optimizer, value: Any, name: str) -> list[Any]:
    """One value per parameter group."""
    if isinstance(value, (list, tuple)):
        if len(value) != len(optimizer.param_groups):
            raise ValueError(f"Expected {len(optimizer.param_groups)} values for {name}, got {len(value)}")
        return list(value)
    return [value] * len(optimizer.param_groups)


def saved_functions(functions: Sequence[Callable]) -> list[Any]:
    """State of callables: objects keep theirs, plain functions cannot be saved."""
    return [None if isinstance(f, types.FunctionType) else f.__dict__.copy() for f in functions]


def load_functions(functions: Sequence[Callable], saved: Sequence[Any]) -> None:
    for f, state in zip(functions, saved):
        if state is not None:
            f.__dict__.update(state)
