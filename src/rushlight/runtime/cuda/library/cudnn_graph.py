"""cuDNN's graphs: operations between tensors, described through descriptors, and the plans that compute them.

A graph says what is computed; cuDNN answers with engines that can, best first. A plan is one of them, built for the GPU.
Tensors between two operations are virtual: they never lie in memory. Whoever describes a graph gives the tensors it reads
and writes; memory that only the graph needs (`scratch`) and numbers of the host (`number`) come with the plan.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Sequence
from ctypes import byref, c_double, c_float, c_int, c_int64, c_void_p
from math import prod
from typing import Any, NamedTuple

import cupy

from ..code.held import runnable
from .cudnn import TYPES, CudnnLibrary, CudnnRefused, library

# Numbers of cudnn_graph.h: kinds of descriptors,
_POINTWISE, _CONVOLUTION, _ENGINE, _ENGINECFG, _ENGINEHEUR, _PLAN = range(6)
_CONV_FORWARD, _CONV_FILTER, _CONV_DATA, _OP_POINTWISE = range(10, 14)
_OPERATIONGRAPH, _TENSOR, _MATMUL, _OP_MATMUL = 15, 17, 18, 19
_REDUCTION, _OP_REDUCTION, _OP_RESHAPE, _RNG, _OP_RNG = 21, 22, 31, 32, 33
# types of attributes,
_HANDLE, _TYPE, _BOOLEAN, _INT64, _FLOAT, _DOUBLE = range(6)
_CONV_MODE, _HEUR_MODE, _NOTE = 7, 8, 11
_MODE, _DESCRIPTOR, _OPERATOR, _DISTRIBUTION = 14, 15, 18, 29
# what a pointwise operation computes, and a reduction,
ADD, MUL, DIV, SUB, EXP, LOG, SAME = 0, 1, 6, 9, 13, 15, 21
RELU, NOT_LESS, PLACE, SELECT = 100, 303, 501, 601
SUM, MOST = 0, 3
# and notes about the numbers of an engine.
TENSOR_CORE, DOWN_CONVERT, NONDETERMINISTIC = 0, 1, 4
_FALLBACK, _BEST = 2, 3  # ways to ask for engines
_CROSS_CORRELATION = 1

_KINDS = TYPES | {"i": 4, "q": 10, "?": 11}  # cudnnDataType_t
_MOST_ENGINES = 64
_MOST_WORKSPACE = 1 << 30
# Of each kind of convolution its operation and its attributes: alpha and beta, description, and where `a`, `b` and the
# result belong.
_CONVOLUTIONS = {
    "fprop": (_CONV_FORWARD, (700, 701), 702, (704, 703, 705)),
    "dgrad": (_CONV_DATA, (706, 707), 708, (711, 709, 710)),
    "wgrad": (_CONV_FILTER, (712, 713), 714, (717, 716, 715)),
}


class _Descriptor:
    """One of cuDNN's descriptors, destroyed with this object."""

    __slots__ = ("address", "lib")

    def __init__(self, lib: CudnnLibrary, kind: int) -> None:
        box = c_void_p()
        self.lib, self.address = lib, 0
        lib.call("cudnnBackendCreateDescriptor", kind, byref(box))
        self.address = box.value or 0

    def __del__(self) -> None:
        if self.address and c_void_p is not None:  # None as the interpreter ends
            self.lib.lib.cudnnBackendDestroyDescriptor(self.address)

    def _set(self, name: int, kind: int, box: Any, values: Sequence) -> None:
        n = len(values)
        self.lib.call("cudnnBackendSetAttribute", self.address, name, kind, n, (box * n)(*values))

    def number(self, name: int, kind: int, value: int) -> None:
        self._set(name, kind, c_int, (value,))

    def truth(self, name: int, value: bool) -> None:
        self._set(name, _BOOLEAN, ctypes.c_bool, (value,))

    def whole(self, name: int, *values: int) -> None:
        self._set(name, _INT64, c_int64, values)

    def real(self, name: int, value: float, char: str) -> None:
        wide = char == "d"
        self._set(name, _DOUBLE if wide else _FLOAT, c_double if wide else c_float, (value,))

    def points(self, name: int, *others: _Descriptor) -> None:
        self._set(name, _DESCRIPTOR, c_void_p, [o.address for o in others])

    def handle(self, name: int, handle: int) -> None:
        self._set(name, _HANDLE, c_void_p, (handle,))

    def done(self) -> _Descriptor:
        self.lib.call("cudnnBackendFinalize", self.address)
        return self

    def whole_of(self, name: int) -> int:
        box, count = c_int64(), c_int64()
        self.lib.call("cudnnBackendGetAttribute", self.address, name, _INT64, 1, byref(count), byref(box))
        return box.value

    def numbers_of(self, name: int, kind: int, most: int) -> list[int]:
        box, count = (c_int * most)(), c_int64()
        self.lib.call("cudnnBackendGetAttribute", self.address, name, kind, most, byref(count), box)
        return list(box[: min(count.value, most)])

    def filled(self, name: int, boxes: Sequence[_Descriptor]) -> int:
        """How many of the descriptors are filled with what the attribute holds."""
        n, count = len(boxes), c_int64()
        addresses = (c_void_p * n)(*[b.address for b in boxes])
        self.lib.call("cudnnBackendGetAttribute", self.address, name, _DESCRIPTOR, n, byref(count), addresses)
        return min(count.value, n)


class GraphTensor(NamedTuple):
    """A tensor of a graph; its number is what a plan knows it by."""

    descriptor: _Descriptor
    uid: int
    dims: tuple[int, ...]
    char: str


def _dense(dims: Sequence[int]) -> tuple[int, ...]:
    return tuple([prod(dims[i + 1 :]) for i in range(len(dims))])


class CudnnGraph:
    """Operations in the order in which they are described; `wide` is what they compute with."""

    def __init__(self, wide: str = "f") -> None:
        lib = library()
        if lib is None:
            raise CudnnRefused("cuDNN is not here")
        self.lib, self.wide = lib, wide
        self.operations: list[_Descriptor] = []
        self.numbers: list[tuple[int, c_float]] = []
        self.scratches: list[tuple[int, int]] = []  # number and bytes
        self._held: list[_Descriptor] = []
        self._count = 0

    def _new(self, kind: int) -> _Descriptor:
        made = _Descriptor(self.lib, kind)
        self._held.append(made)
        return made

    # -- tensors ----------------------------------------------------------------------------------

    def tensor(
        self, dims: Sequence[int], strides: Sequence[int], char: str, *, virtual: bool = False, by_value: bool = False
    ) -> GraphTensor:
        """A tensor in memory, unless it is virtual; strides count elements."""
        made = self._new(_TENSOR)
        self._count += 1
        made.number(901, _TYPE, _KINDS[char])
        made.whole(902, *dims)
        made.whole(903, *strides)
        made.whole(906, self._count)
        made.whole(900, 16)  # bytes to which addresses are aligned
        if virtual:
            made.truth(907, True)
        if by_value:
            made.truth(908, True)
        return GraphTensor(made.done(), self._count, tuple(dims), char)

    def between(self, dims: Sequence[int], char: str = "f") -> GraphTensor:
        """A tensor that goes from one operation to the next and never lies in memory."""
        return self.tensor(dims, _dense(dims), char, virtual=True)

    def scratch(self, dims: Sequence[int]) -> GraphTensor:
        """A tensor of float32 in memory that nobody but the graph sees."""
        made = self.tensor(dims, _dense(dims), "f")
        self.scratches.append((made.uid, 4 * prod(dims)))
        return made

    def number(self, value: float) -> GraphTensor:
        """A number of the host."""
        made = self.tensor((1, 1, 1, 1), (1, 1, 1, 1), "f", by_value=True)
        self.numbers.append((made.uid, c_float(value)))
        return made

    # -- operations -------------------------------------------------------------------------------

    def _described(self, kind: int, name: int, how: _Descriptor, tensors: dict[int, GraphTensor]) -> None:
        made = self._new(kind)
        made.points(name, how)
        for attribute, tensor in tensors.items():
            made.points(attribute, tensor.descriptor)
        self.operations.append(made.done())

    def pointwise(
        self, mode: int, x: GraphTensor, b: GraphTensor | None = None, *, where: GraphTensor | None = None,
        to: GraphTensor | None = None, char: str = "f", math: str = "", axis: int | None = None,
    ) -> GraphTensor:  # fmt: skip
        """A number of each number of `x`, and of `b` and `where` if they are given."""
        how = self._new(_POINTWISE)
        how.number(0, _MODE, mode)
        how.number(1, _TYPE, _KINDS[math or self.wide])
        if axis is not None:
            how.whole(9, axis)
        to = to or self.between(x.dims, char)
        tensors = {751: x, 752: b, 758: where, 753: to}
        given = {name: t for name, t in tensors.items() if t is not None}
        self._described(_OP_POINTWISE, 750, how.done(), given)
        return to

    def product(self, a: GraphTensor, b: GraphTensor, to: GraphTensor | None = None, *, char: str = "f") -> GraphTensor:
        """Products of matrices, the last two dims."""
        how = self._new(_MATMUL)
        how.number(1500, _TYPE, _KINDS[self.wide])
        to = to or self.between((*a.dims[:-1], b.dims[-1]), char)
        self._described(_OP_MATMUL, 1523, how.done(), {1520: a, 1521: b, 1522: to})
        return to

    def reduced(self, operator: int, x: GraphTensor, to: GraphTensor) -> GraphTensor:
        """`x` over the dims in which `to` has one."""
        how = self._new(_REDUCTION)
        how.number(1601, _TYPE, _KINDS[self.wide])
        how.number(1600, _OPERATOR, operator)
        self._described(_OP_REDUCTION, 1612, how.done(), {1610: x, 1611: to})
        return to

    def turned(self, x: GraphTensor, strides: Sequence[int], char: str) -> GraphTensor:
        """`x` with its last two dims exchanged, as a tensor with these strides."""
        *front, rows, columns = x.dims
        to = self.tensor((*front, columns, rows), strides, char, virtual=True)
        made = self._new(_OP_RESHAPE)
        made.points(2200, x.descriptor)
        made.points(2201, to.descriptor)
        self.operations.append(made.done())
        return to

    def drawn(self, seed: GraphTensor, offset: GraphTensor, keep: float, dims: Sequence[int]) -> GraphTensor:
        """Ones with the probability `keep`, and zeros."""
        how = self._new(_RNG)
        how.number(2300, _DISTRIBUTION, 0)  # Bernoulli's
        how.real(2305, keep, "d")
        to = self.between(dims)
        self._described(_OP_RNG, 2312, how.done(), {2311: seed, 2313: offset, 2310: to})
        return to

    def convolution(
        self, kind: str, a: GraphTensor, b: GraphTensor, to: GraphTensor, stride: Sequence[int],
        padding: Sequence[int], dilation: Sequence[int],
    ) -> GraphTensor:  # fmt: skip
        """A convolution or one of its gradients: `a` and `b` are x and w, gy and w, or gy and x."""
        how = self._new(_CONVOLUTION)
        how.number(100, _TYPE, _KINDS[self.wide])
        how.number(101, _CONV_MODE, _CROSS_CORRELATION)
        how.whole(106, len(stride))
        for name, sizes in ((102, dilation), (103, stride), (104, padding), (105, padding)):
            how.whole(name, *sizes)
        operation, scales, description, places = _CONVOLUTIONS[kind]
        made = self._new(operation)
        made.points(description, how.done())
        for name, scale in zip(scales, (1.0, 0.0)):
            made.real(name, scale, self.wide)
        for name, tensor in zip(places, (a, b, to)):
            made.points(name, tensor.descriptor)
        self.operations.append(made.done())
        return to


class ChosenPlan(NamedTuple):
    """A plan that is built, and the working memory that it needs."""

    number: int
    workspace: int
    plan: _Descriptor


class CudnnPlan:
    """A graph with the engines that cuDNN has for it, and the plan to run: `plan(a, b, out)` takes device addresses.

    The addresses are those of `tensors`, in this order. `unwanted` names notes about numbers that an engine must not have.
    """

    __slots__ = ("__weakref__", "built", "chosen", "engines", "graph", "lib", "uids", "untuned")

    def __init__(
        self, graph: CudnnGraph, tensors: Sequence[GraphTensor], unwanted: Iterable[int] = (), untuned: Any = None
    ) -> None:
        self.graph, self.lib = graph, graph.lib
        self.untuned = untuned  # what is still to be measured, if anything
        self.chosen: ChosenPlan | None = None
        self.built: dict[int, ChosenPlan | None] = {}  # a graph of CUDA's may run each of them
        self.engines = _engines(graph, frozenset(unwanted))
        numbers = [uid for uid, _ in graph.numbers]
        places = [uid for uid, _ in graph.scratches]
        uids = [*[t.uid for t in tensors], *numbers, *places]
        self.uids = struct.pack(f"{len(uids)}q", *uids)
        runnable(self)

    def __len__(self) -> int:
        return len(self.engines)

    def choose(self, index: int) -> bool:
        """Run the plan at `index` from now on; False where it cannot be built."""
        made = self.at(index)
        if made is None:
            return False
        self.chosen = made
        return True

    def choose_first(self) -> bool:
        """Run the first plan that can be built; False where there is none."""
        return any(map(self.choose, range(len(self))))

    def at(self, index: int) -> ChosenPlan | None:
        """The plan at `index`, built; None where cuDNN refuses it or its working memory is too large."""
        if index not in self.built:
            self.built[index] = self._build(index)
        return self.built[index]

    def _build(self, index: int) -> ChosenPlan | None:
        plan = _Descriptor(self.lib, _PLAN)
        try:
            plan.handle(400, self.lib.handle_of_stream())
            plan.points(401, self.engines[index])
            plan.done()
        except CudnnRefused:
            return None
        size = plan.whole_of(402)
        return ChosenPlan(index, size, plan) if size <= _MOST_WORKSPACE else None

    def __call__(self, *pointers: int) -> None:
        assert self.chosen is not None  # whoever made this plan chose one
        self.run(self.chosen, pointers)

    def run(self, chosen: ChosenPlan, pointers: tuple[int, ...]) -> None:
        """Run one of the plans; another thread may choose a new one meanwhile.

        Its working memory goes back to the pool at once: what uses it next on this stream comes later.
        """
        graph, lib = self.graph, self.lib
        size = _rounded(chosen.workspace)
        given = list(pointers)
        if graph.numbers:
            given += [ctypes.addressof(box) for _, box in graph.numbers]
        behind = size
        for _, n in graph.scratches:
            given.append(behind)
            behind += _rounded(n)
        room = cupy.cuda.alloc(behind) if behind else None
        at = 0 if room is None else room.ptr
        for k in range(len(graph.scratches)):
            given[-1 - k] += at
        lib.execute(chosen.plan.address, self.uids, given, at)


def _rounded(size: int) -> int:
    return -(-size // 256) * 256


def _engines(graph: CudnnGraph, unwanted: frozenset[int]) -> list[_Descriptor]:
    """cuDNN's engines for a graph, best first."""
    lib = graph.lib
    whole = graph._new(_OPERATIONGRAPH)
    whole.points(801, *graph.operations)
    whole.handle(800, lib.handle_of_stream())
    whole.done()
    found: list[_Descriptor] = []
    for mode in (_BEST, _FALLBACK):
        asked = graph._new(_ENGINEHEUR)
        asked.points(201, whole)
        asked.number(200, _HEUR_MODE, mode)
        try:
            asked.done()
        except CudnnRefused:
            continue
        boxes = [_Descriptor(lib, _ENGINECFG) for _ in range(_MOST_ENGINES)]
        found += boxes[: asked.filled(202, boxes)]
    return [one for one in found if not unwanted & _notes(one)] if unwanted else found


def _notes(config: _Descriptor) -> frozenset[int]:
    engine = _Descriptor(config.lib, _ENGINE)
    if not config.filled(300, [engine]):
        return frozenset()
    return frozenset(engine.numbers_of(1303, _NOTE, 16))
