"""`rushlight devices`: what this machine has, what is used by default, what is missing and why."""

from __future__ import annotations

import os
import platform
from typing import Any


def show() -> int:
    """Print every device."""
    import rushlight as rl
    from rushlight.backend.cuda import why_not

    reason = why_not()
    print(
        f"rushlight {rl.__version__}, Python {platform.python_version()}, NumPy {_version('numpy')}"
    )
    print()
    _cpu(default=reason is not None)
    print()
    if reason is None:
        for i in range(rl.cuda.device_count()):
            _gpu(rl, i)
    else:
        print(f"cuda     not usable: {reason}")
        print("         To use an NVIDIA GPU: a driver that answers `nvidia-smi`, then")
        print("         pip install 'rushlight[cuda]'  (CuPy with CUDA, cuDNN and its front end)")
    return 0


def _version(name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def _cpu(default: bool) -> None:
    import rushlight as rl

    mark = "  (default)" if default else ""
    print(f"cpu      {_cpu_name()}{mark}")
    print(
        f"         {os.cpu_count()} cores, {_memory()} memory, {rl.get_num_threads()} threads in use"
    )
    for label, value in engine().items():
        print(f"         {label}: {value}")


def engine() -> dict[str, str]:
    """What computes on the CPU."""
    from rushlight.backend import cpu

    info = getattr(cpu, "engine_info", None)
    if info is None:
        return {"engine": f"NumPy {_version('numpy')}"}
    return {k: str(v) for k, v in info().items()}


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo") as f:
            for line in f:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _memory() -> str:
    try:
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (ValueError, OSError):
        return "unknown"
    return f"{pages / 2**30:.1f} GiB"


def _gpu(rl: Any, i: int) -> None:
    p = rl.cuda.get_device_properties(i)
    free, total = rl.cuda.mem_get_info(i)
    mark = "  (default)" if i == 0 else ""
    print(f"cuda:{i}   {p.name}{mark}")
    print(f"         {total / 2**30:.1f} GiB memory, {free / 2**30:.1f} GiB free; compute capability "
          f"{p.major}.{p.minor}, {p.multi_processor_count} multiprocessors")  # fmt: skip
    if i == 0:
        import cupy

        driver = cupy.cuda.runtime.driverGetVersion()
        runtime = cupy.cuda.runtime.runtimeGetVersion()
        cudnn = rl.backends.cudnn.version()
        print(f"         driver for CUDA {_cuda(driver)}, CUDA {_cuda(runtime)}, CuPy {cupy.__version__}, "
              f"cuDNN {cudnn or 'missing: convolutions use slower kernels (pip install rushlight[cuda])'}")  # fmt: skip


def _cuda(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
