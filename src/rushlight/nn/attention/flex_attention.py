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
    """What `flex_attention` returns besides its result.

    Example:
        >>> from rushlight.nn.attention import flex_attention as flex
        >>> flex.AuxRequest(lse=True).lse
        True
    """

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What an `AuxRequest` asked for; None where it did not.

    Example:
        >>> from rushlight.nn.attention import flex_attention as flex
        >>> flex.AuxOutput()._fields
        ('lse', 'max_scores')
    """

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """A mask that leaves every score in.

    Args:
        batch, head, token_q, token_kv: the position of a score.

    Example:
        >>> from rushlight.nn.attention import flex_attention as flex
        >>> zero = torch.tensor(0)
        >>> flex.noop_mask(zero, zero, zero, zero)
        tensor(True)
    """
    return batch.new_ones((), dtype=_bool())


def _bool() -> Any:
    from ...base.dtypes import bool_

    return bool_


def and_masks(*mask_mods: Callable) -> Callable:
    """Return the mask that leaves in what all given masks leave in.

    Args:
        mask_mods: functions of the positions (b, h, q, kv).

    Example:
        >>> from rushlight.nn.attention import flex_attention as flex
        >>> near = lambda b, h, q, kv: q - kv < 2
        >>> causal = lambda b, h, q, kv: q >= kv
        >>> flex.create_mask(flex.and_masks(near, causal), None, None, 3, 3, device="cpu")
        tensor([[[[ True, False, False],
                  [ True,  True, False],
                  [False,  True,  True]]]])
    """

    def both(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        result = noop_mask(b, h, q, kv)
        for mask in mask_mods:
            result = result & mask(b, h, q, kv)
        return result

    return both


def or_masks(*mask_mods: Callable) -> Callable:
    """As `and_masks`: a pair counts if any of the functions says so."""

    def either(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        result = ~noop_mask(b, h, q, kv)
        for mask in mask_mods:
            result = result | mask(b, h, q, kv)
        return result

    return either


def _indices(sizes: tuple[int, ...], device: Any) -> list[Tensor]:
    """The indices of all scores along four dimensions, with shapes that broadcast."""
    return [arange(n, device=device).reshape([n if i == at else 1 for i in range(4)]) for at, n in enumerate(sizes)]


def create_mask(mod_fn: Callable, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None) -> Tensor:
    """Return the mask of every score as a tensor of bools, (B, H, Q_LEN, KV_LEN).

    Args:
        mod_fn: `mod_fn(b, h, q, kv)` is true where a score counts.
        B, H: batch and heads; 1 if None.
        Q_LEN, KV_LEN: numbers of queries and keys.

    Example:
        >>> from rushlight.nn.attention import flex_attention as flex
        >>> causal = lambda b, h, q, kv: q >= kv
        >>> flex.create_mask(causal, None, None, 2, 2, device="cpu")
        tensor([[[[ True, False],
                  [ True,  True]]]])
    """
    sizes = (B or 1, H or 1, Q_LEN, KV_LEN)
    return mod_fn(*_indices(sizes, device or "cpu")).expand(sizes)


class BlockMask:
    """A mask as a function of the positions, with the sizes it was made for; `create_block_mask` makes it.

    Args:
        mask_mod: `mask_mod(b, h, q, kv)` is true where a score counts.
        shape: (B, H, Q_LEN, KV_LEN).
        block: size of the blocks that `to_dense` shows.

    Example:
        >>> from rushlight.nn.attention import flex_attention as flex
        >>> mask = flex.create_block_mask(flex.noop_mask, None, None, 128, 256, device="cpu")
        >>> mask.shape
        (1, 1, 128, 256)
    """

    def __init__(self, mask_mod: Callable, shape: tuple[int, ...], block: Any, device: Any) -> None:
        self.mask_mod = mask_mod
        self.shape = shape
        self.seq_lengths = shape[-2:]
        self.BLOCK_SIZE = (block, block) if isinstance(block, int) else tuple(block)
        self.device = device

    def to_dense(self) -> Tensor:
        """Return which blocks have a score that the mask leaves in, as ones and zeros."""
        b, h, q, kv = self.shape
        full = create_mask(self.mask_mod, b, h, q, kv, self.device)
        rows, columns = self.BLOCK_SIZE
        from ...base.dtypes import int32
        from ...operators.image.padding import pad

        full = pad(full.to(int32), (0, -kv % columns, 0, -q % rows))
        blocks = full.reshape(b, h, full.shape[2] // rows, rows, full.shape[3] // columns, columns)
        return blocks.amax((3, 5))

    def to(self, device: Any) -> BlockMask:
        """Return the same mask for another device."""
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
    """Return a mask for `flex_attention`.

    Args:
        mask_mod: `mask_mod(b, h, q, kv)` is true where a score counts.
        B, H: batch and heads; None if the mask is the same for all.
        Q_LEN, KV_LEN: numbers of queries and keys.
        BLOCK_SIZE: size of the blocks that `to_dense` shows.

    Example:
        >>> from rushlight.nn.attention import flex_attention as flex
        >>> causal = lambda b, h, q, kv: q >= kv
        >>> mask = flex.create_block_mask(causal, None, None, 256, 256, device="cpu")
        >>> mask.to_dense()
        tensor([[[[1, 0],
                  [1, 1]]]], dtype=torch.int32)
    """
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
    """Attention whose scores a function of the positions may change.

    Args:
        query: (B, H, L, E).
        key: (B, H, S, E).
        value: (B, H, S, Ev).
        score_mod: `score_mod(score, b, h, q, kv)` gives what is used in place of each score.
        block_mask: which scores count, from `create_block_mask`.
        scale: factor of the scores; 1 / sqrt(E) if None.
        enable_gqa: the query may have several times as many heads as key and value.
        return_lse: also return the log of the sum of exponentials; `return_aux` is the newer form.
        kernel_options: accepted, and not used.
        return_aux: an `AuxRequest`; the result is then a pair with an `AuxOutput`.

    Example:
        >>> from rushlight.nn.attention import flex_attention as flex
        >>> q = torch.zeros(1, 1, 3, 4)
        >>> far = lambda score, b, h, q, kv: score - (q - kv).abs()
        >>> flex.flex_attention(q, q, q, score_mod=far).shape
        torch.Size([1, 1, 3, 4])
    """
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
    empty = lse == -math.inf  # a query that may look at nothing gets zeros; softmax would give NaN
    weights = (scores - lse.masked_fill(empty, 0.0)).exp()
    out = (weights @ value).to(query.dtype)
    lse = lse.squeeze(-1)
    if return_aux is not None:
        largest = scores.amax(-1) if return_aux.max_scores else None
        return out, AuxOutput(lse if return_aux.lse else None, largest)
    return (out, lse) if return_lse else out
