"""Order, CTC loss, resized images and maxima at places in one program of the emulated GPU.

Nothing is sent and nothing is asked while a graph is captured; maxima at places need no order.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import emulated_capture
import numpy as np

import rushlight as rl
from rushlight.runtime.devices import overrides
from rushlight.runtime.door import KERNELS

random = np.random.default_rng(0)
F = rl.nn.functional
SCORES = random.standard_normal((12, 3, 6)).astype(np.float32)
IMAGES = random.standard_normal((1, 2, 6, 6)).astype(np.float32)
LABELS, PLACES = random.integers(1, 6, (3, 4)), random.integers(0, 5, (12, 6))


def make(device: str) -> tuple[Any, Any]:
    """A step, and the parameter whose gradient it leaves."""
    w = rl.tensor(SCORES).to(device).requires_grad_()
    images, labels, places = [rl.tensor(a).to(device) for a in (IMAGES, LABELS, PLACES)]
    frames, letters = rl.tensor([12, 10, 9]), rl.tensor([4, 2, 3])  # on a GPU they would be read

    def step() -> Any:
        w.grad = None
        loss = F.ctc_loss(w.log_softmax(-1), labels, frames, letters, reduction="sum")
        best = w.topk(2, -1).values
        loss = loss + (best * best).sum() + w.sort(0).values[:2].sum()
        y = F.interpolate(images * w[0, 0, 0], scale_factor=2, mode="bilinear")
        y = F.pad(F.interpolate(y, size=(5, 5), mode="nearest"), (1, 1, 1, 1), "reflect")
        largest = rl.zeros(5, 6, device=device).scatter_reduce(0, places, w[:, 0], "amax")
        picked = w[:, 0].gather(0, places)
        loss = loss + (y * y).sum() + (largest * largest).sum() + (picked * picked).sum()
        loss.backward()
        return loss.detach()

    return step, w


def one_program() -> None:
    here, w = make("cpu")
    want, slope = float(here()), w.grad.numpy()
    there, w = make("cuda")
    there = rl.compile(there, fullgraph=True)
    for _ in range(4):
        np.testing.assert_allclose(float(there()), want, rtol=1e-5)
        np.testing.assert_allclose(w.grad.cpu().numpy(), slope, rtol=1e-4, atol=1e-5)


def extremes() -> None:
    """NaN, zeros of both signs, places that nothing comes to."""
    index = random.integers(0, 4, (9, 3))
    for kind, dtype, keep in product(("amax", "amin"), (np.float32, np.int64), (True, False)):
        x, src = [(random.standard_normal((n, 3)) * 5).round().astype(dtype) for n in (6, 9)]
        if dtype is np.float32:
            src[0, 0], src[1:4, 1] = np.nan, (0.0, -0.0, 0.0)
        how = {"dim": 0, "kind": kind, "include_self": keep}
        with np.errstate(all="ignore"):
            want = KERNELS["scatter_reduce"].generic(np, x, index, src, **how)
        arrays = [rl.tensor(a).to("cuda")._a for a in (x, index, src)]
        found = overrides("cuda")["scatter_reduce"](*arrays, **how)
        np.testing.assert_array_equal(emulated_capture.on_host(found).copy(), want)


emulated_capture.install()
extremes()
one_program()
print("equal")
