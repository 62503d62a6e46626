"""Uses of delu: loops over tables, seeds, times."""

import delu
import torch
from torch import nn

LIBRARY = "delu"


def a_loop() -> object:
    delu.random.seed(3)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer, stop = (torch.optim.SGD(model.parameters(), lr=0.1), delu.tools.EarlyStopping(3, mode="min"))
    x, losses = torch.randn(32, 4), []
    for _ in range(3):
        for batch in delu.iter_batches({"x": x, "y": x.sum(1, keepdim=True)}, 8, shuffle=True):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(batch["x"]), batch["y"])
            loss.backward()
            optimizer.step()
        losses.append(loss)
        stop.update(float(loss))
    return losses, delu.cat([{"a": x}, {"a": x}])["a"], float(stop.should_stop())
