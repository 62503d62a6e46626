"""SparseAdam: Adam for the rows of an embedding that a batch has met."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..core.modes import enable_grad, no_grad
from ..core.tensor import Tensor
from .optimizer import Optimizer

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for sparse gradients: only rows with a gradient change, and their averages.

    Args:
        params: dense tensors whose gradients are sparse, or dicts with `params` and options of their own.
        betas: how slowly the averages of the gradient and of its square change.
        eps: added to the divisor.
        maximize: climb instead of descending.

    Raises:
        ValueError: if an option is out of range, or a parameter is sparse or complex.

    Example:
        >>> w = nn.Parameter(torch.ones(4, 2))
        >>> optimizer = optim.SparseAdam([w], lr=0.1)
        >>> w.grad = torch.sparse_coo_tensor(torch.tensor([[1, 3]]), torch.ones(2, 2), (4, 2))
        >>> optimizer.step()
        >>> (w.detach() != 1).any(1)
        tensor([False,  True, False,  True])
    """

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1e-3, betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8, maximize: bool = False,
    ) -> None:  # fmt: skip
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        for ok, words in (
            (lr > 0.0, f"Invalid learning rate: {lr}"),
            (eps > 0.0, f"Invalid epsilon value: {eps}"),
            (0.0 <= betas[0] < 1.0, f"Invalid beta parameter at index 0: {betas[0]}"),
            (0.0 <= betas[1] < 1.0, f"Invalid beta parameter at index 1: {betas[1]}"),
        ):
            if not ok:
                raise ValueError(words)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})
        self._refuse("Sparse", "SparseAdam requires dense parameter tensors", lambda p: p.is_sparse)
        self._refuse("Complex", "SparseAdam does not support complex parameters", lambda p: p.is_complex())

    def _refuse(self, kind: str, why: str, is_one: Any) -> None:
        groups = enumerate(self.param_groups)
        places = [[g, i] for g, group in groups for i, p in enumerate(group["params"]) if is_one(p)]
        if places:
            raise ValueError(f"{kind} params at indices {places}: {why}")

    def step(self, closure: Any = None) -> Any:
        """Change the rows that have a gradient."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                wanted = [p for p in group["params"] if p.grad is not None]
                if not all(p.grad.is_sparse for p in wanted):  # said before any of them changes
                    raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
                for p in wanted:
                    self._step_one(p, group)
        return loss

    def _step_one(self, p: Tensor, group: dict[str, Any]) -> None:
        held = self.state[p]
        if not held:
            held.update(step=0, exp_avg=p.detach().new_zeros(p.shape))
            held["exp_avg_sq"] = p.detach().new_zeros(p.shape)
        held["step"] += 1
        gradient: Any = p.grad
        gradient = gradient.coalesce()
        g, places = gradient._values(), gradient._indices()
        if not g.numel():
            return
        g = -g if group["maximize"] else g
        (beta1, beta2), t = group["betas"], held["step"]
        at = places.reshape(-1) if places.shape[0] == 1 else tuple(places.unbind(0))
        mean, square = _read(held["exp_avg"], at), _read(held["exp_avg_sq"], at)
        mean = (g - mean) * (1 - beta1) + mean
        square = (g * g - square) * (1 - beta2) + square
        _write(held["exp_avg"], at, mean)
        _write(held["exp_avg_sq"], at, square)
        size = group["lr"] * math.sqrt(1 - beta2**t) / (1 - beta1**t)
        change = -size * (mean / (square.sqrt() + group["eps"]))
        if isinstance(at, tuple):
            p.index_put_(at, change, accumulate=True)
        else:
            p.index_add_(0, at, change)


def _read(x: Tensor, at: Any) -> Tensor:
    """The rows at some places; those of single elements, where there is a tensor for each dim."""
    return x[at] if isinstance(at, tuple) else x.index_select(0, at)


def _write(x: Tensor, at: Any, value: Tensor) -> None:
    if isinstance(at, tuple):
        x.index_put_(at, value)
    else:
        x.index_copy_(0, at, value)
