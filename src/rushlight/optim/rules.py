"""The update rules PyTorch has, first-order: each says its states, its numbers and its kernel."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.tensor import Tensor
from ..operators import update
from .optimizer import Optimizer, by_step, counter, zeros_for


def _check(name: str, value: Any, ok: bool) -> None:
    if not ok:
        raise ValueError(f"Invalid {name}: {value}")


def _check_betas(betas: tuple[float, float]) -> None:
    for i, beta in enumerate(betas):
        _check(f"beta parameter at index {i}", beta, 0.0 <= float(beta) < 1.0)


class _Rule(Optimizer):
    """An optimiser whose step is one kernel per group of parameters stepped equally often."""

    kernel: Any
    state_names: tuple[str, ...] = ()

    def _states(self, group: dict[str, Any]) -> tuple[str, ...]:
        return self.state_names

    def _new_state(self, p: Tensor, name: str, group: dict[str, Any]) -> Tensor:
        return zeros_for(p)

    def _numbers(self, group: dict[str, Any], t: float, state: dict[str, Any]) -> list[float]:
        raise NotImplementedError

    def _flags(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"maximize": group["maximize"]}

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = self._closure(closure)
        for group in self.param_groups:
            live = self._live(group)
            names = self._states(group)
            fresh = counter()
            for p in live:
                held = self.state[p]
                if "step" not in held:
                    held["step"] = fresh
                    for name in names:
                        held[name] = self._new_state(p, name, group)
            for params in by_step(live, self.state):
                self._step_group(group, params, names)
        return loss

    def _step_group(
        self, group: dict[str, Any], params: list[Tensor], names: tuple[str, ...]
    ) -> None:
        held = [self.state[p] for p in params]
        self._apply(
            self.kernel,
            params,
            [[h[name] for h in held] for name in names],
            lambda: self._numbers(group, float(held[0]["step"]._a), held[0]),
            counts=[h["step"] for h in held],
            **self._flags(group),
        )


class SGD(Optimizer):
    """Stochastic gradient descent, with momentum, Nesterov momentum and weight decay."""

    def __init__(
        self, params: Any, lr: float = 1e-3, momentum: float = 0, dampening: float = 0,
        weight_decay: float = 0, nesterov: bool = False, *, maximize: bool = False,
        foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        _check("learning rate", lr, float(lr) >= 0.0)
        _check("momentum value", momentum, momentum >= 0.0)
        _check("weight_decay value", weight_decay, weight_decay >= 0.0)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
            "differentiable": differentiable, "fused": fused,
        })  # fmt: skip

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = self._closure(closure)
        for group in self.param_groups:
            live = self._live(group)
            if not group["momentum"]:
                self._step_group(group, live, [], False)
                continue
            fresh, stepped, buffers = [], [], []
            for p in live:
                held = self.state[p]
                buffer = held.get("momentum_buffer")
                if buffer is None:
                    held["momentum_buffer"] = zeros_for(p)
                    fresh.append(p)
                else:
                    stepped.append(p)
                    buffers.append(buffer)
            self._step_group(group, stepped, [buffers], False)
            if fresh:
                made = [self.state[p]["momentum_buffer"] for p in fresh]
                self._step_group(group, fresh, [made], True)
        return loss

    def _step_group(self, group: dict[str, Any], params: list, states: list, first: bool) -> None:
        self._apply(
            update.SGD, params, states,
            lambda: [group["lr"], group["weight_decay"], group["momentum"], group["dampening"]],
            nesterov=group["nesterov"], maximize=group["maximize"], first=first,
        )  # fmt: skip


class Adam(_Rule):
    """Adaptive moments (Kingma and Ba, 2015); `amsgrad` keeps the largest second moment."""

    kernel = update.ADAM
    decoupled = False

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
        fused: bool | None = None, decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        _check("learning rate", lr, float(lr) >= 0.0)
        _check("epsilon value", eps, eps >= 0.0)
        _check_betas(betas)
        _check("weight_decay value", weight_decay, weight_decay >= 0.0)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay or self.decoupled,
        })  # fmt: skip

    def _states(self, group: dict[str, Any]) -> tuple[str, ...]:
        largest = ("max_exp_avg_sq",) if group["amsgrad"] else ()
        return ("exp_avg", "exp_avg_sq", *largest)

    def _numbers(self, group: dict[str, Any], t: float, state: dict[str, Any]) -> list[float]:
        beta1, beta2 = group["betas"]
        return [
            group["lr"], group["weight_decay"], beta1, beta2, group["eps"],
            1 - beta1**t, math.sqrt(1 - beta2**t),
        ]  # fmt: skip

    def _flags(self, group: dict[str, Any]) -> dict[str, Any]:
        decoupled = group.get("decoupled_weight_decay", self.decoupled)
        return {"decoupled": decoupled, "maximize": group["maximize"]}


class AdamW(Adam):
    """Adam with weight decay apart from the gradient (Loshchilov and Hutter, 2019)."""

    decoupled = True

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2, amsgrad: bool = False, **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **options)


class Adamax(_Rule):
    """Adam with the infinity norm."""

    kernel = update.ADAMAX
    state_names = ("exp_avg", "exp_inf")

    def __init__(
        self, params: Any, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, foreach: bool | None = None, *, maximize: bool = False,
        differentiable: bool = False, capturable: bool = False,
    ) -> None:  # fmt: skip
        _check("learning rate", lr, float(lr) >= 0.0)
        _check("epsilon value", eps, eps >= 0.0)
        _check_betas(betas)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        })  # fmt: skip

    def _numbers(self, group: dict[str, Any], t: float, state: dict[str, Any]) -> list[float]:
        beta1, beta2 = group["betas"]
        return [group["lr"], group["weight_decay"], beta1, beta2, group["eps"], 1 - beta1**t]


class NAdam(_Rule):
    """Adam with Nesterov momentum (Dozat, 2016)."""

    kernel = update.NADAM
    state_names = ("exp_avg", "exp_avg_sq")

    def __init__(
        self, params: Any, lr: float = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, momentum_decay: float = 4e-3, decoupled_weight_decay: bool = False, *,
        foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        _check("learning rate", lr, float(lr) >= 0.0)
        _check("epsilon value", eps, eps >= 0.0)
        _check_betas(betas)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable,
        })  # fmt: skip

    def _numbers(self, group: dict[str, Any], t: float, state: dict[str, Any]) -> list[float]:
        beta1, beta2 = group["betas"]
        psi = group["momentum_decay"]

        def mu(at: float) -> float:
            return beta1 * (1.0 - 0.5 * 0.96 ** (at * psi))

        if "mu_product" not in state:
            state["mu_product"] = counter() + 1
        product = float(state["mu_product"]._a) * mu(t)
        state["mu_product"]._a[...] = product
        lr = group["lr"]
        by_g = lr * (1 - mu(t)) / (1 - product)
        by_m = lr * mu(t + 1) / (1 - product * mu(t + 1))
        return [lr, group["weight_decay"], beta1, beta2, group["eps"], 1 - beta2**t, by_g, by_m]

    def _flags(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"decoupled": group["decoupled_weight_decay"], "maximize": group["maximize"]}


class RAdam(_Rule):
    """Adam whose adaptive part waits until its variance is known (Liu et al., 2020)."""

    kernel = update.RADAM
    state_names = ("exp_avg", "exp_avg_sq")

    def __init__(
        self, params: Any, lr: float = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, decoupled_weight_decay: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        _check("learning rate", lr, float(lr) >= 0.0)
        _check("epsilon value", eps, eps >= 0.0)
        _check_betas(betas)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        })  # fmt: skip

    def _numbers(self, group: dict[str, Any], t: float, state: dict[str, Any]) -> list[float]:
        beta1, beta2 = group["betas"]
        c2 = 1 - beta2**t
        limit = 2 / (1 - beta2) - 1
        length = limit - 2 * t * beta2**t / c2
        adaptive = 0.0
        if length > 5.0:
            rectified = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
            adaptive = math.sqrt(rectified) * math.sqrt(c2)
        return [
            group["lr"], group["weight_decay"], beta1, beta2, group["eps"], 1 - beta1**t, adaptive
        ]  # fmt: skip

    def _flags(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"decoupled": group["decoupled_weight_decay"], "maximize": group["maximize"]}
