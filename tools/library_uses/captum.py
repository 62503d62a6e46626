"""Uses of captum."""

import torch
from captum.attr import IntegratedGradients, LayerGradCam, Occlusion, Saliency
from torch import nn

LIBRARY = "captum"


def _net() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3)
    )


def integrated_gradients() -> object:
    net, x = _net(), torch.randn(2, 1, 6, 6)
    found, delta = IntegratedGradients(net).attribute(
        x, target=1, n_steps=8, return_convergence_delta=True
    )
    return found.sum((1, 2)), delta


def saliency_and_occlusion() -> object:
    net, x = _net(), torch.randn(1, 1, 6, 6)
    hidden = Occlusion(net).attribute(x, target=0, sliding_window_shapes=(1, 2, 2), strides=2)
    return Saliency(net).attribute(x.requires_grad_(), target=0).sum(2), hidden.sum(2)


def grad_cam() -> object:
    net = _net()
    return LayerGradCam(net, net[0]).attribute(torch.randn(1, 1, 6, 6), target=2)
