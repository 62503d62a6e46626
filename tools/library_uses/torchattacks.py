"""Uses of torchattacks: pictures that a network mistakes."""

import torch
import torchattacks

LIBRARY = "torchattacks"


def _net() -> torch.nn.Module:
    nn = torch.nn
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3)).eval()


def _attacked(kind: object) -> object:
    x, y = torch.rand(4, 3, 8, 8), torch.tensor([0, 1, 2, 0])
    return kind(x, y)


def in_one_step() -> object:
    return _attacked(torchattacks.FGSM(_net(), eps=8 / 255))


def in_several_steps() -> object:
    return _attacked(torchattacks.PGD(_net(), eps=8 / 255, alpha=2 / 255, steps=5)).mean((2, 3))


def of_carlini_and_wagner() -> object:
    return _attacked(torchattacks.CW(_net(), c=1, steps=5, lr=0.01)).mean((2, 3))
