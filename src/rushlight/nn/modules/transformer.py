"""The transformer: a stack of encoders, a stack of decoders, and both together."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...core.tensor import Tensor
from ...operators.create.filled import full
from ...runtime.thread import here
from .. import functional as F
from .. import init
from .activation import GELU, MultiheadAttention, ReLU
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .normalization import LayerNorm

if TYPE_CHECKING:
    from ...base.device import device
    from ...base.dtypes import dtype

    pass

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder",
    "TransformerEncoderLayer",
]  # fmt: skip


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

    def _sa_block(self, x: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool = False) -> Tensor:
        x = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False
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
    """As `TransformerEncoderLayer`, with attention to the encoder's output between its two parts.

    Shape:
        tgt (T, N, E), memory (S, N, E), or both without N -> (T, N, E).
    """

    _attentions = 2

    def _mha_block(self, x: Tensor, mem: Tensor, attn_mask: Any, key_padding_mask: Any, is_causal: bool) -> Tensor:
        x = self.multihead_attn(
            x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False
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


def _generate_square_subsequent_mask(
    sz: int, device: device | str | int | None = None, dtype: dtype | None = None
) -> Tensor:
    """A mask with -inf above the diagonal, so that no position looks at a later one."""
    return full((sz, sz), float("-inf"), dtype=dtype, device=device).triu(1)


def _get_clones(module: Module, n: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(n)])


class TransformerEncoder(Module):
    """A stack of copies of an encoder layer.

    Args:
        encoder_layer: the layer; the stack has deep copies of it.
        num_layers: how many.
        norm: a module called at the end, such as a layer norm.
        enable_nested_tensor: in evaluation, outputs at padded places are zero, as where PyTorch
            leaves them out of the computation; rushlight computes them and sets them to zero.
        mask_check: do so only if all padding is at the end of its row.

    Shape:
        src (S, N, E), or without N -> the same.

    Example:
        >>> layer = nn.TransformerEncoderLayer(16, 2, dim_feedforward=32, batch_first=True)
        >>> encoder = nn.TransformerEncoder(layer, num_layers=2)
        >>> encoder(torch.rand(4, 10, 16)).shape
        torch.Size([4, 10, 16])
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
        """Run all layers.

        Args:
            src: (S, N, E), (N, S, E) if `batch_first`, or (S, E).
            mask: (S, S) or (N nhead, S, S), True (or -inf) where a place may not look.
            src_key_padding_mask: (N, S), True (or -inf) at places that are padding.
            is_causal: `mask` is the causal mask: a hint, the result is the same.
        """
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=bool(is_causal), src_key_padding_mask=src_key_padding_mask)
        if src_key_padding_mask is not None and mask is None and self._leaves_padding_out(src):
            output = self._without_padding(output, src_key_padding_mask)
        return output if self.norm is None else self.norm(output)

    def _leaves_padding_out(self, src: Tensor) -> bool:
        if not self.use_nested_tensor or self.training or src.dim() != 3:
            return False
        return not here.grad or not (src.requires_grad or any(p.requires_grad for p in self.layers[0].parameters()))

    def _without_padding(self, output: Tensor, padding: Tensor) -> Tensor:
        padded = padding.ne(0)
        # Only if all padding is at the end of its row; decided without waiting for the device.
        if self.mask_check:
            padded = padded & (padded[:, 1:] | ~padded[:, :-1]).all()
        return output.masked_fill(padded.unsqueeze(-1), 0.0)


def _could_be_nested(layer: Module) -> bool:
    """Whether PyTorch would leave padding out of the computation for this kind of layer."""
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
    """A stack of copies of a decoder layer.

    Args:
        decoder_layer: the layer; the stack has deep copies of it.
        num_layers: how many.
        norm: a module called at the end, such as a layer norm.

    Shape:
        tgt (T, N, E), memory (S, N, E), or both without N -> (T, N, E).

    Example:
        >>> layer = nn.TransformerDecoderLayer(16, 2, dim_feedforward=32)
        >>> decoder = nn.TransformerDecoder(layer, num_layers=2)
        >>> decoder(torch.rand(7, 4, 16), torch.rand(10, 4, 16)).shape
        torch.Size([7, 4, 16])
    """

    __constants__ = ["norm"]

    def __init__(self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None) -> None:
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
        """Run all layers.

        Args:
            tgt: (T, N, E), (N, T, E) if `batch_first`, or (T, E).
            memory: the encoder's output, (S, N, E).
            tgt_mask, memory_mask: (T, T) and (T, S), True (or -inf) where a place may not look.
            tgt_key_padding_mask, memory_key_padding_mask: (N, T) and (N, S), True (or -inf) at padding.
            tgt_is_causal, memory_is_causal: the mask is the causal mask: a hint, the result is
                the same.
        """
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
    """Encoder and decoder of "Attention Is All You Need", without embeddings and the last Linear.

    Args:
        d_model: width E.
        nhead: number of heads; E must be a multiple of it.
        num_encoder_layers, num_decoder_layers: how many layers each stack has.
        dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias: as in
            `TransformerEncoderLayer`.
        custom_encoder, custom_decoder: modules used in place of the stacks.

    Shape:
        src (S, N, E), tgt (T, N, E), or both without N -> (T, N, E).

    Example:
        >>> net = nn.Transformer(16, 2, 1, 1, dim_feedforward=32, batch_first=True)
        >>> mask = nn.Transformer.generate_square_subsequent_mask(7)
        >>> net(torch.rand(4, 10, 16), torch.rand(4, 7, 16), tgt_mask=mask).shape
        torch.Size([4, 7, 16])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Callable[[Tensor], Tensor] = F.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        shape = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        how = (batch_first, norm_first, bias, device, dtype)
        self.encoder: Any = custom_encoder
        if custom_encoder is None:
            layer = TransformerEncoderLayer(*shape, *how)
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        self.decoder: Any = custom_decoder
        if custom_decoder is None:
            last = TransformerDecoderLayer(*shape, *how)
            norm = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
            self.decoder = TransformerDecoder(last, num_decoder_layers, norm)
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
        """Run encoder and decoder.

        Args:
            src: (S, N, E), (N, S, E) if `batch_first`, or (S, E).
            tgt: (T, N, E), (N, T, E) if `batch_first`, or (T, E).
            src_mask, tgt_mask, memory_mask: (S, S), (T, T) and (T, S), True (or -inf) where a place may
                not look.
            src_key_padding_mask, tgt_key_padding_mask, memory_key_padding_mask: (N, S), (N, T) and
                (N, S), True (or -inf) at padding.
            src_is_causal, tgt_is_causal, memory_is_causal: the mask is the causal mask: a hint, the
                result is the same.
        """
        self._check(src, tgt)
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
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
        sz: int, device: device | str | int | None = None, dtype: dtype | None = None
    ) -> Tensor:
        """Return a mask with which no place looks at a later one: -inf above the diagonal, 0 elsewhere.

        Args:
            sz: number of places.

        Example:
            >>> nn.Transformer.generate_square_subsequent_mask(3)
            tensor([[0., -inf, -inf],
                    [0., 0., -inf],
                    [0., 0., 0.]])
        """
        return _generate_square_subsequent_mask(sz, device, dtype)
