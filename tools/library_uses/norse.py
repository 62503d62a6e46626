"""Uses of norse: layers of leaky integrate-and-fire neurons."""

import norse.torch as norse
import torch

LIBRARY = "norse"


def a_cell_over_time() -> object:
    cell, state, spikes = norse.LIFCell(), None, []
    for _ in range(6):
        spike, state = cell(10 * torch.rand(2, 3), state)
        spikes.append(spike)
    return torch.stack(spikes), state.v


def gradients_of_a_sequence() -> object:
    net = norse.SequentialState(torch.nn.Linear(4, 6), norse.LIFCell(), torch.nn.Linear(6, 2), norse.LICell())
    x = 5 * torch.rand(3, 4, requires_grad=True)
    state, out = None, None
    for _ in range(5):
        out, state = net(x, state)
    out.sum().backward()
    return out, net[0].weight.grad.abs().sum()
