"""`rushlight devices`: what this machine has, what is used by default, what is missing and why."""

from __future__ import annotations

import os
import platform
import re
from typing import TYPE_CHECKING

from .pick_device import has_nvidia

if TYPE_CHECKING:
    from types import ModuleType

INDENT = " " * 9


def show() -> int:
    """Print every device."""
    import rushlight as rl
    from rushlight.runtime.cuda import why_not
    from rushlight.version import __version__

    reason = why_not()
    numpy = _version("numpy")
    print(f"rushlight {__version__}, Python {platform.python_version()}, NumPy {numpy}\n")
    _cpu(rl, default=reason is not None)
    print()
    if reason is None:
        for i in range(rl.cuda.device_count()):
            _gpu(rl, i)
        _libraries(rl)
    else:
        _no_gpu(reason)
    print()
    _ranks(reason is None)
    return 0


def _no_gpu(reason: str) -> None:
    if not has_nvidia() and "hides" not in reason:
        print("cuda     not usable: this machine has no NVIDIA GPU")
    else:
        print(f"cuda     not usable: {reason}")
        print(f"{INDENT}An NVIDIA GPU needs a driver (`nvidia-smi` then answers) and")
        print(f"{INDENT}pip install 'rushlight[cuda]'  (CuPy with CUDA's libraries, cuDNN and its front end)")  # fmt: skip


def _ranks(gpu: bool) -> None:
    """What several processes can use: MPI between hosts, NCCL between GPUs."""
    from rushlight.distributed import mpiexec

    found, lost = mpiexec.find(), mpiexec.why_not()
    if lost is None and found is not None:
        name = {"mpich": "MPICH", "openmpi": "Open MPI"}[found.kind]
        print(
            f"mpi      {name} {found.version}, mpi4py {_version('mpi4py')}: rushlight launch --nproc-per-node N"
        )
    else:
        print(f"mpi      not usable: {lost}")
    if gpu:
        from rushlight.distributed.gpus import nccl_version

        version = nccl_version()
        print(
            f"nccl     {version}"
            if version
            else "nccl     not usable: pip install nvidia-nccl-cu13"
        )


def _version(name: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _cpu(rl: ModuleType, default: bool) -> None:
    from rushlight.runtime.cpu.engine import engine_info

    engine = engine_info()
    print(f"cpu      {_cpu_name()}{'  (default)' if default else ''}")
    print(
        f"{INDENT}{os.cpu_count()} cores, {_memory()} memory, {rl.get_num_threads()} threads in use"
    )
    print(f"{INDENT}engine {engine.name} {engine.version}, {engine.instruction_set} instructions")
    if engine.name == "numpy":
        print(f"{INDENT}(no native engine is loaded: everything works, more slowly)")


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo") as f:
            found = re.search(r"^model name\s*:\s*(.+)$", f.read(), re.M)
    except OSError:
        found = None
    return found[1].strip() if found else platform.processor() or platform.machine()


def _memory() -> str:
    try:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return "unknown"
    return f"{size / 2**30:.1f} GiB"


def _gpu(rl: ModuleType, i: int) -> None:
    p = rl.cuda.get_device_properties(i)
    free, total = rl.cuda.mem_get_info(i)
    print(f"cuda:{i}   {p.name}{'  (default)' if i == 0 else ''}")
    print(f"{INDENT}{total / 2**30:.1f} GiB memory, {free / 2**30:.1f} GiB free; compute capability "
          f"{p.major}.{p.minor}, {p.multi_processor_count} multiprocessors")  # fmt: skip


def _libraries(rl: ModuleType) -> None:
    import cupy

    driver = _cuda(cupy.cuda.runtime.driverGetVersion())
    runtime = _cuda(cupy.cuda.runtime.runtimeGetVersion())
    print(f"{INDENT}driver {_driver()}for CUDA {driver}; CUDA {runtime}, CuPy {cupy.__version__}")
    cudnn, front = rl.backends.cudnn.version(), _version("nvidia-cudnn-frontend")
    if cudnn and front:
        print(f"{INDENT}cuDNN {cudnn}, its front end {front}")
    else:
        lost = "cuDNN" if not cudnn else "cuDNN's front end"
        print(f"{INDENT}{lost} is missing, so convolutions use slower kernels: pip install 'rushlight[cuda]'")  # fmt: skip


def _driver() -> str:
    """`580.65.06 `, as nvidia-smi shows it, where the driver tells."""
    try:
        with open("/proc/driver/nvidia/version") as f:
            found = re.search(r"\d+\.\d+(\.\d+)?", f.read())
    except OSError:
        found = None
    return f"{found[0]} " if found else ""


def _cuda(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"
