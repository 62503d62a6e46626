"""The families' CUDA files made into launches: one module per number type and set of constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from ....base.bounded import Bounded
from ....base.dtypes import from_np
from ..memory.streams import current
from ..processors import multiprocessors
from .compile import Launch, kernel, source
from .generate import PRELUDE, TYPES
from .room import COUNTERS as COUNTERS
from .room import PARTIALS as PARTIALS

# dtype.char -> (type in memory, type computed with); "E" is ml_dtypes' bfloat16.
NUMBERS = {"f": ("float", "float"), "d": ("double", "double"), "e": ("half_t", "float"), "E": ("bf16_t", "float")}


# dtype.char -> type in memory: of classes, and of places in an array.
LABELS = {"l": "i64", "q": "i64", "B": "u8"}
PLACES = {"l": "i64", "q": "i64", "i": "int"}
_F32, _F64 = np.dtype(np.float32), np.dtype(np.float64)


def computed(dtype: np.dtype) -> np.dtype:
    """The dtype that numbers of a dtype are computed in, and that statistics of them are kept in."""
    return _F64 if dtype.char == "d" else _F32


def options(char: str, **constants: str | int | float) -> tuple[str, ...]:
    stored, wide = NUMBERS[char]
    named = [f"-D{name}={value}" for name, value in constants.items()]
    return (f"-DNT={stored}", f"-DNA={wide}", *named)


_loaded: dict[tuple, Launch] = Bounded(4096)
_single = runtime.getDeviceCount() == 1


def device() -> int:
    """The current GPU's number, without asking where there is one only."""
    return 0 if _single else runtime.getDevice()


_OPTIN = 97  # cudaDevAttrMaxSharedMemoryPerBlockOptin
_rooms: dict[int, int] = Bounded(64)  # by GPU


def block_room() -> int:
    """Bytes of shared memory that a block of the current GPU may have."""
    index = device()
    found = _rooms.get(index)
    if found is None:
        found = _rooms[index] = int(runtime.deviceGetAttribute(_OPTIN, index))
    return found


def load(file: str, name: str, char: str = "f", **constants: str | int | float) -> Launch:
    """The kernel `name` of `kernels/<file>` for numbers of dtype `char`, made once."""
    key = (file, name, char, *constants.values(), device())
    found = _loaded.get(key)
    if found is None:
        text = source("common.cu") + source("tf32.cuh") * ("TF32" in constants) + source(file)
        found = _loaded[key] = kernel(text, name, options(char, **constants))
    return found


def typed(file: str, name: str, dtype: np.dtype, **constants: str | int) -> Launch:
    """The kernel `name` of `kernels/<file>`, which calls its elements S, for those of any dtype, made once."""
    key = (file, name, dtype, *constants.values(), device())
    found = _loaded.get(key)
    if found is None:
        text = f"{PRELUDE}\ntypedef {TYPES[from_np(dtype).name][0]} S;\n{source(file)}"
        given = tuple([f"-D{constant}={value}" for constant, value in constants.items()])
        found = _loaded[key] = kernel(text, name, given)
    return found


_EACH = 16  # blocks for a multiprocessor that is kept busy; kernels stride over the rest


def blocks_for(count: int, threads: int = 256) -> int:
    """Blocks for one thread per element, up to what fills the GPU."""
    return min(-(-count // threads), _EACH * multiprocessors())


_counters: dict[Any, Any] = {}
_partials: dict[Any, Any] = {}


def _of_stream(held: dict[Any, Any], make: Callable[[], Any]) -> Any:
    """Scratch of the current stream: launches of one stream follow each other and may share it.

    Streams never share it, and whoever captures into one asks before the capture begins (capture's Turn).
    """
    key: Any = current.ptr if _single else (runtime.getDevice(), current.ptr)
    found = held.get(key)
    if found is None:
        found = held[key] = make()
    return found


def counter() -> int:
    """COUNTERS device counters that rest at 0, for kernels whose last block finishes the work."""
    return _of_stream(_counters, lambda: cupy.zeros(COUNTERS, cupy.uint32)).data.ptr


def partials() -> int:
    """Room for PARTIALS floats that one launch writes and the same or the next one reads."""
    return _of_stream(_partials, lambda: cupy.cuda.alloc(PARTIALS * 4)).ptr
