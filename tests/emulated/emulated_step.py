"""A training step on the emulated GPU beside one on the CPU."""

from __future__ import annotations

import copy

import rushlight as rl
from rushlight import nn


def main() -> None:
    rl.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5))
    nets = {"cpu": net, "cuda": copy.deepcopy(net).to("cuda")}
    x, t = rl.randn(2, 3, 8, 8), rl.tensor([1, 4])
    steppers = {d: rl.optim.SGD(n.parameters(), lr=0.1, momentum=0.9) for d, n in nets.items()}
    kept = []
    for _ in range(4):  # the third uses results of the first again, and optimisers their launches
        losses = {}
        for d, n in nets.items():
            steppers[d].zero_grad()
            out = n(x.to(d))
            loss = nn.functional.cross_entropy(out, t.to(d))
            loss.backward()
            steppers[d].step()
            losses[d] = loss.item()
            if d == "cuda":
                kept.append((out, out.detach().cpu()))
        assert abs(losses["cpu"] - losses["cuda"]) < 1e-5, losses
        for p, q in zip(nets["cpu"].parameters(), nets["cuda"].parameters()):
            assert (p.grad - q.grad.cpu()).abs().max() < 1e-5
            assert (p - q.cpu()).abs().max() < 1e-5
    for out, then in kept:  # what somebody holds is not handed out again
        assert (out.cpu() == then).all()
    print("equal")


if __name__ == "__main__":
    main()
