"""Uses of ptflops: counting operations, with hooks and through patched functions."""

import torch
from ptflops import get_model_complexity_info

LIBRARY = "ptflops"


def _net() -> torch.nn.Module:
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 49, 2))


def by_hooks() -> object:
    return get_model_complexity_info(
        _net(), (3, 16, 16), as_strings=False, print_per_layer_stat=False, verbose=False, backend="pytorch"
    )


def by_operators() -> object:
    return get_model_complexity_info(
        _net(), (3, 16, 16), as_strings=False, print_per_layer_stat=False, verbose=False, backend="aten"
    )
