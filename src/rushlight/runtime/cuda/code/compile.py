"""CUDA sources to launchable kernels: NVRTC once, in the background when asked, cubins kept on disk."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import cupy
from cupy.cuda import function
from cupy_backends.cuda.libs import nvrtc

from ....base.bounded import Bounded
from ....base.config import settings
from ....base.locks import new_lock
from . import usual
from .held import runnable
from .launch import Launch
from .parameters import formats

KERNELS = Path(__file__).parents[1] / "kernels"
_texts: dict[str, str] = Bounded(256)  # by file of kernels/

OPTIONS = ("-std=c++17",)


def source(name: str) -> str:
    """The text of `kernels/<name>`, read once."""
    text = _texts.get(name)
    if text is None:
        text = _texts[name] = (KERNELS / name).read_bytes().decode()
    return text


def arch() -> str:
    """The current GPU's architecture as compilers spell it, for example sm_90."""
    return f"sm_{cupy.cuda.Device().compute_capability}"


heard: Callable[[Path], None] | None = None  # is told of every kernel that is asked for, by its path
_under_way: dict[Path, Future[bytes]] = {}  # what some thread compiles now


def cubin(text: str, flags: tuple[str, ...]) -> bytes:
    """The machine code of a source, from the disk when it was made before; threads that want the same wait for one of them."""
    path = path_of(text, flags)
    if heard is not None:
        heard(path)
    try:
        return path.read_bytes()
    except OSError:
        pass
    came = _shipped(text, flags)
    if came is not None:
        return came
    mine: Future[bytes] = Future()
    other = _under_way.setdefault(path, mine)
    if other is not mine:
        return other.result()
    try:
        code = _compile(text, flags)
        _keep(path, code)
        mine.set_result(code)
    except BaseException as error:
        mine.set_exception(error)
        raise
    finally:
        del _under_way[path]
    return code


def is_kept(text: str, flags: tuple[str, ...]) -> bool:
    """Whether a source's machine code lies on the disk, or came with the package."""
    return path_of(text, flags).exists() or _shipped(text, flags) is not None


def _shipped(text: str, flags: tuple[str, ...]) -> bytes | None:
    *options, arch = flags
    return usual.shipped(arch.removeprefix("-arch=")).get(usual.key_of(text, tuple(options)))


def version() -> str:
    """NVRTC's version."""
    return ".".join(map(str, nvrtc.getVersion()))


def path_of(text: str, flags: tuple[str, ...]) -> Path:
    """Where a source's machine code is kept."""
    key = hashlib.sha256("\0".join((version(), *flags, text)).encode()).hexdigest()[:40]
    return Path(settings.cache_dir) / "cuda" / f"{key}.cubin"


def _compile(text: str, flags: tuple[str, ...]) -> bytes:
    program = nvrtc.createProgram(text, "rushlight.cu", (), ())
    try:
        nvrtc.compileProgram(program, flags)
        return nvrtc.getCUBIN(program)
    except nvrtc.NVRTCError:
        log = nvrtc.getProgramLog(program)
        raise RuntimeError(f"a CUDA kernel does not compile:\n{log}\n{_numbered(text)}") from None
    finally:
        nvrtc.destroyProgram(program)


def _numbered(text: str) -> str:
    return "\n".join(f"{i + 1:4} {line}" for i, line in enumerate(text.splitlines()))


def _keep(path: Path, code: bytes) -> None:
    """Write a cache file whole or not at all; a cache that cannot be written is no error."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
        part.write_bytes(code)
        os.replace(part, path)
    except OSError:
        pass


# -- not waiting for the compiler -------------------------------------------------------------------


class NotCompiled(BaseException):
    """A kernel is being compiled in the background; no `except Exception` takes this for a failure."""


class _Mine(threading.local):
    """The block of `compiling_ahead` that this thread is in."""

    ahead: compiling_ahead | None = None


_mine = _Mine()


class compiling_ahead:  # noqa: N801
    """Inside the block this thread does not wait for NVRTC: what needs a kernel raises NotCompiled instead.

    The kernel is compiled in the background, beside others (NVRTC runs in parallel: 5.0 s became 2.5 s with
    two threads), and is there when it is asked for after `wait`.
    """

    def __init__(self) -> None:
        self.codes: dict[tuple, Future[bytes]] = {}

    def __enter__(self) -> compiling_ahead:
        self.pool = ThreadPoolExecutor(os.cpu_count() or 1, "rushlight nvrtc")
        self.before, _mine.ahead = _mine.ahead, self
        return self

    def __exit__(self, *exc: object) -> None:
        _mine.ahead = self.before
        self.pool.shutdown(wait=False, cancel_futures=True)

    def wait(self) -> None:
        """Wait until everything that was asked for is compiled or has failed; a failure is raised in the caller that asked for it."""
        wait(self.codes.values())

    def code(self, text: str, flags: tuple[str, ...]) -> bytes:
        """As `cubin`, for those who come back."""
        found = self.codes.get((text, flags))
        if found is None:
            if is_kept(text, flags):
                return cubin(text, flags)
            self.codes[text, flags] = self.pool.submit(cubin, text, flags)
            raise NotCompiled
        if not found.done():
            raise NotCompiled
        return found.result()


# -- modules and kernels ------------------------------------------------------------------------------

_lock = new_lock()
_locks: dict[tuple, Any] = {}  # of modules that are being made
_modules: dict[tuple, Any] = Bounded(2048)


class _Module(function.Module):
    """A module to which there are weak references; its functions hold it, and it is unloaded with the last of them."""


def module(text: str, options: tuple[str, ...] = ()) -> Any:
    """The loaded module of a source, one per GPU."""
    key = (text, options, cupy.cuda.runtime.getDevice())
    found = _modules.get(key)
    if found is None:
        with _lock:
            mine = _locks.setdefault(key, new_lock())
        try:
            with mine:  # a thread that wants another source need not wait
                found = _modules.get(key)
                if found is None:
                    found = _modules[key] = _loaded(text, (*OPTIONS, *options, f"-arch={arch()}"))
        finally:
            with _lock:
                _locks.pop(key, None)
    return found


def _loaded(text: str, flags: tuple[str, ...]) -> Any:
    ahead = _mine.ahead
    code = cubin(text, flags) if ahead is None else ahead.code(text, flags)
    found = _Module()
    found.load(code)
    return runnable(found)


_launches: dict[tuple, Launch] = Bounded(4096)


def kernel(text: str, name: str, options: tuple[str, ...] = ()) -> Launch:
    """The launchable kernel `name` of a source on the current GPU, made once.

    A source with KERNEL (kernel.cuh) is compiled for this kernel alone: all of them together take up to ten
    times as long, and most of a first step is the compiler's.
    """
    key = (text, name, options, cupy.cuda.runtime.getDevice())
    found = _launches.get(key)
    if found is None:
        given = formats(text, name, options)
        if "KERNEL(" in text:
            options = (*options, "-DONE_KERNEL", f"-DASKED_{name}=~,")
        loaded = module(source("kernel.cuh") + text, options)
        found = Launch(loaded.get_function(name), given, waits="depend();" in text)
        _launches[key] = found
    return found
