"""Fit a small network to a noisy sine, save it, load it, and ask it a few values."""

import math
import os
import tempfile

import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(-math.pi, math.pi, 200).unsqueeze(1)  # (200, 1)
y = torch.sin(x) + 0.1 * torch.randn(200, 1)

net = nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
criterion = nn.MSELoss()

for step in range(501):
    optimizer.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
    optimizer.step()
    if step % 100 == 0:
        print(f"step {step:3}  loss {loss.item():.4f}")

path = os.path.join(tempfile.mkdtemp(), "curve.pth")
torch.save(net.state_dict(), path)
with torch.no_grad():
    for p in net.parameters():
        p.zero_()
net.load_state_dict(torch.load(path))

with torch.no_grad():
    for angle in (-1.5, 0.0, 0.5, 1.5):
        answer = net(torch.tensor([[angle]])).item()
        print(f"sin({angle:4.1f}) = {math.sin(angle):6.3f}   the network says {answer:6.3f}")
