"""Memory that runs out at every allocation in turn, on the emulated GPU; run by test_faults.py."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import emulated_capture
from cupy.cuda import runtime

import rushlight as rl
from emulated_optim import upload
from faults import (
    allocation_fails,
    check_compiled,
    check_device_lost,
    check_optimiser,
    check_training,
)
from rushlight.runtime.cuda.bodies import update


def main() -> None:
    update._Live.refresh = upload  # type: ignore[method-assign]
    runtime.memGetInfo = lambda: (2**20, 2**30)
    warnings.simplefilter(
        "ignore"
    )  # a program that finds no memory: the step stays eager and says so
    for name in ("SGD", "Adam", "Rprop"):
        assert check_optimiser("cuda", name, allocation_fails, rl.OutOfMemoryError) >= 4, name
    assert check_training("cuda", allocation_fails, rl.OutOfMemoryError) >= 1
    emulated_capture.install()
    assert check_compiled("cuda", allocation_fails, rl.OutOfMemoryError, most=5) >= 2
    check_device_lost()
    print("equal")


if __name__ == "__main__":
    main()
