"""Language models of the park, in plain PyTorch: a GPT with and without a cache, an LSTM, an encoder, a tagger."""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    """Causal self-attention; with a cache, of one new token over all before it."""

    def __init__(self, width: int, heads: int, bias: bool) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=bias)
        self.out = nn.Linear(width, width, bias=bias)

    def forward(self, x, cache=None, place=None, seen=None):
        batch, steps, width = x.size()
        q, k, v = [
            part.view(batch, steps, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(x).split(width, dim=2)
        ]
        if cache is None:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            keys, values = cache
            keys.index_copy_(2, place, k)
            values.index_copy_(2, place, v)
            y = F.scaled_dot_product_attention(q, keys, values, attn_mask=seen)
        return self.out(y.transpose(1, 2).contiguous().view(batch, steps, width))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, bias: bool) -> None:
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = Attention(width, heads, bias)
        self.norm2 = nn.LayerNorm(width)
        self.wide = nn.Linear(width, 4 * width, bias=bias)
        self.narrow = nn.Linear(4 * width, width, bias=bias)

    def forward(self, x, cache=None, place=None, seen=None):
        x = x + self.attention(self.norm1(x), cache, place, seen)
        return x + self.narrow(F.gelu(self.wide(self.norm2(x))))


class GPT(nn.Module):
    """GPT-2's architecture: learnt positions, layer norm in front, the embedding's weights again at the end."""

    def __init__(self, layers, heads, width, vocabulary, length, bias=True) -> None:
        super().__init__()
        self.layers, self.heads, self.width, self.length = layers, heads, width, length
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(length, width)
        self.blocks = nn.ModuleList([Block(width, heads, bias) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.apply(self._init)
        for name, p in self.named_parameters():
            if name.endswith(("out.weight", "narrow.weight")):
                nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * layers))
        self.head.weight = self.words.weight

    def _init(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if getattr(module, "bias", None) is not None:
                nn.init.zeros_(module.bias)

    def forward(self, tokens, targets=None):
        places = torch.arange(tokens.size(1), device=tokens.device)
        x = self.words(tokens) + self.places(places)
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.norm(x))
        if targets is None:
            return logits
        return F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))

    def empty_cache(self, batch, device, dtype):
        shape = (batch, self.heads, self.length, self.width // self.heads)
        return [[torch.zeros(shape, device=device, dtype=dtype) for _ in range(2)] for _ in range(self.layers)]

    def next_token(self, token, place, cache):
        """The likeliest token after `token`, which stands at `place`; keys and values go to the cache."""
        seen = (torch.arange(self.length, device=token.device) <= place).view(1, 1, 1, -1)
        x = self.words(token) + self.places(place)
        for block, pair in zip(self.blocks, cache):
            x = block(x, pair, place, seen)
        return self.head(self.norm(x)).argmax(dim=-1)


def decay_groups(net, decay):
    """Matrices decay, the rest does not."""
    params = [p for p in net.parameters() if p.requires_grad]
    return [
        {"params": [p for p in params if p.dim() >= 2], "weight_decay": decay},
        {"params": [p for p in params if p.dim() < 2], "weight_decay": 0.0},
    ]


class LSTMModel(nn.Module):
    """Embedding, LSTM with dropout, projection to the vocabulary."""

    def __init__(self, vocabulary, width, layers, dropout) -> None:
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.words = nn.Embedding(vocabulary, width)
        self.rnn = nn.LSTM(width, width, layers, dropout=dropout)
        self.out = nn.Linear(width, vocabulary)
        nn.init.uniform_(self.words.weight, -0.1, 0.1)
        nn.init.uniform_(self.out.weight, -0.1, 0.1)
        nn.init.zeros_(self.out.bias)

    def forward(self, tokens, state):
        x, state = self.rnn(self.drop(self.words(tokens)), state)
        return self.out(self.drop(x)), state


class Encoder(nn.Module):
    """nn.TransformerEncoder over tokens, classified by the mean of its outputs."""

    def __init__(self, vocabulary, width, heads, layers, length, dropout) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.randn(length, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Linear(width, 10)

    def forward(self, tokens):
        x = self.encoder(self.words(tokens) + self.places)
        return self.out(x.mean(dim=1))


class Tagger(nn.Module):
    """A bidirectional GRU over packed sentences of different lengths."""

    def __init__(self, vocabulary, width, tags) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.rnn = nn.GRU(width, width, 2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * width, tags)

    def forward(self, tokens, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(self.words(tokens), lengths, batch_first=True)
        return self.out(self.rnn(packed)[0].data)


class WrittenNorm(nn.Module):
    """Root-mean-square norm in single steps."""

    def __init__(self, width) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        x = x.float()
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight


class WrittenBlock(nn.Module):
    """A transformer's block whose norms, softmax and gate are written out, as in papers' own code."""

    def __init__(self, width, heads) -> None:
        super().__init__()
        self.heads = heads
        self.first, self.second = WrittenNorm(width), WrittenNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.gate, self.up = nn.Linear(width, 4 * width), nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        n, length, width = x.shape
        parts = self.qkv(self.first(x)).chunk(3, -1)
        q, k, v = [t.view(n, length, self.heads, -1).transpose(1, 2) for t in parts]
        scores = (q @ k.transpose(-2, -1)) / (width // self.heads) ** 0.5
        e = torch.exp(scores - scores.amax(-1, keepdim=True))
        mixed = (e / e.sum(-1, keepdim=True)) @ v
        x = x + self.out(mixed.transpose(1, 2).reshape(n, length, width))
        y = self.second(x)
        return x + self.down(torch.sigmoid(self.gate(y)) * self.up(y))
