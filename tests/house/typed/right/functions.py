"""Functions of one's own: autograd.Function, decorators, compile, vmap and checkpoints."""

from typing import Any

import rushlight as torch
import rushlight.nn as nn
from rushlight.autograd import Function
from rushlight.utils.checkpoint import checkpoint


class Exp(Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx: Any, g: torch.Tensor) -> torch.Tensor:
        y: torch.Tensor
        (y,) = ctx.saved_tensors
        return g * y


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, limit):  # type: ignore[no-untyped-def]
        ctx.limit = limit
        return x.clamp(-limit, limit)

    @staticmethod
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        return g, None


@torch.no_grad()
def accuracy(net: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    net.eval()
    return float((net(x).argmax(1) == y).float().mean())


@torch.inference_mode()
def predict(net: nn.Module, x: torch.Tensor) -> list[int]:
    found: list[int] = net(x).argmax(dim=1).tolist()
    return found


@torch.compile
def gelu(x: torch.Tensor) -> torch.Tensor:
    return 0.5 * x * (1 + torch.erf(x / 2**0.5))


@torch.compile(dynamic=False, fullgraph=False)
def swish(x: torch.Tensor, beta: float = 1.0) -> torch.Tensor:
    return x * torch.sigmoid(beta * x)


x = torch.randn(4, 3, requires_grad=True)
y = Exp.apply(x)
y.sum().backward()
net = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
fast = torch.compile(net)
share: float = accuracy(net, x, torch.zeros(4, dtype=torch.long))
numbers = predict(net, x)
print(gelu(x).shape, swish(x, 2.0).shape, fast(x).shape, share, numbers, Clip.apply(x, 0.5))
z = checkpoint(net, x, use_reentrant=False)
f = torch.func.vmap(lambda row: row.sum())
j = torch.func.grad(lambda w: (w**2).sum())(torch.ones(3))
with torch.enable_grad(), torch.set_grad_enabled(True), torch.random.fork_rng():
    torch.manual_seed(0)
print(z, f(x), j, torch.is_grad_enabled())
if torch.autograd.gradcheck(Exp.apply, (torch.randn(2, dtype=torch.float64, requires_grad=True),)):
    print("right")
