"""Swin Transformer (Liu et al. 2021) and its second version (2022), with torchvision's names and weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ... import nn
from ...core.tensor import Tensor
from ...operators.shape.join import cat
from ..ops.misc import MLP, Permute
from ..ops.stochastic_depth import StochasticDepth
from ..transforms._modes import InterpolationMode
from ._build import build
from ._initial import drawn
from ._windows import ShiftedWindowAttention, ShiftedWindowAttentionV2

__all__ = [
    "SwinTransformer", "Swin_B_Weights", "Swin_S_Weights", "Swin_T_Weights", "Swin_V2_B_Weights",
    "Swin_V2_S_Weights", "Swin_V2_T_Weights", "swin_b", "swin_s", "swin_t", "swin_v2_b",
    "swin_v2_s", "swin_v2_t",
]  # fmt: skip

_CUBIC = InterpolationMode.BICUBIC


_Layer = Callable[..., nn.Module]


def _quarters(x: Tensor) -> Tensor:
    """Four neighbours side by side in the channels: half the height, half the width."""
    h, w = x.shape[-3:-1]
    x = nn.functional.pad(x, (0, 0, 0, w % 2, 0, h % 2))
    parts = [x[..., i::2, j::2, :] for j in (0, 1) for i in (0, 1)]
    return cat(parts, -1)


class PatchMerging(nn.Module):
    """Half the size, twice the channels."""

    def __init__(self, dim: int, norm_layer: _Layer = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(4 * dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.reduction(self.norm(_quarters(x)))


class PatchMergingV2(nn.Module):
    """The same, normalised behind."""

    def __init__(self, dim: int, norm_layer: _Layer = nn.LayerNorm) -> None:
        super().__init__()
        self.dim = dim
        self.reduction = nn.Linear(4 * dim, 2 * dim, bias=False)
        self.norm = norm_layer(2 * dim)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(self.reduction(_quarters(x)))


class SwinTransformerBlock(nn.Module):
    """Attention in windows and two dense layers, each behind a norm and beside a shortcut."""

    def __init__(
        self, dim: int, num_heads: int, window_size: list[int], shift_size: list[int], mlp_ratio: float = 4.0,
        dropout: float = 0.0, attention_dropout: float = 0.0, stochastic_depth_prob: float = 0.0,
        norm_layer: _Layer = nn.LayerNorm, attn_layer: _Layer = ShiftedWindowAttention,
    ) -> None:  # fmt: skip
        super().__init__()
        self.norm1 = norm_layer(dim)
        self.attn = attn_layer(
            dim,
            window_size,
            shift_size,
            num_heads,
            attention_dropout=attention_dropout,
            dropout=dropout,
        )
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.norm2 = norm_layer(dim)
        self.mlp = MLP(
            dim,
            [int(dim * mlp_ratio), dim],
            activation_layer=nn.GELU,
            inplace=None,
            dropout=dropout,
        )
        for m in self.mlp.modules():
            if isinstance(m, nn.Linear):
                nn.init.xavier_uniform_(m.weight)
                if m.bias is not None:
                    nn.init.normal_(m.bias, std=1e-6)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.stochastic_depth(self.attn(self.norm1(x)))
        return x + self.stochastic_depth(self.mlp(self.norm2(x)))


class SwinTransformerBlockV2(SwinTransformerBlock):
    """The norms stand behind what they normalise."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"attn_layer": ShiftedWindowAttentionV2, **kwargs})

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.stochastic_depth(self.norm1(self.attn(x)))
        return x + self.stochastic_depth(self.norm2(self.mlp(x)))


class SwinTransformer(nn.Module):
    """Patches, stages of blocks with merged patches between them, a classifier.

    Args:
        patch_size: [height, width].
        embed_dim: channels of a patch.
        depths: blocks in each stage.
        num_heads: of the attention, in each stage.
        window_size: patches that see each other, [height, width].
        mlp_ratio: how much wider the layers inside a block are.
        dropout, attention_dropout: probabilities.
        stochastic_depth_prob: how often the last block is left out while training.
        num_classes: of the result.
        norm_layer, block, downsample_layer: the classes of the parts.

    Example:
        >>> from rushlight.vision import models
        >>> with torch.device("meta"):
        ...     net = models.SwinTransformer([4, 4], 8, [2, 2], [2, 4], [4, 4])
        >>> net.head
        Linear(in_features=16, out_features=1000, bias=True)
    """

    def __init__(
        self, patch_size: list[int], embed_dim: int, depths: list[int], num_heads: list[int], window_size: list[int],
        mlp_ratio: float = 4.0, dropout: float = 0.0, attention_dropout: float = 0.0, stochastic_depth_prob: float = 0.1,
        num_classes: int = 1000, norm_layer: _Layer | None = None, block: _Layer | None = None,
        downsample_layer: _Layer = PatchMerging,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_classes = num_classes
        make, norm = block or SwinTransformerBlock, norm_layer or partial(nn.LayerNorm, eps=1e-5)
        size = (patch_size[0], patch_size[1])
        layers: list[nn.Module] = [
            nn.Sequential(nn.Conv2d(3, embed_dim, kernel_size=size, stride=size), Permute([0, 2, 3, 1]), norm(embed_dim))
        ]  # fmt: skip
        total, done, dim = sum(depths), 0, embed_dim
        for i, (depth, heads) in enumerate(zip(depths, num_heads)):
            stage: list[nn.Module] = []
            for j in range(depth):
                stage.append(
                    make(
                        dim, heads, window_size=window_size, shift_size=[0 if j % 2 == 0 else w // 2 for w in window_size],
                        mlp_ratio=mlp_ratio, dropout=dropout, attention_dropout=attention_dropout,
                        stochastic_depth_prob=stochastic_depth_prob * done / (total - 1), norm_layer=norm,
                    )
                )  # fmt: skip
                done += 1
            layers.append(nn.Sequential(*stage))
            if i < len(depths) - 1:
                layers.append(downsample_layer(dim, norm))
                dim *= 2
        self.features = nn.Sequential(*layers)
        self.norm = norm(dim)
        self.permute = Permute([0, 3, 1, 2])
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.flatten = nn.Flatten(1)
        self.head = nn.Linear(dim, num_classes)
        drawn(self.modules(), partial(nn.init.trunc_normal_, std=0.02), nn.Linear)

    def forward(self, x: Tensor) -> Tensor:
        x = self.permute(self.norm(self.features(x)))
        return self.head(self.flatten(self.avgpool(x)))


def _swin(
    second: bool, width: int, deep: int, heads: int, drop: float, **kwargs: Any
) -> SwinTransformer:
    window = 8 if second else 7
    if second:
        kwargs = {"block": SwinTransformerBlockV2, "downsample_layer": PatchMergingV2, **kwargs}
    return SwinTransformer(
        [4, 4], width, [2, 2, deep, 2], [heads * k for k in (1, 2, 4, 8)], [window, window],
        stochastic_depth_prob=kwargs.pop("stochastic_depth_prob", drop), **kwargs,
    )  # fmt: skip


Swin_T_Weights, swin_t = build("Swin_T", partial(_swin, False, 96, 6, 3, 0.2))
Swin_S_Weights, swin_s = build("Swin_S", partial(_swin, False, 96, 18, 3, 0.3))
Swin_B_Weights, swin_b = build("Swin_B", partial(_swin, False, 128, 18, 4, 0.5))
Swin_V2_T_Weights, swin_v2_t = build("Swin_V2_T", partial(_swin, True, 96, 6, 3, 0.2))
Swin_V2_S_Weights, swin_v2_s = build("Swin_V2_S", partial(_swin, True, 96, 18, 3, 0.3))
Swin_V2_B_Weights, swin_v2_b = build("Swin_V2_B", partial(_swin, True, 128, 18, 4, 0.5))
