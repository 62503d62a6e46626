"""Muon: momentum made orthogonal by a few products of matrices (Jordan et al., 2024)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial
from typing import Any

from ..core.tensor import Tensor
from ..operators import update
from ..operators.create.like import empty_like
from ..operators.matrix.add_product import addmm
from ..runtime.door import run
from .calls import Numbers
from .checks import check_lr
from .stepping import KernelOptimizer, zeros_for


class Muon(KernelOptimizer):
    """Momentum whose steps are made orthogonal; for the matrices of hidden layers, not for biases, embeddings and heads.

    Args:
        params: matrices (2-D), `named_parameters()`, or dicts with `params` and options of their own.
        weight_decay: the parameter shrinks by `lr * weight_decay` at each step.
        momentum: share of the last steps that is kept.
        nesterov: look ahead by the momentum.
        ns_coefficients: the three coefficients of Newton and Schulz's iteration.
        eps: added to the norm that it divides by.
        ns_steps: how often it is applied.
        adjust_lr_fn: "original" or "match_rms_adamw": how the rate depends on the matrix's shape.

    Raises:
        ValueError: if a parameter is not a matrix, or an option is out of range.

    Example:
        >>> w = torch.eye(3).requires_grad_()
        >>> optimizer = optim.Muon([w], lr=0.1)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> bool((w.diagonal() < 1).all())
        True
    """

    kernel = update.MUON
    scalars = ()
    in_columns = False

    def __init__(
        self, params: Iterable[Any], lr: float = 1e-3, weight_decay: float = 0.1, momentum: float = 0.95,
        nesterov: bool = True, ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7, ns_steps: int = 5, adjust_lr_fn: str | None = None,
    ) -> None:  # fmt: skip
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        if not 0.0 <= momentum:
            raise ValueError(f"momentum should be >= 0 but is: {momentum}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight decay should be >= 0 but is: {weight_decay}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps,
            "adjust_lr_fn": adjust_lr_fn,
        })  # fmt: skip
        for group in self.param_groups:
            for p in group["params"]:
                if p.ndim != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {p.size()}"
                    )

    # Options that are part of the kernels' own, and not among the numbers that each step finds anew.
    in_kernels = frozenset(("ns_coefficients", "eps", "ns_steps"))

    def _start(self, p: Tensor, held: dict[str, Any], group: dict[str, Any]) -> None:
        held["momentum_buffer"] = zeros_for(p)

    def _step_group(self, group: dict[str, Any], params: list[Tensor]) -> None:
        if any(p.is_complex() for p in params):
            raise RuntimeError("Muon does not support complex parameters")
        grads: list[Any] = [p.grad for p in params]
        if any(g.ndim != 2 for g in grads):
            raise ValueError("Param gradient must be a 2D matrix")
        held = [self.state.get(p) or self._started(p, group) for p in params]
        buffers = [h["momentum_buffer"] for h in held]
        means = [empty_like(g) for g in grads]
        self._launch(
            group, means, [buffers], [], {"nesterov": group["nesterov"]},
            kernel=update.MUON_MOMENTUM, grads=grads,
            numbers=lambda group, before, after: [group["momentum"]],
        )  # fmt: skip
        for p, b in zip(params, buffers):  # they change now; a step that fails later takes it back
            self._undo.append((p, partial(b.copy_, b.clone())))
        now = self._waiting.pop()
        run(now.kernel, now.cls, now.arrays, now.flags)
        ways = [_orthogonal(m, group) * _ratio(m.shape, group) for m in means]
        ways = [_as_its_parameter(way.to(p.dtype), p) for way, p in zip(ways, params)]
        self._launch(group, params, [], [], {}, grads=ways)

    def _numbers(self, group: dict[str, Any], before: Numbers, after: Numbers) -> list[Any]:
        return [group["lr"], group["weight_decay"]]


def _as_its_parameter(way: Any, p: Any) -> Tensor:
    """A step of a parameter that is spread over ranks is spread as it is."""
    return way.redistribute(placements=p.placements) if hasattr(way, "full_shape") else way


def _ratio(shape: Any, group: dict[str, Any]) -> float:
    """What makes steps of matrices of all shapes equally large."""
    rows, columns = shape
    if group["adjust_lr_fn"] == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


def _orthogonal(matrix: Tensor, group: dict[str, Any]) -> Tensor:
    """About the nearest orthogonal matrix, by Newton and Schulz's iteration in bfloat16."""
    steps, coefficients = group["ns_steps"], group["ns_coefficients"]
    if steps >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.bfloat16()
    x = x.T if tall else x
    x = x / x.norm().clamp(min=group["eps"])
    for _ in range(steps):
        gram = x @ x.T
        x = addmm(x, addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x
