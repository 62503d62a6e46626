"""The usual calls of networks by the C extension (`native/`), and the kernels of their gradients without tensors around arrays.

Usual is: the Functions that are listed below and Variables, Parameters and Weights themselves, as they were written, over
arrays as networks have them (one float dtype, shapes that fit, nothing cast). C answers None where that is not so, and
Python does it; so it is where the extension was not built. What somebody has derived, or replaced in a class of ours, is
called in Python. Values are the same: both ways end at the same kernels.

A whole backward pass of such Functions is one comparison in a loop that repeats (docs/hot-loops.md): which kernels it runs
follows from its graph. Whatever else takes part (a class of the user's, a method that was replaced, a gradient that is there
already, a sum of gradients) makes the pass run as it is.
"""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from ..core.exposed import exposed
from ..core.gradients.tape import AccumulateGrad, numbers
from ..core.modes import switches
from ..core.tensor import tensor_over, wrap
from ..operators.layers.linear import linear_all_grads, linear_grads
from ..runtime import thread
from ..runtime.door import KERNELS, Kernel, run
from ..runtime.thread import CASTING, FOREIGN, INFERENCE, TRACED, WATCHED, here
from ._arrays import gpu_types
from ._bare import buffers_of, each, is_shared, lent, outside, own
from ._graph import CallNode, Traced

native: Any
try:  # by its name: `from . import` would ask the package, which is not complete yet
    native = import_module(f"{__package__}._in_c")
except ImportError:  # not built here
    native = None
if getattr(native, "EDITION", 0) != 5:  # built before the latest functions were written
    native = None

_FUNCTIONS = "call", "describe", "accept", "params", "cleargrads", "update"
# What Python itself adds, when it is asked for or an object is copied.
_NO_CHANGE = frozenset(("__annotations__", "__annotations_cache__", "__annotate_func__", "__doc__", "__slotnames__"))


def _not_here(*args: Any) -> None:
    """What every function answers without C."""


class Usual:
    """The functions in C, or such that leave everything to Python."""

    call: Any
    describe: Any
    accept: Any
    params: Any
    cleargrads: Any
    update: Any

    def __init__(self) -> None:
        self.written: dict[type, dict[str, Any]] = {}  # classes as they were
        self.off()

    def off(self) -> None:
        """Do everything in Python."""
        self.__dict__.update(dict.fromkeys(_FUNCTIONS, _not_here))

    def on(self) -> None:
        """Do in C what can be done there."""
        if native is not None and self.written:
            self.__dict__.update({name: getattr(native, name) for name in _FUNCTIONS})

    def know_all(self, core: Any, functions: Any, layers: Any) -> None:
        """The classes of these modules are complete: what changes in them from now on is somebody's."""
        if native is None:
            return
        rows: list[tuple[Any, ...]] = [
            (core.Variable, 0, None, None), (core.Parameter, 0, None, None), (layers.Weight, 0, None, None),
            (functions.Linear, 1, KERNELS["linear"], {}),
            (functions.Sigmoid, 2, KERNELS["sigmoid"], {}), (functions.ReLU, 2, KERNELS["relu"], {}),
            (functions.SoftmaxCrossEntropy, 3, KERNELS["cross_entropy_fused"], {**MEAN, "wide": False}),
        ]  # fmt: skip
        names = {
            "here": here, "switches": switches, "exposed": exposed, "roots": exposed.roots, "numbers": numbers, "run": run,
            "AccumulateGrad": AccumulateGrad, "float32": np.dtype("f4"), "float64": np.dtype("f8"), "int64": np.dtype("l"),
            "ndarray": np.ndarray, "gpu_types": gpu_types, "Call": CallNode, "Variable": core.Variable, "Layer": layers.Layer,
            "params": layers.Layer.params, "cleargrad": Traced.cleargrad, "as_array": core.as_array, "turned": turned,
            "lent": lent, "is_shared": is_shared, "as_written": self.as_written,
        }  # fmt: skip
        for row in rows:
            self.written.update({c: _body(c) for c in row[0].__mro__[:-1]})
        native.setup({**vars(thread), **names})
        for row in rows:
            native.know(*row)
        self.on()

    def as_written(self, cls: type) -> bool:
        """Whether nothing of a class, or of those that it is derived from, has been replaced or added."""
        # a look-up gives the class a number again, if it has lost that
        getattr(cls, "__init__", None)
        return all(c in self.written and _is_same(_body(c), self.written[c]) for c in cls.__mro__[:-1])


def _body(cls: type) -> dict[str, Any]:
    return {k: v for k, v in vars(cls).items() if k not in _NO_CHANGE}


def _is_same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return a.keys() == b.keys() and all(v is b[k] for k, v in a.items())


usual = Usual()

# -- kernels of gradients -------------------------------------------------------------------------

_SUM, _TURN = KERNELS["sum"], KERNELS["t"]
_MM, _MM_NT, _MM_TN = KERNELS["mm"], KERNELS["mm_nt"], KERNELS["mm_tn"]
_ALL_GRADS, _GRADS = KERNELS["linear_all_grads"], KERNELS["linear_grads"]
_LOOKED_AT = TRACED | WATCHED | FOREIGN  # where a call is not what the door makes of it, see `run`
_ROWS = {"dim": (0,), "keepdim": False}
MEAN = {"ignore_index": -100, "reduction": "mean"}


def _go(kernel: Kernel, arrays: tuple, attrs: dict[str, Any]) -> Any:
    """A kernel over arrays of its own, or of the user, who may change them: see `lent`."""
    state = here.state
    if state & (TRACED | WATCHED):
        arrays = tuple(each(lent, arrays))
        state = here.state  # an array with gaps ends the stretch
    if state & _LOOKED_AT == TRACED:
        return here.tracer.cursor(kernel, arrays[0].__class__, arrays, attrs)
    out = run(kernel, arrays[0].__class__, arrays, attrs)
    return np.asarray(out) if isinstance(out, np.generic) else out


def gradient(kernel: Kernel, gy: Any, kept: tuple, attrs: dict[str, Any]) -> Any:
    """What a kernel makes of a gradient and of what a call in C has kept; None where the gradient is no usual one."""
    like = kept[0]
    if here.state & (CASTING | INFERENCE) or gy.__class__ is not like.__class__:
        return None
    if gy.dtype != like.dtype or (len(kept) == 1 and gy.shape != like.shape):
        return None
    return _go(kernel, (gy, *kept), attrs)


def turned(variable: Any) -> Any:
    """The transposed matrix of a Variable, the same object as long as the array is."""
    a = variable._data
    if is_shared(a):
        return own(a).T
    held = variable.__dict__.get("_turned")
    if held is None or held[0] is not a:
        held = variable._turned = (a, a.T)
    return held[1]


def linear_back(gy: Any, x: Any, weight: Any, wants: list[bool]) -> tuple:
    """The gradients of a linear layer that are wanted, of a product of two matrices."""
    to_x, to_W, to_b = wants
    g, W = lent(gy), weight._data
    gx = gW = gb = None
    if not (W.flags.f_contiguous and linear_grads.is_whole(tensor_over(g, g.__class__))):
        if to_x:
            gx = _go(_MM_NT, (g, W), {})
        if to_W:
            gW = _go(_MM_TN, (x, g), {})
    else:
        # Such a weight is what the device's own kernels take, and its gradient lies like it.
        if to_W and to_b and linear_all_grads.joins(tensor_over(g, g.__class__)):
            if to_x:
                gx, gW, gb = _go(_ALL_GRADS, (g, x, turned(weight)), {})
            else:
                gW, gb = _go(_GRADS, (g, x), {})
            return gx, _go(_TURN, (gW,), {}), gb
        if to_x:
            gx = _go(_MM, (g, turned(weight)), {})
        if to_W:
            gW = _go(_TURN, (_go(_MM_TN, (g, x), {}),), {})
    if to_b:
        gb = _go(_SUM, (g,), _ROWS)
    return gx, gW, gb


def one(like: Any) -> Any:
    """A 1 of an array's dtype and device, the same object each time."""
    cls = like.__class__
    return _one(cls, like.dtype.char, 0 if cls is np.ndarray else like.data.device_id)


@lru_cache(maxsize=32)
def _one(cls: type, char: str, index: int) -> Any:
    found = np.ones((), char)
    if cls is np.ndarray:
        return found
    return outside(lambda: wrap(found).to(f"cuda:{index}")._a)


# -- a backward pass as one comparison ------------------------------------------------------------


class Back:
    """A backward pass: see `Description` of capture/loops/described.py."""

    __slots__ = ("arrays", "begun", "buffers", "functions", "key", "leaves", "shared")

    def __init__(
        self, key: tuple[Any, ...], arrays: list[Any], shared: list[Any], functions: list[Any], leaves: list[Any]
    ) -> None:
        self.key, self.arrays, self.shared = key, arrays, shared
        self.functions, self.leaves = functions, leaves
        self.buffers: Any = None
        self.begun = 0

    def begin(self) -> None:
        """From here on it is written down which arrays are copied."""
        self.buffers = buffers_of(here.tracer)
        self.begun = self.buffers.so_far(here.tracer)
        self.buffers.log = []

    def end(self) -> Any:
        """How many copies there were before, and which of our arrays went where."""
        log, self.buffers.log = self.buffers.log, None
        ids = [id(a) for a in self.shared]
        if not all(id(a) in ids and is_kept and a.flags.forc for a, _, is_kept in log):
            return None
        places = tuple([ids.index(id(a)) for a, _, _ in log])
        return self.begun, places, tuple([_Same(to) for _, to, _ in log])

    def made(self) -> list[Any]:
        """The gradients of the leaves."""
        return [None if v.grad is None else v.grad._data for v in self.leaves]

    def copied(self, noted: Any) -> list[Any] | None:
        """Arrays that the user may change, which the pass copies."""
        begun, places, _ = noted
        tracer = here.tracer
        self.buffers = buffers = buffers_of(tracer)
        if buffers.stretch is not (tracer.recorder or tracer.began):
            buffers.so_far(tracer)
        return list(map(self.shared.__getitem__, places)) if buffers.count == begun else None

    def copies(self, noted: Any) -> list[Any]:
        """Where it has copied them before."""
        return [same.array for same in noted[2]]

    def accept(self, arrays: list[Any], noted: Any) -> None:
        """What the pass leaves behind: gradients on leaves, none on results."""
        self.buffers.count += len(noted[1])
        native.accept(self.functions, self.leaves, arrays)


class _Same:
    """An array that is equal to itself only."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __eq__(self, other: object) -> bool:
        return other.__class__ is _Same and other.array is self.array  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]


def described(edge: Any, seed: Any) -> Back | None:
    """What a backward pass from `edge` depends on; None where something is unusual."""
    found = usual.describe(edge, seed)
    return None if found is None else Back(*found)
