"""cuDNN's graph API through nvidia-cudnn-frontend: handles, plans of convolutions, and their choice."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import cupy
from cupy.cuda import runtime

from ....base.bounded import Bounded
from ....base.config import settings
from ....base.locks import new_lock
from ..code.held import runnable
from ..memory.streams import current
from .measuring import stopwatch
from .versions import imported_front_end, knows_doubles

_TRIED = 12  # plans that are measured
_SHORT = 0.012  # milliseconds below which a plan is quick enough: building others takes a second
_MOST_WORKSPACE = 1 << 30
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


class ChosenPlan(NamedTuple):
    """One plan of a graph's list, which is built, and the working memory that it needs."""

    number: int
    workspace: int


class CudnnPlan:
    """A built graph with the plan to run: `plan(a, b, out)` takes device addresses."""

    __slots__ = ("__weakref__", "chosen", "graph", "handles", "uids", "untuned")

    def __init__(
        self, graph: Any, uids: tuple[int, ...], untuned: Convolution | None = None
    ) -> None:
        self.graph, self.uids = graph, uids
        self.untuned = untuned  # what is still to be measured, if anything
        self.chosen = ChosenPlan(0, 0)
        self.handles: dict[Any, Any] = {}  # by stream
        runnable(self)

    def choose(self, index: int) -> None:
        """Run the plan at `index` of the list, which is built, from now on."""
        self.chosen = self.at(index)

    def at(self, index: int) -> ChosenPlan:
        """The plan at `index`, which is built."""
        return ChosenPlan(index, self.graph.get_workspace_size_plan_at_index(index))

    def __call__(self, *pointers: int) -> None:
        self.run(self.chosen, pointers)

    def run(self, chosen: ChosenPlan, pointers: tuple[int, ...]) -> None:
        """Run one of the plans; another thread may choose a new one meanwhile.

        Its working memory goes back to the pool at once: what uses it next on this stream comes later.
        """
        stream: Any = current.ptr if _single else (runtime.getDevice(), current.ptr)
        own = self.handles.get(stream)
        if own is None:
            own = self.handles[stream] = handle()
        index, size = chosen
        room = cupy.cuda.alloc(size) if size else None
        self.graph._execute_plan_at_index(
            dict(zip(self.uids, pointers)), 0 if room is None else room.ptr, index, own
        )


_single = runtime.getDeviceCount() == 1
_module: Any = None
_handles: dict[tuple[int, int], Any] = {}  # by GPU and stream
_plans: dict[Convolution, CudnnPlan | None] = Bounded(4096)
_lock = new_lock()


def frontend() -> Any:
    """The `cudnn` module, or None where it is not installed; imported on first use."""
    global _module
    if _module is None:
        try:
            _module = imported_front_end()
        except (ImportError, OSError, AttributeError) as e:
            _module = False
            warnings.warn(
                f"cuDNN cannot be used ({type(e).__name__}: {e}): convolutions, attention and recurrent "
                "layers on the GPU take ways that are several times slower; "
                "pip install 'rushlight[cuda]' brings it",
                stacklevel=2,
            )
    return _module or None


def version() -> int | None:
    """cuDNN's own version number, or None without it."""
    module = frontend()
    return None if module is None else int(module.backend_version())


def refusals() -> tuple[type[BaseException], ...]:
    """What the frontend raises when cuDNN has nothing for a graph."""
    return (RuntimeError, ValueError, frontend().cudnnGraphNotSupportedError)


def handle() -> Any:
    """One handle per GPU and stream: setting a handle's stream costs more than a second handle."""
    key = (runtime.getDevice(), current.ptr)
    found = _handles.get(key)
    if found is None:
        inner = _inner()
        found = _handles[key] = inner.create_handle()
        if hasattr(inner, "set_stream"):
            inner.set_stream(handle=found, stream=current.ptr)
        else:
            inner._raw_set_stream(found, current.ptr)
    return found


def _inner() -> Any:
    """The compiled part of the front end, whose handles are numbers and whose graphs are cuDNN's own.

    From 1.29 on the public ones are classes in Python that look for engines elsewhere, too.
    """
    return frontend()._pybind_module


def new_graph(io: Any, wide: Any) -> Any:
    """A graph without nodes: `io` is the type of what is given and stored, `wide` what is computed with."""
    inner = _inner()
    graph = inner.backend_graph if hasattr(inner, "backend_graph") else inner.pygraph
    return graph(
        handle=handle(), io_data_type=io, intermediate_data_type=wide, compute_data_type=wide
    )


def build_first(graph: Any, tensors: tuple) -> CudnnPlan | None:
    """The first plan of a described graph that can be built; None when there is none."""
    cudnn = frontend()
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    graph.check_support()
    plan = CudnnPlan(graph, tuple([t.get_uid() for t in tensors]))
    for index in range(graph.get_execution_plan_count()):
        if _build(plan, index):
            plan.choose(index)
            return plan
    return None


def plan_for(what: Convolution) -> CudnnPlan | None:
    """The plan of a convolution; None when cuDNN has none for it, is not here, or would be told wrong numbers."""
    try:
        return _plans[what]
    except KeyError:
        pass
    module = frontend()
    if module is None:
        return None
    if what.char == "d" and not knows_doubles(getattr(module, "__version__", "")):
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
    except refusals():
        return None
    for index in range(plan.graph.get_execution_plan_count()):
        if _build(plan, index):
            plan.choose(index)
            return plan
    return None


def tune(plan: CudnnPlan, pointers: tuple[int, ...]) -> None:
    """Keep the quickest of the plans from now on, measured on the arrays at hand; the last one is written."""
    milliseconds = stopwatch()
    with _lock:
        what, plan.untuned = plan.untuned, None
        if what is None:  # another thread was quicker
            return
        first, stored = plan.chosen.number, _stored(what)
        count = plan.graph.get_execution_plan_count()
        if stored is not None and stored < count and _build(plan, stored):
            plan.choose(stored)
            return
        least, best = milliseconds(lambda: plan(*pointers)), plan.chosen
        others = range(first + 1, min(count, first + _TRIED)) if least > _SHORT else ()
        for index in others:
            if not _build(plan, index):
                continue
            other = plan.at(index)
            if other.workspace > max(_LITTLE_WORKSPACE, best.workspace):
                continue
            try:
                time = milliseconds(lambda other=other: plan.run(other, pointers))  # type: ignore[misc]
            except refusals():
                continue
            if time < least:
                least, best = time, other
        plan.chosen = best
        _store(what, best.number)


def _build(plan: CudnnPlan, index: int) -> bool:
    """Whether one plan of the list can be built, with a workspace that is not too large."""
    try:
        plan.graph.build_plan_at_index(index)
        return plan.graph.get_workspace_size_plan_at_index(index) <= _MOST_WORKSPACE
    except refusals():
        return False


def _describe(what: Convolution) -> CudnnPlan:
    """The graph of a convolution with its list of plans, none of them built yet."""
    cudnn = frontend()
    kinds = {"f": cudnn.data_type.FLOAT, "e": cudnn.data_type.HALF, "E": cudnn.data_type.BFLOAT16,
             "d": cudnn.data_type.DOUBLE}  # fmt: skip
    io = kinds[what.char]
    wide = io if what.char == "d" else cudnn.data_type.FLOAT
    graph = new_graph(io, wide)
    a, b = [
        graph.tensor(dim=list(d), stride=list(s), data_type=io)
        for d, s in (what.first, what.second)
    ]
    how = {"padding": list(what.padding), "stride": list(what.stride),
           "dilation": list(what.dilation)}  # fmt: skip
    inputs = [a, b]
    if what.kind == "fprop":
        out = graph.conv_fprop(image=a, weight=b, **how)
        if what.bias:
            n = len(what.out[0])
            bias = graph.tensor(
                dim=[1, what.out[0][1]] + [1] * (n - 2),
                stride=[what.out[0][1], 1] + [1] * (n - 2), data_type=io,
            )  # fmt: skip
            inputs.append(bias)
            out.set_data_type(wide)
            out = graph.bias(input=out, bias=bias)
            if what.relu:
                out.set_data_type(wide)
                out = graph.relu(input=out)
    elif what.kind == "dgrad":
        out = graph.conv_dgrad(loss=a, filter=b, **how)
    else:
        out = graph.conv_wgrad(image=b, loss=a, **how)
    dims, strides = what.out
    out.set_output(True).set_data_type(io).set_dim(list(dims)).set_stride(list(strides))
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    _filter(graph, what)
    graph.check_support()
    uids = tuple([t.get_uid() for t in (*inputs, out)])
    return CudnnPlan(graph, uids, what if what.measured else None)


def _filter(graph: Any, what: Convolution) -> None:
    cudnn = frontend()
    notes = cudnn.numerical_note
    unwanted = []
    if what.char == "f" and not what.tf32:
        unwanted += [notes.TENSOR_CORE, notes.DOWN_CONVERT_INPUTS]
    if what.deterministic:
        unwanted.append(notes.NONDETERMINISTIC)
    if unwanted:
        graph.deselect_numeric_notes(unwanted)


# -- the choice on disk ---------------------------------------------------------------------------

_choices: dict[str, int] | None = None


def _file() -> Path:
    cudnn = frontend()
    name = runtime.getDeviceProperties(runtime.getDevice())["name"].decode().replace(" ", "-")
    return Path(settings.cache_dir) / "cudnn" / f"{name}-{cudnn.backend_version()}.json"


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
