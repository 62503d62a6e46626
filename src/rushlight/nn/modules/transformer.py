"""The transformer: a stack of encoders, a stack of decoders, and both together."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ...base import dtypes
from ...core.tensor import Tensor
from ...operators.create.filled import full
from ...runtime.thread import here
from .. import functional as F
from .. import init
from ._transformer_layers import TransformerDecoderLayer, TransformerEncoderLayer
from .activation import GELU, ReLU
from .container import ModuleList
from .module import Module
from .normalization import LayerNorm

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]  # fmt: skip


def _generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
    """-inf above the diagonal: no position sees a later one."""
    return full((sz, sz), float("-inf"), dtype=dtype, device=device).triu(1)


def _get_clones(module: Module, n: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


class TransformerEncoder(Module):
    """`num_layers` copies of an encoder layer, one after another.

    PyTorch's nested tensors leave padding out of inference, which shows: outputs at padded places
    are zero. rushlight computes them all and sets those to zero in the same cases.
    """

    __constants__ = ["norm"]

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = enable_nested_tensor and _could_be_nested(encoder_layer)
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        output = src
        for layer in self.layers:
            output = layer(
                output,
                src_mask=mask,
                is_causal=bool(is_causal),
                src_key_padding_mask=src_key_padding_mask,
            )
        if src_key_padding_mask is not None and mask is None and self._leaves_padding_out(src):
            output = self._without_padding(output, src_key_padding_mask)
        return output if self.norm is None else self.norm(output)

    def _leaves_padding_out(self, src: Tensor) -> bool:
        if not self.use_nested_tensor or self.training or src.dim() != 3:
            return False
        return not here.grad or not (
            src.requires_grad or any(p.requires_grad for p in self.layers[0].parameters())
        )

    def _without_padding(self, output: Tensor, padding: Tensor) -> Tensor:
        padded = padding.ne(0)
        if self.mask_check:  # only where every row's padding is at its end; no host read for that
            padded = padded & (padded[:, 1:] | ~padded[:, :-1]).all()
        return output.masked_fill(padded.unsqueeze(-1), 0.0)


def _could_be_nested(layer: Any) -> bool:
    """Whether PyTorch has its quick path for this kind of layer."""
    if not isinstance(layer, TransformerEncoderLayer):
        return False
    attention = layer.self_attn
    known = layer.activation in (F.relu, F.gelu) or isinstance(layer.activation, (ReLU, GELU))
    return (
        known
        and not layer.norm_first
        and attention.batch_first
        and attention._qkv_same_embed_dim
        and attention.in_proj_bias is not None
        and attention.num_heads % 2 == 0
        and layer.norm1.eps == layer.norm2.eps
    )


class TransformerDecoder(Module):
    """`num_layers` copies of a decoder layer, one after another."""

    __constants__ = ["norm"]

    def __init__(
        self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None
    ) -> None:
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """Encoder and decoder of "Attention Is All You Need"."""

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shape = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        how = (batch_first, norm_first, bias, device, dtype)
        self.encoder = custom_encoder
        if custom_encoder is None:
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
            layer = TransformerEncoderLayer(*shape, *how)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        self.decoder = custom_decoder
        if custom_decoder is None:
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
            self.decoder = TransformerDecoder(
                TransformerDecoderLayer(*shape, *how), num_decoder_layers, norm
            )
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for p in self.parameters():
            if p.dim() > 1:
                init.xavier_uniform_(p)

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        self._check(src, tgt)
        memory = self.encoder(
            src,
            mask=src_mask,
            src_key_padding_mask=src_key_padding_mask,
            is_causal=src_is_causal,
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    def _check(self, src: Tensor, tgt: Tensor) -> None:
        batch = 0 if self.batch_first else 1
        if src.dim() == 3 and src.size(batch) != tgt.size(batch):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: Any = None, dtype: Any = dtypes.float32
    ) -> Tensor:
        """A mask with -inf above the diagonal, so that no position sees a later one."""
        return _generate_square_subsequent_mask(sz, device, dtype)
