"""A whole backward pass as one comparison, in a loop that repeats (docs/hot-loops.md).

Which kernels a pass runs follows from its graph, where every Function in it is one of those that are listed here, as
it was written: they say what their `backward` reads. Whatever else takes part (a class of the user's, a method that was
replaced, a gradient that is there already, a sum of gradients) makes the pass run as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.exposed import exposed
from ..core.gradients.tape import AccumulateGrad
from ..core.memory import root_array
from ..core.modes import switches
from ..runtime.thread import INFERENCE, PACKING, here
from ._bare import buffers_of, is_shared, lies
from ._graph import Call
from ._quick import quick

_ODD = INFERENCE | PACKING
_MOST = 512  # calls of a graph that is described

# What the `backward` of a Function reads: values that decide its kernels, arrays, and arrays that nobody else has.
Reads = tuple[tuple[Any, ...], tuple[Any, ...], tuple[Any, ...]]
Reader = Callable[[Any], Reads | None]

_backwards: dict[type, tuple[Any, Any, Reader]] = {}
_leaves: dict[type, Any] = {}  # how they take gradients


def known(cls: type) -> Callable[[Reader], Any]:
    """Register what `backward` of a class reads: all that it does beside is to run kernels that follow from that."""

    def register(reads: Reader) -> Any:
        _backwards[cls] = cls.backward, cls._gradients, reads  # type: ignore[attr-defined]
        return reads

    return register


def known_leaf(cls: Any) -> Any:
    """Register a class of Variables to which nothing happens but that their first gradient becomes `.grad`."""
    _leaves[cls] = cls._accumulate
    return cls


class Back:
    """A backward pass: see `Description` of capture/loops/calls/told.py."""

    __slots__ = ("arrays", "begun", "buffers", "functions", "key", "leaves", "over", "shared")

    def __init__(
        self, over: Callable[[Any], Any], key: tuple[Any, ...], arrays: list[Any], shared: list[Any],
        functions: list[Any], leaves: list[Any],
    ) -> None:  # fmt: skip
        self.key, self.arrays, self.shared = key, arrays, shared
        self.functions, self.leaves, self.over = functions, leaves, over
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
        if buffers.stretch is not (tracer.ear or tracer.began):
            buffers.so_far(tracer)
        return list(map(self.shared.__getitem__, places)) if buffers.count == begun else None

    def copies(self, noted: Any) -> list[Any]:
        """Where it has copied them before."""
        return [same.array for same in noted[2]]

    def accept(self, arrays: list[Any], noted: Any) -> None:
        """What the pass leaves behind: gradients on leaves, none on results."""
        self.buffers.count += len(noted[1])
        if quick.accept(self.functions, self.leaves, arrays):
            return
        for function in self.functions:
            for reference in function.outputs:
                out = reference()
                if out is not None and out.grad is not None:
                    out.grad = None
        for leaf, a in zip(self.leaves, arrays):
            if a is not None:
                leaf.grad = self.over(a)


class _Same:
    """An array that is equal to itself only."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array

    def __eq__(self, other: object) -> bool:
        return other.__class__ is _Same and other.array is self.array  # type: ignore[attr-defined]

    __hash__ = None  # type: ignore[assignment]


_NOTHING: tuple[Any, Any, None] = None, None, None


def described(edge: Any, seed: Any, over: Callable[[Any], Any]) -> Back | None:
    """What a backward pass from `edge` depends on; None where something is unusual.

    `over` makes a Variable of an array.
    """
    found = quick.describe(edge, seed)
    return _in_python(edge, seed, over) if found is None else Back(over, *found)


def _in_python(edge: Any, seed: Any, over: Callable[[Any], Any]) -> Back | None:
    if switches.anomaly or here.walk is not None or here.uses is not None or here.state & _ODD:
        return None
    kind: Any = seed.__class__
    if kind not in _leaves:
        return None
    arrays: list[Any] = []
    shared: list[Any] = []
    functions: list[Any] = []
    leaves: list[Any] = []
    seen: set[int] = set()
    ages: list[int] = []
    roots, wide = exposed.roots, False
    key: list[Any] = [edge[1]]
    nodes = [edge[0]]
    given: tuple[Any, ...] = (seed._data,)
    while nodes:
        node = nodes.pop()
        if node.__class__ is not Call or node.hooks or node.pre_hooks or node.seq in seen:
            return None
        seen.add(node.seq)
        ages.append(node.seq)
        function = node.function
        cls, own = function.__class__, function.__dict__
        backward, gradients, reads = _backwards.get(cls, _NOTHING)
        if reads is None or cls.backward is not backward or cls._gradients is not gradients:
            return None
        if "backward" in own or "_gradients" in own or len(functions) > _MOST:
            return None
        found = reads(function)
        if found is None:
            return None
        functions.append(function)
        values, read, hidden = found
        for a in given + read:
            if id(a if a.base is None else root_array(a)) in roots and is_shared(a):
                shared.append(a)
                key.append(lies(a))
            else:
                arrays.append(a)
                key.append(None)
        arrays += hidden
        given = ()
        key += cls, values
        inner = 0
        for x in function.inputs:
            e = x._edge or x._link()
            if e is None:
                key.append(None)
                continue
            before = e[0]
            key.append(e[1])
            if before.__class__ is not AccumulateGrad:
                nodes.append(before)
                key.append(None)
                inner += 1
                continue
            if not _is_usual(before, x) or before.seq in seen:
                return None
            seen.add(before.seq)
            leaves.append(x)
            key.append(x._data.dtype)
        wide = wide or inner > 1
    if wide:  # the newest is the first of a pass
        key.append(tuple(sorted(range(len(ages)), key=ages.__getitem__)))
    return Back(over, tuple(key), arrays, shared, functions, leaves)


def _is_usual(end: AccumulateGrad, x: Any) -> bool:
    """Whether a gradient that arrives at a leaf becomes its `.grad`, and nothing else happens."""
    cls = x.__class__
    if cls not in _leaves or cls.grad is not None or cls._accumulate is not _leaves[cls]:
        return False
    if x.grad is not None or x._data is None or end.leaf() is not x:
        return False
    return not (end.hooks or end.pre_hooks or end.post_hooks)
