"""Uses of hyper-connections: several ways past every layer."""

import torch
from hyper_connections import get_init_and_expand_reduce_stream_functions
from torch import nn

LIBRARY = "hyper-connections"


def streams() -> object:
    init, expand, reduce = get_init_and_expand_reduce_stream_functions(4)
    layers = nn.ModuleList(init(dim=8, branch=nn.Linear(8, 8)) for _ in range(3))
    y = expand(torch.randn(2, 5, 8))
    for layer in layers:
        y = layer(y)
    y = reduce(y)
    y.square().mean().backward()
    return y, [p.grad.norm() for p in layers.parameters()]
