"""DropBlock (Ghiasi et al. 2018): whole squares of a feature map set to zero while training."""

from __future__ import annotations

from math import prod

from ...core.tensor import Tensor
from ...nn.functional import max_pool2d, max_pool3d, pad
from .._shown import ShownModule

__all__ = ["DropBlock2d", "DropBlock3d", "drop_block2d", "drop_block3d"]


def _drop(input: Tensor, p: float, block: int, inplace: bool, eps: float, training: bool, dims: int) -> Tensor:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"drop probability has to be between 0 and 1, but got {p}.")
    if input.ndim != dims + 2:
        raise ValueError(f"input should be {dims + 2} dimensional. Got {input.ndim} dimensions.")
    if not training or p == 0.0:
        return input
    sizes = input.shape[2:]
    block = min(block, *sizes)
    if block % 2 == 0:
        raise ValueError(f"block size should be odd. Got {block} which is even.")
    starts = [n - block + 1 for n in sizes]
    chance = p * prod(sizes) / (block**dims * prod(starts))
    drawn = input.new_empty((*input.shape[:2], *starts)).bernoulli_(chance)
    # Each draw is the first corner of a block: a window that ends there reaches it from every pixel.
    pool = max_pool2d if dims == 2 else max_pool3d
    kept = 1 - pool(pad(drawn, [block - 1] * (2 * dims)), block, stride=1)
    scale = kept.numel() / (eps + kept.sum())
    return input.mul_(kept).mul_(scale) if inplace else input * kept * scale


def drop_block2d(
    input: Tensor, p: float, block_size: int, inplace: bool = False, eps: float = 1e-6, training: bool = True
) -> Tensor:
    """Set squares of a feature map to zero and scale the rest up.

    Args:
        input: (N, C, H, W).
        p: the share of the pixels to drop, about.
        block_size: the side of a square.
        inplace: write into `input`.
        eps: added to the denominator of the scale.
        training: do nothing if false.

    Raises:
        ValueError: if p is not between 0 and 1, `input` has other dimensions, or the block (at most as
            large as the map) has an even side.

    Example:
        >>> ops.drop_block2d(torch.ones(1, 1, 2, 2), p=0.5, block_size=1, training=False)
        tensor([[[[1., 1.],
                  [1., 1.]]]])
    """
    return _drop(input, p, block_size, inplace, eps, training, 2)


def drop_block3d(
    input: Tensor, p: float, block_size: int, inplace: bool = False, eps: float = 1e-6, training: bool = True
) -> Tensor:
    """As `drop_block2d`, of videos (N, C, T, H, W): cubes."""
    return _drop(input, p, block_size, inplace, eps, training, 3)


class DropBlock2d(ShownModule):
    """See `drop_block2d`: the same as a layer, which does nothing in evaluation."""

    _shows = ("p", "block_size", "inplace")

    def __init__(self, p: float, block_size: int, inplace: bool = False, eps: float = 1e-6) -> None:
        super().__init__()
        self.p, self.block_size, self.inplace, self.eps = p, block_size, inplace, eps

    def forward(self, input: Tensor) -> Tensor:
        return drop_block2d(input, self.p, self.block_size, self.inplace, self.eps, self.training)


class DropBlock3d(DropBlock2d):
    """See `drop_block3d`: the same as a layer, which does nothing in evaluation."""

    def forward(self, input: Tensor) -> Tensor:
        return drop_block3d(input, self.p, self.block_size, self.inplace, self.eps, self.training)
