"""The older first-order rules: RMSprop, Adagrad, Adadelta, Rprop and ASGD."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from ..operators import update
from .optimizer import counter
from .rules import _check, _Rule


class RMSprop(_Rule):
    """Gradients divided by a running mean of their size."""

    kernel = update.RMSPROP

    def __init__(
        self, params: Any, lr: float = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0,
        momentum: float = 0, centered: bool = False, capturable: bool = False,
        foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        _check("learning rate", lr, float(lr) >= 0.0)
        _check("epsilon value", eps, eps >= 0.0)
        _check("momentum value", momentum, momentum >= 0.0)
        _check("weight_decay value", weight_decay, weight_decay >= 0.0)
        _check("alpha value", alpha, alpha >= 0.0)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "capturable": capturable, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable,
        })  # fmt: skip

    def _states(self, group: dict[str, Any]) -> tuple[str, ...]:
        mean = ("grad_avg",) if group["centered"] else ()
        buffer = ("momentum_buffer",) if group["momentum"] > 0 else ()
        return ("square_avg", *mean, *buffer)

    def _numbers(self, group: dict[str, Any], t: float, state: dict[str, Any]) -> list[float]:
        return [group[k] for k in ("lr", "weight_decay", "alpha", "eps", "momentum")]

    def _flags(self, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "centered": group["centered"],
            "momentum": group["momentum"] > 0,
            "maximize": group["maximize"],
        }


class Adagrad(_Rule):
    """Gradients divided by the sum of their squares (Duchi et al., 2011)."""

    kernel = update.ADAGRAD
    state_names = ("sum",)

    def __init__(
        self, params: Any, lr: float = 1e-2, lr_decay: float = 0, weight_decay: float = 0,
        initial_accumulator_value: float = 0, eps: float = 1e-10, foreach: bool | None = None, *,
        maximize: bool = False, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        _check("learning rate", lr, float(lr) >= 0.0)
        _check("lr_decay value", lr_decay, lr_decay >= 0.0)
        _check("weight_decay value", weight_decay, weight_decay >= 0.0)
        _check(
            "initial_accumulator_value value",
            initial_accumulator_value,
            initial_accumulator_value >= 0,
        )
        _check("epsilon value", eps, eps >= 0.0)
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "fused": fused,
        })  # fmt: skip
        for group in self.param_groups:  # PyTorch makes this state at once
            for p in group["params"]:
                self.state[p]["step"] = counter()
                self.state[p]["sum"] = self._new_state(p, "sum", group)

    def _new_state(self, p: Tensor, name: str, group: dict[str, Any]) -> Tensor:
        return p.detach().new_full(p._a.shape, group["initial_accumulator_value"])

    def _numbers(self, group: dict[str, Any], t: float, state: dict[str, Any]) -> list[float]:
        lr = group["lr"] / (1 + (t - 1) * group["lr_decay"])
        return [lr, group["weight_decay"], group["eps"]]


class Adadelta(_Rule):
    """Steps as large as earlier ones were (Zeiler, 2012)."""

    kernel = update.ADADELTA
    state_names = ("square_avg", "acc_delta")

    def __init__(
        self, params: Any, lr: float = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0,
        foreach: bool | None = None, *, capturable: bool = False, maximize: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        _check("learning rate", lr, float(lr) >= 0.0)
        _check("rho value", rho, 0.0 <= rho <= 1.0)
        _check("epsilon value", eps, eps >= 0.0)
        _check("weight_decay value", weight_decay, weight_decay >= 0.0)
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        })  # fmt: skip

    def _numbers(self, group: dict[str, Any], t: float, state: dict[str, Any]) -> list[float]:
        return [group[k] for k in ("lr", "weight_decay", "rho", "eps")]


class Rprop(_Rule):
    """Steps by the sign of the gradient alone (Riedmiller and Braun, 1993)."""

    kernel = update.RPROP
    state_names = ("prev", "step_size")

    def __init__(
        self, params: Any, lr: float = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50), *, capturable: bool = False,
        foreach: bool | None = None, maximize: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        _check("learning rate", lr, float(lr) >= 0.0)
        _check("eta values", etas, 0.0 < etas[0] < 1.0 < etas[1])
        super().__init__(params, {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        })  # fmt: skip

    def _new_state(self, p: Tensor, name: str, group: dict[str, Any]) -> Tensor:
        if name == "prev":
            return p.detach().new_zeros(p._a.shape)
        return p.detach().new_full(p._a.shape, float(group["lr"]))

    def _numbers(self, group: dict[str, Any], t: float, state: dict[str, Any]) -> list[float]:
        return [*group["etas"], *group["step_sizes"]]


class ASGD(_Rule):
    """Averaged stochastic gradient descent (Polyak and Juditsky, 1992)."""

    kernel = update.ASGD
    state_names = ("ax",)

    def __init__(
        self, params: Any, lr: float = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float = 0, foreach: bool | None = None, maximize: bool = False,
        differentiable: bool = False, capturable: bool = False,
    ) -> None:  # fmt: skip
        _check("learning rate", lr, float(lr) >= 0.0)
        _check("weight_decay value", weight_decay, weight_decay >= 0.0)
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
            "capturable": capturable,
        })  # fmt: skip

    def _numbers(self, group: dict[str, Any], t: float, state: dict[str, Any]) -> list[float]:
        lr, lambd = group["lr"], group["lambd"]
        eta = lr if t == 1 else lr / (1 + lambd * lr * (t - 1)) ** group["alpha"]
        mu = 1 / max(1, t - 1 - group["t0"])
        return [eta, group["weight_decay"], 1 - lambd * eta, mu if mu != 1 else 1.0]
