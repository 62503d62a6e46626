"""What a replayed call hands back: tensors with their histories, counters and memory, as the recorded call described them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, NoReturn

from ...core.gradients.tape import Node
from ...core.modes import set_grad_enabled
from ...core.tensor import Tensor
from ...core.views import extra
from ...core.views import replay as view_again
from ...runtime import devices
from ...runtime.thread import here


class SpentNode(Node):
    """The history of a replayed result: its backward has been done inside the program."""

    __slots__ = ("label", "why")

    def __init__(self, label: str, why: str = "freed") -> None:
        super().__init__(())
        self.label = label
        self.why = why

    def name(self) -> str:
        return self.label

    def apply(self, gs: list[Any]) -> NoReturn:
        if self.why != "freed":
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace "
                f"operation: {self.why} has changed inside of it since."
            )
        raise RuntimeError(
            "Trying to backward through the graph a second time: this tensor comes from a compiled "
            "function that has called backward() itself. Differentiate inside that function, or "
            "leave the whole backward outside of it."
        )


class Leaves:
    """The leaves of one call's result, each made once, as the recorded call described them."""

    def __init__(self, replay: Any, outs: tuple, tensors: Sequence[Tensor], objects: Sequence[Any], node: Any) -> None:
        self.replay, self.outs, self.tensors, self.objects, self.node = replay, outs, tensors, objects, node
        self.live: Sequence[int] = () if node is None else replay.backward.outputs
        self.spent = replay._spent_nodes(self.live)
        self.made: dict[int, Any] = {}

    def make(self, place: int) -> Any:
        if place not in self.made:
            found = self.made[place] = self._new(place)
            if place in self.live:
                found._edge = (self.node, self.live.index(place))
            elif place in self.spent:
                found._edge = (self.spent[place], 0)
        return self.made[place]

    def stamp(self, place: int, words: str) -> tuple:
        """The version of a result that the graph of the call would have saved."""
        t = self.make(place)
        if t._ver is None:
            t._ver = [0]
        return t._ver, t._ver[0], words

    def _new(self, place: int) -> Any:
        kind, at, *rest = self.replay.makers[place]
        if kind == "tensor":
            t = self.replay._tensor(at, self.outs, self.tensors, rest[2])
            if rest[4] is not None:
                return on_base(t, self.make(rest[4][0]), *rest[4][1:])
            if rest[3] is not None and rest[3][0] == "count":
                t._ver = [rest[3][1]]
            elif rest[3] is not None:
                share_counter(t, self._source(rest[3]))
            return t
        if kind == "number":
            return rest[0](self.outs[at].item())
        if kind == "argument":
            return self.tensors[at]
        if kind == "object":
            return self.objects[at]
        if kind == "again":
            return self.make(at)
        if kind == "view":
            source, steps, made = at
            with set_grad_enabled(made not in ("no_grad", "inference")):
                t = view_again(self._source(source), steps)
            extra(t).made = made
            return t
        return at

    def _source(self, source: tuple) -> Tensor:
        """The tensor that a result shares something with."""
        what, which = source
        if what == "argument":
            return self.tensors[which]
        return self.make(which) if what == "place" else which


def on_base(t: Tensor, base: Tensor, spec: Any, steps: tuple, made: str | None) -> Tensor:
    """A result as the view that it is, of a tensor that the caller is not given himself."""
    if getattr(t._a, "base", None) is not base._a:  # one of them had to be copied
        with set_grad_enabled(False):
            t = view_again(base, steps)
    else:
        share_counter(t, base)
    ext = extra(t)
    ext.base, ext.spec, ext.edge_version, ext.made = base, spec, t._ver[0], made
    ext.inference = base._ext is not None and base._ext.inference
    return t


def share_counter(t: Tensor, source: Tensor) -> None:
    if source._ver is None:
        source._ver = [0]
    t._ver = source._ver


def timed(low: Any, name: str) -> Any:
    """A lowered program as it is, or where a profile is at work, one that tells it of each kernel."""
    watchers = [one for one in here.listeners if hasattr(one, "replayed")]
    return Timed(low, name, watchers) if watchers else low


class Timed:
    """A lowered program whose runs are timed; a CPU's kernel by kernel, a GPU's as a whole."""

    def __init__(self, low: Any, name: str, watchers: list[Any]) -> None:
        self.low, self.name, self.watchers = low.watched() if hasattr(low, "watched") else low, name, watchers
        self.left_traces, self.arguments = self.low.left_traces, self.low.arguments

    def run(self) -> Any:
        """All of it."""
        return self._timed(self.name, self.low.run)

    def forward(self) -> Any:
        """The first half of it."""
        return self._timed(self.name, self.low.forward)

    def backward(self, saved: tuple, gradients: list[Any]) -> Any:
        """The second half of it."""
        return self._timed(f"{self.name} backward", self.low.backward, saved, gradients)

    def _timed(self, name: str, call: Any, *given: Any) -> Any:
        ticks = getattr(self.low, "ticks", [])
        ticks.clear()
        begin = time.perf_counter()
        out = call(*given)
        first = next((a for a in _flat(out) if devices.is_array(a)), None)
        last, parts = begin, []
        for at, now in ticks:
            parts.append((self.low.program.instructions[at], last, now - last))
            last = now
        for one in self.watchers:
            one.replayed(name, begin, parts, first)
        return out


def _flat(out: Any) -> list[Any]:
    """The arrays among what a half gives."""
    found: list[Any] = []
    for part in out:
        found.extend(part if isinstance(part, (tuple, list)) else [part])
    return found
