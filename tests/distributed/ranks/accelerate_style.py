"""A training with Hugging Face accelerate; `accelerate launch` starts it as often as it likes."""

import sys

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader, TensorDataset
from under import wait_for_a_death

accelerator = Accelerator(cpu=True)
set_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
optimizer = torch.optim.AdamW(net.parameters(), lr=0.02)
x = torch.randn(32, 4)
data = TensorDataset(x, x.sum(1, keepdim=True))
loader = DataLoader(data, 8 // accelerator.num_processes)
net, optimizer, loader = accelerator.prepare(net, optimizer, loader)
losses = []
for _epoch in range(2):
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(net(x), y)
        optimizer.zero_grad()
        accelerator.backward(loss)
        optimizer.step()
        losses.append(accelerator.gather(loss.detach()).mean().item())
print(f"losses {losses}", flush=True)
if "wait" in sys.argv:
    wait_for_a_death()
accelerator.end_training()
