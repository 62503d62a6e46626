"""Errors of CUDA as users see them: AcceleratorError, which says when the GPU is lost to this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


_NO_MEMORY = 2  # OutOfMemoryError is raised elsewhere, with sizes and the owners of the memory


def explained(error: Exception) -> Exception:
    """AcceleratorError for an error of CUDA, as PyTorch; one of memory stays itself."""
    status = getattr(error, "status", None)
    if status is None or status == _NO_MEMORY:
        return error
    return _accelerator_error(status, str(error))


def launch_failed(status: int) -> AcceleratorError:
    """The error for the number that `cuLaunchKernel` returned, as the launches in C raise it."""
    try:
        said = str(driver.CUDADriverError(status))
    except Exception:  # noqa: BLE001 - a driver that cannot even name its error
        said = f"status {status}"
    return _accelerator_error(status, said)


def _accelerator_error(status: int, said: str) -> AcceleratorError:
    if status in _LASTING:
        text = (
            f"CUDA error: {_LASTING[status]} ({said}). The GPU is lost to this process, and so is everything on "
            "it: restart the process and go on from the last checkpoint. Work is done in the background, so "
            "that the kernel at fault may be an earlier one; CUDA_LAUNCH_BLOCKING=1 shows it."
        )
    else:
        text = f"CUDA error: {said}. The work that was asked for was not begun."
    found = AcceleratorError(text)
    found.error_code = status
    return found


@contextmanager
def explaining() -> Iterator[None]:
    """Errors of CUDA in this block are AcceleratorError."""
    try:
        yield
    except CUDA_ERRORS as error:
        raise explained(error) from error


def insist(error: AcceleratorError, again: Callable[[], object]) -> None:
    """Ask again, a few times, for a launch of which `error` says that it was not begun.

    For launches that belong together: where the driver refuses one for a moment, the work is done as a whole.
    """
    for _ in range(3):
        if error.error_code in _LASTING:
            break
        try:
            again()
            return
        except AcceleratorError as refused:
            error = refused
    raise error
