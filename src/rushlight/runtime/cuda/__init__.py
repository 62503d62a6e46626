"""NVIDIA GPUs over CuPy: found and imported on first use, never at `import rushlight`."""

from __future__ import annotations

import ctypes
import sys
from importlib.util import find_spec
from typing import Any

from ...base.config import settings
from ...base.errors import NoGpuError, no_gpu_message


def why_not() -> str | None:
    """None if a GPU can be used; otherwise one sentence that says what is missing."""
    if settings.no_cuda:
        return "RUSHLIGHT_NO_CUDA=1 hides the GPUs."
    if _no_driver():
        return "the CUDA driver is not installed (libcuda.so.1 cannot be loaded)."
    try:
        import cupy
    except Exception as error:  # noqa: BLE001 - a broken one raises whatever its libraries do
        return f"CuPy cannot be imported ({error}); `pip install 'rushlight[cuda]'` brings it."
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except Exception as error:  # noqa: BLE001 - CuPy raises its own and OSError kinds
        return f"the CUDA driver does not answer ({error})."
    return None if count else "the CUDA driver reports no device."


def _no_driver() -> bool:
    """Whether it is plain without CuPy, whose import takes a quarter of a second, that there is no GPU."""
    if sys.platform != "linux" or "cupy" in sys.modules or find_spec("cupy") is None:
        return False
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return True
    return False


def load() -> Any:
    """The CUDA backend, or the error `.cuda()` raises on a machine without a GPU."""
    reason = why_not()
    if reason is not None:
        raise NoGpuError(no_gpu_message(reason))
    from .backend import CudaBackend

    return CudaBackend()
