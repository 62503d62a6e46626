"""The parts of PyTorch's attention layer that programs with a layer of their own borrow from `nn.functional`."""

from __future__ import annotations

import warnings
from typing import Any

from ..core.tensor import Tensor
from ..operators.create.like import zeros_like
from ..operators.layers.linear import linear
from ..operators.layers.softmax import guessed_dim as _get_softmax_dim  # noqa: F401 - libraries take it from here


def _in_projection_packed(q: Tensor, k: Tensor, v: Tensor, w: Tensor, b: Tensor | None = None) -> tuple[Tensor, ...]:
    """Queries, keys and values by one matrix that holds the three of them below each other."""
    biases = (None,) * 3 if b is None else b.chunk(3)
    if q is k and k is v:
        return tuple([part.contiguous() for part in linear(q, w, b).chunk(3, -1)])
    return tuple([linear(x, m, c) for x, m, c in zip((q, k, v), w.chunk(3), biases)])


def _in_projection(
    q: Tensor, k: Tensor, v: Tensor, w_q: Tensor, w_k: Tensor, w_v: Tensor,
    b_q: Tensor | None = None, b_k: Tensor | None = None, b_v: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Queries, keys and values by a matrix each, all of the width of `q`."""
    wide = q.size(-1)
    for name, w, x in (("query", w_q, q), ("key", w_k, k), ("value", w_v, v)):
        if w.shape != (wide, x.size(-1)):
            raise AssertionError(f"expecting {name} weights shape of {(wide, x.size(-1))}, but got {w.shape}")
    for name, b in (("query", b_q), ("key", b_k), ("value", b_v)):
        if b is not None and b.shape != (wide,):
            raise AssertionError(f"expecting {name} bias shape of {(wide,)}, but got {b.shape}")
    return linear(q, w_q, b_q), linear(k, w_k, b_k), linear(v, w_v, b_v)


def _canonical_mask(
    mask: Tensor | None, mask_name: str, other_type: Any, other_name: str, target_type: Any, check_other: bool = True
) -> Tensor | None:
    """A mask of truth values as numbers to add: 0, and minus infinity where it is true."""
    if mask is None:
        return None
    if not mask.is_floating_point() and str(mask.dtype).rpartition(".")[2] != "bool":
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=2,
        )
    if mask.is_floating_point():
        return mask
    return zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _none_or_dtype(input: Tensor | None) -> Any:  # noqa: A002 - PyTorch's name
    """The dtype of a mask that may be absent."""
    if input is None or isinstance(input, Tensor):
        return None if input is None else input.dtype
    raise RuntimeError("input to _none_or_dtype() must be None or torch.Tensor")


def _mha_shape_check(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None, num_heads: int
) -> bool:
    """Whether the inputs have a batch dimension; AssertionError if they do not fit together."""
    n = query.dim()
    if n not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {n}-D query tensor")
    kind = "batched (3-D)" if n == 3 else "unbatched (2-D)"
    if key.dim() != n or value.dim() != n:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {n}-D but found {key.dim()}-D and "
            f"{value.dim()}-D tensors respectively"
        )
    for name, mask, allowed, words in (
        ("key_padding_mask", key_padding_mask, (n - 1,), f"{n - 1}-D"),
        ("attn_mask", attn_mask, (2, 3), "2-D or 3-D"),
    ):
        if mask is not None and mask.dim() not in allowed:
            raise AssertionError(
                f"For {kind} `query`, expected `{name}` to be `None`{',' if ' ' in words else ' or'} "
                f"{words} but found {mask.dim()}-D tensor instead"
            )
    expected = (num_heads, query.shape[0], key.shape[0])
    if n == 2 and attn_mask is not None and attn_mask.dim() == 3 and attn_mask.shape != expected:
        raise AssertionError(f"Expected `attn_mask` shape to be {expected} but got {attn_mask.shape}")
    return n == 3
