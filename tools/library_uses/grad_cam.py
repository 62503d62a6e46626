"""Uses of grad-cam: where a small network looks."""

import torch
from pytorch_grad_cam import EigenCAM, GradCAM, GradCAMPlusPlus
from pytorch_grad_cam.utils.model_targets import ClassifierOutputTarget

LIBRARY = "grad-cam"


def _net() -> torch.nn.Module:
    nn = torch.nn
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 4),
    ).eval()  # fmt: skip


def by_gradients() -> object:
    net, x = _net(), torch.randn(2, 3, 16, 16)
    targets = [ClassifierOutputTarget(1), ClassifierOutputTarget(3)]
    with GradCAM(model=net, target_layers=[net[2]]) as cam:
        return cam(input_tensor=x, targets=targets)


def by_other_rules() -> object:
    net, x = _net(), torch.randn(1, 3, 16, 16)
    targets = [ClassifierOutputTarget(2)]
    with GradCAMPlusPlus(model=net, target_layers=[net[2]]) as cam:
        first = cam(input_tensor=x, targets=targets)
    with EigenCAM(model=net, target_layers=[net[2]]) as cam:
        return first, abs(cam(input_tensor=x, targets=targets)).sum()
