"""Plans of convolutions by cuDNN, and their choice."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

from cupy.cuda import runtime

from ....base.bounded import Bounded
from ....base.config import settings
from ....base.locks import new_lock
from .cudnn import CudnnRefused, library, version
from .cudnn_graph import ADD, DOWN_CONVERT, NONDETERMINISTIC, RELU, TENSOR_CORE, CudnnGraph, CudnnPlan
from .measuring import stopwatch

_TRIED = 12  # plans that are measured
_SHORT = 0.012  # milliseconds below which a plan is quick enough: building others takes a second
_LITTLE_WORKSPACE = 1 << 23  # a plan that is quicker must not take much more memory for it


class Convolution(NamedTuple):
    """Everything a plan depends on; arrays are given as (dims, strides in elements)."""

    kind: str  # fprop: x, w -> y; dgrad: gy, w -> gx; wgrad: gy, x -> gw
    first: tuple[tuple, tuple]
    second: tuple[tuple, tuple]
    out: tuple[tuple, tuple]
    stride: tuple
    padding: tuple
    dilation: tuple
    char: str
    tf32: bool
    deterministic: bool
    measured: bool  # whether the quickest plan is wanted, or the one that cuDNN takes for the best
    bias: bool = False
    relu: bool = False  # after the bias


_plans: dict[Convolution, CudnnPlan | None] = Bounded(4096)
_lock = new_lock()


def plan_for(what: Convolution) -> CudnnPlan | None:
    """The plan of a convolution; None when cuDNN has none for it, is not here, or would be told wrong numbers."""
    try:
        return _plans[what]
    except KeyError:
        pass
    if library() is None:
        return None
    with _lock:
        if what in _plans:
            return _plans[what]
        made = _plans[what] = _make(what)
    return made


def _make(what: Convolution) -> CudnnPlan | None:
    """The first plan of cuDNN's list that can be built; the others are measured by `tune`."""
    try:
        plan = _describe(what)
    except CudnnRefused:
        return None
    return plan if plan.choose_first() else None


def tune(plan: CudnnPlan, pointers: tuple[int, ...]) -> None:
    """Keep the quickest of the plans from now on, measured on the arrays at hand; the last one is written."""
    milliseconds = stopwatch()
    with _lock:
        what, plan.untuned = plan.untuned, None
        if what is None:  # another thread was quicker
            return
        best, stored, count = plan.chosen, _stored(what), len(plan)
        assert best is not None  # `plan_for` gives no others out
        if stored is not None and stored < count and plan.choose(stored):
            return
        least, first = milliseconds(lambda: plan(*pointers)), best.number
        others = range(first + 1, min(count, first + _TRIED)) if least > _SHORT else ()
        for index in others:
            other = plan.at(index)
            if other is None or other.workspace > max(_LITTLE_WORKSPACE, best.workspace):
                continue
            try:
                time = milliseconds(lambda other=other: plan.run(other, pointers))  # type: ignore[misc]
            except CudnnRefused:
                continue
            if time < least:
                least, best = time, other
        plan.chosen = best
        _store(what, best.number)


def _describe(what: Convolution) -> CudnnPlan:
    """The plan of a convolution, none of whose engines is built yet."""
    char = what.char
    wide = char if char == "d" else "f"
    graph = CudnnGraph(wide)
    a, b = [graph.tensor(*side, char) for side in (what.first, what.second)]
    out = graph.tensor(*what.out, char)
    how = (what.stride, what.padding, what.dilation)
    if not what.bias:
        graph.convolution(what.kind, a, b, out, *how)
        tensors = [a, b, out]
    else:
        dims = what.out[0]
        ones = (1,) * (len(dims) - 2)
        bias = graph.tensor((1, dims[1], *ones), (dims[1], 1, *ones), char)
        made = graph.tensor(*what.out, wide, virtual=True)
        graph.convolution(what.kind, a, b, made, *how)
        if what.relu:
            total = graph.tensor(*what.out, wide, virtual=True)
            graph.pointwise(ADD, made, bias, to=total)
            graph.pointwise(RELU, total, to=out)
        else:
            graph.pointwise(ADD, made, bias, to=out)
        tensors = [a, b, bias, out]
    return CudnnPlan(graph, tensors, _unwanted(what), what if what.measured else None)


def _unwanted(what: Convolution) -> list[int]:
    """Notes about numbers that an engine must not have."""
    notes = []
    if what.char == "f" and not what.tf32:
        notes += [TENSOR_CORE, DOWN_CONVERT]
    if what.deterministic:
        notes.append(NONDETERMINISTIC)
    return notes


# -- the choice on disk ---------------------------------------------------------------------------

_choices: dict[str, int] | None = None


def _file() -> Path:
    name = runtime.getDeviceProperties(runtime.getDevice())["name"].decode().replace(" ", "-")
    return Path(settings.cache_dir) / "cudnn" / f"{name}-{version()}-engines.json"


def _known() -> dict[str, int]:
    global _choices
    if _choices is None:
        try:
            _choices = json.loads(_file().read_bytes())
        except (OSError, ValueError):
            _choices = {}
    return _choices


def _stored(what: Convolution) -> int | None:
    return _known().get(repr(tuple(what)))


def _store(what: Convolution, index: int) -> None:
    known = _known()
    known[repr(tuple(what))] = index
    path = _file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(known))
        os.replace(part, path)
    except OSError:
        pass
