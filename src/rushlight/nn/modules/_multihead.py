"""MultiheadAttention: projections of queries, keys and values around one attention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.tensor import Tensor
from ...operators.create.filled import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

if TYPE_CHECKING:
    from ...base.device import device
    from ...base.dtypes import dtype

    pass


class MultiheadAttention(Module):
    """Attention in several heads: each looks at all keys with its own part of the width.

    Args:
        embed_dim: width E of queries and of the output.
        num_heads: number of heads; E must be a multiple of it.
        dropout: probability with which weights are set to zero in training.
        bias: False leaves out the biases of all maps.
        add_bias_kv: add a learnt key and value.
        add_zero_attn: add a key and a value of zeros.
        kdim, vdim: widths of keys and values; E if None.
        batch_first: inputs are (N, L, E) instead of (L, N, E).

    Shape:
        query (L, N, E), key (S, N, kdim), value (S, N, vdim), or all without N ->
        output (L, N, E) and the weights (N, L, S), or None.

    Attributes:
        in_proj_weight: (3 E, E), the maps of query, key and value, if they have one width; else
            `q_proj_weight`, `k_proj_weight` and `v_proj_weight`.
        in_proj_bias: (3 E,).
        out_proj: the last Linear.

    Example:
        >>> attention = nn.MultiheadAttention(8, 2, batch_first=True)
        >>> x = torch.zeros(3, 5, 8)
        >>> output, weights = attention(x, x, x)
        >>> output.shape, weights.shape
        (torch.Size([3, 5, 8]), torch.Size([3, 5, 5]))
    """

    __constants__ = ["batch_first"]
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        _check_sizes(embed_dim, num_heads)
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        self._make_in_proj(where)
        if bias:
            self.in_proj_bias = Parameter(empty(3 * embed_dim, **where))
        else:
            self.register_parameter("in_proj_bias", None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **where)
        if add_bias_kv:
            self.bias_k = Parameter(empty((1, 1, embed_dim), **where))
            self.bias_v = Parameter(empty((1, 1, embed_dim), **where))
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _make_in_proj(self, where: dict) -> None:
        """Make one matrix for all three maps if their widths are equal, else three."""
        names = ("q_proj_weight", "k_proj_weight", "v_proj_weight")
        if self._qkv_same_embed_dim:
            self.in_proj_weight = Parameter(empty((3 * self.embed_dim, self.embed_dim), **where))
            for name in names:
                self.register_parameter(name, None)
        else:
            for name, width in zip(names, (self.embed_dim, self.kdim, self.vdim)):
                setattr(self, name, Parameter(empty((self.embed_dim, width), **where)))
            self.register_parameter("in_proj_weight", None)

    def _reset_parameters(self) -> None:
        if self._qkv_same_embed_dim:
            init.xavier_uniform_(self.in_proj_weight)
        else:
            init.xavier_uniform_(self.q_proj_weight)
            init.xavier_uniform_(self.k_proj_weight)
            init.xavier_uniform_(self.v_proj_weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        if self.bias_k is not None:
            init.xavier_normal_(self.bias_k)
        if self.bias_v is not None:
            init.xavier_normal_(self.bias_v)

    def __setstate__(self, state: dict) -> None:
        state.setdefault("_qkv_same_embed_dim", True)
        super().__setstate__(state)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Compute the attention of queries over keys and values.

        Args:
            query, key, value: see the shapes of the class.
            key_padding_mask: (N, S), True at keys that are padding; or numbers that are added.
            need_weights: False returns None for the weights, and is quicker.
            attn_mask: (L, S) or (N num_heads, L, S), True where a query may not look; or numbers that
                are added.
            average_attn_weights: False returns the weights of each head, (N, num_heads, L, S).
            is_causal: `attn_mask` is the causal mask; it has to be given as well.
        """
        turn = self.batch_first and query.dim() == 3
        if turn:
            query, key, value = _turned(query, key, value)
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(1, 0) if turn else out), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Return both masks as one, and its kind: 0 attention, 1 padding, 2 both, None without masks."""
        if attn_mask is None:
            return key_padding_mask, None if key_padding_mask is None else 1
        if key_padding_mask is None:
            return attn_mask, 0
        batch, length, _ = query.shape
        per_head = attn_mask if attn_mask.dim() == 3 else attn_mask.view(1, 1, length, length)
        per_head = (
            per_head.view(batch, -1, length, length)
            if attn_mask.dim() == 3
            else (per_head.expand(batch, self.num_heads, -1, -1))
        )
        padding = key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        return per_head + padding, 2


def _turned(query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Swap batch and time of all three; a tensor that is given twice is swapped once."""
    turned = {id(t): t.transpose(1, 0) for t in (query, key, value)}
    return turned[id(query)], turned[id(key)], turned[id(value)]


def _check_sizes(embed_dim: int, num_heads: int) -> None:
    if embed_dim <= 0 or num_heads <= 0:
        raise ValueError(
            "embed_dim and num_heads must be greater than 0, got "
            f"embed_dim={embed_dim} and num_heads={num_heads} instead"
        )
    if embed_dim % num_heads != 0:
        raise AssertionError("embed_dim must be divisible by num_heads")
