"""How much energy a run took, where the machine counts it: Intel's and AMD's processors, NVIDIA's GPUs."""

from __future__ import annotations

import ctypes
import glob
from types import TracebackType

_RAPL = "/sys/class/powercap/*-rapl:[0-9]/energy_uj"


class Meter:
    """Joules between entering and leaving; None where nothing counts them."""

    def __init__(self, device: str) -> None:
        self.device = device
        self.joules: float | None = None

    def __enter__(self) -> Meter:
        self.first = self._count()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        last = self._count()
        # A counter that ran over shows less than before: then nothing is known.
        if self.first is not None and last is not None and last >= self.first:
            self.joules = round(last - self.first, 1)

    def _count(self) -> float | None:
        cpu = _processors()
        if self.device == "cpu":
            return cpu
        gpu = _gpu(int(self.device.partition(":")[2] or 0))
        return None if gpu is None else gpu + (cpu or 0.0)

    def told(self) -> str:
        """` with 1.2 kJ (0.3 Wh)`, or nothing."""
        if self.joules is None:
            return ""
        return f" with {self.joules / 1000:.1f} kJ ({self.joules / 3600:.2f} Wh) of the whole machine"


def _processors() -> float | None:
    """What all processors have used, in joules; only root may read it on most systems."""
    total = 0.0
    found = glob.glob(_RAPL)
    for path in found:
        try:
            with open(path, encoding="ascii") as f:
                total += int(f.read()) / 1e6
        except (OSError, ValueError):
            return None
    return total if found else None


def _gpu(number: int) -> float | None:
    """What a GPU has used since its driver was loaded, in joules."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        return None
    handle, used = ctypes.c_void_p(), ctypes.c_ulonglong()
    if nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(handle)):
        return None
    if nvml.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(used)):
        return None
    return used.value / 1000
