"""Adafactor: second moments kept as factors of rows and columns (Shazeer and Stern, 2018)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..core.tensor import Tensor
from ..operators import update
from .calls import Numbers
from .checks import check_lr
from .optimizer import scalar
from .stepping import KernelOptimizer, zeros_for

_MISSING = {
    1: "variance should be defined when grad is a vector",
    2: "row_var and col_var should be defined when grad is multidimensional",
}


class Adafactor(KernelOptimizer):
    """Adam with a fraction of its memory: a matrix of n x m keeps n + m numbers (Shazeer and Stern, 2018).

    Args:
        params: tensors, `named_parameters()`, or dicts with `params` and options of their own.
        lr: learning rate; each step also grows with the size of its parameter.
        beta2_decay: power by which the mean of the squares slows down; at most 0.
        eps: added to the divisor (None: the dtype's own), and the smallest size of a parameter.
        d: steps larger than this are scaled down; at least 1.
        weight_decay: the parameter shrinks by `lr * weight_decay` at each step.
        maximize, foreach: as in `Adam`.

    Raises:
        ValueError: if an option is out of range.

    Example:
        >>> w = torch.ones(4, 6, requires_grad=True)
        >>> optimizer = optim.Adafactor([w])
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> {k: tuple(v.shape) for k, v in optimizer.state[w].items()}
        {'step': (), 'row_var': (4, 1), 'col_var': (1, 6)}
    """

    kernel = update.ADAFACTOR
    in_columns = False
    _fills = {"foreach": None}

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-2, beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3), d: float = 1.0, weight_decay: float = 0.0, *,
        foreach: bool | None = None, maximize: bool = False,
    ) -> None:  # fmt: skip
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        for ok, words in (
            (beta2_decay <= 0.0, f"beta2_decay should be <= 0 but is: {beta2_decay}"),
            (eps[0] is None or eps[0] >= 0.0, f"epsilon1 should be >= 0 but is: {eps[0]}"),
            (eps[1] >= 0.0, f"epsilon2 should be >= 0 but is: {eps[1]}"),
            (d >= 1.0, f"Clipping threshold d should be >= 1 but is: {d}"),
            (weight_decay >= 0.0, f"weight_decay should be >= 0 but is: {weight_decay}"),
        ):
            if not ok:
                raise ValueError(words)
        super().__init__(params, {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize,
        })  # fmt: skip

    def _start(self, p: Tensor, held: dict[str, Any], group: dict[str, Any]) -> None:
        held["step"] = scalar(0.0)
        shape = list(p._a.shape)
        if len(shape) > 1:
            held["row_var"] = p.detach().new_zeros([*shape[:-1], 1])
            held["col_var"] = p.detach().new_zeros([*shape[:-2], 1, shape[-1]])
        else:
            held["variance"] = zeros_for(p)

    def _step_group(self, group: dict[str, Any], params: list[Tensor]) -> None:
        kinds: dict[tuple[str, ...], list[Tensor]] = {}
        for p in params:
            if p.is_complex():
                raise RuntimeError("Adafactor does not support complex parameters")
            if hasattr(p, "full_shape"):  # its averages over rows and columns would be those of a part
                raise NotImplementedError("Adafactor with parameters that are spread over ranks: use AdamW, or keep them whole (ignored_params)")  # fmt: skip
            if not self.state.get(p):
                self._started(p, group)
            names: tuple[str, ...] = ("variance",) if p._a.ndim < 2 else ("row_var", "col_var")
            if any(name not in self.state[p] for name in names):  # of a parameter of other dims
                raise AssertionError(_MISSING[len(names)])
            kinds.setdefault(names, []).append(p)
        for own, some in kinds.items():
            held = [self.state[p] for p in some]
            states = [[h[name] for h in held] for name in own]
            self._launch(group, some, states, held, {"maximize": group["maximize"]})

    def _numbers(self, group: dict[str, Any], before: Numbers, after: Numbers) -> list[Any]:
        t, lr, (eps1, eps2) = after[0], group["lr"], group["eps"]
        return [
            lr, group["weight_decay"], t ** group["beta2_decay"], min(lr, 1 / t**0.5),
            -1.0 if eps1 is None else eps1, eps2, group["d"],
        ]  # fmt: skip
