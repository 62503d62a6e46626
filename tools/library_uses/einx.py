"""Uses of einx: operations by the names of axes."""

import einx
import torch

LIBRARY = "einx"


def operations_by_name() -> object:
    x, w = torch.randn(4, 6, 3, requires_grad=True), torch.randn(3, 5, requires_grad=True)
    y = einx.dot("b s c, c d -> b s d", x, w)
    y = einx.softmax("b [s] d", y) + einx.mean("b [s] d -> b 1 d", y)
    parts = einx.id("b (s t) d -> (b t) s d", y, t=2)
    picked = einx.get_at("b [s] d, b i -> b i d", y, torch.tensor([[0, 2], [1, 1], [5, 0], [3, 4]]))
    (parts.square().sum() + picked.sum()).backward()
    return parts, picked, x.grad, w.grad
