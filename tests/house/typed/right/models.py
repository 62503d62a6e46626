"""Models, schedules, autocast and compiled steps."""

import rushlight as torch
from rushlight import nn, optim, vision
from rushlight.optim.lr_scheduler import CosineAnnealingLR

net = vision.models.resnet18(num_classes=10)
optimizer = optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.01)
schedule = CosineAnnealingLR(optimizer, T_max=10)


@torch.compile
def step(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(net(x), y, label_smoothing=0.1)
    loss.backward()
    optimizer.step()
    return loss


step(torch.randn(2, 3, 32, 32), torch.tensor([1, 2]))
schedule.step()
layers = nn.Sequential(nn.Linear(3, 4), nn.GELU(), nn.LayerNorm(4))
print(sum(p.numel() for p in layers.parameters()))
