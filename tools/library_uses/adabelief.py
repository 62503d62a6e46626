"""Uses of adabelief-pytorch: steps by how far gradients are from what was expected."""

import contextlib
import io

import torch
from adabelief_pytorch import AdaBelief
from library_use import trained

LIBRARY = "adabelief-pytorch"


def steps() -> object:
    w = torch.nn.Parameter(torch.randn(5))
    with contextlib.redirect_stdout(io.StringIO()):
        optimizer = AdaBelief([w], lr=0.05, eps=1e-8, rectify=True, weight_decay=0.01, print_change_log=False)
    trained(optimizer, 6, lambda: (w - 1).square().sum())
    return w
