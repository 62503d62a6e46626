"""Optimisers, clipping and `_foreach_*` on the emulated GPU beside the CPU."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

import rushlight as rl

OPTIMISERS = [
    ("SGD", {"momentum": 0.9, "nesterov": True, "weight_decay": 0.1}), ("Adam", {"amsgrad": True}),
    ("NAdam", {}), ("ASGD", {"t0": 2}),
]  # fmt: skip
SHAPES = [(3, 4), (5, 3), (2, 2)]


def same(a: rl.Tensor, b: rl.Tensor, what: str, tolerance: float = 2e-5) -> None:
    x, y = a.detach().double().numpy(), b.detach().cpu().double().numpy()
    assert x.shape == y.shape and np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True), (what, x, y)


def optimisers() -> None:
    """Some parameters skip steps, so that a launch has numbers for each; two dtypes in one group."""
    for name, options in OPTIMISERS:
        rng = np.random.RandomState(0)
        sides = []
        for d in ("cpu", "cuda"):
            dtypes = [rl.float32, rl.float32, rl.float64]
            start = np.random.RandomState(1)
            params = [rl.nn.Parameter(rl.tensor(start.randn(*s), dtype=t, device=d)) for s, t in zip(SHAPES, dtypes)]
            sides.append((params, getattr(rl.optim, name)(params, lr=0.1, **options)))
        for step in range(5):
            for i, shape in enumerate(SHAPES):
                g = rng.randn(*shape)
                for params, _ in sides:
                    p = params[i]
                    skips = i == 1 and step in (1, 2)
                    p.grad = None if skips else rl.tensor(g, dtype=p.dtype, device=p.device)
            for _, opt in sides:
                opt.step()
            for p, q in zip(sides[0][0], sides[1][0]):
                same(p, q, f"{name} after {step}")
        if name != "SGD":
            assert [s["step"].item() for s in sides[1][1].state.values()] == [5, 3, 5]


def many_parameters() -> None:
    """More than a launch takes: later steps are those of the first with other gradients and rates."""
    sides = []
    for d in ("cpu", "cuda"):
        start = np.random.RandomState(4)
        params = [rl.nn.Parameter(rl.tensor(start.randn(2, 3), device=d)) for _ in range(70)]
        sides.append((params, rl.optim.SGD(params, lr=0.1, momentum=0.9)))
    rng = np.random.RandomState(5)
    for step in range(4):
        for i in range(70):
            g = rng.randn(2, 3)
            for params, _ in sides:
                params[i].grad = rl.tensor(g, device=params[i].device)
        for params, opt in sides:
            opt.param_groups[0]["lr"] = 0.1 / (1 + step)
            opt.step()
        for p, q in zip(sides[0][0], sides[1][0]):
            same(p, q, f"many after {step}")


def clipping() -> None:
    for order in (2.0, 1.0, float("inf")):
        for dtype in (rl.float32, rl.float64, rl.bfloat16):
            rng = np.random.RandomState(2)
            values = [rng.randn(*s) for s in [(3, 4), (1,), (700, 9), ()]]
            totals, sides = [], []
            for d in ("cpu", "cuda"):
                params = [rl.nn.Parameter(rl.zeros(np.shape(v), dtype=dtype, device=d)) for v in values]
                for p, v in zip(params, values):
                    p.grad = rl.tensor(v, dtype=dtype, device=d)
                totals.append(rl.nn.utils.clip_grad_norm_(params, 1.5, order))
                sides.append([p.grad for p in params])
            tolerance = 2e-2 if dtype is rl.bfloat16 else 1e-5
            same(*totals, f"norm {order} {dtype}", tolerance)
            for a, b in zip(*sides):
                same(a, b, f"clipped {order} {dtype}", tolerance)


def limited(tensors: list) -> list:
    holders = [rl.nn.Parameter(t.detach().clone()) for t in tensors]
    for holder, t in zip(holders, tensors):
        holder.grad = t
    tensors[0][0] = float("nan")
    rl.nn.utils.clip_grad_value_(holders, 0.7)
    return tensors


def lists() -> None:
    rng = np.random.RandomState(3)
    values = [rng.randn(*s) for s in [(70,), (3, 5), (2, 9000), *[(2,)] * 14]]
    both = [[rl.tensor(v, dtype=rl.float32, device=d) for v in values] for d in ("cpu", "cuda")]
    for act in (
        lambda ts: rl._foreach_mul_(ts, rl.tensor(0.5, device=ts[0].device)),
        lambda ts: rl._foreach_add_(ts, 2.0),
        lambda ts: rl._foreach_mul_(ts, 3.0),
        lambda ts: rl._foreach_norm(ts),
        lambda ts: rl._foreach_norm(ts, 1),
        lambda ts: limited(ts),
        lambda ts: rl._foreach_zero_(ts),
    ):
        for a, b in zip(*[act(ts) for ts in both]):
            same(a, b, "a list")


def upload(self: Any) -> None:
    """What the driver does when numbers go to the device, a row for each parameter."""
    values = np.zeros(self.device.shape)
    values[..., : self.host.shape[-1]] = self.host
    ctypes.memmove(self.device.data.ptr, values.ctypes.data, values.nbytes)


if __name__ == "__main__":
    from rushlight.runtime.cuda.bodies import update

    update._Live.refresh = upload  # type: ignore[method-assign]
    optimisers()
    many_parameters()
    clipping()
    lists()
    print("equal")
