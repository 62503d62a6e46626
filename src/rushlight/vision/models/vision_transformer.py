"""The vision transformer (Dosovitskiy et al. 2020), with torchvision's names and weights."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from math import sqrt
from typing import Any, NamedTuple

from ... import nn
from ...core.tensor import Tensor
from ...operators.create.filled import empty, zeros
from ...operators.shape.join import cat
from ..ops.misc import MLP, Conv2dNormActivation
from ..transforms._modes import InterpolationMode
from ._build import build
from ._utils import _ovewrite_named_param, check

__all__ = [
    "ViT_B_16_Weights", "ViT_B_32_Weights", "ViT_H_14_Weights", "ViT_L_16_Weights",
    "ViT_L_32_Weights", "VisionTransformer", "vit_b_16", "vit_b_32", "vit_h_14", "vit_l_16",
    "vit_l_32",
]  # fmt: skip

_CUBIC = InterpolationMode.BICUBIC


class ConvStemConfig(NamedTuple):
    """One of the convolutions that may cut the patches."""

    out_channels: int
    kernel_size: int
    stride: int
    norm_layer: Callable[..., nn.Module] = nn.BatchNorm2d
    activation_layer: Callable[..., nn.Module] = nn.ReLU


class MLPBlock(MLP):
    """The two dense layers of an encoder's layer."""

    _version = 2

    def __init__(self, in_dim: int, mlp_dim: int, dropout: float) -> None:
        super().__init__(in_dim, [mlp_dim, in_dim], activation_layer=nn.GELU, inplace=None, dropout=dropout)
        for m in self.modules():
            if isinstance(m, nn.Linear):
                nn.init.xavier_uniform_(m.weight)
                if m.bias is not None:
                    nn.init.normal_(m.bias, std=1e-6)

    def _load_from_state_dict(
        self, state_dict: dict[str, Any], prefix: str, local_metadata: dict[str, Any], *rest: Any
    ) -> None:
        """Files of the first version say linear_1 and linear_2."""
        version = local_metadata.get("version")
        if version is None or version < 2:
            for new, old in (("0", "linear_1"), ("3", "linear_2")):
                for kind in ("weight", "bias"):
                    if f"{prefix}{old}.{kind}" in state_dict:
                        state_dict[f"{prefix}{new}.{kind}"] = state_dict.pop(f"{prefix}{old}.{kind}")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class EncoderBlock(nn.Module):
    """Attention and two dense layers, each behind a norm and beside a shortcut."""

    def __init__(
        self, num_heads: int, hidden_dim: int, mlp_dim: int, dropout: float, attention_dropout: float,
        norm_layer: Callable[..., nn.Module] = partial(nn.LayerNorm, eps=1e-6),
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(hidden_dim, num_heads, dropout=attention_dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input: Tensor) -> Tensor:
        check(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Positions are added, then the layers."""

    def __init__(
        self, seq_length: int, num_layers: int, num_heads: int, hidden_dim: int, mlp_dim: int,
        dropout: float, attention_dropout: float,
        norm_layer: Callable[..., nn.Module] = partial(nn.LayerNorm, eps=1e-6),
    ) -> None:  # fmt: skip
        super().__init__()
        self.pos_embedding = nn.Parameter(empty(1, seq_length, hidden_dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        for i in range(num_layers):
            layers[f"encoder_layer_{i}"] = EncoderBlock(
                num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer
            )
        self.layers = nn.Sequential(layers)
        self.ln = norm_layer(hidden_dim)

    def forward(self, input: Tensor) -> Tensor:
        check(input.dim() == 3, f"Expected (batch_size, seq_length, hidden_dim) got {input.shape}")
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """A picture as a row of patches, with one more place that collects the answer.

    Args:
        image_size: height and width of a picture.
        patch_size: of a patch; `image_size` is a multiple.
        num_layers: how many blocks.
        num_heads: of the attention.
        hidden_dim: numbers for each patch.
        mlp_dim: inside a block.
        dropout, attention_dropout: probabilities.
        num_classes: of the result.
        representation_size: of one more layer in front of the last.
        norm_layer: makes a normalisation; layer norm if not given.
        conv_stem_configs: convolutions in place of the one that cuts patches.

    Example:
        >>> net = models.VisionTransformer(8, 4, 1, 2, 16, 32, num_classes=10)
        >>> net(torch.ones(2, 3, 8, 8)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self, image_size: int, patch_size: int, num_layers: int, num_heads: int, hidden_dim: int, mlp_dim: int,
        dropout: float = 0.0, attention_dropout: float = 0.0, num_classes: int = 1000,
        representation_size: int | None = None, norm_layer: Callable[..., nn.Module] = partial(nn.LayerNorm, eps=1e-6),
        conv_stem_configs: list[Any] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if image_size % patch_size:
            raise AssertionError("Input shape indivisible by patch size!")
        self.image_size, self.patch_size, self.hidden_dim, self.mlp_dim = (image_size, patch_size, hidden_dim, mlp_dim)
        self.attention_dropout, self.dropout, self.num_classes = (attention_dropout, dropout, num_classes)
        self.representation_size, self.norm_layer = representation_size, norm_layer
        self.conv_proj = self._stem(conv_stem_configs)
        self.seq_length = (image_size // patch_size) ** 2 + 1
        self.class_token = nn.Parameter(zeros(1, 1, hidden_dim))
        self.encoder = Encoder(
            self.seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer
        )
        heads: OrderedDict[str, nn.Module] = OrderedDict()
        if representation_size is not None:
            heads["pre_logits"] = nn.Linear(hidden_dim, representation_size)
            heads["act"] = nn.Tanh()
        heads["head"] = nn.Linear(representation_size or hidden_dim, num_classes)
        self.heads = nn.Sequential(heads)
        self._initialise()

    def _stem(self, configs: list[Any] | None) -> nn.Module:
        """One convolution, or several small ones where they are configured."""
        if configs is None:
            return nn.Conv2d(3, self.hidden_dim, kernel_size=self.patch_size, stride=self.patch_size)
        layers, width = nn.Sequential(), 3
        for i, c in enumerate(configs):
            layers.add_module(
                f"conv_bn_relu_{i}",
                Conv2dNormActivation(
                    width, c.out_channels, kernel_size=c.kernel_size, stride=c.stride,
                    norm_layer=c.norm_layer, activation_layer=c.activation_layer,
                ),
            )  # fmt: skip
            width = c.out_channels
        layers.add_module("conv_last", nn.Conv2d(width, self.hidden_dim, kernel_size=1))
        return layers

    def _initialise(self) -> None:
        last = self.conv_proj if isinstance(self.conv_proj, nn.Conv2d) else self.conv_proj.conv_last
        if last is self.conv_proj:
            fan = last.in_channels * last.kernel_size[0] * last.kernel_size[1]
            nn.init.trunc_normal_(last.weight, std=sqrt(1 / fan))
        else:
            nn.init.normal_(last.weight, mean=0.0, std=sqrt(2.0 / last.out_channels))
        if last.bias is not None:
            nn.init.zeros_(last.bias)
        if hasattr(self.heads, "pre_logits"):
            layer = self.heads.pre_logits
            nn.init.trunc_normal_(layer.weight, std=sqrt(1 / layer.in_features))
            nn.init.zeros_(layer.bias)
        nn.init.zeros_(self.heads.head.weight)
        nn.init.zeros_(self.heads.head.bias)

    def _process_input(self, x: Tensor) -> Tensor:
        n, _, h, w = x.shape
        for name, size in (("height", h), ("width", w)):
            said = f"Wrong image {name}! Expected {self.image_size} but got {size}!"
            check(size == self.image_size, said)
        return self.conv_proj(x).reshape(n, self.hidden_dim, -1).permute(0, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self._process_input(x)
        x = cat([self.class_token.expand(x.shape[0], -1, -1), x], dim=1)
        return self.heads(self.encoder(x)[:, 0])


def _vit(patch: int, layers: int, heads: int, hidden: int, mlp: int, **kwargs: Any) -> VisionTransformer:
    return VisionTransformer(kwargs.pop("image_size", 224), patch, layers, heads, hidden, mlp, **kwargs)


def _sized(kwargs: dict[str, Any], chosen: Any) -> None:
    """Weights say for which size of picture they are."""
    _ovewrite_named_param(kwargs, "image_size", chosen.meta["min_size"][0])


def interpolate_embeddings(
    image_size: int, patch_size: int, model_state: OrderedDict[str, Tensor], interpolation_mode: str = "bicubic",
    reset_heads: bool = False,
) -> OrderedDict[str, Tensor]:  # fmt: skip
    """A state dict for pictures of another size: positions are interpolated."""
    embedding = model_state["encoder.pos_embedding"]
    n, length, hidden = embedding.shape
    if n != 1:
        raise ValueError(f"Unexpected position embedding shape: {embedding.shape}")
    side, old = image_size // patch_size, round(sqrt(length - 1))
    if side * side + 1 == length:
        return model_state
    if old * old != length - 1:
        raise ValueError(f"seq_length is not a perfect square! Instead got seq_length_1d * seq_length_1d = {old * old} and seq_length = {length - 1}")  # fmt: skip
    token, places = (embedding[:, :1, :], embedding[:, 1:, :].permute(0, 2, 1).reshape(1, hidden, old, old))
    new = nn.functional.interpolate(places, size=side, mode=interpolation_mode, align_corners=True)
    model_state["encoder.pos_embedding"] = cat([token, new.reshape(1, hidden, side * side).permute(0, 2, 1)], dim=1)
    if reset_heads:
        return OrderedDict((k, v) for k, v in model_state.items() if not k.startswith("heads"))
    return model_state


ViT_B_16_Weights, vit_b_16 = build("ViT_B_16", partial(_vit, 16, 12, 12, 768, 3072), adjust=_sized)
ViT_B_32_Weights, vit_b_32 = build("ViT_B_32", partial(_vit, 32, 12, 12, 768, 3072), adjust=_sized)
ViT_L_16_Weights, vit_l_16 = build("ViT_L_16", partial(_vit, 16, 24, 16, 1024, 4096), adjust=_sized)
ViT_L_32_Weights, vit_l_32 = build("ViT_L_32", partial(_vit, 32, 24, 16, 1024, 4096), adjust=_sized)
ViT_H_14_Weights, vit_h_14 = build("ViT_H_14", partial(_vit, 14, 32, 16, 1280, 5120), adjust=_sized)
