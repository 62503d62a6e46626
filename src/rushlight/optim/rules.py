"""SGD and the family of Adam: each says its states, its scalars, its numbers and its kernel."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any

from ..core.tensor import Tensor
from ..operators import update
from .calls import Numbers
from .checks import check, check_betas, check_fused, check_lr, check_tensor, check_tensor_betas
from .optimizer import scalar
from .stepping import KernelOptimizer, zeros_for

_FILLS = {"foreach": None, "maximize": False, "differentiable": False}


class SGD(KernelOptimizer):
    """Stochastic gradient descent, with momentum, Nesterov momentum and weight decay.

    Args:
        params: tensors, `named_parameters()`, or dicts with `params` and options of their own.
        momentum: share of the last step that is kept.
        dampening: how much less of the gradient enters the momentum.
        weight_decay: this much of the parameter is added to its gradient.
        nesterov: look ahead by the momentum.
        maximize: climb instead of descend.
        foreach, fused: how the step is computed; the numbers are the same.
        differentiable: let autograd see the step.

    Raises:
        ValueError: if `lr`, `momentum` or `weight_decay` is negative, or `nesterov` has no momentum.

    Example:
        >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> optimizer = optim.SGD([w], lr=0.1, momentum=0.9)
        >>> for _ in range(2):
        ...     optimizer.zero_grad()
        ...     (w**2).sum().backward()
        ...     optimizer.step()
        >>> w.detach()
        tensor([0.4600, 0.9200])
    """

    kernel = update.SGD
    scalars = ()
    _fills = {**_FILLS, "nesterov": False, "fused": False}

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-3, momentum: float = 0, dampening: float = 0,
        weight_decay: float | Tensor = 0, nesterov: bool = False, *, maximize: bool = False,
        foreach: bool | None = None, differentiable: bool = False, fused: bool | None = None,
    ) -> None:  # fmt: skip
        if (isinstance(lr, Tensor) and lr.numel() != 1) or lr == lr:  # PyTorch's takes nan
            check_lr(lr)
        check("momentum value", momentum, not momentum < 0.0)
        check("weight_decay value", weight_decay, not weight_decay < 0.0)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "foreach": foreach,
            "differentiable": differentiable, "fused": fused,
        })  # fmt: skip
        check_fused(fused, foreach, differentiable)

    def _states(self, group: dict[str, Any]) -> tuple[str, ...]:
        return ("momentum_buffer",) if group["momentum"] else ()

    def _flags(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"nesterov": group["nesterov"], "maximize": group["maximize"], "first": False}

    def _step_group(self, group: dict[str, Any], params: list[Tensor]) -> None:
        flags = self._flags(group)
        if not group["momentum"]:
            self._launch(group, params, [], [], flags)
            return
        state = self.state
        buffers: list[Any] = [(state.get(p) or {}).get("momentum_buffer") for p in params]
        if self._repeats:  # PyTorch looks for all buffers before it makes the first
            new = {id(p) for p, _ in self._undo}
            buffers = [None if id(p) in new else buffer for p, buffer in zip(params, buffers)]
        fresh = [p for p, buffer in zip(params, buffers) if buffer is None]
        if fresh:
            pairs = [(p, buffer) for p, buffer in zip(params, buffers) if buffer is not None]
            params, buffers = [p for p, _ in pairs], [buffer for _, buffer in pairs]
        if params:
            self._launch(group, params, [buffers], [], flags)
        if fresh:
            made = [zeros_for(p) for p in fresh]
            for p, buffer in zip(fresh, made):
                state[p]["momentum_buffer"] = buffer
                self._undo.append((p, partial(state[p].pop, "momentum_buffer")))
            self._launch(group, fresh, [made], [], {**flags, "first": True})

    def _numbers(self, group: dict[str, Any], before: Numbers, after: Numbers) -> list[Any]:
        return [group["lr"], group["weight_decay"], group["momentum"], group["dampening"]]

    def _is_sparse(self, p: Tensor) -> bool:
        buffer = (self.state.get(p) or {}).get("momentum_buffer")
        return super()._is_sparse(p) or (buffer is not None and buffer.is_sparse)

    def _check_sparse(self, group: dict[str, Any], p: Tensor) -> None:
        if group["fused"]:
            raise RuntimeError("`_fused_sgd` does not support sparse gradients")
        gradient: Any = p.grad
        if group["weight_decay"] != 0 or not gradient.is_sparse:
            raise RuntimeError("add(sparse, dense) is not supported. Use add(dense, sparse) instead.")

    def _step_sparse(self, group: dict[str, Any], p: Tensor) -> None:
        g: Any = p.grad
        if group["maximize"]:
            g = -g
        if group["momentum"]:
            held = self.state[p]
            buffer = held.get("momentum_buffer")
            if buffer is None:
                buffer = held["momentum_buffer"] = g.detach().clone()
            else:
                buffer.mul_(group["momentum"]).add_(g, alpha=1 - group["dampening"])
            g = g.add(buffer, alpha=group["momentum"]) if group["nesterov"] else buffer
        p.add_(g, alpha=-float(group["lr"]))


class Adam(KernelOptimizer):
    """Adaptive moments (Kingma and Ba, 2015); `amsgrad` keeps the largest second moment.

    Args:
        params: tensors, `named_parameters()`, or dicts with `params` and options of their own.
        betas: how slowly the means of the gradient and of its square change.
        eps: added to the divisor.
        weight_decay: this much of the parameter is added to its gradient.
        amsgrad: divide by the largest second moment so far.
        maximize: climb instead of descend.
        capturable: keep the step count on the parameter's device.
        decoupled_weight_decay: shrink the parameter itself, as `AdamW` does.
        foreach, fused: how the step is computed; the numbers are the same.
        differentiable: let autograd see the step.

    Raises:
        ValueError: if an option is out of range.

    Example:
        >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> optimizer = optim.Adam([w], lr=0.1)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.9000, 1.9000])
    """

    kernel = update.ADAM
    _fills = {**_FILLS, "amsgrad": False, "capturable": False, "decoupled_weight_decay": False, "fused": None}

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0, amsgrad: bool = False, *, foreach: bool | None = None,
        maximize: bool = False, capturable: bool = False, differentiable: bool = False,
        fused: bool | None = None, decoupled_weight_decay: bool = False,
    ) -> None:  # fmt: skip
        check_tensor("lr", lr, foreach, capturable)
        check_lr(lr)
        check("epsilon value", eps, 0.0 <= eps)
        check_betas(betas)
        check("weight_decay value", weight_decay, 0.0 <= weight_decay)
        betas = check_tensor_betas(betas, foreach, capturable)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        })  # fmt: skip
        check_fused(fused, foreach, differentiable)

    def _states(self, group: dict[str, Any]) -> tuple[str, ...]:
        largest = ("max_exp_avg_sq",) if group["amsgrad"] else ()
        return ("exp_avg", "exp_avg_sq", *largest)

    def _numbers(self, group: dict[str, Any], before: Numbers, after: Numbers) -> list[Any]:
        beta1, beta2 = group["betas"]
        t = after[0]
        return [group["lr"], group["weight_decay"], beta1, beta2, group["eps"], 1 - beta1**t, (1 - beta2**t) ** 0.5]

    def _flags(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"decoupled": group["decoupled_weight_decay"], "maximize": group["maximize"]}

    def _check_sparse(self, group: dict[str, Any], p: Tensor) -> None:
        raise RuntimeError("Adam does not support sparse gradients, please consider SparseAdam instead")


class AdamW(Adam):
    """As `Adam`, with weight decay apart from the gradient (Loshchilov and Hutter, 2019)."""

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
        foreach: bool | None = None, capturable: bool = False, differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
            capturable=capturable, differentiable=differentiable, fused=fused,
            decoupled_weight_decay=True,
        )  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


class Adamax(KernelOptimizer):
    """Adam with the infinity norm.

    Args:
        params, lr, betas, eps, weight_decay, foreach, maximize, capturable, differentiable: as in `Adam`.

    Example:
        >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> optimizer = optim.Adamax([w], lr=0.1)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.9000, 1.9000])
    """

    kernel = update.ADAMAX
    state_names = ("exp_avg", "exp_inf")
    _fills = {**_FILLS, "capturable": False}

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, foreach: bool | None = None, *,
        maximize: bool = False, differentiable: bool = False, capturable: bool = False,
    ) -> None:  # fmt: skip
        check_lr(lr)
        check("epsilon value", eps, 0.0 <= eps)
        check_betas(betas)
        check("weight_decay value", weight_decay, 0.0 <= weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        })  # fmt: skip

    def _numbers(self, group: dict[str, Any], before: Numbers, after: Numbers) -> list[Any]:
        beta1, beta2 = group["betas"]
        return [group["lr"], group["weight_decay"], beta1, beta2, group["eps"], 1 - beta1 ** after[0]]


class NAdam(KernelOptimizer):
    """Adam with Nesterov momentum (Dozat, 2016).

    Args:
        params, lr, betas, eps, weight_decay, decoupled_weight_decay: as in `Adam`.
        foreach, maximize, capturable, differentiable: as in `Adam`.
        momentum_decay: how quickly the momentum grows to `betas[0]`.

    Example:
        >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> optimizer = optim.NAdam([w], lr=0.1)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.8944, 1.8944])
    """

    kernel = update.NADAM
    scalars = ("step", "mu_product")
    state_names = ("exp_avg", "exp_avg_sq")
    _fills = {**_FILLS, "capturable": False, "decoupled_weight_decay": False}
    _host = ("step", "mu_product")

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 2e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False, *, foreach: bool | None = None, maximize: bool = False,
        capturable: bool = False, differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_lr(lr)
        check("epsilon value", eps, 0.0 <= eps)
        check_betas(betas)
        check("weight_decay value", weight_decay, 0.0 <= weight_decay)
        check("momentum_decay value", momentum_decay, 0.0 <= momentum_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay,
            "momentum_decay": momentum_decay, "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize, "foreach": foreach, "capturable": capturable,
            "differentiable": differentiable,
        })  # fmt: skip

    def _start(self, p: Tensor, held: dict[str, Any], group: dict[str, Any]) -> None:
        held["step"], held["mu_product"] = scalar(0.0), scalar(1.0)
        for name in self.state_names:
            held[name] = zeros_for(p)

    def _raised(self, group: dict[str, Any], before: Numbers) -> Numbers:
        step, product = before
        return (step + 1, product * _mu(group, step + 1))

    def _numbers(self, group: dict[str, Any], before: Numbers, after: Numbers) -> list[Any]:
        beta1, beta2 = group["betas"]
        lr, (t, product) = group["lr"], after
        later = _mu(group, t + 1)
        by_g = lr * (1 - _mu(group, t)) / (1 - product)
        by_m = lr * later / (1 - product * later)
        return [lr, group["weight_decay"], beta1, beta2, group["eps"], 1 - beta2**t, by_g, by_m]

    def _flags(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"decoupled": group["decoupled_weight_decay"], "maximize": group["maximize"]}


def _mu(group: dict[str, Any], t: float) -> float:
    """NAdam's momentum at step `t`."""
    return group["betas"][0] * (1.0 - 0.5 * 0.96 ** (t * group["momentum_decay"]))


class RAdam(KernelOptimizer):
    """Adam whose adaptive part waits until its variance is known (Liu et al., 2020).

    Args:
        params, lr, betas, eps, weight_decay, decoupled_weight_decay: as in `Adam`.
        foreach, maximize, capturable, differentiable: as in `Adam`.

    Example:
        >>> w = torch.tensor([1.0, 2.0], requires_grad=True)
        >>> optimizer = optim.RAdam([w], lr=0.1)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.8000, 1.6000])
    """

    kernel = update.RADAM
    state_names = ("exp_avg", "exp_avg_sq")
    _fills = {**_FILLS, "capturable": False, "decoupled_weight_decay": False}

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, weight_decay: float = 0, decoupled_weight_decay: bool = False, *,
        foreach: bool | None = None, maximize: bool = False, capturable: bool = False,
        differentiable: bool = False,
    ) -> None:  # fmt: skip
        check_lr(lr)
        check("epsilon value", eps, 0.0 <= eps)
        check_betas(betas)
        check("weight_decay value", weight_decay, 0.0 <= weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "foreach": foreach, "capturable": capturable,
            "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        })  # fmt: skip

    def _numbers(self, group: dict[str, Any], before: Numbers, after: Numbers) -> list[Any]:
        beta1, beta2 = group["betas"]
        t = after[0]
        c2 = 1 - beta2**t
        limit = 2 / (1 - beta2) - 1
        length = limit - 2 * t * beta2**t / c2
        adaptive = 0.0
        if length > 5.0:
            rectified = (length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)
            adaptive = rectified**0.5 * c2**0.5
        return [group["lr"], group["weight_decay"], beta1, beta2, group["eps"], 1 - beta1**t, adaptive]

    def _flags(self, group: dict[str, Any]) -> dict[str, Any]:
        return {"decoupled": group["decoupled_weight_decay"], "maximize": group["maximize"]}
