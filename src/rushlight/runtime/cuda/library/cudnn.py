"""cuDNN through ctypes: the library, what it says when it refuses, its handles.

Nothing but the library itself is needed: PyTorch's wheels bring it, `rushlight[cuda]` does, and systems do.
"""

from __future__ import annotations

import ctypes
import struct
import warnings
from ctypes import PYFUNCTYPE, byref, c_char_p, c_float, c_int, c_int64, c_size_t, c_uint, c_ulonglong, c_void_p
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from cupy.cuda import runtime

from ....base.locks import new_rlock
from ..code import launch
from ..memory.streams import current

TYPES = {"f": 0, "d": 1, "e": 2, "E": 9}  # dtype.char -> cudnnDataType_t
_OLDEST = 8901  # from this version on, lengths of sequences need no copy on the device


class CudnnRefused(RuntimeError):
    """cuDNN does not take this."""


def _folders() -> list[Path]:
    try:
        return [Path(p) / "lib" for p in import_module("nvidia.cudnn").__path__]
    except ImportError:
        return []


def _open() -> Any:
    for version in ("9", "8"):
        name = f"libcudnn.so.{version}"
        for place in [*[str(folder / name) for folder in _folders()], name]:
            try:
                return ctypes.CDLL(place, mode=ctypes.RTLD_GLOBAL)
            except OSError:
                continue
    return None


_P, _I, _Z = c_void_p, c_int, c_size_t
_SPACES = [_Z, _P, _Z, _P, _Z, _P]  # sizes and addresses of weights, working memory, reserve
_ARGUMENTS = {
    "cudnnSetStream": [_P, _P],
    "cudnnBackendCreateDescriptor": [_I, _P],
    "cudnnBackendDestroyDescriptor": [_P],
    "cudnnBackendFinalize": [_P],
    "cudnnBackendSetAttribute": [_P, _I, _I, c_int64, _P],
    "cudnnBackendGetAttribute": [_P, _I, _I, c_int64, _P, _P],
    "cudnnSetDropoutDescriptor": [_P, _P, c_float, _P, _Z, c_ulonglong],
    "cudnnSetRNNDescriptor_v8": [_P, *[_I] * 12, _P, c_uint],
    "cudnnSetRNNDataDescriptor": [_P, _I, _I, _I, _I, _I, _P, _P],
    "cudnnSetTensorNdDescriptor": [_P, _I, _I, _P, _P],
    "cudnnGetTensorNdDescriptor": [_P, _I, _P, _P, _P, _P],
    "cudnnGetRNNWeightSpaceSize": [_P, _P, _P],
    "cudnnGetRNNTempSpaceSizes": [_P, _P, _I, _P, _P, _P],
    "cudnnGetRNNWeightParams": [_P, _P, _I, _Z, _P, _I, _P, _P, _P, _P],
    "cudnnRNNForward": [_P, _P, _I, *[_P] * 11, *_SPACES],
    "cudnnRNNBackwardData_v8": [*[_P] * 16, *_SPACES],
    "cudnnRNNBackwardWeights_v8": [_P, _P, _I, *[_P] * 7, *_SPACES],
}


class CudnnLibrary:
    """The library and its handles.

    A handle that computes recurrent layers keeps streams and memory of its own, which it makes at its first use: a
    second one for the stream of a capture would make them inside the capture. So there is one on each GPU, moved from
    stream to stream; `lock` keeps threads from using it side by side. Graphs have a handle for each stream, as setting
    a stream costs more than a second handle.
    """

    def __init__(self, lib: Any) -> None:
        self.lib = lib
        self.lock = new_rlock()
        self.handles: dict[int, tuple[int, int]] = {}  # GPU -> handle, the stream it is set to
        self.by_stream: dict[tuple[int, int], int] = {}  # GPU and stream -> handle of graphs
        lib.cudnnGetVersion.restype = c_size_t
        lib.cudnnGetErrorString.restype = c_char_p
        for name, types in _ARGUMENTS.items():
            getattr(lib, name).argtypes = types
        self.version = int(lib.cudnnGetVersion())

    def call(self, name: str, *arguments: Any) -> None:
        status = getattr(self.lib, name)(*arguments)
        if status:
            self._refused(name, status)

    def _refused(self, name: str, status: int) -> None:
        told = (self.lib.cudnnGetErrorString(status) or b"").decode()
        raise CudnnRefused(f"{name}: {told}")

    @cached_property
    def _functions(self) -> bytes:
        """Where the functions are that run a plan, in the order in which C knows them."""
        names = ("CreateDescriptor", "SetAttribute", "Finalize", "Execute", "DestroyDescriptor")
        found = [ctypes.cast(getattr(self.lib, f"cudnnBackend{n}"), c_void_p).value for n in names]
        return struct.pack(f"{len(found)}P", *found)

    def execute(self, plan: int, uids: bytes, addresses: list[int], workspace: int) -> None:
        """Run a graph's plan on the current stream; `uids` numbers the tensors that lie at the addresses.

        C keeps the interpreter's lock all the while: no other thread uses the handle.
        """
        run = _run_graph if launch._native is None else launch._native.run_graph
        status = run(self._functions, self.handle_of_stream(), plan, uids, addresses, workspace)
        if status:  # a handle is not used after a refused call: it may be out of its stream's order
            self.by_stream.clear()
            self._refused("cudnnBackendExecute", status)

    def made(self, kind: str) -> int:
        """A new descriptor."""
        box = c_void_p()
        self.call(f"cudnnCreate{kind}Descriptor", byref(box))
        return box.value or 0

    def handle(self) -> int:
        """The handle of the current GPU, set to the current stream."""
        device, stream = runtime.getDevice(), current.ptr
        found, at = self.handles.get(device, (0, -1))
        if not found:
            found = self._new_handle()
        if at != stream:
            self.call("cudnnSetStream", found, stream)
            self.handles[device] = found, stream
        return found

    def handle_of_stream(self) -> int:
        """The handle of graphs on the current GPU and stream."""
        key = (runtime.getDevice(), current.ptr)
        found = self.by_stream.get(key)
        if found is None:
            made = self._new_handle()
            self.call("cudnnSetStream", made, key[1])
            found = self.by_stream.setdefault(key, made)
        return found

    def _new_handle(self) -> int:
        box = c_void_p()
        self.call("cudnnCreate", byref(box))
        return box.value or 0


def _run_graph(functions: bytes, handle: int, plan: int, uids: bytes, addresses: list[int], workspace: int) -> int:
    """What C does where it is not built."""
    kinds: list[list[Any]] = [[_I, _P], [_P, _I, _I, c_int64, _P], [_P], [_P, _P, _P], [_P]]
    create, put, end, execute, drop = [PYFUNCTYPE(_I, *k)(at) for k, at in zip(kinds, struct.unpack("5P", functions))]
    n, box = len(addresses), c_void_p()
    status = create(16, byref(box))
    if status:
        return int(status)
    status = (
        put(box, 1000, 3, n, uids)
        or put(box, 1001, 6, n, (c_void_p * n)(*addresses))
        or put(box, 1003, 6, 1, byref(c_void_p(workspace)))
        or end(box)
        or execute(handle, plan, box)
    )
    drop(box)
    return int(status)


_library: Any = None


def library() -> CudnnLibrary | None:
    """cuDNN, or None where it is not installed or too old, which is told once; opened on first use."""
    global _library
    if _library is None:
        lib = _open()
        made = CudnnLibrary(lib) if hasattr(lib, "cudnnRNNBackwardData_v8") else None
        if made is None or made.version < _OLDEST:
            why = f"its version is {made.version}" if made else "libcudnn.so.9 is not found"
            warnings.warn(
                f"cuDNN cannot be used ({why}): convolutions, attention and recurrent layers on the GPU take "
                "ways that are several times slower; pip install 'rushlight[cuda]' brings it",
                stacklevel=2,
            )
            made = None
        _library = made or False
    return _library or None


def version() -> int | None:
    """cuDNN's own version number, or None without it."""
    lib = library()
    return None if lib is None else lib.version
