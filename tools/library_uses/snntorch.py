"""Uses of snntorch: spiking neurons and training through surrogate gradients."""

import snntorch as snn
import torch
from snntorch import functional, surrogate

LIBRARY = "snntorch"


def leaky_neurons_over_time() -> object:
    neuron, potential = snn.Leaky(beta=0.8), torch.zeros(3, 4)
    spikes = []
    for _ in range(6):
        spike, potential = neuron(torch.rand(3, 4), potential)
        spikes.append(spike)
    return torch.stack(spikes).sum(0), potential


def training_with_surrogates() -> object:
    layer = torch.nn.Linear(5, 3)
    neuron = snn.Leaky(beta=0.9, spike_grad=surrogate.fast_sigmoid(slope=25))
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.02)
    x, y, losses = torch.rand(8, 5), torch.arange(8) % 3, []
    for _ in range(4):
        potential, spikes = neuron.init_leaky(), []
        for _ in range(5):
            spike, potential = neuron(layer(x) * 3, potential)
            spikes.append(spike)
        loss = functional.ce_rate_loss()(torch.stack(spikes), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss)
    return losses, layer.weight


def a_synaptic_neuron() -> object:
    neuron = snn.Synaptic(alpha=0.7, beta=0.6)
    current, potential = neuron.init_synaptic()
    for _ in range(4):
        spike, current, potential = neuron(torch.rand(2, 3), current, potential)
    return spike, current, potential
