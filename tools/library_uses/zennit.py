"""Uses of zennit: relevance passed backwards by rules."""

import torch
from torch import nn
from zennit.attribution import Gradient, SmoothGrad
from zennit.composites import EpsilonGammaBox, EpsilonPlusFlat
from zennit.torchvision import SequentialMergeBatchNorm

LIBRARY = "zennit"


def _net() -> nn.Module:
    return nn.Sequential(nn.Conv2d(1, 3, 3), nn.BatchNorm2d(3), nn.ReLU(), nn.Flatten(), nn.Linear(108, 4)).eval()


def by_rules() -> object:
    net, x = _net(), torch.rand(2, 1, 8, 8)
    parts = []
    for composite in (EpsilonPlusFlat(), EpsilonGammaBox(low=0.0, high=1.0)):
        composite.canonizers = [SequentialMergeBatchNorm()]
        with Gradient(model=net, composite=composite) as attribute:
            parts.append(attribute(x, torch.eye(4)[[1, 2]]))
    return parts


def smoothed() -> object:
    net, x = _net(), torch.rand(2, 1, 8, 8)
    with SmoothGrad(noise_level=0.1, n_iter=3, model=net) as attribute:
        return attribute(x, torch.eye(4)[[0, 3]])
