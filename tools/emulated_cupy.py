"""CuPy's own functions on the emulated GPU, computed by NumPy over the same memory; cuBLASLt by its rules.

Kernels without a body of ours, and the few things that bodies ask CuPy for (copies, casts, indices), then have
values. While a graph is captured they are work of the graph, like kernels; their results' layouts come from
running them once over memory that has no values yet.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import cupy
import emulated_graphs
import numpy as np
from cupy.cuda import runtime

from rushlight.base.dtypes import bfloat16
from rushlight.runtime.cuda import arrays as library
from rushlight.runtime.cuda import backend
from rushlight.runtime.cuda.library import cublaslt as lt

ndarray = cupy.ndarray
KINDS = {"f": np.float32, "d": np.float64, "e": np.float16, "E": bfloat16.np}
# Methods of arrays that would launch a kernel of CuPy's.
METHODS = (
    "astype", "copy", "sum", "prod", "mean", "max", "min", "argmax", "argmin", "any", "all", "cumsum", "cumprod",
    "clip", "round", "nonzero", "take", "repeat", "argsort", "sort", "conj", "dot", "fill", "flatten", "__setitem__",
    "__neg__", "__abs__", "__invert__", "__pos__",
    *[f"__{r}{name}__" for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor",
                                    "lshift", "rshift") for r in ("", "r", "i")],
    *[f"__{name}__" for name in ("lt", "le", "gt", "ge", "eq", "ne")],
)  # fmt: skip


def on_host(a: Any) -> Any:
    """An emulated array's memory as NumPy sees it; lists and tuples with what is in them."""
    if isinstance(a, ndarray):
        memory = (ctypes.c_char * (1 << 40)).from_address(a.data.ptr)
        return np.ndarray(a.shape, a.dtype, memory, 0, a.strides)
    if isinstance(a, (tuple, list)):
        return a.__class__([on_host(v) for v in a])
    if isinstance(a, dict):
        return {k: on_host(v) for k, v in a.items()}
    return a


def _as_now(value: Any) -> Any:
    """Arguments with copies of the host's arrays."""
    if isinstance(value, dict):
        return {k: _as_now(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return value.__class__([_as_now(v) for v in value])
    return value.copy() if isinstance(value, np.ndarray) else value


def _given(value: Any) -> list[Any]:
    """All emulated arrays inside of arguments."""
    if isinstance(value, ndarray):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [a for v in value for a in _given(v)] if isinstance(value, (tuple, list)) else []


def _address(a: np.ndarray) -> int:
    return int(a.__array_interface__["data"][0])


def _view_of(a: np.ndarray, given: list[Any]) -> Any:
    """A result of NumPy's that lies in the memory of an argument, as CuPy has it; None where it does not."""
    at = _address(a)
    for g in given:
        if a.size and g.data.mem.ptr <= at < g.data.mem.ptr + g.data.mem.size:
            if (at, a.shape, a.strides, a.dtype) == (g.data.ptr, g.shape, g.strides, g.dtype):
                return g
            found = ndarray(a.shape, a.dtype, g.data + (at - g.data.ptr), a.strides)
            library.set_base(found, g if g.base is None else g.base)
            return found
    return None


def _on_device(value: Any, given: list[Any]) -> tuple[Any, list[tuple[Any, np.ndarray]]]:
    """A result on the device, and which of its arrays are to be filled by which of NumPy's."""
    if isinstance(value, (tuple, list)):
        parts = [_on_device(v, given) for v in value]
        made = [p[0] for p in parts]
        return (tuple(made) if isinstance(value, tuple) else made), [f for p in parts for f in p[1]]
    if not isinstance(value, (np.ndarray, np.generic)):
        return value, []
    a = np.asarray(value)
    found = _view_of(a, given)
    if found is not None:
        return found, []
    out = ndarray(a.shape, a.dtype, strides=_dense(a))
    return (out if a.base is None else out[...]), [(out, a)]  # what is a view is one with CuPy, too


def _dense(a: np.ndarray) -> tuple[int, ...] | None:
    """Strides as they are where nothing is between the elements."""
    return np.empty_like(a, order="K").strides if a.size else None


def by_numpy(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays, computed by NumPy: at once, or by the graph that is being captured."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given = _given(args) + _given(kwargs)
        kwargs.pop("blocking", None)
        capturing = emulated_graphs.capture.work is not None
        if capturing:  # CuPy sends the host's values with the launch: a graph keeps those of its capture
            args, kwargs = _as_now(args), _as_now(kwargs)
        args, kwargs = on_host(args), on_host(kwargs)
        saved = [a.copy() for a in map(on_host, given)] if capturing else []
        with np.errstate(all="ignore"):
            found = function(*args, **kwargs)
        out, fills = _on_device(found, given)
        if not capturing:
            for made, a in fills:
                on_host(made)[...] = a
            return out
        for g, a in zip(given, saved):  # nothing runs yet
            on_host(g)[...] = a

        def work() -> None:
            with np.errstate(all="ignore"):
                again = function(*args, **kwargs)
            for (made, _), (_, a) in zip(fills, _on_device(again, given)[1], strict=True):
                on_host(made)[...] = a

        work.memory = (given, fills)  # type: ignore[attr-defined]
        emulated_graphs.capture.add(work)
        return out

    return call


class Device:
    """The one GPU there is."""

    compute_capability, id = "70", 0

    def __init__(self, index: int = 0) -> None:
        pass

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *exc: Any) -> None:
        pass


def _methods() -> None:
    for name in METHODS:
        if hasattr(np.ndarray, name):
            setattr(ndarray, name, by_numpy(getattr(np.ndarray, name)))

    for name in ("reshape", "ravel", "__getitem__"):  # views are CuPy's own
        own, copying = getattr(ndarray, name), by_numpy(getattr(np.ndarray, name))
        setattr(ndarray, name, _view_or_copy(name, own, copying))

    reads: dict[str, Callable[[Any], Any]] = {
        "get": np.ndarray.copy, "item": np.ndarray.item, "tolist": np.ndarray.tolist, "__bool__": bool,
        "__int__": int, "__float__": float, "__complex__": complex, "__index__": int,
    }  # fmt: skip
    for name, read in reads.items():
        setattr(ndarray, name, _waiting(lambda a, *rest, read=read, **kw: read(on_host(a))))

    def set(self: Any, values: np.ndarray, *rest: Any) -> None:
        on_host(self)[...] = values

    ndarray.set = _waiting(set)


def _waiting(function: Callable[..., Any]) -> Callable[..., Any]:
    """What waits for the GPU, so that no graph can have it."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if emulated_graphs.capture.work is not None:
            raise RuntimeError("operation not permitted when stream is capturing")
        return function(*args, **kwargs)

    return call


def _inside(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether an array lies in the memory of another; either way of going through it."""
    low, high = np.lib.array_utils.byte_bounds(b)
    return low <= _address(a) < high


def _view_or_copy(name: str, own: Callable, copying: Callable) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **options: Any) -> Any:
        if name == "__getitem__":
            index = args[0] if isinstance(args[0], tuple) else (args[0],)
            plain = not any(isinstance(v, (ndarray, np.ndarray, list)) for v in index)
        else:
            memory = on_host(self)
            found = getattr(np.ndarray, name)(memory, *args, **options)
            plain = not self.size or _inside(found, memory)
        return (own if plain else copying)(self, *args, **options)

    return call


def _functions() -> None:
    left = {"ndarray", "empty", "empty_like", "dtype", "broadcast_to", "lib", "linalg", "random", "fft"}
    for name in dir(np):
        value = getattr(np, name)
        plain = callable(value) and not isinstance(value, type)
        if plain and not name.startswith("_") and name not in left and hasattr(cupy, name):
            setattr(cupy, name, by_numpy(value))
            vars(library.CUPY).pop(name, None)
    cupy.asarray = _asarray
    cupy.array = lambda a, *rest, **options: _asarray(a, *rest, **options).copy()


def _asarray(a: Any, dtype: Any = None, **options: Any) -> Any:
    if isinstance(a, ndarray):
        return a if dtype is None or a.dtype == dtype else a.astype(dtype)
    return by_numpy(lambda: np.array(a, dtype))()


def _generic(kernel: Any) -> Callable[..., Any]:
    """A kernel's body for any array library, over the host's memory."""
    if kernel.is_view:
        return lambda *arrays, **attrs: kernel.generic(library.CUPY, *arrays, **attrs)
    if any(name in kernel.name for name in ("random", "dropout", "draw")) or kernel.random:
        return lambda *arrays, **attrs: kernel.generic(library.CUPY, *arrays, **attrs)
    found = by_numpy(lambda *arrays, **attrs: kernel.generic(np, *arrays, **attrs))
    # NumPy raises where a GPU answers NaN: an error must not come from the middle of a graph.
    return _waiting(found) if kernel.name.startswith("linalg_") else found


# -- cuBLASLt -------------------------------------------------------------------------------------

made: list[tuple[Any, list[int], bool]] = []  # by descriptor: what was asked for, and the vector


def _stored(address: int, m: Any, kind: Any, i: int) -> np.ndarray:
    """A matrix as the library keeps it: columns first, `ld` numbers from one to the next."""
    item = np.dtype(kind).itemsize
    memory = (ctypes.c_char * (1 << 40)).from_address(address + i * m.batch_step * item)
    return np.ndarray((m.rows, m.columns), kind, memory, 0, (item, m.ld * item))


def _multiply(desc: int, a: int, b: int, out: int, bias: int) -> None:
    what, _, accumulate = made[desc]
    kind = KINDS[what.char]
    for i in range(what.batch):
        x, y = [_stored(p, m, kind, i).astype(np.float64) for p, m in ((a, what.a), (b, what.b))]
        x, y = x.T if what.a.turned else x, y.T if what.b.turned else y
        found = x @ y
        item = np.dtype(kind).itemsize
        if "bgrad" in what.epilogue:
            memory = (ctypes.c_char * (what.n * item)).from_address(bias)
            np.ndarray((what.n,), kind, memory)[...] = y.sum(0)
        elif "bias" in what.epilogue:
            memory = (ctypes.c_char * (what.m * item)).from_address(bias)
            found += np.ndarray((what.m,), kind, memory).astype(np.float64)[:, None]
        if "relu" in what.epilogue:
            found = np.maximum(found, 0)
        size = what.m * what.n * item
        memory = (ctypes.c_char * size).from_address(out + i * size)
        to = np.ndarray((what.m, what.n), kind, memory, 0, (item, what.m * item))
        to[...] = found + to if accumulate else found


ROOM = 3000  # bytes that every second product works in


def _matmul(at: int, desc: int, alpha: int, a: int, la: int, b: int, lb: int, beta: int, c: int, lc: int, out: int, lo: int, algo: int, work: int, room: int, stream: int) -> int:  # fmt: skip
    bias = made[desc][1][0]

    def go() -> None:
        if room:
            ctypes.memset(work, 0xFF, room)  # whose memory this is sees it
        _multiply(desc, a, b, out, bias)
        if room:
            ctypes.memset(work, 0xFE, room)

    if emulated_graphs.capture.work is None:
        go()
    else:
        emulated_graphs.capture.add(go)
    return 0


def _assign(desc: int, which: int, address: int, size: int) -> int:
    made[desc][1][0] = ctypes.c_uint64.from_address(address).value
    return 0


_words = [ctypes.c_uint64] * 16
_matmul_in_c = ctypes.PYFUNCTYPE(ctypes.c_int, *_words)(_matmul)
_assign_in_c = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_uint64, ctypes.c_int, ctypes.c_uint64, ctypes.c_size_t)(_assign)


def _products() -> None:
    def make(self: Any, what: Any, bias: int, accumulate: bool = False) -> Any:
        if what.epilogue not in ("", "bias", "bgrad", "relu", "bias_relu"):
            raise RuntimeError(f"{what.epilogue} behind a product is not emulated")
        plan = lt.ProductPlan()
        plan.a = plan.b = plan.c = plan.alpha = plan.beta = plan.algo = 0
        plan.desc, plan.bias, plan.room = len(made), bias, len(made) % 2 * ROOM
        made.append((what, [bias], accumulate))
        return plan

    def opened(self: Any) -> None:
        self.matmul, self.set, self.address = _matmul, _assign, 0
        self.matmul_at, self.set_at = lt.address_of(_matmul_in_c), lt.address_of(_assign_in_c)
        self.plans, self.workspaces = {}, {}
        self._bias = ctypes.c_uint64()
        self._bias_at = ctypes.addressof(self._bias)

    lt.CublasLt.__init__, lt.CublasLt.make = opened, make
    lt.CublasLt.tune = lambda *args: None


def install() -> None:
    """Put NumPy and these products in the places of CuPy's kernels and cuBLASLt."""
    cupy.cuda.Device = Device
    _methods()
    _functions()
    backend._generic = _generic
    runtime.streamSynchronize = _waiting(lambda stream: None)
    _products()
