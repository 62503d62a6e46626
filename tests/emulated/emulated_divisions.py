"""A step whose chains divide and take roots of random numbers, tried on the emulated GPU.

Random numbers have roots that are none and quotients without end: both sides have them alike.
"""

from __future__ import annotations

import warnings
from typing import Any

import emulated_capture

import rushlight as rl


def train(device: str) -> tuple[list[float], Any, Any]:
    """Steps of a graph network's layer: sums over edges, divided by the roots of degrees."""
    rl.manual_seed(0)
    w = rl.randn(4, 4).to(device).requires_grad_()
    x = rl.randn(6, 4).to(device)
    deg = (rl.rand(6) + 1).to(device).requires_grad_()
    src, dst = rl.tensor([0, 1, 2, 3, 4, 5]).to(device), rl.tensor([1, 2, 0, 4, 5, 3]).to(device)

    wide_src, wide_dst = [i.unsqueeze(1).expand(6, 4).contiguous() for i in (src, dst)]

    def step(x: Any) -> Any:
        w.grad = deg.grad = None
        h = x @ w
        edges = h.gather(0, wide_src) / deg.gather(0, src).sqrt().unsqueeze(1)
        summed = rl.zeros_like(h).scatter_add(0, wide_dst, edges) / deg.sqrt().unsqueeze(1)
        loss = (summed * summed).sum()
        loss.backward()
        return loss

    go = rl.compile(step) if device == "cuda" else step
    losses = [go(x).item() for _ in range(5)]
    return losses, [p.grad.cpu() for p in (w, deg)], go


def main() -> None:
    warnings.simplefilter("error")  # a kernel that disagrees is told as a warning
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    emulated_capture.install()
    (ours, grads, go), (theirs, others, _) = train("cuda"), train("cpu")
    assert go.replays, go.why()
    assert max(abs(a - b) for a, b in zip(ours, theirs)) < 1e-3 * abs(theirs[0]), (ours, theirs)
    for a, b in zip(grads, others):
        assert (a - b).abs().max() <= 1e-4 * b.abs().max()
    assert "fused" in {ins.name for ins in go.program().instructions}
    print("equal")


if __name__ == "__main__":
    main()
