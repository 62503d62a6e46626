"""Batches of a traced loop on the (emulated) GPU go through page-locked buffers and arrive.

On a machine with a GPU: PYTHONPATH=src python tests/emulated/emulated_staging.py
"""

from __future__ import annotations

import sys

import numpy as np

import rushlight as rl
from rushlight.base.config import settings
from rushlight.runtime.cuda.memory import host_copies, staging


def emulate() -> None:
    """Marks and page-locked memory for the emulated GPU, which does everything at once."""
    import emulated_capture
    import emulated_cupy

    emulated_capture.install()
    emulated_cupy.install()


BATCHES = [np.empty((n, 512), np.float32) for n in (4, 64, 700)]


def total(traced: bool) -> list[float]:
    """What arrives of batches whose memory is written again at once."""
    rl.tracing(traced)
    told = []
    for i in range(33):  # small, one of a ring, one that is sent ahead
        batch = BATCHES[i % 3]
        batch[...] = np.arange(512, dtype=np.float32) * (i + 1)
        x = rl.from_numpy(batch).to("cuda")
        batch[...] = -7
        told.append(x.cpu().numpy().astype(np.float64).sum())
    rl.tracing(False)
    return told


if __name__ == "__main__":
    if "emulated_gpu" in sys.modules:
        emulate()
    settings.trace = ""  # tools that emulate a GPU keep loops eager
    assert total(False) == total(True)
    ring = host_copies.rings.found[0, 1 << 17]
    assert len(ring.buffers) == 4 and ring.nbytes == 1 << 17
    assert staging.is_staged(np.empty(3)) and not staging.is_staged(np.empty((512, 512))[:, ::2])
    assert host_copies.landings.found
    print("equal")
