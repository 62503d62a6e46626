"""Uses of foolbox: pictures changed a little so that a net errs."""

import foolbox
import torch
from torch import nn

LIBRARY = "foolbox"


def _model() -> tuple:
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 3)).eval()
    model = foolbox.PyTorchModel(net, bounds=(0, 1), device="cpu")
    x = torch.rand(6, 1, 8, 8)
    return model, x, net(x).argmax(1)


def in_several_steps() -> object:
    model, x, y = _model()
    attack = foolbox.attacks.LinfPGD(steps=5, random_start=False)
    _, clipped, success = attack(model, x, y, epsilons=[0.02, 0.2])
    return [c.sum() for c in clipped], success.float()


def deep_fool() -> object:
    model, x, y = _model()
    raw, _, success = foolbox.attacks.L2DeepFoolAttack(steps=10)(model, x, y, epsilons=None)
    return (raw - x).norm(), success.float()
