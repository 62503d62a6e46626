"""Resized and padded axes on the emulated GPU, beside NumPy.

Every kind of table and its transposed one, one axis and two at once, channels last, any alignment.
"""

from __future__ import annotations

from typing import Any

import emulated_capture
import numpy as np
from emulated_capture import on_gpu

from rushlight.operators.image.resample_kernels import ResamplePlan
from rushlight.runtime.cuda.bodies.layers import resample
from rushlight.runtime.devices import overrides
from rushlight.runtime.door import KERNELS

random = np.random.default_rng(0)
PLANS = (
    ResamplePlan("nearest", 5, 9, 5 / 9), ResamplePlan("nearest-exact", 9, 4, 9 / 4), ResamplePlan("linear", 5, 10, 0.5),
    ResamplePlan("linear", 9, 4, 9 / 4), ResamplePlan("linear", 5, 8, 4 / 7, True), ResamplePlan("cubic", 6, 11, 6 / 11),
    ResamplePlan("mean", 7, 3), ResamplePlan("smooth-linear", 12, 5, 12 / 5), ResamplePlan("smooth-cubic", 12, 5, 12 / 5),
    ResamplePlan("reflect", 6, 10, shift=2), ResamplePlan("replicate", 4, 9, shift=3), ResamplePlan("circular", 5, 9, shift=2),
)  # fmt: skip


def near(there: Any, here: np.ndarray) -> None:
    assert there.dtype == here.dtype and there.shape == here.shape
    host = emulated_capture.on_host(there).copy()
    np.testing.assert_allclose(host, here, rtol=2e-5, atol=2e-5)


def both_ways(name: str, shape: Any, kind: Any, **how: Any) -> None:
    for flip in (False, True):
        x = (random.standard_normal(shape(flip)) * 9).astype(kind)
        if np.dtype(kind).kind == "f":
            x.reshape(-1)[-1] = np.inf
        with np.errstate(all="ignore"):
            here = KERNELS[name].generic(np, x, flip=flip, **how)
        near(overrides("cuda")[name](on_gpu(x), flip=flip, **how), here)


for plan in PLANS:
    for kind in (np.float32, np.float64) if plan is PLANS[2] else (np.float32,):
        for lead, trail in (((2, 3), ()), ((2,), (4,)), ((), (3, 2))):
            both_ways(
                "resample_axis", lambda f: (*lead, plan.out if f else plan.size, *trail), kind,
                axis=len(lead), plan=plan,
            )  # fmt: skip
for one, two in ((2, 3), (5, 2), (0, 1), (6, 7), (0, 2), (8, 8), (9, 11)):
    pair = (PLANS[one], PLANS[two])
    both_ways("resample_plane", lambda f: (2, 3, *[p.out if f else p.size for p in pair]), np.float32, plans=pair)
x = random.integers(0, 99, (3, 5, 2)).astype(np.uint8)
near(
    overrides("cuda")["resample_axis"](on_gpu(x), axis=1, plan=PLANS[0], flip=False),
    KERNELS["resample_axis"].generic(np, x, axis=1, plan=PLANS[0], flip=False),
)
x = random.standard_normal((2, 5, 9, 4)).astype(np.float32)  # channels last
for name, how in (
    ("resample_axis", {"axis": 2, "plan": PLANS[2]}), ("resample_axis", {"axis": 1, "plan": ResamplePlan("mean", 4, 3)}),
    ("resample_plane", {"plans": (PLANS[2], PLANS[3])}), ("resample_plane", {"plans": (PLANS[0], PLANS[1])}),
):  # fmt: skip
    turned = x.transpose(0, 3, 1, 2)
    here = KERNELS[name].generic(np, turned, flip=False, **how)
    near(overrides("cuda")[name](on_gpu(x).transpose(0, 3, 1, 2), flip=False, **how), here)
x = random.standard_normal((6, 5, 4)).astype(np.float32)  # three dims, of which two are resized, in any order
how = {"plans": (ResamplePlan("reflect", 5, 8, shift=2), PLANS[9]), "flip": False}
near(
    overrides("cuda")["resample_plane"](on_gpu(x).transpose(2, 1, 0), **how),
    KERNELS["resample_plane"].generic(np, x.transpose(2, 1, 0), **how),
)
# Elements counted by 64 bits; an array that begins in the middle of a word.
resample._MANY = 0
resample._calls.clear()
both_ways("resample_axis", lambda f: (2, 10 if f else 5, 3), np.float32, axis=1, plan=PLANS[2])
x = random.standard_normal(1 + 5 * 8).astype(np.float32)
near(
    overrides("cuda")["resample_axis"](on_gpu(x)[1:].reshape(5, 8), axis=0, plan=PLANS[2], flip=False),
    KERNELS["resample_axis"].generic(np, x[1:].reshape(5, 8), axis=0, plan=PLANS[2], flip=False),
)
print("equal")
