"""Uses of torch-ema."""

import torch
from torch_ema import ExponentialMovingAverage

LIBRARY = "torch-ema"


def averages_of_weights() -> object:
    net = torch.nn.Linear(3, 2)
    ema = ExponentialMovingAverage(net.parameters(), decay=0.9)
    for _ in range(3):
        with torch.no_grad():
            net.weight.add_(torch.randn(2, 3))
        ema.update()
    with ema.average_parameters():
        averaged = net.weight.clone()
    return averaged, net.weight


def its_state() -> object:
    net = torch.nn.Linear(3, 2)
    one = ExponentialMovingAverage(net.parameters(), decay=0.5)
    one.update()
    two = ExponentialMovingAverage(net.parameters(), decay=0.9)
    two.load_state_dict(one.state_dict())
    two.copy_to(net.parameters())
    return two.decay, net.weight
