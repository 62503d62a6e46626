"""Uses of tab-transformer-pytorch."""

import torch
from tab_transformer_pytorch import FTTransformer

LIBRARY = "tab-transformer-pytorch"
_SIZES = {"categories": (4, 3), "num_continuous": 3, "dim": 16, "depth": 2, "heads": 2}


def _run(model: torch.nn.Module) -> object:
    loss = model(torch.tensor([[0, 1], [3, 2]]), torch.randn(2, 3))
    loss.square().mean().backward()
    return loss, [p.grad.norm() for p in model.parameters() if p.grad is not None]


def ft_transformer() -> object:
    return _run(FTTransformer(dim_out=2, **_SIZES))
