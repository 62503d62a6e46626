"""Weight averaging side by side with PyTorch."""

from __future__ import annotations

import pytest

from side_by_side import agree

TRAIN = """
from collections import OrderedDict
import importlib
swa = importlib.import_module(torch.__name__ + ".optim.swa_utils")
net = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Linear(4, 1))
opt = torch.optim.SGD(net.parameters(), lr=0.1)
x = torch.randn(8, 3)
def train(average, steps=4):
    for _ in range(steps):
        opt.zero_grad()
        net(x).pow(2).mean().backward()
        opt.step()
        average.update_parameters(net)
"""


@pytest.mark.parametrize(
    "made",
    [
        "swa.AveragedModel(net)",
        "swa.AveragedModel(net, avg_fn=swa.get_ema_avg_fn(0.9))",
        "swa.AveragedModel(net, multi_avg_fn=swa.get_ema_multi_avg_fn(0.9))",
        "swa.AveragedModel(net, avg_fn=swa.get_swa_avg_fn())",
        "swa.AveragedModel(net, multi_avg_fn=swa.get_swa_multi_avg_fn())",
        "swa.AveragedModel(net, avg_fn=swa.get_ema_avg_fn(0.9), use_buffers=True)",
        "swa.AveragedModel(net, avg_fn=lambda a, m, n: 0.1 * a + 0.9 * m)",
    ],
)
def test_averages(made: str) -> None:
    agree(TRAIN + f"av = {made}\ntrain(av)\nr = [av.state_dict(), av.eval()(x)]")


def test_update_bn() -> None:
    agree(
        TRAIN
        + """
av = swa.AveragedModel(net)
train(av)
before = av.module[1].momentum
swa.update_bn([x[:4], [x[4:], torch.zeros(4)]], av)
r = [av.state_dict(), av.module[1].momentum == before, av.training]
"""
    )


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 5])
def test_schedule(strategy: str, epochs: int) -> None:
    agree(
        TRAIN
        + f"""
schedule = swa.SWALR(opt, swa_lr=0.01, anneal_epochs={epochs}, anneal_strategy={strategy!r})
r = []
for _ in range(8):
    opt.step()
    schedule.step()
    r.append(schedule.get_last_lr())
"""
    )


@pytest.mark.parametrize(
    "made",
    [
        "swa.SWALR(opt, 0.1, anneal_strategy='some')",
        "swa.SWALR(opt, 0.1, anneal_epochs=-1)",
        "swa.get_ema_avg_fn(1.5)",
        "swa.AveragedModel(net, avg_fn=1, multi_avg_fn=2)",
    ],
)
def test_refusals(made: str) -> None:
    agree(TRAIN + f"r = {made}")
