"""One layer of a transformer's encoder, and one of its decoder."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.tensor import Tensor
from .. import functional as F
from ._multihead import MultiheadAttention
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm


def _get_activation_fn(activation: str) -> Callable[[Tensor], Tensor]:
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    raise RuntimeError(f"activation should be relu/gelu, not {activation}")


class _TransformerLayer(Module):
    """Self attention and a two-layer network, each with a residual path."""

    __constants__ = ["norm_first"]
    _attentions: int  # how many attentions precede the network

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
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        where = {"device": device, "dtype": dtype}
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
        """With the number by which PyTorch's own layers know two activations."""
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
        return self.dropout1(x)

    def _network(self, x: Tensor) -> Tensor:
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_TransformerLayer):
    """Self attention, then a network."""

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
        x = src
        masks = (src_mask, src_key_padding_mask, is_causal)
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *masks)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, *masks))
        return self.norm2(x + self._ff_block(x))


class TransformerDecoderLayer(_TransformerLayer):
    """Self attention, attention to the encoder's memory, then a network."""

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
        return self.dropout2(x)

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
