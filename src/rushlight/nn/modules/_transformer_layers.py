"""One layer of a transformer's encoder, and one of its decoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core.tensor import Tensor
from .. import functional as F
from ._multihead import MultiheadAttention
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

if TYPE_CHECKING:
    from ...base.device import device
    from ...base.dtypes import dtype

    pass


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")


class _TransformerLayer(Module):
    """Self attention and two Linear layers, each added to its input."""

    __constants__ = ["norm_first"]
    _attentions: int  # number of attentions before the two Linear layers

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        heads = (d_model, nhead, dropout, bias)
        self.self_attn = MultiheadAttention(*heads, batch_first=batch_first, **where)
        if self._attentions == 2:
            self.multihead_attn = MultiheadAttention(*heads, batch_first=batch_first, **where)
        self.linear1 = Linear(d_model, dim_feedforward, bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, **where)
        self.norm_first = norm_first
        for i in range(1, self._attentions + 2):
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, **where)
            setattr(self, f"norm{i}", norm)
        for i in range(1, self._attentions + 2):
            setattr(self, f"dropout{i}", Dropout(dropout))
        if isinstance(activation, str):
            activation = _get_activation_fn(activation)
        self.activation = activation

    def __getstate__(self) -> dict:
        """The state, with the number that PyTorch's layers keep for two known activations."""
        known = {F.relu: 1, F.gelu: 2}
        kind = known.get(self.activation, 0) if callable(self.activation) else 0
        return {**super().__getstate__(), "activation_relu_or_gelu": kind}

    def __setstate__(self, state: dict) -> None:
        super().__setstate__({k: v for k, v in state.items() if k != "activation_relu_or_gelu"})
        if "activation" not in self.__dict__ and "activation" not in self._modules:
            self.activation = F.relu

    def _sa_block(
        self, x: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False
    ) -> Tensor:
        x = self.self_attn(
            x,
            x,
            x,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )[0]
        return self._dropped(self.dropout1, x)

    def _dropped(self, dropout: Dropout, x: Tensor) -> Tensor:
        """Dropout of what attention gives, its draws in PyTorch's order.

        PyTorch's attention leaves (N, L, E) in memory as (L, N, E), and draws follow memory. Ours leaves it as it is,
        which the sums and norms behind it like better; so it is turned only where the CPU draws.
        """
        draws = dropout.training and 0.0 < dropout.p < 1.0
        if not (draws and self.self_attn.batch_first and x.dim() == 3 and x.is_cpu):
            return dropout(x)
        return dropout(x.transpose(0, 1).contiguous()).transpose(0, 1).contiguous()

    def _network(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_TransformerLayer):
    """One layer of an encoder: self attention, then two Linear layers, each added to its input.

    Args:
        d_model: width E.
        nhead: number of heads; E must be a multiple of it.
        dim_feedforward: width between the two Linear layers.
        dropout: probability of dropout, in training.
        activation: between the two Linear layers: "relu", "gelu" or a function.
        layer_norm_eps: `eps` of the layer norms.
        batch_first: inputs are (N, S, E) instead of (S, N, E).
        norm_first: normalise before attention and Linear layers instead of after them.
        bias: False leaves out the biases of Linear layers and norms.

    Shape:
        src (S, N, E), or without N -> the same.

    Example:
        >>> layer = nn.TransformerEncoderLayer(d_model=16, nhead=2, dim_feedforward=32)
        >>> layer(torch.rand(10, 4, 16)).shape
        torch.Size([10, 4, 16])
    """

    _attentions = 1

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self._network(x))

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Run the layer.

        Args:
            src: (S, N, E), (N, S, E) if `batch_first`, or (S, E).
            src_mask: (S, S) or (N nhead, S, S), True (or -inf) where a place may not look.
            src_key_padding_mask: (N, S), True (or -inf) at places that are padding.
            is_causal: `src_mask` is the causal mask.
        """
        x = src
        masks = (src_mask, src_key_padding_mask, is_causal)
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *masks)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, *masks))
        return self.norm2(x + self._ff_block(x))


class TransformerDecoderLayer(_TransformerLayer):
    """One layer of a decoder: self attention, attention to the encoder's output, two Linear layers.

    Args:
        d_model: width E.
        nhead: number of heads; E must be a multiple of it.
        dim_feedforward: width between the two Linear layers.
        dropout: probability of dropout, in training.
        activation: between the two Linear layers: "relu", "gelu" or a function.
        layer_norm_eps: `eps` of the layer norms.
        batch_first: inputs are (N, T, E) instead of (T, N, E).
        norm_first: normalise before attention and Linear layers instead of after them.
        bias: False leaves out the biases of Linear layers and norms.

    Shape:
        tgt (T, N, E), memory (S, N, E), or both without N -> (T, N, E).

    Example:
        >>> layer = nn.TransformerDecoderLayer(d_model=16, nhead=2, dim_feedforward=32)
        >>> layer(torch.rand(7, 4, 16), torch.rand(10, 4, 16)).shape
        torch.Size([7, 4, 16])
    """

    _attentions = 2

    def _mha_block(
        self, x: Tensor, mem: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool
    ) -> Tensor:
        x = self.multihead_attn(
            x,
            mem,
            mem,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )[0]
        return self._dropped(self.dropout2, x)

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self._network(x))

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Run the layer.

        Args:
            tgt: (T, N, E), (N, T, E) if `batch_first`, or (T, E).
            memory: the encoder's output, (S, N, E).
            tgt_mask, memory_mask: (T, T) and (T, S), True (or -inf) where a place may not look.
            tgt_key_padding_mask, memory_key_padding_mask: (N, T) and (N, S), True (or -inf) at padding.
            tgt_is_causal, memory_is_causal: the mask is the causal mask.
        """
        x = tgt
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), memory, *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, memory, *other))
        return self.norm3(x + self._ff_block(x))
