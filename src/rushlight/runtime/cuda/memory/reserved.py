"""Addresses of a GPU without memory behind them, for arrays that are handed out and mostly never looked at.

A traced loop gives the user tensors whose kernels have not run: what nobody holds in the end is computed inside of a
graph, in the graph's own memory. Such an array has an address from the beginning, and memory once somebody needs its values.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress
from ctypes import POINTER, byref, c_int, c_size_t, c_ubyte, c_uint64, c_ushort, c_void_p
from functools import cache, partial
from typing import Any
from weakref import WeakValueDictionary

import cupy
from cupy.cuda import MemoryPointer, UnownedMemory, runtime

from ....base.errors import OutOfMemoryError
from ..code.held import outside_captures

LEAST = 2 << 20  # bytes: memory is put behind addresses in pieces of this size
_ALIGNED = 512  # bytes, as CuPy's pool aligns arrays
_ON_DEVICE, _PINNED, _READ_WRITE = (1, 1, 3)  # CU_MEM_LOCATION_TYPE_, CU_MEM_ALLOCATION_TYPE_, CU_MEM_ACCESS_FLAGS_


class _Location(ctypes.Structure):
    _fields_ = (("kind", c_int), ("id", c_int))


class _Properties(ctypes.Structure):
    _fields_ = (
        ("kind", c_int), ("handles", c_int), ("location", _Location), ("windows", c_void_p),
        ("compression", c_ubyte), ("rdma", c_ubyte), ("usage", c_ushort), ("rest", c_ubyte * 4),
    )  # fmt: skip


class _Access(ctypes.Structure):
    _fields_ = (("location", _Location), ("flags", c_int))


_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "cuMemAddressReserve": (POINTER(c_uint64), c_size_t, c_size_t, c_uint64, c_uint64),
    "cuMemAddressFree": (c_uint64, c_size_t),
    "cuMemCreate": (POINTER(c_uint64), c_size_t, POINTER(_Properties), c_uint64),
    "cuMemRelease": (c_uint64,),
    "cuMemMap": (c_uint64, c_size_t, c_size_t, c_uint64, c_uint64),
    "cuMemUnmap": (c_uint64, c_size_t),
    "cuMemSetAccess": (c_uint64, c_size_t, POINTER(_Access), c_size_t),
}


@cache
def _driver() -> Any:
    """The driver with these functions; None where it does not have them."""
    try:
        found = ctypes.PyDLL("libcuda.so.1")
        for name, arguments in _ARGUMENTS.items():
            getattr(found, name).argtypes = arguments
    except (OSError, AttributeError):
        return None
    return found


_known: WeakValueDictionary[int, Reserved] = WeakValueDictionary()  # by address


class Reserved:
    """A range of addresses, which is freed with the last array in it."""

    def __init__(self, nbytes: int) -> None:
        self.address, self.size, self.handle = 0, -(-nbytes // LEAST) * LEAST, 0
        self.device = runtime.getDevice()
        found = c_uint64()
        if _driver().cuMemAddressReserve(byref(found), self.size, 0, 0, 0):
            raise OutOfMemoryError(f"there are no {self.size >> 20} MiB of addresses left")
        self.address = found.value
        _known[self.address] = self

    def back(self) -> None:
        """Put memory behind the addresses."""
        if self.handle:
            return
        place = _Location(_ON_DEVICE, self.device)
        handle, how = c_uint64(), _Properties(kind=_PINNED, location=place)
        status = _driver().cuMemCreate(byref(handle), self.size, byref(how), 0)
        if status:
            cupy.get_default_memory_pool().free_all_blocks()
            status = _driver().cuMemCreate(byref(handle), self.size, byref(how), 0)
        if status:
            raise OutOfMemoryError(f"CUDA out of memory: there are no {self.size >> 20} MiB left")
        access = _Access(place, _READ_WRITE)
        status = _driver().cuMemMap(self.address, self.size, 0, handle.value, 0)
        status = status or _driver().cuMemSetAccess(self.address, self.size, byref(access), 1)
        if status:
            _driver().cuMemRelease(handle.value)
            raise RuntimeError(f"memory could not be put behind an array: CUDA error {status}")
        self.handle = handle.value

    def __del__(self) -> None:
        with suppress(Exception):  # at the interpreter's end
            outside_captures(partial(_free, self.address, self.size, self.handle))


def _free(address: int, size: int, handle: int) -> None:
    """Give back addresses and the memory behind them."""
    if handle:
        runtime.deviceSynchronize()  # kernels may still use it
        _driver().cuMemUnmap(address, size)
        _driver().cuMemRelease(handle)
    if address:
        _driver().cuMemAddressFree(address, size)


def can_reserve() -> bool:
    """Whether this driver knows addresses without memory."""
    return _driver() is not None


def reserved(shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...], nbytes: int) -> Any:
    """An array that has an address and no memory; `back` gives it some before it is read or written."""
    owner = Reserved(nbytes)
    memory = UnownedMemory(owner.address, owner.size, owner, owner.device)
    return cupy.ndarray(shape, dtype, MemoryPointer(memory, 0), strides)


class Chunks:
    """Such addresses for small arrays, which lie one behind the other: memory comes for all of a chunk at once."""

    def __init__(self) -> None:
        self.memory: Any = None
        self.at = 0

    def array(self, shape: tuple[int, ...], dtype: Any, strides: tuple[int, ...], nbytes: int) -> Any:
        """An array that has an address and no memory."""
        size = -(-nbytes // _ALIGNED) * _ALIGNED
        if self.memory is None or self.at + size > self.memory.size:
            owner = Reserved(max(size, LEAST))
            self.memory, self.at = UnownedMemory(owner.address, owner.size, owner, owner.device), 0
        made = cupy.ndarray(shape, dtype, MemoryPointer(self.memory, self.at), strides)
        self.at += size
        return made


def back(array: Any) -> None:
    """Put memory behind an array, if it has none."""
    if _known:
        found = _known.get(array.data.mem.ptr)
        if found is not None:
            found.back()
