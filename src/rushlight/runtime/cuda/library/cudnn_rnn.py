"""cuDNN's recurrent layers: their descriptors, and where weights lie."""

from __future__ import annotations

from ctypes import byref, c_double, c_float, c_int, c_size_t, c_void_p
from functools import lru_cache
from math import prod
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from ....base.arrays import DeviceArray
from ...recurrent import GATES, Recurrence, Way
from ..code.held import runnable
from .cudnn import TYPES, CudnnLibrary, CudnnRefused, library

# Numbers of cudnn_adv.h.
_MODES = {"relu": 0, "tanh": 1, "lstm": 2, "gru": 3}
STANDARD, PERSIST_STATIC, PERSIST_SMALL = 0, 1, 3
_DEFAULT_MATH, _TENSOR_MATH, _FMA_MATH = 0, 1, 3
_UNPACKED, _PACKED = 0, 1  # two layouts; in both the steps follow each other

KEPT = 512  # shapes whose descriptors are kept


class _Descriptors:
    """Descriptors that are destroyed when their owner is."""

    def __init__(self, lib: CudnnLibrary) -> None:
        self.lib = lib
        self.held: list[tuple[str, int]] = []

    def new(self, kind: str) -> int:
        made = self.lib.made(kind)
        self.held.append((kind, made))
        return made

    def tensor(self, char: str, dims: tuple[int, ...]) -> int:
        """A dense tensor."""
        made = self.new("Tensor")
        steps = [prod(dims[i + 1 :]) for i in range(len(dims))]
        box = c_int * len(dims)
        self.lib.call("cudnnSetTensorNdDescriptor", made, TYPES[char], len(dims), box(*dims), box(*steps))
        return made

    def __del__(self) -> None:
        if c_void_p is None:  # the interpreter ends, and the driver frees everything
            return
        for kind, made in self.held:
            getattr(self.lib.lib, f"cudnnDestroy{kind}Descriptor")(c_void_p(made))


class Stack(_Descriptors):
    """A stack of layers under one algorithm: its descriptor and the place of each weight."""

    def __init__(
        self, lib: CudnnLibrary, what: Recurrence, char: str, tf32: bool, algorithm: int, packed: bool
    ) -> None:
        super().__init__(lib)
        self.what, self.char = what, char
        handle = lib.handle()
        dropout = self.new("Dropout")
        lib.call("cudnnSetDropoutDescriptor", dropout, handle, 0.0, None, 0, 0)
        self.rnn = self.new("RNN")
        math = _TENSOR_MATH
        if char in "fd":
            math = _DEFAULT_MATH if tf32 or char == "d" else _FMA_MATH
        lib.call(
            "cudnnSetRNNDescriptor_v8", self.rnn, algorithm, _MODES[what.mode],
            2 if what.biased else 0, what.directions - 1, 0, TYPES[char],
            TYPES["d" if char == "d" else "f"], math, what.width, what.hidden, what.out,
            what.layers, dropout, 0 if packed else 1,
        )  # fmt: skip
        size = c_size_t()
        lib.call("cudnnGetRNNWeightSpaceSize", handle, self.rnn, byref(size))
        self.weight_bytes = size.value
        itemsize = 8 if char == "d" else 4 if char == "f" else 2
        if size.value % itemsize:
            raise CudnnRefused(f"weights take {size.value} bytes")
        self.way = Way(algorithm, tf32, self._places(itemsize), size.value // itemsize)

    def _places(self, itemsize: int) -> tuple[int, ...]:
        """Where each weight begins, counted in numbers; all gates of one must lie side by side."""
        space = cupy.ndarray((self.weight_bytes,), np.uint8)  # only its address is asked for
        matrix, bias = self.new("Tensor"), self.new("Tensor")
        what, gates = self.what, GATES[self.what.mode]
        shapes = iter(what.shapes())
        found: list[int] = []

        def parts(cell: int, first: int, count: int, which: int) -> None:
            shape = next(shapes)
            begins = []
            for k in range(count):
                at, size = self._part(space, cell, first + k, (matrix, bias), which)
                if size != prod(shape) // count or at % itemsize:
                    raise CudnnRefused(f"weight {first + k} of cell {cell} has {size} numbers")
                begins.append(at // itemsize)
            step = prod(shape) // count
            if begins != [begins[0] + k * step for k in range(count)]:
                raise CudnnRefused("the gates of a weight do not lie side by side")
            found.append(begins[0])

        for cell in range(what.layers * what.directions):
            for which in (0, 1) if what.biased else (0,):  # matrices, then biases
                parts(cell, 0, gates, which)
                parts(cell, gates, gates, which)
            if what.projected:
                parts(cell, 2 * gates, 1, 0)
        return tuple(found)

    def _part(self, space: Any, cell: int, number: int, descriptors: tuple[int, int], which: int) -> tuple[int, int]:
        """The offset in bytes and the size of one gate's matrix (or its bias, for `which` 1)."""
        start = space.data.ptr
        places = (c_void_p(), c_void_p())
        self.lib.call(
            "cudnnGetRNNWeightParams", self.lib.handle(), self.rnn, cell, self.weight_bytes, start,
            number, descriptors[0], byref(places[0]), descriptors[1], byref(places[1]),
        )  # fmt: skip
        place = places[which].value
        if place is None:
            raise CudnnRefused(f"cell {cell} has no weight {number}")
        kind, count, box = c_int(), c_int(), c_int * 3
        dims, steps = box(), box()
        self.lib.call("cudnnGetTensorNdDescriptor", descriptors[which], 3, byref(kind), byref(count), dims, steps)
        return place - start, prod(dims)


class RnnCall(_Descriptors):
    """A stack over sequences of given lengths: descriptors of its arrays, and the memory it works in."""

    def __init__(self, stack: Stack, sizes: tuple[int, ...], training: bool) -> None:
        super().__init__(stack.lib)
        what, char = stack.what, stack.char
        self.stack, self.training = stack, training
        batch, steps, cells = sizes[0], len(sizes), what.layers * what.directions
        lengths = (c_int * batch)(*[sum(n > b for n in sizes) for b in range(batch)])
        if sizes[-1] == batch:
            lengths = (c_int * batch)(*[steps] * batch)
        fill = (c_double if char == "d" else c_float)(0)
        layout = _UNPACKED if sizes[-1] == batch else _PACKED
        self.x, self.y = self.new("RNNData"), self.new("RNNData")
        for made, width in ((self.x, what.width), (self.y, what.out * what.directions)):
            self.lib.call(
                "cudnnSetRNNDataDescriptor", made, TYPES[char], layout, steps, batch, width, lengths, byref(fill)
            )
        self.h = self.tensor(char, (cells, batch, what.out))
        self.c = self.tensor(char, (cells, batch, what.hidden))
        work, reserve = c_size_t(), c_size_t()
        self.lib.call(
            "cudnnGetRNNTempSpaceSizes", self.lib.handle(), stack.rnn, int(training), self.x,
            byref(work), byref(reserve),
        )  # fmt: skip
        self.work, self.reserve = work.value, reserve.value

    def _spaces(self, w: DeviceArray, work: DeviceArray, reserve: DeviceArray) -> tuple:
        """The six arguments that say where memory is and how large."""
        return (self.stack.weight_bytes, _at(w), self.work, _at(work), reserve.size, _at(reserve))

    def forward(
        self,
        x: DeviceArray,
        h0: DeviceArray,
        c0: DeviceArray | None,
        w: DeviceArray,
        y: DeviceArray,
        h: DeviceArray,
        c: DeviceArray | None,
        reserve: DeviceArray,
    ) -> None:
        """Write outputs, last states, and for training what backward needs."""
        work = cupy.ndarray((self.work,), np.uint8)
        with self.lib.lock:
            _go(
                self.lib, "cudnnRNNForward", self.lib.handle(), self.stack.rnn, int(self.training),
                None, self.x, _at(x), self.y, _at(y), self.h, _at(h0), _at(h), self.c, _at(c0),
                _at(c), *self._spaces(w, work, reserve),
            )  # fmt: skip

    def backward(self, given: tuple, gradients: tuple, found: tuple, reserve: DeviceArray) -> None:
        """From (x, h0, c0, w, y) and those of (y, h, c) the gradients (x, h0, c0, w).

        `reserve` is changed; the weights' gradients are added to what lies in `gw`.
        """
        x, h0, c0, w, y = given
        gy, gh, gc = gradients
        gx, gh0, gc0, gw = found
        work = cupy.ndarray((self.work,), np.uint8)
        with self.lib.lock:
            handle, rnn = self.lib.handle(), self.stack.rnn
            spaces = self._spaces(w, work, reserve)
            _go(
                self.lib, "cudnnRNNBackwardData_v8", handle, rnn, None, self.y, _at(y), _at(gy),
                self.x, _at(gx), self.h, _at(h0), _at(gh), _at(gh0), self.c, _at(c0), _at(gc),
                _at(gc0), *spaces,
            )  # fmt: skip
            _go(
                self.lib, "cudnnRNNBackwardWeights_v8", handle, rnn, 0, None, self.x, _at(x),
                self.h, _at(h0), self.y, _at(y), spaces[0], _at(gw), *spaces[2:],
            )  # fmt: skip


def _at(a: DeviceArray | None) -> int | None:
    return None if a is None or not a.size else a.data.ptr


def _go(lib: CudnnLibrary, name: str, *arguments: Any) -> None:
    """A call that must succeed: cuDNN accepted these layers when they were described.

    A handle whose call was refused does not keep the order of its stream any more (9.19): the next call gets a new one.
    """
    try:
        lib.call(name, *arguments)
    except CudnnRefused as error:
        lib.handles.clear()
        raise RuntimeError(f"cuDNN error in recurrent layers: {error}") from None


# -- found again ----------------------------------------------------------------------------------


@lru_cache(KEPT)
def _stack(device: int, what: Recurrence, char: str, tf32: bool, algorithm: int, packed: bool) -> Stack:
    lib = library()
    assert lib is not None  # `choose.way` asked before
    with lib.lock:
        return runnable(Stack(lib, what, char, tf32, algorithm, packed))


@lru_cache(KEPT)
def call_of(
    device: int, what: Recurrence, char: str, tf32: bool, algorithm: int, sizes: tuple, training: bool
) -> RnnCall:
    stack = _stack(device, what, char, tf32, algorithm, sizes[-1] != sizes[0])
    with stack.lib.lock:
        return runnable(RnnCall(stack, sizes, training))


def call_for(what: Recurrence, char: str, way: Way, sizes: tuple, training: bool) -> RnnCall:
    """What runs a stack in a way that was chosen."""
    return call_of(runtime.getDevice(), what, char, way.tf32, way.algorithm, sizes, training)
