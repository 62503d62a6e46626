"""Averages of weights over time: stochastic weight averaging and exponential moving averages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..core.modes import no_grad
from ..core.tensor import Tensor
from .cycles import _cosine, _linear
from .optimizer import Optimizer
from .schedule_base import LRScheduler, per_group

__all__ = [  # AveragedModel is a Module, and comes from nn when it is asked for
    "AveragedModel", "SWALR",  # noqa: F822
    "get_ema_avg_fn", "get_ema_multi_avg_fn", "get_swa_avg_fn",
    "get_swa_multi_avg_fn", "update_bn",
]  # fmt: skip


def get_ema_avg_fn(decay: float = 0.999) -> Callable:
    """avg = decay * avg + (1 - decay) * now, for one parameter.

    Args:
        decay: share of the old average that is kept.

    Raises:
        ValueError: if `decay` is not between 0 and 1.

    Example:
        >>> mix = torch.optim.swa_utils.get_ema_avg_fn(0.75)
        >>> mix(torch.tensor(0.0), torch.tensor(8.0), 1)
        tensor(2.)
    """
    _check_decay(decay)

    def ema_update(ema_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with no_grad():
            return decay * ema_param + (1 - decay) * current_param

    return ema_update


def get_ema_multi_avg_fn(decay: float = 0.999) -> Callable:
    """avg = decay * avg + (1 - decay) * now, in place for lists of parameters.

    Args:
        decay: share of the old average that is kept.

    Raises:
        ValueError: if `decay` is not between 0 and 1.

    Example:
        >>> average = [torch.zeros(2)]
        >>> torch.optim.swa_utils.get_ema_multi_avg_fn(0.75)(average, [torch.full((2,), 8.0)], 1)
        >>> average
        [tensor([2., 2.])]
    """
    _check_decay(decay)

    def ema_update(ema_params: Any, current_params: Any, num_averaged: Any) -> None:
        with no_grad():
            for average, now in zip(ema_params, current_params):
                if average.is_floating_point() or average.is_complex():
                    average.lerp_(now.to(average.dtype), 1 - decay)
                else:
                    average.copy_(average * decay + now * (1 - decay))

    return ema_update


def _check_decay(decay: float) -> None:
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")


def get_swa_avg_fn() -> Callable:
    """The mean of all values so far, for one parameter.

    Example:
        >>> mean = torch.optim.swa_utils.get_swa_avg_fn()
        >>> mean(torch.tensor(2.0), torch.tensor(8.0), torch.tensor(2))
        tensor(4.)
    """

    def swa_update(averaged_param: Tensor, current_param: Tensor, num_averaged: Any) -> Tensor:
        with no_grad():
            return averaged_param + (current_param - averaged_param) / (num_averaged + 1)

    return swa_update


def get_swa_multi_avg_fn() -> Callable:
    """The mean of all values so far, in place for lists of parameters.

    Example:
        >>> average = [torch.full((2,), 2.0)]
        >>> torch.optim.swa_utils.get_swa_multi_avg_fn()(average, [torch.full((2,), 8.0)], torch.tensor(2))
        >>> average
        [tensor([4., 4.])]
    """
    one = get_swa_avg_fn()

    def swa_update(averaged_params: Any, current_params: Any, num_averaged: Any) -> None:
        with no_grad():
            for average, now in zip(averaged_params, current_params):
                average.copy_(one(average, now, num_averaged))

    return swa_update


class SWALR(LRScheduler):
    """From the learning rate it finds to `swa_lr` in `anneal_epochs`, and constant from there.

    Args:
        swa_lr: the rate at the end, or one for each group.
        anneal_epochs: epochs until it is reached.
        anneal_strategy: "cos" or "linear".

    Example:
        >>> optimizer = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
        >>> scheduler = torch.optim.swa_utils.SWALR(optimizer, 0.5, anneal_epochs=2, anneal_strategy="linear")
        >>> rates = []
        >>> for _ in range(4):
        ...     rates.append(scheduler.get_last_lr()[0])
        ...     optimizer.step()
        ...     scheduler.step()
        >>> rates
        [1.0, 0.75, 0.5, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: Any,
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        for lr, group in zip(per_group(optimizer, swa_lr, "swa_lr"), optimizer.param_groups):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: int) -> float:
        """How much of the way from the first rate to `swa_lr` is gone at a step."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return _cosine(0.0, 1.0, t) if self._anneal_strategy == "cos" else _linear(0.0, 1.0, t)

    def get_lr(self) -> list[float]:
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(max(0, step - 1)), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            target = group["swa_lr"]
            # The rate the schedule began with, from the one in force now.
            start = target if before == 1 else (group["lr"] - before * target) / (1 - before)
            rates.append(target * now + start * (1 - now))
        return rates


def update_bn(loader: Iterable[Any], model: Any, device: Any = None) -> None:
    """Compute the running statistics of batch norm layers anew, in one pass over the data.

    Args:
        loader: gives batches, or tuples and lists that begin with the batch.
        model: is run forward in training mode; a model without batch norm is left alone.
        device: where batches are put first.

    Example:
        >>> net = nn.BatchNorm1d(2)
        >>> torch.optim.swa_utils.update_bn([torch.tensor([[0.0, 2.0], [2.0, 6.0]])], net)
        >>> net.running_mean
        tensor([1., 4.])
    """
    from ..nn.modules.batchnorm import _BatchNorm

    layers = [m for m in model.modules() if isinstance(m, _BatchNorm)]
    for layer in layers:
        layer.reset_running_stats()
    if not layers:
        return
    was_training = model.training
    momenta = {layer: layer.momentum for layer in layers}
    model.train()
    for layer in layers:
        layer.momentum = None  # a plain mean over all batches
    with no_grad():
        for batch in loader:
            x = batch[0] if isinstance(batch, (list, tuple)) else batch
            model(x if device is None else x.to(device))
    for layer, momentum in momenta.items():
        layer.momentum = momentum
    model.train(was_training)


def __getattr__(name: str) -> Any:
    if name == "AveragedModel":
        from ..nn.averaged_model import AveragedModel

        return AveragedModel
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
