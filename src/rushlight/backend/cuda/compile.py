"""CUDA sources to launchable kernels: NVRTC once, cubins kept on disk."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Any

import cupy
from cupy.cuda import function
from cupy_backends.cuda.libs import nvrtc

from ...base.config import settings
from .launch import Launch

_KERNELS = Path(__file__).parent / "kernels"
_lock = threading.Lock()
_modules: dict[tuple[str, int], Any] = {}
_texts: dict[str, str] = {}

OPTIONS = ("-std=c++17",)


def source(name: str) -> str:
    """The text of `kernels/<name>`, read once."""
    text = _texts.get(name)
    if text is None:
        text = _texts[name] = (_KERNELS / name).read_text()
    return text


def arch() -> str:
    """The current GPU's architecture as compilers spell it, for example sm_90."""
    return f"sm_{cupy.cuda.Device().compute_capability}"


def cubin(text: str, options: tuple[str, ...] = ()) -> bytes:
    """The machine code of a source for the current GPU, from the disk when it was made before."""
    flags = (*OPTIONS, *options, f"-arch={arch()}")
    version = ".".join(map(str, nvrtc.getVersion()))
    key = hashlib.sha256("\0".join((version, *flags, text)).encode()).hexdigest()[:40]
    path = Path(settings.cache_dir) / "cuda" / f"{key}.cubin"
    try:
        return path.read_bytes()
    except OSError:
        pass
    code = _compile(text, flags)
    _keep(path, code)
    return code


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


def module(text: str, options: tuple[str, ...] = ()) -> Any:
    """The loaded module of a source, one per GPU."""
    key = (text if not options else text + "\0".join(options), cupy.cuda.runtime.getDevice())
    found = _modules.get(key)
    if found is None:
        with _lock:
            found = _modules.get(key)
            if found is None:
                found = function.Module()
                found.load(cubin(text, options))
                _modules[key] = found
    return found


_launches: dict[tuple, Launch] = {}


def kernel(text: str, name: str, formats: tuple[str, ...], options: tuple[str, ...] = ()) -> Launch:
    """The launchable kernel `name` of a source on the current GPU, made once."""
    key = (text, name, formats, options, cupy.cuda.runtime.getDevice())
    found = _launches.get(key)
    if found is None:
        found = _launches[key] = Launch(module(text, options).get_function(name), formats)
    return found
