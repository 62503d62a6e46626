"""Stochastic depth (Huang et al. 2016): branches of a network left out at random."""

from __future__ import annotations

from ...core.tensor import Tensor
from ...operators.create.filled import empty
from .._shown import ShownModule

__all__ = ["StochasticDepth", "stochastic_depth"]


def stochastic_depth(input: Tensor, p: float, mode: str, training: bool = True) -> Tensor:
    """Zero the whole batch ("batch") or single samples ("row") with probability p.

    Args:
        input: (N, ...).
        mode: "batch" or "row".
        training: False returns the input.

    Raises:
        ValueError: if `p` or `mode` is not allowed.

    Example:
        >>> ops.stochastic_depth(torch.ones(2), 0.0, "row")
        tensor([1., 1.])
    """
    if p < 0.0 or p > 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}")
    if mode not in ("batch", "row"):
        raise ValueError(f"mode has to be either 'batch' or 'row', but got {mode}")
    if not training or p == 0.0:
        return input
    stays = 1.0 - p
    size = [input.shape[0] if mode == "row" else 1] + [1] * (input.ndim - 1)
    noise = empty(size, dtype=input.dtype, device=input.device).bernoulli_(stays)
    if stays > 0.0:
        noise.div_(stays)
    return input * noise


class StochasticDepth(ShownModule):
    """See `stochastic_depth`: the same as a layer; it does nothing in evaluation."""

    _shows = ("p", "mode")

    def __init__(self, p: float, mode: str) -> None:
        super().__init__()
        self.p = p
        self.mode = mode

    def forward(self, input: Tensor) -> Tensor:
        return stochastic_depth(input, self.p, self.mode, self.training)
