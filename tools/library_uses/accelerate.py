"""Uses of accelerate."""

import torch
from accelerate import Accelerator, init_empty_weights
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset

LIBRARY = "accelerate"


def a_training_loop() -> object:
    set_seed(0)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    data = TensorDataset(torch.randn(32, 4), torch.randn(32, 1))
    net, optimizer, loader = accelerator.prepare(net, optimizer, DataLoader(data, 4, shuffle=True))
    losses = []
    for x, y in loader:
        with accelerator.accumulate(net):
            loss = torch.nn.functional.mse_loss(net(x), y)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step(), optimizer.zero_grad()
        losses.append(accelerator.gather(loss))
    return losses


def saved_and_loaded_state() -> object:
    accelerator = Accelerator(cpu=True)
    net = torch.nn.Linear(3, 2)
    net, _ = accelerator.prepare(net, torch.optim.SGD(net.parameters(), lr=0.1))
    accelerator.save_state("state")
    before = net(torch.ones(1, 3)).tolist()
    torch.nn.init.zeros_(net.weight)
    accelerator.load_state("state")
    return before, net(torch.ones(1, 3))


def models_without_memory() -> object:
    with init_empty_weights():
        net = torch.nn.Linear(10000, 10000)
    return net.weight.is_meta, net.weight.numel()
