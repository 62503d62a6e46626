"""Attention inside windows of a picture, shifted from layer to layer (Swin Transformer)."""

from __future__ import annotations

from math import log
from typing import Any

import numpy as np

from ... import nn
from ...core.tensor import Tensor
from ...operators.create.filled import full, ones, zeros
from ...operators.create.from_data import from_numpy, tensor


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
        self.relative_position_bias_table = nn.Parameter(
            zeros((2 * a - 1) * (2 * b - 1), self.num_heads)
        )
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
        qkv = qkv.reshape(count, places, 3, self.num_heads, c // self.num_heads).permute(
            2, 0, 3, 1, 4
        )
        scores = self._scores(qkv[0], qkv[1]) + self.get_relative_position_bias()
        if shift is not None:
            mask = apart(tall, wide, self.window_size, shift, x)
            scores = scores.view(n, -1, self.num_heads, places, places) + mask.unsqueeze(
                1
            ).unsqueeze(0)
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
            nn.Linear(2, 512, bias=True),
            nn.ReLU(inplace=True),
            nn.Linear(512, self.num_heads, bias=False),
        )

    def get_relative_position_bias(self) -> Tensor:
        table = self.cpb_mlp(self.relative_coords_table).view(-1, self.num_heads)
        return 16 * self._bias(table).sigmoid()

    def _scores(self, q: Tensor, k: Tensor) -> Tensor:
        cosines = nn.functional.normalize(q, dim=-1) @ nn.functional.normalize(k, dim=-1).transpose(
            -2, -1
        )
        return cosines * self.logit_scale.clamp(max=log(100.0)).exp()

    def _qkv_bias(self) -> Tensor | None:
        """Keys have no bias."""
        if self.qkv.bias is None:
            return None
        length = self.qkv.bias.numel() // 3
        kept = ones(3, dtype=self.qkv.bias.dtype, device=self.qkv.bias.device)
        kept[1] = 0
        return self.qkv.bias * kept.repeat_interleave(length)
