"""Errors after which a GPU answers nothing more to this process, said in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cupy.cuda import driver, runtime

from ....base.errors import AcceleratorError

# Numbers of the CUDA runtime and, since CUDA 10, of the driver: every later call answers the same one.
_LASTING = {
    46: "the GPU is taken or gone", 214: "its memory has an error that cannot be corrected",
    700: "a kernel used an address that is not its own", 702: "a kernel ran longer than the system allows",
    709: "the context was destroyed", 710: "an assert in a kernel failed", 714: "a kernel's stack is damaged",
    715: "a kernel met an illegal instruction", 716: "a kernel used an address that is not aligned",
    717: "a kernel used an address of the wrong space", 718: "a kernel jumped to nowhere", 719: "a kernel failed",
}  # fmt: skip
CUDA_ERRORS = (runtime.CUDARuntimeError, driver.CUDADriverError)


def explained(error: Exception) -> Exception:
    """The error itself, or AcceleratorError where the GPU is lost to this process."""
    status = getattr(error, "status", None)
    if status not in _LASTING:
        return error
    found = AcceleratorError(
        f"CUDA error: {_LASTING[status]} ({error}). The GPU is lost to this process, and so is everything on it: "
        "restart the process and go on from the last checkpoint. Work is done in the background, so that the "
        "kernel at fault may be an earlier one; CUDA_LAUNCH_BLOCKING=1 shows it."
    )
    found.error_code = status
    return found


@contextmanager
def explaining() -> Iterator[None]:
    """Say so where the block meets a lost GPU."""
    try:
        yield
    except CUDA_ERRORS as error:
        raise explained(error) from error
