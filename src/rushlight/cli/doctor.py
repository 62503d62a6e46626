"""`rushlight doctor` and `rushlight devices`: what works on this machine, and what to do about what does not."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any, NamedTuple

from ..base.config import settings
from .pick_device import has_nvidia
from .words import counted

INDENT = " " * 9
# Extras of ours that are for people who work on rushlight itself.
FOR_DEVELOPERS = ("dev", "docs", "oracle")
# What is written in C beside the engine; a test compares this with setup.py.
IN_C = ("core._call", "capture._native", "dezero._in_c", "runtime.cuda.code._launch", "distributed._sends")


class Finding(NamedTuple):
    """One part of the machine: how it is, and what to do where it does not work."""

    state: str  # "ok"; "--": not here, and nothing to mend; "!!": it should work and does not
    lines: list[str]
    todo: str = ""
    facts: dict[str, Any] = {}


def devices() -> int:
    """Print every device."""
    _head()
    for name in ("cpu", "cuda", "mpi") if _no_gpu() else ("cpu", "cuda", "cudnn", "mpi", "nccl"):
        _print(name, _looked_at(name), marked=False)
    return 0


def doctor(as_json: bool, speed: bool = True) -> int:
    """Look at everything; the answer is 1 if something should work and does not."""
    names = [name for name in CHECKS if speed or name != "speed"]
    if as_json:
        found = {name: _looked_at(name) for name in names}
        parts = {name: {"state": f.state, "says": f.lines, "todo": f.todo, **f.facts} for name, f in found.items()}
        print(json.dumps({**_versions(), "parts": parts}, indent=1))
    else:
        _head()
        found = {}
        for name in names:
            found[name] = _looked_at(name)
            _print(name, found[name], marked=True)
    bad = [name for name, f in found.items() if f.state == "!!"]
    if not as_json:
        print(
            f"\nSomething to do: {', '.join(bad)}; each has a line with ->."
            if bad
            else "\nEverything that should work here does."
        )
    return int(bool(bad))


def _head() -> None:
    print(", ".join(f"{name} {number}" for name, number in _versions().items()) + "\n")


def _versions() -> dict[str, str | None]:
    from ..version import __version__

    system = f"{platform.system()} {platform.machine()}"
    return {"rushlight": __version__, "Python": platform.python_version(), "NumPy": _version("numpy"), "on": system}


def _looked_at(name: str) -> Finding:
    """What a check finds; a check that fails has found something, too."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the finding says it
            return CHECKS[name]()
    except Exception as error:  # noqa: BLE001 - a broken library raises whatever it likes
        said = " ".join(f"{type(error).__name__}: {error}".split())
        return Finding("!!", [f"cannot be looked at: {said}"], "report this line, it should not be")


def _print(name: str, found: Finding, marked: bool) -> None:
    mark = f"{found.state}  " if marked else ""
    for i, line in enumerate(found.lines):
        print(f"{mark if i == 0 else ' ' * len(mark)}{name if i == 0 else '':8} {line}".rstrip())
    if found.todo:
        print(f"{' ' * len(mark)}{INDENT}-> {found.todo}")
    sys.stdout.flush()  # the next one may take seconds


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


# -- the CPU ----------------------------------------------------------------------------------------


def _cpu() -> Finding:
    from ..runtime.cpu import threads
    from ..runtime.cpu.engine import engine_info
    from ..runtime.cuda import why_not

    default = "" if why_not() is None else "  (default)"
    about = f"{counted(os.cpu_count() or 1, 'core')}, {_memory()} memory, {counted(threads.get(), 'thread')} in use"
    lines = [f"{_cpu_name()}{default}", about]
    try:
        engine = engine_info()
    except (ValueError, RuntimeError) as error:  # one that was asked for by name
        return Finding("!!", [*lines, f"no engine: {error}"], "unset RUSHLIGHT_CPU_ENGINE")
    lines.append(f"engine {engine.name} {engine.version}, {engine.instruction_set} instructions")
    facts = {**engine._asdict(), "cores": os.cpu_count()}
    if engine.name != "numpy" or settings.cpu_engine == "numpy":
        return Finding("ok", lines, "", facts)
    lines.append("(no native engine is loaded: everything works, more slowly)")
    return Finding("!!", lines, "install rushlight anew where a C compiler is (cc, gcc or clang)", facts)


def _in_c() -> Finding:
    """The parts in C: without one of them Python does the same, more slowly, and traces no loops."""
    lost = {}
    package = __name__.split(".")[0]
    for name in ("runtime.cpu._native", *IN_C):
        try:
            import_module(f"{package}.{name}")
        except ImportError as error:
            if not (name.startswith("runtime.cuda") and _no_gpu()):
                lost[name] = str(error)
    if not lost:
        return Finding("ok", ["all parts in C are loaded"])
    lines = [f"{name}: {reason}" for name, reason in lost.items()]
    return Finding("!!", lines, "install rushlight anew where a C compiler is; until then Python does this, more slowly", {"lost": lost})  # fmt: skip


def _onednn() -> Finding:
    from ..runtime.cpu.engine import reason_against

    if platform.machine() != "x86_64" or platform.system() != "Linux":
        return Finding("--", ["used on x86-64 Linux only; the native engine computes everything"])
    reason = reason_against("onednn")
    if reason is None:
        return Finding("ok", ["computes bfloat16 and wide convolutions"])
    # A library of the system's, which oneDNN needs and a bare system lacks.
    lost = re.match(r"(lib(?!dnnl)[a-z_]+)\.so\.(\d+): cannot open", str(reason))
    what = f"install {lost[0].partition(':')[0]}, on Debian and Ubuntu apt-get install {lost[1]}{lost[2]}" if lost else "pip install onednn-cpu-gomp"  # fmt: skip
    return Finding("!!", [f"not usable: {reason}"], f"{what} (without it bfloat16 and wide convolutions are slower)")


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


# -- GPUs -------------------------------------------------------------------------------------------


def _cuda() -> Finding:
    from ..runtime.cuda import why_not

    reason = why_not()
    if reason is not None and not has_nvidia() and "hides" not in reason:
        return Finding("--", ["not usable: this machine has no NVIDIA GPU"])
    if reason is not None and settings.no_cuda:
        return Finding("--", [f"not usable: {reason}"])
    if reason is not None:
        todo = "an NVIDIA GPU needs a driver (`nvidia-smi` then answers) and pip install 'rushlight[cuda]'"
        return Finding("!!", [f"not usable: {reason}"], todo)
    import cupy

    import rushlight as rl

    runtime = cupy.cuda.runtime
    lines = [line for i in range(rl.cuda.device_count()) for line in _gpu(rl, i)]
    known = [_dotted(v) for v in (runtime.driverGetVersion(), runtime.runtimeGetVersion())]
    lines.append(f"driver {_driver()}for CUDA {known[0]}; CUDA {known[1]}, CuPy {cupy.__version__}")
    return Finding("ok", lines, "", {"gpus": rl.cuda.device_count(), "cupy": cupy.__version__})


def _gpu(rl: Any, i: int) -> list[str]:
    p = rl.cuda.get_device_properties(i)
    free, total = rl.cuda.mem_get_info(i)
    return [
        f"cuda:{i} {p.name}{'  (default)' if i == 0 else ''}",
        f"{total / 2**30:.1f} GiB memory, {free / 2**30:.1f} GiB free; compute capability "
        f"{p.major}.{p.minor}, {p.multi_processor_count} multiprocessors",
    ]


def _cudnn() -> Finding:
    """Whether cuDNN is found."""
    if _no_gpu():
        return Finding("--", ["not needed without a GPU"])
    import rushlight as rl

    own = rl.backends.cudnn.version()
    if not own:
        todo = "pip install 'rushlight[cuda]' (without it convolutions use slower kernels)"
        return Finding("!!", ["cuDNN is missing"], todo)
    return Finding("ok", [f"cuDNN {own}"], "", {"version": own})


def _no_gpu() -> bool:
    from ..runtime.cuda import why_not

    return why_not() is not None


def _driver() -> str:
    """`580.65.06 `, as nvidia-smi shows it, where the driver tells."""
    try:
        with open("/proc/driver/nvidia/version") as f:
            found = re.search(r"\d+\.\d+(\.\d+)?", f.read())
    except OSError:
        found = None
    return f"{found[0]} " if found else ""


def _dotted(number: int) -> str:
    return f"{number // 1000}.{number % 1000 // 10}"


# -- several processes ------------------------------------------------------------------------------


def _mpi() -> Finding:
    from ..distributed import mpiexec

    found, lost = mpiexec.find(), mpiexec.why_not()
    if lost is None and found is not None:
        name = {"mpich": "MPICH", "openmpi": "Open MPI"}[found.kind]
        words = f"{name} {found.version}, mpi4py {_version('mpi4py')}: rushlight launch --nproc-per-node N"
        return Finding("ok", [words])
    return Finding("--", [f"not usable: {lost}"])


def _nccl() -> Finding:
    if _no_gpu():
        return Finding("--", ["not needed without a GPU"])
    import rushlight as rl

    from ..distributed.gpus import nccl_version

    found = nccl_version()
    if found:
        return Finding("ok", [found], "", {"version": found})
    todo = "pip install nvidia-nccl-cu13 (several GPUs then talk without the host between)"
    return Finding("!!" if rl.cuda.device_count() > 1 else "--", ["not usable"], todo)


# -- files and packages -----------------------------------------------------------------------------


def _caches() -> Finding:
    """The folders of compiled kernels, decoded pictures and downloads, and whether they can be written."""
    import rushlight as rl

    sizes: dict[str, int] = {}
    for folder in dict.fromkeys((settings.cache_dir, rl.hub.get_dir())):
        sizes |= _sizes(folder) or {folder: 0}
    kept = ", ".join(f"{os.path.basename(k)} {_megabytes(v)}" for k, v in sizes.items() if v)
    lines = [f"{settings.cache_dir}: {kept or 'empty'}"]
    facts = {"bytes": sizes}
    for folder, name in ((settings.cache_dir, "RUSHLIGHT_CACHE"), (rl.hub.get_dir(), "TORCH_HOME")):
        reason = _not_writable(folder)
        if reason:
            return Finding("!!", [*lines, f"{folder} cannot be written: {reason}"], f"set {name} to a folder that can be written", facts)  # fmt: skip
    return Finding("ok", lines, "", facts)


def _sizes(folder: str) -> dict[str, int]:
    """Bytes of each folder directly inside of one."""
    sizes: dict[str, int] = {}
    for where, _, files in os.walk(folder):
        top = os.path.join(folder, os.path.relpath(where, folder).split(os.sep)[0])
        for name in files:
            try:
                size = os.lstat(os.path.join(where, name)).st_size
            except OSError:  # deleted meanwhile
                continue
            sizes[top] = sizes.get(top, 0) + size
    return sizes


def _megabytes(n: int) -> str:
    return f"{n / 1e6:.1f} MB" if n < 1e9 else f"{n / 1e9:.1f} GB"


def _not_writable(folder: str) -> str | None:
    """Why a file cannot be made in a folder, or where the folder would be made; None if it can."""
    while not os.path.lexists(folder):
        folder = os.path.dirname(folder)
    try:
        with tempfile.TemporaryFile(dir=folder) as f:
            f.write(b"x" * 4096)
    except OSError as error:
        return error.strerror or str(error)
    return None


class Requirement(NamedTuple):
    """One package that rushlight asks for, as the metadata writes it."""

    name: str
    bounds: str
    extra: str

    @property
    def text(self) -> str:
        return f"{self.name}{self.bounds}"

    def takes(self, number: str) -> bool:
        """Whether a version lies within the bounds."""
        ours = _numbers(number)
        for sign, bound in re.findall(r"(>=|<=|==|<|>)([\d.]+)", self.bounds):
            theirs = _numbers(bound)
            if sign == "==":
                fine = ours[: len(theirs)] == theirs
            else:
                fine = {">=": ours >= theirs, "<=": ours <= theirs, "<": ours < theirs, ">": ours > theirs}[sign]
            if not fine:
                return False
        return True


def _numbers(number: str) -> tuple[int, ...]:
    found = re.match(r"\d+(\.\d+)*", number)
    return tuple(map(int, found[0].split("."))) if found else ()


def _requirements() -> list[Requirement]:
    """What the package asks for, by itself (the extra "") and for its extras."""
    try:
        texts = requires("rushlight") or []
    except PackageNotFoundError:  # from a folder on the path, without pip
        texts = []
    found = []
    for text in texts:
        package, _, marker = text.partition(";")
        name = re.match(r"[\w.-]+", package)
        of = re.search(r"extra\s*==\s*[\"'](\w+)[\"']", marker)
        if name is not None:
            bounds = re.sub(r"^\[[^]]*\]", "", package[name.end() :].strip())
            found.append(Requirement(name[0], bounds.strip(), of[1] if of else ""))
    return found


def _extras() -> Finding:
    """Which of our extras are whole, which lack packages, and versions that are out of bounds."""
    every = [r for r in _requirements() if r.extra not in FOR_DEVELOPERS]
    if not every:
        return Finding("--", ["unknown: rushlight runs from a folder that pip did not install"], "pip install .")
    lost: dict[str, list[str]] = {}
    wrong = []
    for r in every:
        number = _version(r.name)
        if r.extra and number is None:
            lost.setdefault(r.extra, []).append(r.name)
        elif number is not None and not r.takes(number):
            wrong.append(f"{r.name} {number} (asked for: {r.bounds})")
    whole = sorted({r.extra for r in every if r.extra} - lost.keys())
    if not has_nvidia():
        lost.pop("cuda", None)  # it would help nobody
    lines = [f"whole: {', '.join(whole) or 'none'}"]
    lines += [f"not installed: {name} ({', '.join(packages)})" for name, packages in lost.items()]
    facts = {"whole": whole, "missing": lost, "out_of_bounds": wrong}
    if wrong:
        names = " ".join(f"'{r.text}'" for r in every if any(w.startswith(f"{r.name} ") for w in wrong))
        return Finding("!!", [*lines, f"not the versions that were tried: {', '.join(wrong)}"], f"pip install {names}", facts)  # fmt: skip
    todo = f"if you want them: pip install 'rushlight[{','.join(lost)}]'" if lost else ""
    return Finding("ok", lines, todo, facts)


def _speed() -> Finding:
    from .speed import measure

    figures = measure()
    facts = {"figures": [{**f._asdict(), "slow": f.slow} for f in figures]}
    slow = [f.name for f in figures if f.slow]
    lines = [f.line() for f in figures]
    if not slow:
        return Finding("ok", lines, "", facts)
    cores, load = os.cpu_count() or 1, os.getloadavg()[0]
    if load > cores:
        todo = f"the machine is busy (load {load:.1f} on {counted(cores, 'core')}): look again when it is not"
        return Finding("--", lines, todo, facts)
    return Finding("!!", lines, f"slow: {', '.join(slow)}. See whether something limits the process (container, power mode), then docs/recipes.md", facts)  # fmt: skip


CHECKS: dict[str, Callable[[], Finding]] = {
    "cpu": _cpu, "in C": _in_c, "oneDNN": _onednn, "cuda": _cuda, "cudnn": _cudnn, "mpi": _mpi, "nccl": _nccl,
    "caches": _caches, "extras": _extras, "speed": _speed,
}  # fmt: skip
