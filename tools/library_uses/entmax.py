"""Uses of entmax."""

import torch
from entmax import entmax15, entmax_bisect, sparsemax, sparsemax_loss

LIBRARY = "entmax"


def sparse_softmaxes() -> object:
    x = torch.randn(3, 6, requires_grad=True)
    found = [f(x, dim=-1) for f in (sparsemax, entmax15)]
    (found[0] * found[1]).sum().backward()
    return found, x.grad


def by_bisection() -> object:
    x, alpha = torch.randn(2, 5), torch.tensor(1.3, requires_grad=True)
    y = entmax_bisect(x, alpha=alpha)
    y.pow(2).sum().backward()
    return y, alpha.grad


def a_loss() -> object:
    return sparsemax_loss(torch.randn(4, 3), torch.tensor([0, 1, 2, 1]))
