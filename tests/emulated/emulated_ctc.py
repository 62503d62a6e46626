"""CTC loss and its gradient on the emulated GPU, beside the CPU's.

Lengths of all kinds, repeated labels, targets that are too long, several states for a thread.
"""

from __future__ import annotations

from typing import Any

import emulated_capture
import numpy as np

import rushlight as rl
from rushlight.runtime.cuda.bodies.layers import ctc
from rushlight.runtime.devices import overrides
from rushlight.runtime.door import KERNELS

random = np.random.default_rng(0)


def on_gpu(a: np.ndarray) -> Any:
    return rl.tensor(a).to("cuda")._a


def on_host(a: Any) -> np.ndarray:
    return emulated_capture.on_host(a).copy()  # while `a` is alive


def case(frames: int, samples: int, classes: int, width: int, blank: int, kind: Any) -> None:
    """Lengths of all kinds, also none and more letters than frames; labels that repeat."""
    x = random.standard_normal((frames, samples, classes))
    x = (x - np.log(np.exp(x).sum(-1, keepdims=True))).astype(kind)
    labels = random.integers(0, classes - 1, (samples, width))
    labels += labels >= blank
    inputs = random.integers(0, frames + 1, samples)
    lengths = random.integers(0, width + 1, samples)
    inputs[0], lengths[0] = frames, min(width, frames // 2)
    arrays, how = (x, labels, inputs, lengths), {"blank": blank}
    loss, alpha = KERNELS["ctc_loss"].generic(np, *arrays, **how)
    there = [on_gpu(a) for a in arrays]
    found, kept = overrides("cuda")["ctc_loss"](*there, **how)
    assert found.dtype == loss.dtype and kept.shape == alpha.shape and kept.dtype == alpha.dtype
    np.testing.assert_allclose(on_host(found), loss, rtol=1e-5, atol=1e-5)
    g = random.standard_normal(samples).astype(kind)
    if samples > 2:
        g[1] = 0
    expected = KERNELS["ctc_loss_grad"].generic(np, g, *arrays, loss, alpha, **how)
    gx = overrides("cuda")["ctc_loss_grad"](on_gpu(g), *there, found, kept, **how)
    np.testing.assert_allclose(on_host(gx), expected, rtol=2e-4, atol=2e-5)


rl.nn.functional.ctc_loss  # noqa: B018 - defines the op
np.seterr(all="ignore")
for kind in (np.float32, np.float64):
    case(12, 5, 7, 4, 0, kind)
    case(9, 3, 4, 6, 2, kind)
    case(1, 2, 3, 1, 0, kind)
    case(5, 2, 3, 0, 0, kind)
case(90, 2, 5, 40, 4, np.float32)
ctc._WIDEST = 32  # several states for a thread
case(30, 3, 6, 20, 0, np.float32)
print("equal")
