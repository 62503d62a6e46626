"""Optimisers, groups, closures, schedules, clipping and scaling."""

import rushlight as torch
from rushlight import nn, optim
from rushlight.optim import Optimizer
from rushlight.optim.lr_scheduler import (
    LambdaLR,
    LinearLR,
    LRScheduler,
    OneCycleLR,
    ReduceLROnPlateau,
    SequentialLR,
    StepLR,
)

net = nn.Linear(3, 1)
x, y = torch.randn(8, 3), torch.randn(8, 1)


def make(name: str) -> Optimizer:
    if name == "sgd":
        return optim.SGD(net.parameters(), 0.1, momentum=0.9, nesterov=True)
    if name == "groups":
        groups = [{"params": [net.weight], "lr": 0.1}, {"params": [net.bias]}]
        return optim.AdamW(groups, lr=1e-3, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.01, fused=None)
    return torch.optim.Adam(net.parameters(), lr=1e-3, amsgrad=True)


def schedules(o: Optimizer) -> list[LRScheduler]:
    warm = LinearLR(o, start_factor=0.1, total_iters=3)
    return [
        StepLR(o, step_size=2, gamma=0.5),
        LambdaLR(o, lr_lambda=lambda e: 0.95**e),
        SequentialLR(o, [warm, StepLR(o, 1)], milestones=[3]),
    ]


lbfgs = optim.LBFGS(net.parameters(), lr=0.1, max_iter=4)


def closure() -> torch.Tensor:
    lbfgs.zero_grad()
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    return loss


print(lbfgs.step(closure))
optimizer = make("groups")
plateau = ReduceLROnPlateau(optimizer, mode="min", patience=2, factor=0.5)
cycle = OneCycleLR(make("sgd"), max_lr=0.1, total_steps=10)
scaler = torch.amp.GradScaler("cpu", enabled=False)
norm = torch.zeros(())
for _ in range(2):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
        loss = (net(x) - y).pow(2).mean()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
    plateau.step(loss.item())
for group in optimizer.param_groups:
    group["lr"] *= 0.5
    print(group["lr"], norm)
saved = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "step": 3}
torch.save(saved, "saved.pt")
found = torch.load("saved.pt", map_location="cpu", weights_only=True)
optimizer.load_state_dict(found["optimizer"])
rates = [s.get_last_lr()[0] for s in schedules(make("adam"))]
print(rates, cycle.get_last_lr(), optimizer.state[net.weight].keys())
