"""MaxViT (Tu et al. 2022), with torchvision's names and weights: attention in windows, then over a grid of far places."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from ... import nn
from ...core.tensor import Tensor
from ...operators.create.filled import empty
from ...operators.create.from_data import from_numpy
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ..ops.stochastic_depth import StochasticDepth
from ._build import build
from ._initial import drawn
from ._utils import _ovewrite_named_param

__all__ = ["MaxVit", "MaxVit_T_Weights", "maxvit_t"]


def _halved(size: tuple[int, int]) -> tuple[int, int]:
    """What a convolution of three places and stride two leaves of a picture."""
    return (size[0] - 1) // 2 + 1, (size[1] - 1) // 2 + 1


class MBConv(nn.Module):
    """A narrow, a depthwise and a narrow convolution, beside a way that skips them."""

    def __init__(
        self, in_channels: int, out_channels: int, expansion_ratio: float, squeeze_ratio: float, stride: int,
        activation_layer: Callable[..., nn.Module], norm_layer: Callable[..., nn.Module], p_stochastic_dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.proj: nn.Module = nn.Identity()
        if stride != 1 or in_channels != out_channels:
            smaller = [nn.AvgPool2d(3, stride, padding=1)] if stride == 2 else []
            self.proj = nn.Sequential(*smaller, nn.Conv2d(in_channels, out_channels, 1))
        wide = int(out_channels * expansion_ratio)
        self.stochastic_depth = StochasticDepth(p_stochastic_dropout, "row") if p_stochastic_dropout else nn.Identity()
        conv = partial(Conv2dNormActivation, activation_layer=activation_layer, norm_layer=norm_layer, inplace=None)
        self.layers = nn.Sequential()
        for name, layer in (
            ("pre_norm", norm_layer(in_channels)),
            ("conv_a", conv(in_channels, wide, 1, 1, 0)),
            ("conv_b", conv(wide, wide, 3, stride, 1, groups=wide)),
            ("squeeze_excitation", SqueezeExcitation(wide, int(out_channels * squeeze_ratio), nn.SiLU)),
            ("conv_c", nn.Conv2d(wide, out_channels, 1)),
        ):
            self.layers.add_module(name, layer)

    def forward(self, x: Tensor) -> Tensor:
        skipped = self.proj(x)
        return skipped + self.stochastic_depth(self.layers(x))


class RelativePositionalMultiHeadAttention(nn.Module):
    """Attention between the places of a square; distances in it have a learnt bias."""

    relative_position_index: Tensor

    def __init__(self, feat_dim: int, head_dim: int, max_seq_len: int) -> None:
        super().__init__()
        if feat_dim % head_dim:
            raise ValueError(f"feat_dim: {feat_dim} must be divisible by head_dim: {head_dim}")
        self.n_heads, self.head_dim, self.max_seq_len = feat_dim // head_dim, head_dim, max_seq_len
        self.size = int(max_seq_len**0.5)
        self.scale_factor = feat_dim**-0.5
        self.to_qkv = nn.Linear(feat_dim, 3 * feat_dim)
        self.merge = nn.Linear(feat_dim, feat_dim)
        across = 2 * self.size - 1
        self.relative_position_bias_table = nn.Parameter(empty(across * across, self.n_heads))
        rows, columns = np.divmod(np.arange(self.size**2), self.size)
        down, right = (c[:, None] - c[None, :] + self.size - 1 for c in (rows, columns))
        self.register_buffer("relative_position_index", from_numpy(down * across + right))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def get_relative_positional_bias(self) -> Tensor:
        """The bias of every pair of places: (1, heads, places, places)."""
        table = self.relative_position_bias_table[self.relative_position_index.view(-1)]
        return table.view(self.max_seq_len, self.max_seq_len, -1).permute(2, 0, 1).unsqueeze(0)

    def forward(self, x: Tensor) -> Tensor:
        n, groups, places, dim = x.shape
        heads = self.to_qkv(x).reshape(n, groups, places, 3, self.n_heads, self.head_dim)
        q, k, v = heads.permute(3, 0, 1, 4, 2, 5).unbind(0)
        scores = q @ (k * self.scale_factor).mT + self.get_relative_positional_bias()
        found = scores.softmax(-1) @ v
        return self.merge(found.permute(0, 1, 3, 2, 4).reshape(n, groups, places, dim))


class PartitionAttentionLayer(nn.Module):
    """Attention in square windows ("window"), or between places as far apart as there are windows ("grid")."""

    def __init__(
        self, in_channels: int, head_dim: int, partition_size: int, partition_type: str, grid_size: tuple[int, int],
        mlp_ratio: int, activation_layer: Callable[..., nn.Module], norm_layer: Callable[..., nn.Module],
        attention_dropout: float, mlp_dropout: float, p_stochastic_dropout: float,
    ) -> None:  # fmt: skip
        super().__init__()
        if partition_type not in ("grid", "window"):
            raise ValueError("partition_type must be either 'grid' or 'window'")
        self.n_heads, self.head_dim = in_channels // head_dim, head_dim
        self.partition_type, self.grid_size = partition_type, grid_size
        self.n_partitions = grid_size[0] // partition_size
        sides = (partition_size, self.n_partitions)
        self.p, self.g = sides if partition_type == "window" else sides[::-1]
        self.attn_layer = nn.Sequential(
            norm_layer(in_channels),
            RelativePositionalMultiHeadAttention(in_channels, head_dim, partition_size**2),
            nn.Dropout(attention_dropout),
        )
        self.mlp_layer = nn.Sequential(
            nn.LayerNorm(in_channels), nn.Linear(in_channels, in_channels * mlp_ratio), activation_layer(),
            nn.Linear(in_channels * mlp_ratio, in_channels), nn.Dropout(mlp_dropout),
        )  # fmt: skip
        self.stochastic_dropout = StochasticDepth(p_stochastic_dropout, "row")

    def forward(self, x: Tensor) -> Tensor:
        (height, width), p, (n, c) = self.grid_size, self.p, x.shape[:2]
        if height % p or width % p:
            raise AssertionError(
                f"Grid size must be divisible by partition size. Got grid size of {self.grid_size} and "
                f"partition size of {p}"
            )
        swap = self.partition_type == "grid"
        x = x.reshape(n, c, height // p, p, width // p, p).permute(0, 2, 4, 3, 5, 1)
        x = x.reshape(n, (height // p) * (width // p), p * p, c)
        x = x.transpose(1, 2) if swap else x
        x = x + self.stochastic_dropout(self.attn_layer(x))
        x = x + self.stochastic_dropout(self.mlp_layer(x))
        x = x.transpose(1, 2) if swap else x
        x = x.reshape(n, height // p, width // p, p, p, c).permute(0, 5, 1, 3, 2, 4)
        return x.reshape(n, c, height, width)


class MaxVitLayer(nn.Module):
    """A convolution, attention in windows, attention over the grid."""

    def __init__(
        self, in_channels: int, out_channels: int, squeeze_ratio: float, expansion_ratio: float, stride: int,
        norm_layer: Callable[..., nn.Module], activation_layer: Callable[..., nn.Module], p_stochastic_dropout: float, **attention: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        shared: dict[str, Any] = {"activation_layer": activation_layer, "p_stochastic_dropout": p_stochastic_dropout}
        self.layers = nn.Sequential()
        first = MBConv(
            in_channels, out_channels, expansion_ratio, squeeze_ratio, stride, norm_layer=norm_layer, **shared
        )
        self.layers.add_module("MBconv", first)
        for kind in ("window", "grid"):
            layer = PartitionAttentionLayer(
                out_channels, partition_type=kind, norm_layer=nn.LayerNorm, **attention, **shared
            )
            self.layers.add_module(f"{kind}_attention", layer)

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x)


class MaxVitBlock(nn.Module):
    """Layers of one width; the first one halves the picture."""

    def __init__(
        self, in_channels: int, out_channels: int, input_grid_size: tuple[int, int], n_layers: int, p_stochastic: list[float], **layer: Any
    ) -> None:  # fmt: skip
        super().__init__()
        if len(p_stochastic) != n_layers:
            raise ValueError(f"p_stochastic must have length n_layers={n_layers}, got p_stochastic={p_stochastic}.")
        self.grid_size = _halved(input_grid_size)
        self.layers = nn.ModuleList(
            MaxVitLayer(out_channels if i else in_channels, out_channels, stride=1 if i else 2,
                        grid_size=self.grid_size, p_stochastic_dropout=p, **layer)
            for i, p in enumerate(p_stochastic)
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class MaxVit(nn.Module):
    """MaxViT: blocks of convolutions with attention nearby and far away; for pictures of one size.

    Args:
        input_size: height and width of the pictures.
        stem_channels: of the two first convolutions.
        partition_size: the side of a window; it divides the picture's sides in every block.
        block_channels, block_layers: widths and numbers of layers of the blocks.
        head_dim: the width of a head.
        stochastic_depth_prob: how often the last layer is skipped in training; the first one never is.
        norm_layer, activation_layer: classes of layers.
        squeeze_ratio, expansion_ratio: of the convolutions.
        mlp_ratio, mlp_dropout, attention_dropout: of the attention.
        num_classes: outputs.

    Example:
        >>> models.MaxVit((40, 40), 8, 5, [8, 16], [1, 2], 4, 0.1, num_classes=5)(torch.zeros(1, 3, 40, 40)).shape
        torch.Size([1, 5])
    """

    def __init__(
        self, input_size: tuple[int, int], stem_channels: int, partition_size: int, block_channels: list[int],
        block_layers: list[int], head_dim: int, stochastic_depth_prob: float, norm_layer: Callable[..., nn.Module] | None = None,
        activation_layer: Callable[..., nn.Module] = nn.GELU, squeeze_ratio: float = 0.25, expansion_ratio: float = 4,
        mlp_ratio: int = 4, mlp_dropout: float = 0.0, attention_dropout: float = 0.0, num_classes: int = 1000,
    ) -> None:  # fmt: skip
        super().__init__()
        norm = norm_layer or partial(nn.BatchNorm2d, eps=1e-3, momentum=0.01)
        size = _halved(input_size)
        sizes = [size := _halved(size) for _ in block_channels]
        for i, side in enumerate(sizes):
            if side[0] % partition_size or side[1] % partition_size:
                raise ValueError(
                    f"Input size {side} of block {i} is not divisible by partition size {partition_size}. "
                    f"Consider changing the partition size or the input size.\n"
                    f"Current configuration yields the following block input sizes: {sizes}."
                )
        first = Conv2dNormActivation(
            3, stem_channels, 3, 2, norm_layer=norm, activation_layer=activation_layer, bias=False, inplace=None
        )
        second = Conv2dNormActivation(
            stem_channels, stem_channels, 3, norm_layer=None, activation_layer=None, bias=True
        )
        self.stem = nn.Sequential(first, second)
        self.partition_size = partition_size
        depths = np.linspace(0, stochastic_depth_prob, sum(block_layers)).tolist()
        self.blocks = nn.ModuleList()
        size, before = _halved(input_size), stem_channels
        for channels, layers in zip(block_channels, block_layers):
            skipped, depths = depths[:layers], depths[layers:]
            self.blocks.append(
                MaxVitBlock(
                    before, channels, size, layers, skipped, squeeze_ratio=squeeze_ratio, expansion_ratio=expansion_ratio,
                    norm_layer=norm, activation_layer=activation_layer, head_dim=head_dim, mlp_ratio=mlp_ratio,
                    mlp_dropout=mlp_dropout, attention_dropout=attention_dropout, partition_size=partition_size,
                )
            )  # fmt: skip
            size, before = _halved(size), channels
        self.classifier = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(before), nn.Linear(before, before), nn.Tanh(),
            nn.Linear(before, num_classes, bias=False),
        )  # fmt: skip
        drawn(self.modules(), partial(nn.init.normal_, std=0.02), (nn.Conv2d, nn.Linear))

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        for block in self.blocks:
            x = block(x)
        return self.classifier(x)


def _maxvit(input_size: tuple[int, int] = (224, 224), **kwargs: Any) -> MaxVit:
    return MaxVit(input_size, 64, 7, [64, 128, 256, 512], [2, 2, 5, 2], 32, 0.2, **kwargs)


def _sized(kwargs: dict[str, Any], weights: Any) -> None:
    _ovewrite_named_param(kwargs, "input_size", weights.meta["min_size"])


MaxVit_T_Weights, maxvit_t = build("MaxVit_T", _maxvit, adjust=_sized)
