"""Uses of thop: counting operations and parameters with hooks."""

import torch
from thop import clever_format, profile

LIBRARY = "thop"
ALONE = "ultralytics installs a module of the same name"


def _net() -> torch.nn.Module:
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 2)
    )


def counts() -> object:
    return profile(_net(), inputs=(torch.rand(1, 3, 16, 16),), verbose=False)


def counts_of_a_recurrent_net() -> object:
    macs, params = profile(torch.nn.LSTM(4, 8), inputs=(torch.rand(5, 2, 4),), verbose=False)
    return macs, params, len(clever_format([macs, params], "%.3f"))
