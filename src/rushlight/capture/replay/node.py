"""The history of a replayed call: its backward replays the second half of the program, or has the function make the graph."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...base.device import CPU
from ...core.gradients.node import freed_error
from ...core.gradients.tape import Node, at_end
from ...core.memory import copy_as_it_lies, root_array
from ...core.tensor import Tensor, tensor_over
from ...core.views import current_edge
from ...runtime import devices
from ...runtime.thread import CASTING, GRAD, WATCHED, here, swap
from ..program.slots import STATE
from ..record.agreement import same_values
from ..record.backward import down_to, nodes_below
from ..state import tree
from ..state.keys import mode
from .results import timed

if TYPE_CHECKING:
    from ..record.recording import Recording
    from .replay import Replay


_ROUNDING = 1e-4  # of the largest gradient


def _alike(a: Any, b: Any) -> bool:
    """Whether two runs led to one gradient: to the last bit on the host; a GPU's sums may add up in another order."""
    if a is None or b is None:
        return a is b
    if same_values(a, b):
        return True
    if not hasattr(a, "get") or a.dtype.kind not in "fc":  # the host's
        return False
    return bool(abs(a - b).max() <= _ROUNDING * abs(a).max())


TWICE = "its results are differentiated with create_graph=True, which a program is not made for"
APART = "its results are differentiated one by one, or others of them each time"
MAPPED = "its results are differentiated with gradients that a program does not take: many at once, or sparse ones"


class ReplayNode(Node):
    """The node of all results of one replayed call that have a history."""

    __slots__ = (
        "given",
        "graph",
        "instance",
        "late",
        "n_outputs",
        "open",
        "passed",
        "replay",
        "room",
        "saved",
        "spent",
        "stamps",
        "versions",
    )

    def __init__(self, replay: Replay, instance: Any, edges: Sequence, saved: tuple, given: Any, stamps: list) -> None:
        super().__init__(edges)
        self.replay = replay
        self.instance = instance
        self.saved = saved
        self.n_outputs = len(replay.backward.outputs)
        self.versions = [(t, t._version) for t in replay.lasting]
        self.stamps = stamps  # (counter, version, words) of what the graph would have saved
        self.late: list[tuple[int, Any]] = []  # arguments that the backward half reads, and their memory
        self.spent = False
        self.given = given  # what `Remaking.note` said of the call
        self.graph: Any = None  # what the function made: the edges of its results
        self.open = False  # whether a pass goes on into that graph
        self.room = 1.0  # numbers below this node's that no other node has
        self.passed: list[int] = []  # results that the last pass through that graph came from
        instance.user = weakref.ref(self)

    def name(self) -> str:
        return "CompiledFunctionBackward"

    def apply(self, gs: list[Any]) -> list[Any]:
        if self.open:
            return gs
        arrived = [i for i, g in enumerate(gs) if g is not None]
        if self.graph is None:
            made = self.replay.backward
            usual = arrived == made.used and not (made.own and made.replaced())
            arrays = [gs[i]._a for i in arrived]
            plain = all(a.__class__ is self.instance.array_type for a in arrays)
            if usual and plain and not self.spent and not here.grad:
                return self._replayed(arrays)
            self._make_graph(arrived, gs if plain else None)
        self.passed = arrived
        roots = [self.graph[i] for i in arrived]
        before = [(e[0], e[0].pre_hooks, e[0].hooks) for e in self.edges if e is not None]
        for end, _, _ in before:  # theirs are run by the pass that this is a part of
            end.pre_hooks = end.hooks = None
        try:
            return down_to(self.edges, self.edges, roots, [gs[i] for i in arrived], here.grad)
        finally:
            for end, pre_hooks, hooks in before:
                end.pre_hooks, end.hooks = pre_hooks, hooks

    def _check_versions(self) -> None:
        for cell, version, words in self.stamps:
            if cell[0] != version:
                raise RuntimeError(words.format(now=cell[0], then=version))
        for t, version in self.versions:
            if t._version != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an "
                    f"inplace operation: a tensor {list(t._a.shape)} that a compiled function used is "
                    f"at version {t._version}; expected version {version} instead."
                )

    def _replayed(self, gs: list[Any]) -> list[Any]:
        self._check_versions()
        for i, array in self.late:  # written since in ways that count no version (`x.data`)?
            self.instance.fill(self.instance.arguments[i], array)
        low = self.instance
        low = timed(low, self.replay.name) if here.state & WATCHED else low
        arrays = low.backward(self.saved, gs)
        seen: set[int] = set()
        tensors: list[Any] = []
        for a in arrays:
            if id(a) in seen:  # one gradient for two parameters: each gets memory of its own
                a = copy_as_it_lies(a)
            seen.add(id(a))
            tensors.append(tensor_over(a, self.instance.array_type))
        return [*tensors, *[None] * (len(self.edges) - len(tensors))]

    def _make_graph(self, arrived: list[int], gs: list[Any] | None) -> None:
        """A derivative that the program was not made for: the function makes the graph that it would have made."""
        self._check_versions()
        replay, used, plain = self.replay, self.replay.backward.used, gs is not None
        why = TWICE if here.grad else APART if plain else MAPPED
        if not self.spent or arrived != used:
            other = here.grad or self.spent or not plain
            replay.retire(why, None if other else frozenset(arrived))
        obstacle = replay.remade.obstacle(self.given, self.versions)
        if obstacle is None and not self._would_be_the_same(gs):
            obstacle = "a tensor that it reads was written in a way that counts no version"
        if obstacle is None:
            graph = replay.remade.graph(self.given)
            if self.spent:
                _release([graph[i] for i in used], self.edges)
            self.graph, self.saved, self.instance.user = graph, (), None
            self._number()
            if here.walk is not None:
                at_end(self._go_on)
            return
        if self.spent and arrived == used:
            raise freed_error()
        raise RuntimeError(
            f"the results of a compiled function are differentiated otherwise than when it was recorded ({why}), and "
            f"its graph cannot be made now, because {obstacle}; later calls run as they are written"
        )

    def _would_be_the_same(self, gs: list[Any] | None) -> bool:
        """Whether the first half, run again, leads to the same gradients: writes by `x.data` and by NumPy count no version."""
        if self.spent:
            return True
        replay, mine = self.replay, self.instance
        seeds = [1 if gs is None else None if gs[i] is None else gs[i]._a for i in replay.backward.used]
        with replay.lock:
            other = replay._free(most=None)
            other.fill_all([array for _, array, _ in self.given[1]])
            with replay.remade.as_drawn(self.given[3]):
                saved = replay.run(other, other.forward)[1]
            for i, array in self.late:
                mine.fill(mine.arguments[i], array)
                other.fill(other.arguments[i], array)
            found = mine.backward(self.saved, seeds), other.backward(saved, seeds)
        return all(map(_alike, *found))

    def _number(self) -> None:
        """Give the nodes of the graph the numbers that those of the call would have had: below all that was made of its results."""
        ends = {e[0].seq for e in self.edges if e is not None}
        nodes = nodes_below([e[0] for e in self.graph], ends)
        step = self.room / (len(nodes) + 1)
        for i, seq in enumerate(sorted(nodes, reverse=True)):
            node: Any = nodes[seq]
            node.seq = self.seq - step * (i + 1)
            if isinstance(node, ReplayNode):
                node.room = step

    def _go_on(self) -> None:
        """From the next pass on this node hands gradients to the graph, where they meet those of second derivatives."""
        self.edges, self.open = self.graph, True

    def release(self) -> None:
        if self.open:
            return
        if self.graph is not None:
            _release([self.graph[i] for i in self.passed], self.edges)
            return
        if not self.replay.backward.saves:
            return
        self.spent = True
        self.saved, self.late = (), []
        self.instance.user = None
        if len(self.replay.backward.used) == self.replay.backward.shown:
            self.given = None  # no other result is left to be differentiated


def _release(roots: Sequence, ends: Sequence) -> None:
    """Free what the graph of a call saved, from some of its results down to its arguments."""
    stop = {e[0].seq for e in ends if e is not None}
    for node in nodes_below([e[0] for e in roots], stop).values():
        node.release()


class Remaking:
    """When a replayed call may be done once more by the function itself, to have its graph, and how.

    Nothing that a call did may be done twice, and everything that it read must be as it was.
    """

    def __init__(self, replay: Replay, r: Recording) -> None:
        self.fn, self.shape, self.anew, self.made, self.mode = r.function, r.shape, r.anew, r.made, r.mode
        self.watch = replay.watch
        self.places = r.backward.outputs if r.backward is not None else []
        late = {id(t) for t in replay.lasting}  # compared in any case
        read = {id(s.storage.array) for ins in replay.recorded.instructions for s in ins.reads}
        self.read = [t for t in r.watch.held if id(root_array(t._a)) in read and id(t) not in late]
        self.never = self._effects(replay)

    def _effects(self, replay: Replay) -> str | None:
        """What a second call would do again."""
        counters, code = replay.counters, replay.recorded.instructions
        cut = replay.recorded.hand_over
        usual = devices.backend_of(CPU).stream(CPU)
        drawn = [ins.attrs for ins in code[:cut] if ins.kernel.random and ins.outputs]
        streams = [attrs.get("stream", usual) for attrs in drawn]
        self.streams = [*{id(stream): stream for stream in streams}.values()]
        if drawn and (replay.on_gpu or replay.backward.shown == 1):
            return "it draws random numbers"  # where their states would be asked for at each call, for the few who need them
        if any(s.storage.kind == STATE for ins in code[:cut] for s in ins.writes):
            return "it changes tensors that it keeps"
        if counters.kept or counters.given or replay.written or replay.grads:
            return "it changes its arguments or gradients"
        if replay.host_work.hooks or replay.after:
            return "it counts its calls"
        return None

    def states(self) -> list[Any]:
        """Where the random numbers are that the call draws."""
        return [] if self.never is not None else [stream.get_state() for stream in self.streams]

    @contextmanager
    def as_drawn(self, states: list[Any]) -> Iterator[None]:
        """A time in which the same random numbers are drawn as by the call that began with these states."""
        after = self.states()
        try:
            for stream, state in zip(self.streams, states):
                stream.set_state(state)
            yield
        finally:
            for stream, state in zip(self.streams, after):
                stream.set_state(state)

    def note(self, args: tuple, kwargs: Any, tensors: Sequence[Tensor], states: list[Any]) -> Any:
        """What has to be known of a call for later."""
        if self.never is not None:
            return None
        arguments = [(t, t._a, t._version) for t in tensors]
        return (args, kwargs), arguments, [t._version for t in self.read], states

    def obstacle(self, noted: Any, versions: list) -> str | None:
        """Why the call cannot be done again, or None."""
        if self.never is not None or noted is None:
            return self.never or "its arguments are gone"
        tensors: list[Tensor] = []
        given, before, read, _ = noted
        if tree.Records(given, tensors, self.anew).shape != self.shape or len(tensors) != len(before):
            return "its arguments have changed"
        for t, (same, array, version) in zip(tensors, before):
            if t is not same or t._a is not array or t._version != version:
                return "its arguments have changed"
        if [t._version for t in self.read] != read or any(t._version != v for t, v in versions):
            return "a tensor that it reads has changed"
        if self.mode[0] & CASTING or mode()[1:3] != self.mode[1:3] or mode()[4:] != self.mode[4:]:
            return "modes have changed"
        return self.watch.changed()

    def graph(self, noted: Any) -> list[Any]:
        """The edges of the results, by a call of the function itself."""
        (args, kwargs), uses = noted[0], here.uses
        before, here.uses = swap(GRAD, GRAD), None
        try:
            with self.as_drawn(noted[3]):
                found = tree.leaves(self.fn(*args, **kwargs), self.made)
        finally:
            swap(GRAD, before)
            here.uses = uses
        return [current_edge(found[place]) for place in self.places]
