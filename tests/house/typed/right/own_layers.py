"""Subclasses of Module: parameters, buffers, containers, hooks and state."""

from collections import OrderedDict

import rushlight as torch
from rushlight import nn
from rushlight.nn import functional as F


class Attention(nn.Module):
    mask: torch.Tensor

    def __init__(self, width: int, heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        assert width % heads == 0
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width)
        self.drop = nn.Dropout(dropout)
        self.scale = nn.Parameter(torch.ones(1))
        self.register_buffer("mask", torch.tril(torch.ones(8, 8)).bool())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in (q, k, v))
        scores = q @ k.transpose(-2, -1) * self.scale / width**0.5
        scores = scores.masked_fill(~self.mask[:length, :length], float("-inf"))
        y = self.drop(F.softmax(scores, dim=-1)) @ v
        y = y.transpose(1, 2).contiguous().view(batch, length, width)
        out: torch.Tensor = self.out(y)
        return out


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, 2)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm1(x))
        y: torch.Tensor = self.mlp(self.norm2(x))
        return x + y


class Model(nn.Module):
    def __init__(self, words: int = 11, width: int = 8, depth: int = 2) -> None:
        super().__init__()
        self.table = nn.Embedding(words, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.heads = nn.ModuleDict({"words": nn.Linear(width, words)})
        self.gains = nn.ParameterList([nn.Parameter(torch.ones(width)) for _ in range(depth)])
        self.named = nn.ParameterDict({"bias": nn.Parameter(torch.zeros(words))})
        self.apply(self._init)

    def _init(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=0.02)
            if module.bias is not None:
                nn.init.zeros_(module.bias)

    def forward(
        self, tokens: torch.Tensor, target: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        x = self.table(tokens)
        for block, gain in zip(self.blocks, self.gains):
            x = block(x) * gain
        logits = self.heads["words"](x) + self.named["bias"]
        loss = None
        if target is not None:
            loss = F.cross_entropy(logits.view(-1, logits.size(-1)), target.view(-1), ignore_index=-1)
        return logits, loss


model = Model()
logits, loss = model(torch.randint(0, 11, (2, 5)), torch.randint(0, 11, (2, 5)))
if loss is not None:
    loss.backward()
names = [name for name, p in model.named_parameters() if p.requires_grad and p.grad is not None]
decay = [p for p in model.parameters() if p.dim() >= 2]
state = model.state_dict()
sizes = {k: tuple(v.shape) for k, v in state.items()}
copy = OrderedDict((k, v.clone()) for k, v in state.items())
result = model.load_state_dict(copy, strict=False)
print(result.missing_keys, result.unexpected_keys, len(names), len(decay), len(sizes))
layers = nn.Sequential(OrderedDict([("a", nn.Linear(2, 3)), ("b", nn.ReLU())]))
first = layers[0]
part = layers[:1]
layers.append(nn.Linear(3, 1))
print(first, len(layers), len(part), [type(m).__name__ for m in layers], layers.training)
handle = model.register_forward_hook(lambda m, args, out: None)
handle.remove()
for child in model.children():
    child.requires_grad_(False)
model.train(False).eval().to("cpu", torch.float64).half().float()
