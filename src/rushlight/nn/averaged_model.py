"""AveragedModel: a model whose parameters are averages of another's over time."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from copy import deepcopy
from typing import Any

from ..base.dtypes import int64
from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..operators.create.from_data import tensor
from .modules.module import Module

__all__ = ["AveragedModel"]


class AveragedModel(Module):
    """A copy of `model`, updated by `update_parameters(model)`; without functions, the plain mean.

    Args:
        model: what is copied.
        device: where the copy lives; beside the model if not given.
        avg_fn: `avg_fn(average, now, count)` returns the new average of one parameter.
        multi_avg_fn: the same for lists of parameters, in place.
        use_buffers: average buffers, too; otherwise they are copied.

    Example:
        >>> net = nn.Linear(1, 1, bias=False)
        >>> average = torch.optim.swa_utils.AveragedModel(net)
        >>> for value in (2.0, 4.0):
        ...     _ = net.weight.data.fill_(value)
        ...     average.update_parameters(net)
        >>> average(torch.ones(1, 1)).item()
        3.0
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: Callable | None = None,
        multi_avg_fn: Callable | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", tensor(0, dtype=int64, device=device))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    def _values(self, model: Module) -> list[Tensor]:
        buffers = model.buffers() if self.use_buffers else ()
        return list(itertools.chain(model.parameters(), buffers))

    def update_parameters(self, model: Module) -> None:
        """Take the parameters of `model` into the average."""
        averages = [t.detach() for t in self._values(self.module)]
        values = [t.detach().to(a.device) for t, a in zip(self._values(model), averages)]
        with no_grad():
            if self.n_averaged == 0:
                for average, now in zip(averages, values):
                    average.copy_(now)
            elif self.multi_avg_fn is not None:
                self.multi_avg_fn(averages, values, self.n_averaged)
            else:
                average_of = self.avg_fn or _mean
                for average, now in zip(averages, values):
                    average.copy_(average_of(average, now, self.n_averaged.to(average.device)))
            if not self.use_buffers:  # then buffers are those of the model, not averages
                for mine, theirs in zip(self.module.buffers(), model.buffers()):
                    mine.detach().copy_(theirs.detach().to(mine.device))
            self.n_averaged += 1


def _mean(average: Tensor, now: Tensor, count: Any) -> Tensor:
    return average + (now - average) / (count + 1)
