"""The oneDNN library: descriptors, primitives cached by their caller, reorders where layouts differ.

Bound to the C API of oneDNN 3 (https://oneapi-src.github.io/oneDNN/); constants are its enums.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ....base.locks import new_lock

Pointer = ctypes.c_void_p
_Dims = ctypes.c_int64 * 12

# Arguments of primitives.
SRC, DST, WEIGHTS, BIAS = 1, 17, 33, 41
DIFF_SRC, DIFF_DST, DIFF_WEIGHTS = 129, 145, 161
# Which descriptor of a primitive belongs to an argument.
_QUERY = {SRC: 129, DIFF_SRC: 130, WEIGHTS: 131, DIFF_WEIGHTS: 132, DST: 133, DIFF_DST: 134}

BF16, F32 = 2, 3  # data types
_ANY, _CPU, _IMPL_NAME = 1, 1, 8
FORWARD_TRAINING, DIRECT = 64, 1


class OneDnnRefused(Exception):
    """oneDNN has no good kernel for this problem."""


class _Argument(ctypes.Structure):
    _fields_ = [("arg", ctypes.c_int), ("memory", Pointer)]


class _Version(ctypes.Structure):
    _fields_ = [("major", ctypes.c_int), ("minor", ctypes.c_int), ("patch", ctypes.c_int)]


def find() -> str:
    """The library file: our wheel's own, or that of the wheel onednn-cpu-gomp; OSError when there is none."""
    for folder in (Path(__file__).parent, Path(sys.prefix, "lib")):
        if (folder / "libdnnl.so.3").exists():
            return str(folder / "libdnnl.so.3")
    from importlib.metadata import PackageNotFoundError, files

    try:
        listed = files("onednn-cpu-gomp") or []
    except PackageNotFoundError:
        raise OSError("onednn-cpu-gomp is not installed") from None
    for file in listed:
        if file.name == "libdnnl.so.3":
            return str(file.locate())
    raise OSError("onednn-cpu-gomp is installed without libdnnl.so.3")


class OneDnn:
    """libdnnl with one engine, one stream, and one buffer for data in other layouts."""

    def __init__(self, path: str) -> None:
        self.c = c = ctypes.CDLL(path)
        c.dnnl_memory_desc_get_size.restype = ctypes.c_size_t
        c.dnnl_memory_desc_get_size.argtypes = [Pointer]
        c.dnnl_primitive_desc_query_md.restype = Pointer
        c.dnnl_primitive_desc_query_md.argtypes = [Pointer, ctypes.c_int, ctypes.c_int]
        c.dnnl_primitive_execute.argtypes = [Pointer, Pointer, ctypes.c_int, Pointer]
        c.dnnl_memory_desc_equal.argtypes = [Pointer, Pointer]
        c.dnnl_memory_set_data_handle.argtypes = [Pointer, Pointer]
        c.dnnl_version.restype = ctypes.POINTER(_Version)
        self.engine, self.stream = Pointer(), Pointer()
        self.check(c.dnnl_engine_create(ctypes.byref(self.engine), _CPU, ctypes.c_size_t(0)))
        self.check(c.dnnl_stream_create(ctypes.byref(self.stream), self.engine, 1))
        self.lock = new_lock()  # one stream, one buffer: one call at a time
        # Elsewhere bfloat16 is emulated, and slower than NumPy's way through float32.
        self.has_bfloat16 = bool(c.dnnl_get_effective_cpu_isa() & 0x80)
        self.usable = True  # not in a forked child
        self.few_places = 0  # results of a convolution so few that the engine behind is quicker
        self.picky = False  # whether a good engine stands behind, for all that oneDNN does no better
        self._buffer: Any = None
        self._buffer_bytes = 0
        self.watching = False  # whether reorders are timed, for a profile
        self._reorders = threading.local()  # of the kernels that a thread called
        self._lent = threading.local()

    @staticmethod
    def check(status: int) -> None:
        if status:
            raise OneDnnRefused(f"oneDNN answers status {status}")

    def version(self) -> str:
        v = self.c.dnnl_version().contents
        return f"{v.major}.{v.minor}.{v.patch}"

    def instruction_set(self) -> str:
        """The widest that oneDNN uses here, from its bit set."""
        bits = self.c.dnnl_get_effective_cpu_isa()
        for name, wanted in (("AVX512 AMX", 0xE00), ("AVX512", 0x20), ("AVX2", 0x4), ("AVX", 0x2)):
            if bits & wanted == wanted:
                return name
        return "SSE4.1"

    # -- results in given memory ------------------------------------------------------------------

    @contextmanager
    def lending(self, array: Any) -> Iterator[None]:
        """Let a kernel called in the block have its result in `array`, if that looks as it must."""
        self._lent.array = array
        try:
            yield
        finally:
            self._lent.array = None

    def lent(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """The array lent to this thread, where it has this shape and dtype."""
        found = getattr(self._lent, "array", None)
        if found is None or found.shape != shape or found.dtype != dtype:
            return None
        return found

    # -- conversions, for a profile ---------------------------------------------------------------

    def note(self, what: str, seconds: float, nbytes: int) -> None:
        row = vars(self._reorders).setdefault(what, [0, 0.0, 0])
        row[0] += 1
        row[1] += seconds
        row[2] += nbytes

    def conversions(self) -> list[tuple[str, int, float, int]]:
        """(what, count, seconds, bytes) of this thread's reorders since its last call."""
        mine = vars(self._reorders)
        found = [(what, *row) for what, row in mine.items()]
        mine.clear()
        return found

    # -- descriptors ----------------------------------------------------------------------------

    def strided(self, shape: Sequence[int], strides: Sequence[int], kind: int) -> Any:
        """Data of this shape with strides in elements."""
        made = Pointer()
        dims, steps = _Dims(*shape), _Dims(*strides)
        create = self.c.dnnl_memory_desc_create_with_strides
        self.check(create(ctypes.byref(made), len(shape), dims, kind, steps))
        return made

    def any_layout(self, shape: Sequence[int], kind: int) -> Any:
        """Data of this shape as the primitive likes it best."""
        made = Pointer()
        create = self.c.dnnl_memory_desc_create_with_tag
        self.check(create(ctypes.byref(made), len(shape), _Dims(*shape), kind, _ANY))
        return made

    def memory(self, descriptor: Any) -> Any:
        made = Pointer()
        create = self.c.dnnl_memory_create
        self.check(create(ctypes.byref(made), descriptor, self.engine, Pointer(0)))
        return made

    def describe(self, function: str, *arguments: Any) -> Any:
        """A primitive descriptor; OneDnnRefused if oneDNN only has its reference code, 20-260x slower."""
        made = Pointer()
        self.check(getattr(self.c, function)(ctypes.byref(made), *arguments))
        name = ctypes.c_char_p()
        self.c.dnnl_primitive_desc_query(made, _IMPL_NAME, 0, ctypes.byref(name))
        if name.value is None or b"ref" in name.value:
            raise OneDnnRefused(f"only {name.value!r}")
        return made

    def primitive(self, description: Any) -> Any:
        made = Pointer()
        self.check(self.c.dnnl_primitive_create(ctypes.byref(made), description))
        return made

    def buffer(self, nbytes: int) -> int:
        """The address of at least so many bytes, aligned; valid until the next call."""
        if nbytes > self._buffer_bytes:
            self._buffer = ctypes.create_string_buffer(nbytes + 64)
            self._buffer_bytes = nbytes
        at = ctypes.addressof(self._buffer)
        return at + -at % 64


def dims(values: Sequence[int]) -> Any:
    return _Dims(*values)


class _Reorder:
    """A copy from one layout to another."""

    def __init__(self, library: OneDnn, source: Any, target: Any, what: str) -> None:
        self.what = what
        self.bytes = library.c.dnnl_memory_desc_get_size(target)
        e = library.engine
        make = "dnnl_reorder_primitive_desc_create"
        made = Pointer()
        library.check(getattr(library.c, make)(ctypes.byref(made), source, e, target, e, None))
        self.primitive = library.primitive(made)
        self.source, self.target = library.memory(source), library.memory(target)
        self.arguments = _arguments({SRC: self.source, DST: self.target})


def _arguments(memories: dict[int, Any]) -> Any:
    pairs = [_Argument(k, m.value) for k, m in memories.items()]
    return (_Argument * len(pairs))(*pairs)


class OneDnnPlan:
    """A primitive ready to run on arrays whose layouts are `given` (argument -> descriptor).

    Where the primitive wants another layout, its data passes through the library's buffer; counts
    of such conversions are kept, because they are what a profile should show.
    """

    def __init__(self, library: OneDnn, description: Any, given: dict[int, Any], result: int) -> None:
        self.library = library
        self.result = result
        self.primitive = library.primitive(description)
        self.memories: dict[int, Any] = {}
        self.before: dict[int, _Reorder] = {}
        self.after: dict[int, _Reorder] = {}
        self.offsets: dict[int, int] = {}  # in the buffer, of arguments that are converted
        self.bytes = 0
        for argument, mine in given.items():
            wanted = mine
            if argument != BIAS:
                found = library.c.dnnl_primitive_desc_query_md(description, _QUERY[argument], 0)
                wanted = Pointer(found)
                if not library.c.dnnl_memory_desc_equal(mine, wanted):
                    self._convert(argument, mine, wanted)
            self.memories[argument] = library.memory(wanted)
        self.arguments = _arguments(self.memories)
        self.conversions = len(self.offsets)

    def _convert(self, argument: int, mine: Any, wanted: Any) -> None:
        self.offsets[argument] = self.bytes
        self.bytes += -(-self.library.c.dnnl_memory_desc_get_size(wanted) // 64) * 64
        if argument == self.result:
            what = "weight unpacked" if argument == DIFF_WEIGHTS else "NHWC to NCHW"
            self.after[argument] = _Reorder(self.library, wanted, mine, what)
        else:
            what = "weight packed" if argument == WEIGHTS else "NCHW to NHWC"
            self.before[argument] = _Reorder(self.library, mine, wanted, what)

    def run(self, addresses: dict[int, int]) -> None:
        """Compute; `addresses` says where each argument's data lies."""
        library = self.library
        place = library.c.dnnl_memory_set_data_handle
        with library.lock:
            base = library.buffer(self.bytes) if self.bytes else 0
            for argument, address in addresses.items():
                offset = self.offsets.get(argument)
                place(self.memories[argument], address if offset is None else base + offset)
            for argument, reorder in self.before.items():
                self._reorder(reorder, addresses[argument], base + self.offsets[argument])
            self._execute(self.primitive, self.arguments)
            for argument, reorder in self.after.items():
                self._reorder(reorder, base + self.offsets[argument], addresses[argument])
            library.c.dnnl_stream_wait(library.stream)

    def _reorder(self, reorder: _Reorder, source: int, target: int) -> None:
        place = self.library.c.dnnl_memory_set_data_handle
        place(reorder.source, source)
        place(reorder.target, target)
        begin = time.perf_counter() if self.library.watching else 0.0
        self._execute(reorder.primitive, reorder.arguments)
        if begin:
            self.library.c.dnnl_stream_wait(self.library.stream)
            self.library.note(reorder.what, time.perf_counter() - begin, reorder.bytes)

    def _execute(self, primitive: Any, arguments: Any) -> None:
        c, stream = self.library.c, self.library.stream
        status = c.dnnl_primitive_execute(primitive, stream, len(arguments), arguments)
        if status:
            raise RuntimeError(f"oneDNN failed with status {status}")
