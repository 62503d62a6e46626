"""CUDA sources to launchable kernels: NVRTC once, cubins kept on disk, a lean launch call."""

from __future__ import annotations

import ctypes
import hashlib
import os
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cupy
from cupy.cuda import driver, function
from cupy_backends.cuda.libs import nvrtc

from ...base.config import settings
from .streams import current

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


class Launch:
    """A kernel with the struct formats of its parameters: `launch(blocks, threads, *values)`.

    `formats` holds one entry per parameter: "P" a pointer, "i"/"q" an integer, "f"/"d" a number,
    "6i" an array passed by value in a struct. Every launch packs its values into a buffer that the
    driver copies before the call returns, so buffers are reused. `go` is the launch as a plain
    function, which saves the quick paths a method call.
    """

    __slots__ = ("count", "free", "function", "go", "offsets", "pack", "size")

    def __init__(self, kernel: Any, formats: tuple[str, ...]) -> None:
        self.function = kernel.ptr
        offsets = []
        layout = "@"
        for entry in formats:
            aligned = struct.calcsize(layout + "0" + entry[-1])  # pads up to the type's alignment
            offsets.append(aligned)
            layout += entry
        packed = struct.Struct(layout)
        self.pack = packed.pack_into
        self.size = max(packed.size, 8)
        self.offsets = tuple(offsets)
        self.count = len(formats)
        self.free: list[Any] = []
        self.go = _quick(self, kernel)

    def room(self) -> tuple[Any, int, Any]:
        """A buffer for the values, the address of the array of their addresses, and that array."""
        buffer = ctypes.create_string_buffer(self.size)
        start = ctypes.addressof(buffer)
        pointers = (ctypes.c_void_p * max(self.count, 1))(*[start + o for o in self.offsets])
        return buffer, ctypes.addressof(pointers), pointers

    def __call__(self, blocks: int, threads: int, *values: Any) -> None:
        self.go(blocks, threads, *values)

    def on_grid(self, grid: tuple, block: tuple, shared: int, *values: Any) -> None:
        """As a call, with a grid and a block of three dims and dynamic shared memory."""
        room = self.free.pop() if self.free else self.room()
        self.pack(room[0], 0, *values)
        driver.launchKernel(
            self.function, *grid, *block, shared, current.ptr, room[1], 0
        )  # fmt: skip
        self.free.append(room)

    def fixed(
        self, grid: tuple, block: tuple, shared: int, head: int, *constants: Any
    ) -> Callable[..., None]:
        """A launch where only the first `head` parameters, all pointers, are still to come."""
        address, new_room, pack = self.function, self.room, self.pack
        pack_head = struct.Struct(f"{head}P").pack_into
        free: list[Any] = []
        start, stream = driver.launchKernel, current
        gx, gy, gz = grid
        bx, by, bz = block
        blank = (0,) * head

        def go(*pointers: int) -> None:
            if free:
                room = free.pop()
            else:
                room = new_room()
                pack(room[0], 0, *blank, *constants)
            pack_head(room[0], 0, *pointers)
            start(address, gx, gy, gz, bx, by, bz, shared, stream.ptr, room[1], 0)
            free.append(room)

        return go


def _quick(launch: Launch, kernel: Any) -> Callable[..., None]:
    """The launch over one dim with everything it needs in local names."""
    address, pack, free, new_room = launch.function, launch.pack, launch.free, launch.room
    start, stream = driver.launchKernel, current

    def go(blocks: int, threads: int, *values: Any, _module: Any = kernel) -> None:
        room = free.pop() if free else new_room()
        pack(room[0], 0, *values)
        start(address, blocks, 1, 1, threads, 1, 1, 0, stream.ptr, room[1], 0)
        free.append(room)

    return go


_launches: dict[tuple, Launch] = {}


def kernel(text: str, name: str, formats: tuple[str, ...], options: tuple[str, ...] = ()) -> Launch:
    """The launchable kernel `name` of a source on the current GPU, made once."""
    key = (text, name, formats, options, cupy.cuda.runtime.getDevice())
    found = _launches.get(key)
    if found is None:
        found = _launches[key] = Launch(module(text, options).get_function(name), formats)
    return found
