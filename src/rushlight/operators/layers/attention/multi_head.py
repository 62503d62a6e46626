"""Multi-head attention as one function of its weights."""

from __future__ import annotations

import math
from typing import Any

from ....base.dtypes import dtype
from ....core.inplace import may_change
from ....core.public import NAMESPACES, public
from ....core.tensor import Tensor
from ..dropout import dropout
from ..linear import linear


def _pad_last(mask: Tensor, count: int = 1) -> Tensor:
    """The mask with a column of zeros (not masked) for a key that was appended."""
    return NAMESPACES["functional"]["pad"](mask, (0, count))


def _cat(parts: list[Tensor], dim: int) -> Tensor:
    return NAMESPACES["torch"]["cat"](parts, dim)


def _float_mask(mask: Any, name: str, target: dtype) -> Any:
    """A mask to add to the scores: bool True becomes -inf."""
    if mask is None:
        return None
    kind = mask._a.dtype.kind
    if kind != "b" and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if kind != "b":
        return mask
    zeros = mask.new_zeros(mask._a.shape, dtype=target)
    return zeros.masked_fill(mask, -math.inf)


def _check_shapes(query: Tensor, key: Tensor, value: Tensor, padding: Any, mask: Any, heads: int) -> bool:
    """Whether the input has a batch dim; AssertionError if the others do not fit."""
    ndim = query._a.ndim
    if ndim not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {ndim}-D query tensor")
    kind = "batched (3-D)" if ndim == 3 else "unbatched (2-D)"
    if key._a.ndim != ndim or value._a.ndim != ndim:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {ndim}-D but found {key.ndim}-D "
            f"and {value.ndim}-D tensors respectively"
        )
    if padding is not None and padding._a.ndim != ndim - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {ndim - 1}-D but "
            f"found {padding.ndim}-D tensor instead"
        )
    if mask is not None:
        if mask._a.ndim not in (2, 3):
            raise AssertionError(
                f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
                f"{mask.ndim}-D tensor instead"
            )
        if ndim == 2 and mask._a.ndim == 3:
            want = (heads, query._a.shape[0], key._a.shape[0])
            if mask._a.shape != want:
                raise AssertionError(f"Expected `attn_mask` shape to be {want} but got {mask.shape}")
    return ndim == 3


def _with_batch(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Add a batch of one; a tensor that is given twice stays one tensor."""
    made = query.unsqueeze(1)
    keys = made if key is query else key.unsqueeze(1)
    return made, keys, keys if value is key else value.unsqueeze(1)


def _project(query: Tensor, key: Tensor, value: Tensor, weights: tuple, bias: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Queries, keys and values; if they come from one tensor, by one product."""
    packed, w_q, w_k, w_v = weights
    size = query._a.shape[-1]
    if packed is not None and key is value and query is key:
        return _three(query, packed, bias, size)
    w = (w_q, w_k, w_v) if packed is None else packed.chunk(3)
    b = (None,) * 3 if bias is None else bias.chunk(3)
    return _linear(query, w[0], b[0]), _linear(key, w[1], b[1]), _linear(value, w[2], b[2])


def _three(x: Tensor, weight: Tensor, bias: Any, size: int) -> Any:
    """Queries, keys and values by one product and one split, so that backward needs one op for each."""
    if not _lies_by_batch(x):
        return linear(x, weight, bias).split(size, -1)
    return [part.transpose(0, 1) for part in _by_batch(x, weight, bias).split(size, -1)]


def _lies_by_batch(x: Tensor) -> bool:
    """Whether [L, N, E] is a view of memory in the order [N, L, E], as `batch_first` gives it."""
    of_place, of_batch = x._a.strides[:2]
    return of_place < of_batch and min(x._a.shape[:2]) > 1


def _linear(x: Tensor, weight: Tensor, bias: Any) -> Tensor:
    """A linear layer that keeps the order of memory, so that nothing is copied."""
    if not _lies_by_batch(x):
        return linear(x, weight, bias)
    return _by_batch(x, weight, bias).transpose(0, 1)


def _by_batch(x: Tensor, weight: Tensor, bias: Any) -> Tensor:
    """The linear layer of `x` in the order of its memory; PyTorch copies `x`, so that it may be written to later."""
    return may_change(linear(x.transpose(0, 1), weight, bias), x)


def _check_mask(mask: Tensor, batch: int, heads: int, tgt: int, src: int) -> Tensor:
    want = (tgt, src) if mask._a.ndim == 2 else (batch * heads, tgt, src)
    if mask._a.shape != want:
        raise RuntimeError(f"The shape of the {mask.ndim}D attn_mask is {mask.shape}, but should be {want}.")
    return mask.unsqueeze(0) if mask._a.ndim == 2 else mask


def _check_sizes(query: Tensor, key: Tensor, value: Tensor, embed: int, heads: int, separate: bool) -> None:
    size = query._a.shape[-1]
    if size != embed:
        raise AssertionError(f"was expecting embedding dimension of {embed}, but got {size}")
    if size % heads:
        raise AssertionError(f"embed_dim {size} not divisible by num_heads {heads}")
    if separate:
        if key._a.shape[:2] != value._a.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}"
            )
    elif key._a.shape != value._a.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")


def _split(x: Tensor, heads: int) -> Tensor:
    """[L, N, E] -> [N, heads, L, size], a view."""
    length, batch, embed = x._a.shape
    return x.view(length, batch, heads, embed // heads).permute(1, 2, 0, 3)


def _heads(x: Tensor, batch: int, heads: int, size: int) -> Tensor:
    """[L, N, E] -> [N * heads, L, size]."""
    return x.reshape(x._a.shape[0], batch * heads, size).transpose(0, 1)


def _extended(k: Tensor, v: Tensor, masks: list, bias_k: Any, bias_v: Any) -> tuple[Tensor, Tensor]:
    """Keys and values with the learnt one appended, and masks that have it, too."""
    if bias_k is None and bias_v is None:
        return k, v
    if bias_k is None or bias_v is None:
        raise AssertionError("bias_k and bias_v must come together")
    batch = k._a.shape[1]
    masks[:] = [None if m is None else _pad_last(m) for m in masks]
    return _cat([k, bias_k.repeat(1, batch, 1)], 0), _cat([v, bias_v.repeat(1, batch, 1)], 0)


def _with_zero(k: Tensor, v: Tensor, masks: list) -> tuple[Tensor, Tensor]:
    """Keys and values with zeros appended, at which every query may look."""
    shape = (k._a.shape[0], 1, k._a.shape[2])
    masks[:] = [None if m is None else _pad_last(m) for m in masks]
    return _cat([k, k.new_zeros(shape)], 1), _cat([v, v.new_zeros(shape)], 1)


def _merged(masks: list, batch: int, heads: int, src: int) -> Any:
    """The attention mask with the padding of the keys added."""
    mask, padding = masks
    if padding is None:
        return mask
    if padding._a.shape != (batch, src):
        raise AssertionError(f"expecting key_padding_mask shape of {(batch, src)}, but got {padding.shape}")
    spread = padding.reshape(batch, 1, 1, src).expand(-1, heads, -1, -1)
    spread = spread.reshape(batch * heads, 1, src)
    return spread if mask is None else mask + spread


@public("functional")
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention in several heads, as a function of all its weights; `nn.MultiheadAttention` calls it.

    Args:
        query: (L, N, E), or without N.
        key, value: (S, N, E), or without N; their own widths with `use_separate_proj_weight`.
        embed_dim_to_check: E.
        num_heads: number of heads; E must be a multiple of it.
        in_proj_weight: (3 E, E), the maps of query, key and value.
        in_proj_bias: (3 E,) or None.
        bias_k, bias_v: (1, 1, E) or None: one more key and value for everybody.
        add_zero_attn: add a key and a value of zeros.
        dropout_p: probability with which weights are set to zero in training.
        out_proj_weight: (E, E).
        out_proj_bias: (E,) or None.
        training: whether dropout is done.
        key_padding_mask: (N, S), True (or -inf) at keys that are padding.
        need_weights: also return the attention weights.
        attn_mask: (L, S) or (N num_heads, L, S), True (or -inf) where a query may not look.
        use_separate_proj_weight: use `q_proj_weight`, `k_proj_weight` and `v_proj_weight` instead
            of `in_proj_weight`.
        static_k, static_v: (N num_heads, S, E / num_heads), used in place of mapped key and value.
        average_attn_weights: the mean of all heads' weights, instead of each.
        is_causal: `attn_mask` is the causal mask.

    Returns:
        the output (L, N, E), and the weights (N, L, S), or None.

    Example:
        >>> x = torch.zeros(2, 1, 4)
        >>> y, weights = F.multi_head_attention_forward(
        ...     x, x, x, 4, 2, torch.ones(12, 4), None, None, None, False, 0.0, torch.eye(4), None
        ... )
        >>> y.shape, weights
        (torch.Size([2, 1, 4]), tensor([[[0.5000, 0.5000],
                 [0.5000, 0.5000]]]))
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        query, key, value = _with_batch(query, key, value)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    tgt, batch, embed = query._a.shape
    padding = _float_mask(key_padding_mask, "key_padding_mask", query.dtype)
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    is_causal = is_causal and padding is None and not need_weights
    # Then the hint is enough, and quicker than the mask.
    attn_mask = None if is_causal else _float_mask(attn_mask, "attn_mask", query.dtype)
    _check_sizes(query, key, value, embed_dim_to_check, num_heads, use_separate_proj_weight)
    size = embed // num_heads
    packed = None if use_separate_proj_weight else in_proj_weight
    weights = (packed, q_proj_weight, k_proj_weight, v_proj_weight)
    if packed is None and None in weights[1:]:
        raise AssertionError("use_separate_proj_weight needs q_, k_ and v_proj_weight")
    q, k, v = _project(query, key, value, weights, in_proj_bias)
    if attn_mask is not None:
        attn_mask = _check_mask(attn_mask, batch, num_heads, tgt, key._a.shape[0])
    masks = [attn_mask, padding]
    k, v = _extended(k, v, masks, bias_k, bias_v)
    drop = dropout_p if training else 0.0
    if need_weights or add_zero_attn or static_k is not None or static_v is not None:
        q = _heads(q, batch, num_heads, size)
        k = _heads(k, batch, num_heads, size) if static_k is None else static_k
        v = _heads(v, batch, num_heads, size) if static_v is None else static_v
        if add_zero_attn:
            k, v = _with_zero(k, v, masks)
        src = k._a.shape[1]
        parts = [x.view(batch, num_heads, x._a.shape[1], size) for x in (q, k, v)]
    else:
        src = k._a.shape[0]
        parts = [_split(x, num_heads) for x in (q, k, v)]
    mask = _merged(masks, batch, num_heads, src)
    if need_weights:
        joined, attention = _with_weights(q, k, v, mask, drop)
        joined = joined.transpose(0, 1).reshape(tgt, batch, embed)
    else:
        joined, attention = _attend(parts, mask, drop, is_causal), None
    out = _linear(joined, out_proj_weight, out_proj_bias)
    if attention is not None:
        attention = attention.reshape(batch, num_heads, tgt, attention._a.shape[-1])
        attention = attention.mean(1) if average_attn_weights else attention
    if batched:
        return out, attention
    return out.squeeze(1), None if attention is None else attention.squeeze(0)


def _attend(parts: list[Tensor], mask: Any, drop: float, is_causal: bool) -> Tensor:
    """Attention of [N, heads, L, size], for which devices have one kernel -> [L, N, E]."""
    if mask is not None:  # one mask for all, or one per head and sample
        batch, heads = parts[0]._a.shape[:2] if mask._a.shape[0] > 1 else (1, 1)
        mask = mask.view(batch, heads, *mask._a.shape[1:])
    attention = NAMESPACES["functional"]["scaled_dot_product_attention"]
    out = attention(*parts, mask, drop, is_causal)
    batch, heads, length, size = out._a.shape
    if _lies_by_batch(parts[0].permute(2, 0, 1, 3)):
        return out.transpose(1, 2).reshape(batch, length, heads * size).transpose(0, 1)
    return out.permute(2, 0, 1, 3).reshape(length, batch, heads * size)


def _with_weights(q: Tensor, k: Tensor, v: Tensor, mask: Any, drop: float) -> tuple[Tensor, Tensor]:
    q, k = q * math.sqrt(1.0 / q._a.shape[-1]), k.transpose(-2, -1)
    scores = q @ k if mask is None else NAMESPACES["torch"]["baddbmm"](mask, q, k)
    weights = scores.softmax(-1)
    if drop > 0.0:
        weights = dropout(weights, drop)
    return weights @ v, weights
