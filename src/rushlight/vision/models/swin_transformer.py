"""Swin Transformer (Liu et al. 2021) and its second version (2022), with torchvision's names and weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import log
from typing import Any

import numpy as np

from ... import nn
from ...core.tensor import Tensor
from ...operators.create.filled import full, ones, zeros
from ...operators.create.from_data import from_numpy, tensor
from ...operators.shape.join import cat
from ..ops.misc import MLP, Permute
from ..ops.stochastic_depth import StochasticDepth
from ..transforms._modes import InterpolationMode
from ._build import build
from ._initial import drawn

__all__ = [
    "SwinTransformer", "Swin_B_Weights", "Swin_S_Weights", "Swin_T_Weights", "Swin_V2_B_Weights",
    "Swin_V2_S_Weights", "Swin_V2_T_Weights", "swin_b", "swin_s", "swin_t", "swin_v2_b",
    "swin_v2_s", "swin_v2_t",
]  # fmt: skip


def windows_of(x: Tensor, window: list[int]) -> Tensor:
    """(n, h, w, c) as (windows, places, c)."""
    n, h, w, c = x.shape
    a, b = window
    x = x.view(n, h // a, a, w // b, b, c)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(n * (h // a) * (w // b), a * b, c)


def picture_of(x: Tensor, n: int, h: int, w: int, window: list[int]) -> Tensor:
    """Back from windows to (n, h, w, c)."""
    a, b = window
    x = x.view(n, h // a, w // b, a, b, x.shape[-1])
    return x.permute(0, 1, 3, 2, 4, 5).reshape(n, h, w, x.shape[-1])


def apart(h: int, w: int, window: list[int], shift: list[int], like: Tensor) -> Tensor:
    """-100 between places of a window that were no neighbours before the shift, else 0."""
    regions = np.zeros((h, w), np.float32)
    count = 0
    for rows in ((0, -window[0]), (-window[0], -shift[0]), (-shift[0], None)):
        for columns in ((0, -window[1]), (-window[1], -shift[1]), (-shift[1], None)):
            regions[rows[0] : rows[1], columns[0] : columns[1]] = count
            count += 1
    a, b = window
    flat = regions.reshape(h // a, a, w // b, b).transpose(0, 2, 1, 3).reshape(-1, a * b)
    mask = np.where(flat[:, None, :] != flat[:, :, None], np.float32(-100.0), np.float32(0.0))
    return from_numpy(mask).to(device=like.device, dtype=like.dtype)


class ShiftedWindowAttention(nn.Module):
    """Every place of a window asks the others of it; distances inside it have a learnt bias."""

    def __init__(
        self, dim: int, window_size: list[int], shift_size: list[int], num_heads: int, qkv_bias: bool = True,
        proj_bias: bool = True, attention_dropout: float = 0.0, dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        if len(window_size) != 2 or len(shift_size) != 2:
            raise ValueError("window_size and shift_size must be of length 2")
        self.window_size, self.shift_size, self.num_heads = window_size, shift_size, num_heads
        self.attention_dropout, self.dropout = attention_dropout, dropout
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self.define_relative_position_bias_table()
        self.define_relative_position_index()

    def define_relative_position_bias_table(self) -> None:
        a, b = self.window_size
        self.relative_position_bias_table = nn.Parameter(zeros((2 * a - 1) * (2 * b - 1), self.num_heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)

    def define_relative_position_index(self) -> None:
        """For each pair of places, where the table has the bias of their distance."""
        a, b = self.window_size
        rows, columns = [g.ravel() for g in np.meshgrid(np.arange(a), np.arange(b), indexing="ij")]
        down = rows[:, None] - rows[None, :] + a - 1
        across = columns[:, None] - columns[None, :] + b - 1
        index = (down * (2 * b - 1) + across).ravel().astype(np.int64)
        self.register_buffer("relative_position_index", tensor(index))

    def _bias(self, table: Tensor) -> Tensor:
        places = self.window_size[0] * self.window_size[1]
        found = table[self.relative_position_index].view(places, places, -1)
        return found.permute(2, 0, 1).contiguous().unsqueeze(0)

    def get_relative_position_bias(self) -> Tensor:
        return self._bias(self.relative_position_bias_table)

    def _scores(self, q: Tensor, k: Tensor) -> Tensor:
        return (q * (q.shape[-1] ** -0.5)).matmul(k.transpose(-2, -1))

    def _qkv_bias(self) -> Tensor | None:
        return self.qkv.bias

    def forward(self, x: Tensor) -> Tensor:
        n, h, w, _ = x.shape
        a, b = self.window_size
        x = nn.functional.pad(x, (0, 0, 0, (b - w % b) % b, 0, (a - h % a) % a))
        _, tall, wide, _ = x.shape
        shift = [0 if s <= size else d for s, size, d in zip((tall, wide), (a, b), self.shift_size)]
        moved = sum(shift) > 0
        if moved:
            x = x.roll(shifts=(-shift[0], -shift[1]), dims=(1, 2))
        x = self._attend(windows_of(x, self.window_size), n, tall, wide, shift if moved else None)
        x = picture_of(x, n, tall, wide, self.window_size)
        if moved:
            x = x.roll(shifts=(shift[0], shift[1]), dims=(1, 2))
        return x[:, :h, :w, :].contiguous()

    def _attend(self, x: Tensor, n: int, tall: int, wide: int, shift: list[int] | None) -> Tensor:
        count, places, c = x.shape
        qkv = nn.functional.linear(x, self.qkv.weight, self._qkv_bias())
        qkv = qkv.reshape(count, places, 3, self.num_heads, c // self.num_heads).permute(2, 0, 3, 1, 4)
        scores = self._scores(qkv[0], qkv[1]) + self.get_relative_position_bias()
        if shift is not None:
            mask = apart(tall, wide, self.window_size, shift, x)
            scores = scores.view(n, -1, self.num_heads, places, places) + mask.unsqueeze(1).unsqueeze(0)
            scores = scores.view(-1, self.num_heads, places, places)
        found = nn.functional.dropout(
            nn.functional.softmax(scores, dim=-1), p=self.attention_dropout, training=self.training
        )
        x = found.matmul(qkv[2]).transpose(1, 2).reshape(count, places, c)
        x = nn.functional.linear(x, self.proj.weight, self.proj.bias)
        return nn.functional.dropout(x, p=self.dropout, training=self.training)


class ShiftedWindowAttentionV2(ShiftedWindowAttention):
    """Scores are cosines, and the bias of a distance comes from a small network."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.qkv.bias is not None:
            length = self.qkv.bias.numel() // 3
            self.qkv.bias[length : 2 * length].data.zero_()

    def define_relative_position_bias_table(self) -> None:
        a, b = self.window_size
        sides = [np.arange(-(s - 1), s, dtype=np.float32) for s in (a, b)]
        table: Any = np.stack(np.meshgrid(*sides, indexing="ij"), -1)[None]
        table = table / np.array([a - 1, b - 1], np.float32) * 8
        table = np.sign(table) * np.log2(np.abs(table) + 1.0) / 3.0
        self.register_buffer("relative_coords_table", tensor(table.astype(np.float32)))
        self.logit_scale = nn.Parameter(full((self.num_heads, 1, 1), log(10.0)))
        self.cpb_mlp = nn.Sequential(
            nn.Linear(2, 512, bias=True), nn.ReLU(inplace=True), nn.Linear(512, self.num_heads, bias=False)
        )

    def get_relative_position_bias(self) -> Tensor:
        table = self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads)
        return 16 * self._bias(table).sigmoid()

    def _scores(self, q: Tensor, k: Tensor) -> Tensor:
        cosines = nn.functional.normalize(q, dim=-1) @ nn.functional.normalize(k, dim=-1).transpose(-2, -1)
        return cosines * self.logit_scale.clamp(max=log(100.0)).exp()

    def _qkv_bias(self) -> Tensor | None:
        """Keys have no bias."""
        if self.qkv.bias is None:
            return None
        length = self.qkv.bias.numel() // 3
        kept = ones(3, dtype=self.qkv.bias.dtype, device=self.qkv.bias.device)
        kept[1] = 0
        return self.qkv.bias * kept.repeat_interleave(length)


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
            dim, window_size, shift_size, num_heads, attention_dropout=attention_dropout, dropout=dropout
        )
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")
        self.norm2 = norm_layer(dim)
        self.mlp = MLP(dim, [int(dim * mlp_ratio), dim], activation_layer=nn.GELU, inplace=None, dropout=dropout)
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


def _swin(second: bool, width: int, deep: int, heads: int, drop: float, **kwargs: Any) -> SwinTransformer:
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
