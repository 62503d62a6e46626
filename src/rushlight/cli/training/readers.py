"""The networks that read what are no pictures: rows of a table, the pieces and the bytes of a text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import rushlight as rl

from ... import nn
from ...core.tensor import Tensor
from ...nn import functional as F

HIDDEN = (256, 128)  # of a table's network of width 1
STRIDE = 4  # bytes that become one place
PLACE = 128  # channels of a place, of width 1
HEADS, LAYERS = 4, 2
UNKNOWN = 0.03  # of the categories in training, as if nobody knew them
WEIGHTS = 2**22  # of pieces of words, for all classes together
FASTER = 10.0  # times the rate, for those weights


class OfRows(nn.Module):
    """An MLP over the numbers of a row and an embedding of each category; a row is one vector, codes of categories last."""

    def __init__(self, numbers: int, categories: Sequence[int], classes: int, width: float = 1) -> None:
        super().__init__()
        self.numbers = numbers
        sizes = [min(32, max(2, round(1.6 * n**0.56))) for n in categories]
        self.embeddings = nn.ModuleList(nn.Embedding(n, size) for n, size in zip(categories, sizes))
        layers: list[Any] = []
        before = numbers + sum(sizes)
        for n in (int(n * width) for n in HIDDEN):
            layers += [nn.Linear(before, n), nn.BatchNorm1d(n), nn.SiLU(), nn.Dropout(0.1)]
            before = n
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(before, classes)

    def forward(self, x: Tensor) -> Tensor:
        """Scores; `x` is rows x columns."""
        codes = x[:, self.numbers :]
        if self.training:  # code 0 stands for what training has not: it learns what that means
            codes = codes * (F.dropout(rl.ones_like(codes), UNKNOWN) > 0)
        codes = codes.long()
        parts = [x[:, : self.numbers], *(table(codes[:, i]) for i, table in enumerate(self.embeddings))]
        return self.head(self.layers(rl.cat(parts, 1) if len(parts) > 1 else parts[0]))


class OfPieces(nn.Module):
    """A linear model of the pieces of a text: 0 is padding, other numbers are pieces; some share a weight."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.pieces = nn.Embedding(min(2**17, WEIGHTS // classes), classes)
        self.head = nn.Linear(classes, classes)
        nn.init.zeros_(self.pieces.weight)
        nn.init.eye_(self.head.weight)
        nn.init.zeros_(self.head.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Scores: the weights' sum over the root of their number; `x` is texts x pieces."""
        there = (x > 0).to(self.head.weight.dtype)
        share = there * (FASTER / there.sum(1, keepdim=True).clamp(1).sqrt())
        return self.head((self.pieces(x % self.pieces.num_embeddings) * share[:, :, None]).sum(1))


class _Block(nn.Module):
    """One layer of a transformer, norms first; what is padded is not looked at."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(size), nn.LayerNorm(size)
        self.into, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
        self.wide, self.narrow = nn.Linear(size, 2 * size), nn.Linear(2 * size, size)
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor, hidden: Tensor) -> Tensor:
        count, places, size = x.shape
        three = self.into(self.first(x)).reshape(count, places, 3, HEADS, size // HEADS)
        q, k, v = (three[:, :, i].transpose(1, 2) for i in range(3))
        weights = (q @ k.transpose(2, 3) / math.sqrt(size // HEADS) + hidden[:, None, None]).softmax(3)
        x = x + self.drop(self.out((weights @ v).transpose(1, 2).reshape(count, places, size)))
        return x + self.drop(self.narrow(F.gelu(self.wide(self.second(x)))))


class OfBytes(nn.Module):
    """A small transformer over the bytes of a text: 0 is padding, b + 1 the byte b; four bytes become one place."""

    def __init__(self, length: int, classes: int, width: float = 1) -> None:
        super().__init__()
        size = int(PLACE * width)
        self.bytes = nn.Embedding(257, size // 2, padding_idx=0)
        self.near = nn.Conv1d(size // 2, size, 7, padding=3)
        self.fewer = nn.Conv1d(size, size, STRIDE, stride=STRIDE)
        self.places = nn.Parameter(rl.zeros(1, length // STRIDE, size))
        self.blocks = nn.ModuleList(_Block(size) for _ in range(LAYERS))
        self.drop = nn.Dropout(0.2)
        self.head = nn.Linear(2 * size, classes)
        nn.init.normal_(self.places, std=0.02)

    def forward(self, x: Tensor) -> Tensor:
        """Scores; `x` is texts x bytes."""
        there = (x > 0).to(self.near.weight.dtype)
        x = self.fewer(F.gelu(self.near(self.bytes(x).transpose(1, 2)))).transpose(1, 2) + self.places
        seen = F.max_pool1d(there[:, None], STRIDE)[:, 0]  # places with a byte at least
        hidden = (1 - seen) * -1e4
        x = self.drop(x)
        for block in self.blocks:
            x = block(x, hidden)
        mean = (x * seen[:, :, None]).sum(1) / seen.sum(1, keepdim=True).clamp(1)
        most = (x + hidden[:, :, None]).amax(1)
        return self.head(self.drop(rl.cat([mean, most], 1)))
