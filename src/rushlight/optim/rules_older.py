"""The older first-order rules: RMSprop, Adagrad, Adadelta, Rprop and ASGD."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..core.tensor import Tensor
from ..operators import update
from ..operators.create.like import full_like
from .calls import Numbers, number
from .checks import check, check_fused, check_lr
from .optimizer import scalar
from .stepping import KernelOptimizer, zeros_for

_FILLS = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}


class RMSprop(KernelOptimizer):
    """Gradients divided by a running mean of their size.

    Args:
        params: tensors, `named_parameters()`, or dicts with `params` and options of their own.
        alpha: how slowly the mean of the squares changes.
        eps: added to the divisor.
        weight_decay: this much of the parameter is added to its gradient.
        momentum: share of the last step that is kept.
        centered: divide by the standard deviation instead of the size.
        maximize: climb instead of descend.
        capturable: keep the step count on the parameter's device.
        foreach, differentiable: as in `Adam`.

    Example:
        >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> optimizer = optim.RMSprop([w], lr=0.01)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.9000, 1.9000])
    """

    kernel = update.RMSPROP
    _fills = {**_FILLS, "momentum": 0, "centered": False}

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
        momentum: float = 0, centered: bool = False, capturable: bool = False,
        foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_lr(lr)
        check("epsilon value", eps, eps >= 0.0)
        check("momentum value", momentum, momentum >= 0.0)
        check("weight_decay value", weight_decay, weight_decay >= 0.0)
        check("alpha value", alpha, alpha >= 0.0)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable,
        })  # fmt: skip

    def _start(self, p: Tensor, held: dict[str, Any], group: dict[str, Any]) -> None:
        held["step"], held["square_avg"] = scalar(0.0), zeros_for(p)
        if group["momentum"] > 0:
            held["momentum_buffer"] = zeros_for(p)
        if group["centered"]:
            held["grad_avg"] = zeros_for(p)

    def _states(self, group: dict[str, Any]) -> tuple[str, ...]:
        mean = ("grad_avg",) if group["centered"] else ()
        buffer = ("momentum_buffer",) if group["momentum"] > 0 else ()
        return ("square_avg", *mean, *buffer)

    def _numbers(self, group: dict[str, Any], before: Numbers, after: Numbers) -> list[Any]:
        return [group[k] for k in ("lr", "weight_decay", "alpha", "eps", "momentum")]

    def _flags(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"centered": group["centered"], "momentum": group["momentum"] > 0, "maximize": group["maximize"]}


class Adagrad(KernelOptimizer):
    """Gradients divided by the root of the sum of their squares (Duchi et al., 2011).

    Args:
        params: tensors, `named_parameters()`, or dicts with `params` and options of their own.
        lr_decay: the rate of step t is `lr / (1 + (t - 1) * lr_decay)`.
        weight_decay: this much of the parameter is added to its gradient.
        initial_accumulator_value: what the sums begin with.
        eps: added to the divisor.
        maximize, foreach, fused, differentiable: as in `Adam`.

    Example:
        >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> optimizer = optim.Adagrad([w], lr=0.1)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.9000, 1.9000])
    """

    kernel = update.ADAGRAD
    state_names = ("sum",)
    _fills = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
        maximize: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        check_lr(lr)
        check("lr_decay value", lr_decay, lr_decay >= 0.0)
        check("weight_decay value", weight_decay, weight_decay >= 0.0)
        check("initial_accumulator_value value", initial_accumulator_value, initial_accumulator_value >= 0)
        check("epsilon value", eps, eps >= 0.0)
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "fused": fused,
        })  # fmt: skip
        check_fused(fused, foreach, differentiable)
        for group in self.param_groups:  # PyTorch makes this state at once
            for p in group["params"]:
                self._start(p, self.state[p], group)

    def _start(self, p: Tensor, held: dict[str, Any], group: dict[str, Any]) -> None:
        first = group["initial_accumulator_value"]
        held["step"] = scalar(0.0, group["fused"])
        held["sum"] = full_like(p.detach(), complex(first, first) if p.is_complex() else first)

    def share_memory(self) -> None:
        """Let other processes see the sums."""
        for group in self.param_groups:
            for p in group["params"]:
                self.state[p]["sum"].share_memory_()

    def _numbers(self, group: dict[str, Any], before: Numbers, after: Numbers) -> list[Any]:
        lr = group["lr"] / (1 + (after[0] - 1) * group["lr_decay"])
        return [lr, group["weight_decay"], group["eps"]]

    def _check_sparse(self, group: dict[str, Any], p: Tensor) -> None:
        if group["fused"]:
            raise RuntimeError("`fused` does not support sparse grad or complex param")
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")

    def _step_sparse(self, group: dict[str, Any], p: Tensor) -> None:
        held = self.state.get(p) or self._started(p, group)
        held["step"] += 1
        lr = float(group["lr"]) / (1 + (held["step"].item() - 1) * group["lr_decay"])
        gradient: Any = p.grad
        gradient = gradient.coalesce()
        at, g = tuple(gradient._at), gradient._v
        squares = held["sum"].index_put_(at, g * g, accumulate=True)
        step = g / (squares[at].sqrt() + group["eps"])
        p.index_put_(at, step * (lr if group["maximize"] else -lr), accumulate=True)


class Adadelta(KernelOptimizer):
    """Steps as large as earlier ones were (Zeiler, 2012).

    Args:
        params: tensors, `named_parameters()`, or dicts with `params` and options of their own.
        lr: a factor on the steps.
        rho: how slowly the means of squared gradients and squared steps change.
        eps: added under both roots.
        weight_decay: this much of the parameter is added to its gradient.
        maximize, foreach, capturable, differentiable: as in `Adam`.

    Example:
        >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> optimizer = optim.Adadelta([w], lr=10.0)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.9684, 1.9684])
    """

    kernel = update.ADADELTA
    state_names = ("square_avg", "acc_delta")
    _fills = _FILLS

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
        foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_lr(lr)
        check("rho value", rho, 0.0 <= rho <= 1.0)
        check("epsilon value", eps, eps >= 0.0)
        check("weight_decay value", weight_decay, weight_decay >= 0.0)
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        })  # fmt: skip

    def _numbers(self, group: dict[str, Any], before: Numbers, after: Numbers) -> list[Any]:
        return [group[k] for k in ("lr", "weight_decay", "rho", "eps")]


class Rprop(KernelOptimizer):
    """Steps by the sign of the gradient alone (Riedmiller and Braun, 1993).

    Args:
        params: tensors, `named_parameters()`, or dicts with `params` and options of their own.
        lr: size of the first step.
        etas: factors on a step's size where the sign has changed, and where it has not.
        step_sizes: the smallest and the largest step.
        maximize, foreach, capturable, differentiable: as in `Adam`.

    Example:
        >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> optimizer = optim.Rprop([w], lr=0.1)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.9000, 1.9000])
    """

    kernel = update.RPROP
    state_names = ("prev", "step_size")
    _fills = _FILLS

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False,
        foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_lr(lr)
        check("eta values", f"{etas[0]}, {etas[1]}", 0.0 < etas[0] < 1.0 < etas[1])
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        })  # fmt: skip

    def _start(self, p: Tensor, held: dict[str, Any], group: dict[str, Any]) -> None:
        lr = group["lr"]
        lr = number(lr) if isinstance(lr, Tensor) else float(lr)
        held["step"], held["prev"] = scalar(0.0), zeros_for(p)
        held["step_size"] = full_like(p.detach(), complex(lr, lr) if p.is_complex() else lr)

    def _numbers(self, group: dict[str, Any], before: Numbers, after: Numbers) -> list[Any]:
        low, high = group["step_sizes"]
        if low is None and high is None:
            raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
        low, high = -math.inf if low is None else low, math.inf if high is None else high
        return [*group["etas"], low, high]


class ASGD(KernelOptimizer):
    """Averaged stochastic gradient descent (Polyak and Juditsky, 1992).

    The mean of the parameters is in `optimizer.state[p]["ax"]`.

    Args:
        params: tensors, `named_parameters()`, or dicts with `params` and options of their own.
        lambd: decay of the parameters at each step.
        alpha: power by which the rate falls.
        t0: the step at which averaging begins.
        weight_decay: this much of the parameter is added to its gradient.
        maximize, foreach, capturable, differentiable: as in `Adam`.

    Example:
        >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> optimizer = optim.ASGD([w], lr=0.1)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.8000, 1.6000])
    """

    kernel = update.ASGD
    scalars = ("step", "eta", "mu")
    state_names = ("ax",)
    _fills = _FILLS
    _host = ("step", "eta", "mu")

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False,
        differentiable: bool = False, capturable: bool = False,
    ) -> None:  # fmt: skip
        check_lr(lr)
        check("weight_decay value", weight_decay, weight_decay >= 0.0)
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable,
        })  # fmt: skip

    def _start(self, p: Tensor, held: dict[str, Any], group: dict[str, Any]) -> None:
        lr = group["lr"]
        held["step"] = scalar(0.0)
        held["eta"] = scalar(number(lr) if isinstance(lr, Tensor) else lr)
        held["mu"], held["ax"] = scalar(1.0), zeros_for(p)

    def _raised(self, group: dict[str, Any], before: Numbers) -> Numbers:
        t, lr = before[0] + 1, group["lr"]
        eta = lr / (1 + group["lambd"] * lr * t) ** group["alpha"]
        return (t, eta, 1 / max(1, t - group["t0"]))

    def _numbers(self, group: dict[str, Any], before: Numbers, after: Numbers) -> list[Any]:
        _, eta, mu = before  # those of `after` are for the next step
        return [eta, group["weight_decay"], 1 - group["lambd"] * eta, mu]
