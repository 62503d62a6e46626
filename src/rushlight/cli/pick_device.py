"""Which device to use, and the sentence that says why."""

from __future__ import annotations

import glob
import re
import sys

from .errors import UsageError
from .suggest import did_you_mean

# What can be asked for; PyTorch's other device types do not train here.
KNOWN = ("auto", "cpu", "cuda")


def pick_device(asked: str) -> tuple[str, str]:
    """The device's name and why it was chosen; UsageError when it cannot be had."""
    import rushlight
    from rushlight.runtime.cuda import why_not

    found = re.fullmatch(r"(auto|cpu|cuda)(?::(\d+))?", asked)
    if found is None or (found[1] == "auto" and found[2]):
        kind = asked.partition(":")[0]
        hint = did_you_mean("cuda" if kind.lower() in ("gpu", "nvidia") else kind, KNOWN)
        if kind.lower() in ("gpu", "nvidia"):
            hint = " - did you mean cuda?"
        raise UsageError(f"--device {asked}: auto, cpu, cuda and cuda:N are the choices{hint}")
    reason = why_not()
    if asked == "auto":
        if reason is None:
            return "cuda:0", f"cuda:0 ({rushlight.cuda.get_device_name(0)}): a GPU was found"
        return "cpu", f"cpu: {_no_gpu(reason)}"
    if found[1] == "cpu":
        return "cpu", "cpu: as asked"
    if reason is not None:
        raise UsageError(f"--device {asked}: {_no_gpu(reason)}; use --device cpu")
    count = rushlight.cuda.device_count()
    index = int(found[2] or 0)
    if index >= count:
        raise UsageError(f"--device {asked}: this machine has {count} GPU(s), numbered from 0: use --device cuda:0")
    return f"cuda:{index}", f"cuda:{index} ({rushlight.cuda.get_device_name(index)}): as asked"


def _no_gpu(reason: str) -> str:
    """Why no GPU is used; where there is no NVIDIA hardware, what to install would help nobody."""
    if not has_nvidia() and "hides" not in reason:
        return "this machine has no NVIDIA GPU"
    return f"no GPU can be used, because {_lower(reason)}"


def has_nvidia() -> bool:
    """Whether there is NVIDIA hardware: a driver's folder, a device file or a PCI device says so."""
    if glob.glob("/proc/driver/nvidia/gpus/*") or glob.glob("/dev/nvidia[0-9]*"):
        return True
    listed = glob.glob("/sys/bus/pci/devices/*/vendor")
    for path in listed:
        try:
            with open(path, encoding="ascii") as f, open(path.replace("vendor", "class"), encoding="ascii") as kind:
                if f.read().strip() == "0x10de" and kind.read().startswith("0x03"):
                    return True
        except OSError:
            continue
    # Systems that do not list their hardware this way (Windows, macOS) may have one.
    return not listed and sys.platform != "linux"


def _lower(sentence: str) -> str:
    """A sentence as the end of another one."""
    name = sentence[:2].isupper() or sentence.startswith("CuPy")
    return (sentence if name else sentence[0].lower() + sentence[1:]).rstrip(".")
