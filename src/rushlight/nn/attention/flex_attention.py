"""`torch.nn.attention.flex_attention`: attention whose scores a function of the positions changes.

PyTorch compiles the function into its kernel and skips blocks that a mask leaves empty. Here the function
is called once with the indices of all scores, and what the mask leaves out is set to minus infinity.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.tensor import Tensor
from ...operators.create.ranges import arange

__all__ = [
    "AuxOutput", "AuxRequest", "BlockMask", "and_masks", "create_block_mask", "create_mask", "flex_attention",
    "noop_mask", "or_masks",
]  # fmt: skip

_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest(NamedTuple):
    """What `flex_attention` should return besides its result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What an `AuxRequest` asked for, None where it did not."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """A mask that leaves everything in."""
    return batch.new_ones((), dtype=_bool())


def _bool() -> Any:
    from ...base.dtypes import bool_

    return bool_


def and_masks(*mask_mods: Callable) -> Callable:
    """What all masks leave in."""

    def both(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        result = noop_mask(b, h, q, kv)
        for mask in mask_mods:
            result = result & mask(b, h, q, kv)
        return result

    return both


def or_masks(*mask_mods: Callable) -> Callable:
    """What one of the masks leaves in."""

    def either(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        result = ~noop_mask(b, h, q, kv)
        for mask in mask_mods:
            result = result | mask(b, h, q, kv)
        return result

    return either


def _indices(sizes: tuple[int, ...], device: Any) -> list[Tensor]:
    """The index of every score along each of four dims, ready to be broadcast."""
    return [
        arange(n, device=device).reshape([n if i == at else 1 for i in range(4)])
        for at, n in enumerate(sizes)
    ]


def create_mask(
    mod_fn: Callable, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None
) -> Tensor:  # fmt: skip
    """The mask of every score: (B, H, Q_LEN, KV_LEN)."""
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    return mod_fn(*_indices(sizes, device or "cpu")).expand(sizes)


class BlockMask:
    """A mask as a function of the positions, with the sizes it was made for."""

    def __init__(self, mask_mod: Callable, shape: tuple[int, ...], block: Any, device: Any) -> None:
        self.mask_mod = mask_mod
        self.shape = shape
        self.seq_lengths = shape[-2:]
        self.BLOCK_SIZE = (block, block) if isinstance(block, int) else tuple(block)
        self.device = device

    def to_dense(self) -> Tensor:
        """Which blocks have a score that the mask leaves in, as ones and zeros."""
        b, h, q, kv = self.shape
        full = create_mask(self.mask_mod, b, h, q, kv, self.device)
        rows, columns = self.BLOCK_SIZE
        from ...base.dtypes import int32
        from ...operators.image.padding import pad

        full = pad(full.to(int32), (0, -kv % columns, 0, -q % rows))
        blocks = full.reshape(b, h, full.shape[2] // rows, rows, full.shape[3] // columns, columns)
        return blocks.amax((3, 5))

    def to(self, device: Any) -> BlockMask:
        """The same mask for another device."""
        return BlockMask(self.mask_mod, self.shape, self.BLOCK_SIZE, device)

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, mask_mod={self.mask_mod})"


def create_block_mask(
    mask_mod: Callable,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: Any = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
) -> BlockMask:
    """A mask for `flex_attention`: `mask_mod(b, h, q, kv)` is true where a score counts."""
    return BlockMask(mask_mod, (B or 1, H or 1, Q_LEN, KV_LEN), BLOCK_SIZE, device or "cpu")


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Callable | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: Any = None,
) -> Any:
    """Attention with `score_mod(score, b, h, q, kv)` in place of each score before the softmax."""
    if enable_gqa and key.shape[1] != query.shape[1]:
        many = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(many, 1), value.repeat_interleave(many, 1)
    scale = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query @ key.transpose(-2, -1)) * scale
    at = _indices(tuple(scores.shape), scores.device)
    if score_mod is not None:
        scores = score_mod(scores, *at)
    if block_mask is not None:
        scores = scores.masked_fill(~block_mask.mask_mod(*at), -math.inf)
    lse = scores.logsumexp(-1, keepdim=True)
    empty = lse == -math.inf  # nothing to attend to: zeros, where a softmax would give NaN
    weights = (scores - lse.masked_fill(empty, 0.0)).exp()
    out = (weights @ value).to(query.dtype)
    lse = lse.squeeze(-1)
    if return_aux is not None:
        largest = scores.amax(-1) if return_aux.max_scores else None
        return out, AuxOutput(lse if return_aux.lse else None, largest)
    return (out, lse) if return_lse else out
