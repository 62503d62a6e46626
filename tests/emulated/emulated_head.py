"""Compiled training steps whose head is joined, on the emulated GPU beside the CPU."""

from __future__ import annotations

import copy

import cupy
import emulated_capture
import numpy as np

import rushlight as rl
from rushlight import nn
from rushlight.runtime.cuda.small import head
from rushlight.runtime.door import KERNELS, run

taken: list[bool] = []  # whether the kernels of our own took what they were given


def watch(name: str) -> None:
    own = getattr(head, name)

    def watched(*arrays, **attrs):
        out = own(*arrays, **attrs)
        taken.append(out is not NotImplemented)
        return out

    setattr(head, name, watched)


def train(net, device, rows, classes, logits):
    """What five steps give, compiled on the emulated GPU and eager on the CPU."""
    net = copy.deepcopy(net).to(device)
    opt = rl.optim.SGD(net.parameters(), lr=0.05)

    def step(x, t):
        opt.zero_grad()
        out = net(x)
        loss = nn.functional.cross_entropy(out, t)
        loss.backward()
        opt.step()
        return (loss, out) if logits else (loss,)

    go = rl.compile(step) if device == "cuda" else step
    random = np.random.default_rng(0)
    seen = []
    for _ in range(5):
        x = rl.tensor(random.standard_normal((rows, 8)).astype(np.float32))
        t = rl.tensor(random.integers(0, classes, rows))
        seen += [r.detach().cpu() for r in go(x.to(device), t.to(device))]
    assert device == "cpu" or go.replays, go.why()
    return [*seen, *[p.detach().cpu() for p in net.parameters()]]


def steps_agree() -> None:
    for rows, width, classes, logits in ((4, 36, 10, False), (5, 36, 3, True), (20, 36, 5, True)):
        rl.manual_seed(0)
        net = nn.Sequential(nn.Linear(8, width), nn.ReLU(), nn.Linear(width, classes))
        found = [train(net, d, rows, classes, logits) for d in ("cpu", "cuda")]
        assert all((a - b).abs().max() < 1e-5 for a, b in zip(*found))
        assert taken and all(taken)
        taken.clear()


def arrays(*shapes, shift=0):
    made = [rl.randn(int(np.prod(s)) + 4).to("cuda")._a for s in shapes]
    return [a[shift : shift + int(np.prod(s))].reshape(s) for a, s in zip(made, shapes)]


def misaligned_rows_go_by_the_parts() -> None:
    for name in ("head_step", "head_whole"):
        (x,), (w, b, gy) = arrays((6, 36), shift=1), arrays((5, 36), (5,), (1,))
        target = rl.tensor([0, 1, 2, 3, 4, 1]).to("cuda")._a
        attrs = {"ignore_index": -100, "reduction": "mean", "logits": True}
        given = [x, w, b, target, gy, x]
        out = run(KERNELS[name], cupy.ndarray, given, attrs)
        expected = KERNELS[name].generic(np, *[emulated_capture.on_host(a) for a in given], **attrs)
        for a, e in zip(out, expected):
            np.testing.assert_allclose(emulated_capture.on_host(a), e, rtol=1e-4, atol=1e-5)
    assert taken == [False, False]


def main() -> None:
    emulated_capture.install()
    watch("step")
    steps_agree()
    misaligned_rows_go_by_the_parts()
    print("equal")


if __name__ == "__main__":
    main()
