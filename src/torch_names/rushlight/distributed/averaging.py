"""Post-local SGD: gradients are averaged among few ranks, and the parameters of all now and then."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

from ..core.modes import no_grad
from ..nn.parameter import Parameter
from ..operators.shape.join import cat
from ..optim.optimizer import Optimizer
from .collectives import all_reduce
from .groups import group_of, not_in
from .lifecycle import new_subgroups

__all__ = [
    "HierarchicalModelAverager", "ModelAverager", "PeriodicModelAverager", "PostLocalSGDOptimizer",
    "average_parameters", "average_parameters_or_parameter_groups", "get_params_to_average",
]  # fmt: skip


def average_parameters(params: Iterator[Any], process_group: Any) -> None:
    """Let parameters be the averages of all ranks'.

    Args:
        params: the parameters.
        process_group: the ranks; all if None.
    """
    if not_in(process_group):
        return
    of, mine = group_of(process_group), list(params)
    with no_grad():
        flat = cat([p.detach().reshape(-1) for p in mine]).div_(of.size())
        all_reduce(flat, group=of)
        for p, part in zip(mine, flat.split([p.numel() for p in mine])):
            p.copy_(part.view(p.shape))


def get_params_to_average(params: Iterable[Any]) -> list[Any]:
    """Those that have a gradient, of parameters or of an optimiser's groups."""
    found: list[Any] = []
    for one in params:
        if not isinstance(one, (Parameter, dict)):
            raise NotImplementedError(f"Parameter input of type {type(one)} is not supported")
        found += one["params"] if isinstance(one, dict) else [one]
    return [p for p in found if p.grad is not None]


def average_parameters_or_parameter_groups(params: Iterable[Any], process_group: Any) -> None:
    """As `average_parameters`, of those that have a gradient."""
    average_parameters(iter(get_params_to_average(params)), process_group)


class ModelAverager:
    """Averages parameters in some steps; `step` counts them.

    Args:
        process_group: the ranks; all if not given.
    """

    def __init__(self, process_group: Any = None) -> None:
        self.process_group = group_of(process_group)
        self.step = 0
        self.warmup_steps = 0

    def _group(self) -> Any:
        """The ranks of this step's average, or None."""
        raise NotImplementedError

    def average_parameters(self, params: Iterable[Any]) -> None:
        """Called once a step, with parameters or an optimiser's groups."""
        group = self._group() if self.step >= self.warmup_steps else None
        if group is not None:
            average_parameters_or_parameter_groups(params, group)
        self.step += 1


_ALWAYS = (
    "When {} is 1, no need to use model averaging because the communication cost of all-reducing parameters will be no "
    "less than the cost of all-reducing gradients by DistributedDataParallel in the backward pass. Therefore, only "
    "DistributedDataParallel should be used for this case."
)


class PeriodicModelAverager(ModelAverager):
    """Averages the parameters of all ranks in every `period`-th step.

    Args:
        period: in steps.
        warmup_steps: how many steps have no average before the first.
        process_group: the ranks; all if not given.

    Example:
        >>> from rushlight.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
        >>> averager = PeriodicModelAverager(period=4, warmup_steps=100)
        >>> averager.average_parameters(nn.Linear(2, 1).parameters())
        >>> averager.step
        1
    """

    def __init__(self, period: int, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        if period < 1:
            raise ValueError("Arg ``period`` must be a positive value.")
        if period == 1:
            warnings.warn(_ALWAYS.format("period"), stacklevel=2)
        self.period, self.warmup_steps = period, warmup_steps

    def _group(self) -> Any:
        return self.process_group if (self.step - self.warmup_steps) % self.period == 0 else None


class HierarchicalModelAverager(ModelAverager):
    """Averages the parameters of few ranks often, and those of more ranks less often.

    Args:
        period_group_size_dict: by periods that grow, how many ranks; the last are all.
        warmup_steps: how many steps have no average before the first.
        process_group: the ranks; all if not given.

    Example:
        >>> from rushlight.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
        >>> HierarchicalModelAverager({4: 1}).step
        0
    """

    def __init__(self, period_group_size_dict: Any = None, warmup_steps: int = 0, process_group: Any = None) -> None:
        super().__init__(process_group)
        if not period_group_size_dict:
            raise ValueError("Arg ``period_group_size_dict`` must not be empty.")
        periods, sizes, size = list(period_group_size_dict), list(period_group_size_dict.values()), self.process_group.size()  # fmt: skip
        if periods[0] <= 0:
            raise ValueError("The minimum period in arg ``period_group_size_dict`` must be a positive value.")
        if periods[-1] == 1:
            warnings.warn(_ALWAYS.format("the maximum period in arg ``period_group_size_dict``"), stacklevel=2)
        if sizes[-1] != size:
            raise ValueError(f"The last value in arg ``period_group_size_dict`` {sizes[-1]} must be equal to the size of arg ``process_group`` {size}.")  # fmt: skip
        if warmup_steps < 0:
            raise ValueError("Arg ``warmup_steps`` must be a non-negative number.")
        self.warmup_steps = warmup_steps
        groups = [self.process_group if n == size else new_subgroups(group_size=n, group=self.process_group)[0] for n in sizes]  # fmt: skip
        self.period_process_group_dict = dict(zip(periods, groups))

    def _group(self) -> Any:
        largest_first = reversed(self.period_process_group_dict.items())
        return next((group for period, group in largest_first if self.step % period == 0), None)


class PostLocalSGDOptimizer(Optimizer):
    """An optimiser whose steps are followed by an average of the parameters, where the averager has one.

    Args:
        optim: updates this rank's parameters.
        averager: such as a `PeriodicModelAverager`.

    Example:
        >>> from rushlight.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
        >>> sgd = torch.optim.SGD(nn.Linear(2, 1).parameters(), lr=0.1)
        >>> optimizer = torch.distributed.optim.PostLocalSGDOptimizer(sgd, PeriodicModelAverager(4, 100))
        >>> optimizer.step()
        >>> optimizer.state_dict()["step"]
        1
    """

    def __init__(self, optim: Optimizer, averager: ModelAverager) -> None:
        self.optim, self.averager = optim, averager
        self.param_groups = optim.param_groups

    @property
    def state(self) -> Any:  # type: ignore[override]
        return self.optim.state

    def __repr__(self) -> str:
        return repr(self.optim)

    def state_dict(self) -> dict[str, Any]:
        return {**self.optim.state_dict(), "step": self.averager.step}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.optim.load_state_dict({k: v for k, v in state_dict.items() if k != "step"})
        if "step" not in state_dict:
            warnings.warn("Loaded state dict does not contain a step counter for an averager. Setting step counter to 0.", stacklevel=2)  # fmt: skip
        self.averager.step = state_dict.get("step", 0)

    def step(self) -> None:  # type: ignore[override]
        self.optim.step()
        self.averager.average_parameters(self.param_groups)

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.optim.zero_grad(set_to_none=set_to_none)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        self.optim.add_param_group(param_group)
