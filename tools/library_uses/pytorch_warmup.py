"""Uses of pytorch-warmup: small steps at first."""

import pytorch_warmup
import torch

LIBRARY = "pytorch-warmup"


def rates() -> object:
    w = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.AdamW([w], lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    warmup = pytorch_warmup.UntunedLinearWarmup(optimizer)
    seen = []
    for _ in range(6):
        optimizer.zero_grad()
        w.square().sum().backward()
        optimizer.step()
        with warmup.dampening():
            schedule.step()
        seen.append(optimizer.param_groups[0]["lr"])
    return seen, w
