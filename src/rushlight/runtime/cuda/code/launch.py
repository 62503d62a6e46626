"""Launches of compiled kernels: parameters packed once, results made on the way, in C where that was built."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from math import prod
from typing import Any, NamedTuple

import cupy
import numpy as np
from cupy.cuda import driver, runtime

from ... import devices
from ..memory.lost import explained
from ..memory.streams import current

_TOO_MANY_AT_ONCE = 720  # CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
_NO_CONTEXT = 201  # CUDA_ERROR_INVALID_CONTEXT
_native: Any = None
try:
    _native = import_module("._launch", __package__)
except ImportError:  # not built: launches are packed and made in Python
    pass


def _are_again(arrays: Sequence[Any], first: int, n: int, references: tuple, orders: tuple, dtype: np.dtype) -> bool:
    given = arrays[first:]
    if len(given) != len(references) + n:
        return False
    for held, a in zip(references, (*given[:n], *given[2 * n :])):
        if held() is not a:
            return False
    for g, order in zip(given[n : 2 * n], orders):
        if (g._c_contiguous or g.strides) != order or g.dtype != dtype:
            return False
    return True


def _gathered(arrays: Sequence[Any]) -> tuple[np.dtype, list[int], list[int]] | None:
    dtype = arrays[0].dtype
    for a in arrays:
        if a.__class__ is not cupy.ndarray or a.dtype != dtype or not is_gapless(a):
            return None
    return dtype, [a.data.ptr for a in arrays], [a.size for a in arrays]


def is_gapless(a: Any) -> bool:
    """Whether an array fills its memory, in whatever order of dims."""
    if a._c_contiguous:
        return True
    step = a.itemsize
    for stride, n in sorted(zip(a.strides, a.shape)):
        if n != 1 and stride != step:
            return False
        step *= n
    return True


# Dtype, addresses and sizes of arrays that are of one dtype and fill their memory, in whatever order of dims; else None.
gathered: Callable[..., Any] = _gathered if _native is None else _native.gathered

# Whether the arrays of a call, n gradients apart, are those of an earlier one.
are_again: Callable[..., bool] = _are_again if _native is None else _native.are_again

_PLAIN_SHARED = 48 << 10
_SHARED_LIMIT = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES

_EARLY_ALL = False  # whether launches that were not prepared may overlap, too
_early = False  # whether they do now
_MOST_PARAMETERS, _MOST_BYTES = 32, 1024  # of a call in C that is made on the spot

_ndarray = cupy.ndarray
_base_new: Any = cupy.ndarray.__mro__[1].__new__
_in_c = False


def launch_in_c(pretend: bool = False) -> bool:
    """Let prepared launches go through the C extension; False where it cannot be used."""
    global _in_c
    found = _native is not None and hasattr(cupy.ndarray, "_init")
    _in_c = found and _native.setup(current, cupy.cuda.alloc, cupy.ndarray, _base_new, runtime.memGetInfo, pretend)
    if _in_c:
        _native.learn_header(_probes())
    devices.known.keepers.pop(cupy.ndarray, None)
    devices.known.reusers.pop(cupy.ndarray, None)
    if _in_c:  # small results stay with their launch, which may hand them out again
        devices.known.keepers[cupy.ndarray] = _native.is_spare
        devices.known.reusers[cupy.ndarray] = _native.reuse
    return bool(_in_c)


def _probes() -> tuple:
    """Arrays over no memory that differ in all that a launch looks at: from them C learns how arrays lie."""
    made = []
    kinds = (((3, 5, 7), "f", None), ((2, 9), "d", (8, 16)), ((11,), "h", (6,)), ((4, 1, 6, 2), "i", (96, 80, 16, 8)))
    for i, (shape, char, strides) in enumerate(kinds):
        memory = cupy.cuda.UnownedMemory(0x7A5000 + 0x1000 * i, 4096, None, 0)
        at = cupy.cuda.MemoryPointer(memory, 512 * (i + 1))
        made.append(cupy.ndarray(shape, np.dtype(char), at, strides))
    return tuple(made)


def idle_bytes() -> int:
    """What small results take that launches keep to hand them out again, and nobody holds."""
    return _native.idle() if _in_c else 0


def forget_idle() -> None:
    """Give those back to the pool."""
    if _in_c:
        _native.forget()


def forget_workspaces() -> None:
    """Let products in C ask again where they may work: what they know is given back."""
    if _native is not None:
        _native.forget_workspaces()


def overlap(on: bool) -> bool:
    """Let launches in C begin before the kernel in front of them ends, those that wait for it themselves.

    For a graph's capture: between two small kernels a GPU rests for longer than some of them take. The
    answer is whether this driver knows how.
    """
    global _early
    able = bool(_in_c and _native.overlap(on))
    _early = able and on and _EARLY_ALL
    return able


def of_words(function: Any) -> Callable[..., int]:
    """A library's function of 16 addresses and sizes, called from C where that was built."""
    if not _in_c:
        return function
    return partial(_native.call_words, ctypes.cast(function, ctypes.c_void_p).value)


def address_of(function: Any) -> int:
    """Where a library's function lies; 0 where it is none of C."""
    try:
        return ctypes.cast(function, ctypes.c_void_p).value or 0
    except ctypes.ArgumentError:
        return 0


class Result(NamedTuple):
    """An array that a prepared launch makes, and where its address stands among the pointers."""

    at: int
    shape: tuple[int, ...]
    dtype: Any
    strides: tuple[int, ...] | None = None

    def described(self) -> tuple:
        """As the C extension takes it."""
        dtype = np.dtype(self.dtype)
        return (self.at, tuple(self.shape), dtype, prod(self.shape) * dtype.itemsize, self.strides)


class Launch:
    """A kernel with the struct formats of its parameters (parameters.py): `launch(blocks, threads, *values)`.

    Values are arrays, which stand for their addresses, None for no address, and numbers. Grids and blocks are a
    number, or three. Every launch packs its values into a buffer that the driver copies before the call
    returns, so buffers are reused. `go` is the launch over one dim of numbers alone as a plain function.
    """

    __slots__ = ("count", "formats", "free", "function", "go", "kernel", "layout", "offsets", "pack", "size", "waits")

    def __init__(self, kernel: Any, formats: tuple[str, ...], waits: bool = False) -> None:
        self.function = kernel.ptr
        self.kernel = kernel
        self.waits = waits  # whether it begins by waiting for the kernel in front of it
        self.formats = formats
        offsets = []
        layout = "@"
        for entry in formats:
            aligned = struct.calcsize(layout + "0" + entry[-1])  # pads up to the type's alignment
            offsets.append(aligned)
            layout += entry
        packed = struct.Struct(layout)
        self.layout = packed
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

    def __call__(self, grid: Any, block: Any, *given: Any, shared: int = 0) -> None:
        """Launch, with so many bytes of dynamic shared memory."""
        values = tuple([a.data.ptr if a.__class__ is _ndarray else 0 if a is None else a for a in given])
        if grid.__class__ is int and not shared:
            self.go(grid, block, *values)
            return
        grid, block = _three(grid), _three(block)
        if _early and self.early(grid, block, shared, values):
            return
        room = self.free.pop() if self.free else self.room()
        self.pack(room[0], 0, *values)
        told = (self.function, *grid, *block, shared, current.ptr, room[1], 0)
        try:
            driver.launchKernel(*told)
        except driver.CUDADriverError as error:
            _once_more(error, driver.launchKernel, told)
        self.free.append(room)

    def together(self, blocks: int, threads: int, *given: Any, shared: int = 0) -> bool:
        """Launch blocks that wait for each other; False where CUDA sees that they cannot all run at once."""
        values = [a.data.ptr if a.__class__ is _ndarray else 0 if a is None else a for a in given]
        room = self.free.pop() if self.free else self.room()
        self.pack(room[0], 0, *values)
        told = (self.function, blocks, 1, 1, threads, 1, 1, shared, current.ptr, room[1])
        try:
            driver.launchCooperativeKernel(*told)
        except driver.CUDADriverError as error:
            if getattr(error, "status", 0) == _TOO_MANY_AT_ONCE:
                return False
            _once_more(error, driver.launchCooperativeKernel, told)
        finally:
            self.free.append(room)
        return True

    def early(self, grid: tuple, block: tuple, shared: int, values: tuple) -> bool:
        """Launch by C, which lets it overlap with the kernel in front of it; False where that cannot be."""
        if not self.waits or self.count > _MOST_PARAMETERS or self.size > _MOST_BYTES:
            return False
        image = self.layout.pack(*values)
        _native.Call(self.function, grid, block, shared, 0, image, self.offsets, (), (), self.kernel, True)()
        return True

    def allow(self, shared: int) -> None:
        """Let blocks have so many bytes of dynamic shared memory; more than 48 KiB have to be asked for."""
        if shared > _PLAIN_SHARED:
            driver.funcSetAttribute(self.function, _SHARED_LIMIT, shared)

    def resident(self, threads: int, shared: int) -> int:
        """Blocks that a multiprocessor holds at once, by the kernel's registers too; two where CuPy cannot ask."""
        ask = getattr(driver, "occupancyMaxActiveBlocksPerMultiprocessor", None)
        return 2 if ask is None else ask(self.function, threads, shared)

    def pointers(self, first: int = 0) -> int:
        """How many addresses follow each other among the parameters, from the `first` on."""
        rest = (*self.formats[first:], "")
        return next(i for i, entry in enumerate(rest) if entry != "P")

    def fixed(
        self, grid: Any, block: Any, *constants: int | float, head: int | None = None, shared: int = 0
    ) -> Callable[..., None]:
        """A launch where only the first `head` parameters are still to come, all addresses if not said: arrays or addresses."""
        grid, block, head = _three(grid), _three(block), self.pointers() if head is None else head
        if _in_c:
            return self._in_c(grid, block, shared, (), head, 0, (), constants)
        return _packing(self, grid, block, shared, (), head, constants)

    def prepared(
        self, grid: Any, block: Any, results: tuple[Result, ...], *constants: Any, head: int | None = None,
        shared: int = 0, front: tuple = (), aligned: tuple[int, ...] = (), absent: tuple[int, ...] = (),
        given: tuple[tuple[int, str], ...] = (), each: int = 0,
    ) -> Callable[..., Any]:  # fmt: skip
        """As `fixed`, but the pointers at `results` are arrays it makes and returns.

        It is called with the other arrays in order (an array, an address, or None for 0), and answers
        NotImplemented when one at an `aligned` place does not start at a multiple of 16 bytes. The
        constants of `front` stand before the pointers. Those that are `absent` are 0, and not given.
        Where numbers are among what it is called with, `given` has the place among the `head` parameters and the
        format of each value: "P" an array, "d", "q", "Q" or "i" a number, "x" what no kernel takes. A number that
        is not of its format is answered by NotImplemented, too. With `each`, the elements of a block, sizes tell nothing but how many there
        are, which stands in front: `Keyed` makes the launch for other numbers of them.
        """
        made_at = [r.at for r in results]
        grid, block = _three(grid), _three(block)
        head = self.pointers(len(front)) if head is None else head
        if not given:
            given = tuple([(i, "P") for i in range(head) if i not in absent and i not in made_at])
        if _in_c:
            there = [*made_at, *[i for i, _ in given]]
            bits = sum([1 << there.index(i) for i in aligned])
            made = tuple([r._replace(at=k).described() for k, r in enumerate(results)])
            kinds = "P" * len(made) + "".join([kind for _, kind in given])
            return self._in_c(grid, block, shared, front, head, bits, made, constants, there, kinds, each)
        go = _packing(self, grid, block, shared, front, head, constants)
        return _making(go, head, results, aligned, given)

    def _in_c(
        self, grid: tuple, block: tuple, shared: int, front: tuple, head: int, aligned: int,
        results: tuple, constants: tuple, there: Sequence[int] | None = None, kinds: str = "",
        each: int = 0,
    ) -> Any:  # fmt: skip
        image = self.layout.pack(*front, *(0,) * head, *constants)
        places = self.offsets[len(front) : len(front) + head]
        if there is not None:
            places = tuple([places[i] for i in there])
        return _native.Call(
            self.function, grid, block, shared, aligned, image, self.offsets, places, results,
            self.kernel, self.waits, None, kinds, each,
        )  # fmt: skip

    def with_places(self, grid: Any, block: Any, places: tuple[int, ...], *values: int | float) -> Any:
        """A launch in C with all values packed but the addresses at certain bytes; else None."""
        if not _in_c:
            return None
        image = self.layout.pack(*values)
        return _native.Call(
            self.function, _three(grid), _three(block), 0, 0, image, self.offsets, places, (), self.kernel, self.waits
        )


def _three(size: Any) -> tuple[int, int, int]:
    """A grid or a block of three dims."""
    return (size, 1, 1) if size.__class__ is int else size


def in_place_of_a_kernel(described: tuple, results: tuple[Result, ...]) -> Any:
    """A call in C whose work is a library's product (native/product.h): (x, y, vector) and results; else None.

    A result of place 2 stands in the vector's place, and is not given.
    """
    if not _in_c or not described[0] or not described[1]:
        return None
    made = tuple([r.described() for r in results])
    places = (0, 8, 16, 24)
    return _native.Call(0, (1, 1, 1), (1, 1, 1), 0, 0, bytes(32), (0,), places, made, None, False, described)


def _packing(
    launch: Launch, grid: tuple, block: tuple, shared: int, front: tuple, head: int, constants: tuple
) -> Callable[..., None]:
    """`fixed` in Python: addresses and numbers are packed between constants."""
    address, new_room, pack = launch.function, launch.room, launch.pack
    free: list[Any] = []
    start, stream = driver.launchKernel, current
    gx, gy, gz = grid
    bx, by, bz = block

    def go(*given: Any) -> None:
        values = [a.data.ptr if a.__class__ is cupy.ndarray else a or 0 for a in given]
        room = free.pop() if free else new_room()
        pack(room[0], 0, *front, *values, *constants)
        try:
            start(address, gx, gy, gz, bx, by, bz, shared, stream.ptr, room[1], 0)
        except driver.CUDADriverError as error:
            given = (address, gx, gy, gz, bx, by, bz, shared, stream.ptr, room[1], 0)
            _once_more(error, start, given)
        free.append(room)

    return go


def _making(
    go: Callable[..., None],
    head: int,
    results: tuple[Result, ...],
    aligned: tuple[int, ...],
    given: tuple[tuple[int, str], ...],
) -> Callable[..., Any]:
    """`prepared` in Python around a launch that takes addresses and numbers."""

    def call(*values: Any) -> Any:
        pointers: list[Any] = [0] * head
        for (i, kind), value in zip(given, values):
            if kind == "P":
                pointers[i] = value.data.ptr if value.__class__ is cupy.ndarray else value or 0
            elif kind != "x":
                if not isinstance(value, (float, int) if kind == "d" else int):
                    return NotImplemented
                pointers[i] = int(value) & 0xFFFFFFFFFFFFFFFF if kind == "Q" else value
        for i in aligned:
            if pointers[i] & 15:
                return NotImplemented
        made = []
        for r in results:
            out = empty(r.shape, r.dtype, r.strides)
            pointers[r.at] = out.data.ptr
            made.append(out)
        go(*pointers)
        return made[0] if len(made) == 1 else tuple(made)

    return call


def empty(shape: tuple[int, ...], dtype: np.typing.DTypeLike, strides: tuple[int, ...] | None = None) -> Any:
    """A new array; with strides, gapless memory in that order."""
    if strides is None:
        return cupy.ndarray(shape, dtype)
    size = prod(shape) * np.dtype(dtype).itemsize
    return cupy.ndarray(shape, dtype, cupy.cuda.alloc(size), strides)


def _once_more(error: Any, start: Callable[..., None], given: tuple) -> None:
    """The first launch of a thread finds no context where memory came from the pool: the thread is given one."""
    if getattr(error, "status", 0) != _NO_CONTEXT:
        raise explained(error) from None
    runtime.memGetInfo()
    try:
        start(*given)
    except driver.CUDADriverError as again:
        raise explained(again) from None


def _quick(launch: Launch, kernel: Any) -> Callable[..., None]:
    """The launch over one dim with everything it needs in local names."""
    address, pack, free, new_room = launch.function, launch.pack, launch.free, launch.room
    start, stream = driver.launchKernel, current

    def go(blocks: int, threads: int, *values: int | float, _module: Any = kernel) -> None:
        if _early and launch.early((blocks, 1, 1), (threads, 1, 1), 0, values):
            return
        room = free.pop() if free else new_room()
        pack(room[0], 0, *values)
        try:
            start(address, blocks, 1, 1, threads, 1, 1, 0, stream.ptr, room[1], 0)
        except driver.CUDADriverError as error:
            given = (address, blocks, 1, 1, threads, 1, 1, 0, stream.ptr, room[1], 0)
            _once_more(error, start, given)
        free.append(room)

    return go


launch_in_c()
