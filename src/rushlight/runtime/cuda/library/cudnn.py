"""cuDNN's graph API through nvidia-cudnn-frontend: handles, plans of convolutions, and their choice."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cupy
from cupy.cuda import runtime

from ....base.config import settings
from ....base.locks import new_lock
from ..code.compile import kernel
from ..memory.streams import current
from .cublaslt import is_capturing

_TRIED = 12  # plans measured when `backends.cudnn.benchmark` is on
_RUNS = 6  # calls of each plan that are measured
_MOST_WORKSPACE = 1 << 30


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
    benchmark: bool
    bias: bool = False
    relu: bool = False  # after the bias


class Plan:
    """A built graph with the plan to run: `plan(a, b, out)` takes device addresses."""

    __slots__ = ("graph", "index", "places", "uids", "workspace")

    def __init__(self, graph: Any, uids: tuple[int, ...]) -> None:
        self.graph, self.uids = graph, uids
        self.places: dict[Any, tuple[int, Any]] = {}  # working memory and handle, per stream
        self.choose(0)

    def choose(self, index: int, workspace: int = 0) -> None:
        """Run the plan at `index` of the list from now on."""
        self.index, self.workspace = index, workspace
        self.places.clear()

    def __call__(self, *pointers: int) -> None:
        stream: Any = current.ptr if _single else (runtime.getDevice(), current.ptr)
        place = self.places.get(stream)
        if place is None:
            place = self.places[stream] = (_scratch(self.workspace), handle())
        self.graph._execute_plan_at_index(
            dict(zip(self.uids, pointers)), place[0], self.index, place[1]
        )


_single = runtime.getDeviceCount() == 1
_module: Any = None
_handles: dict[tuple[int, int], Any] = {}  # by GPU and stream
_rooms: dict[tuple[int, int], list[Any]] = {}
# Never forgotten: a captured graph may run kernels that only the plan holds.
_plans: dict[Convolution, Plan | None] = {}
_lock = new_lock()


def frontend() -> Any:
    """The `cudnn` module, or None where it is not installed; imported on first use."""
    global _module
    if _module is None:
        try:
            import cudnn

            _module = cudnn
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
        cudnn = frontend()
        found = _handles[key] = cudnn.create_handle()
        cudnn.set_stream(handle=found, stream=current.ptr)
    return found


def _scratch(size: int) -> int:
    """Working memory of a stream, grown as plans ask; 0 when none is needed."""
    if not size:
        return 0
    key = (runtime.getDevice(), current.ptr)
    rooms = _rooms.setdefault(key, [])  # smaller ones are kept: a CUDA graph may still use them
    if not rooms or rooms[-1].mem.size < size:
        rooms.append(cupy.cuda.alloc(size))
    return rooms[-1].ptr


def build_first(graph: Any, tensors: tuple) -> Plan | None:
    """The first plan of a described graph that can be built; None when there is none."""
    cudnn = frontend()
    graph.validate()
    graph.build_operation_graph()
    graph.create_execution_plans([cudnn.heur_mode.A, cudnn.heur_mode.FALLBACK])
    graph.check_support()
    plan = Plan(graph, tuple([t.get_uid() for t in tensors]))
    for index in range(graph.get_execution_plan_count()):
        if _build(plan, index):
            plan.choose(index, graph.get_workspace_size_plan_at_index(index))
            return plan
    return None


def plan_for(what: Convolution) -> Plan | None:
    """The plan of a convolution; None when cuDNN has none for it or is not here."""
    try:
        return _plans[what]
    except KeyError:
        pass
    if frontend() is None:
        return None
    with _lock:
        if what not in _plans:
            _plans[what] = _make(what)
    return _plans[what]


def _make(what: Convolution) -> Plan | None:
    try:
        plan, count = _describe(what)
    except refusals():
        return None
    tune = what.benchmark and count > 1 and not is_capturing()
    stored = _stored(what) if tune else None
    order = range(min(count, _TRIED if tune else count))
    if stored is not None and stored < count:
        order = range(stored, stored + 1)
    built = []
    for i in order:
        if _build(plan, i):
            built.append(i)
            if not tune:
                break
    if not built:
        return None
    best = built[0]
    if len(built) > 1:
        best = _quickest(plan, built, what)
        _store(what, best)
    plan.choose(best, plan.graph.get_workspace_size_plan_at_index(best))
    return plan


def _build(plan: Plan, index: int) -> bool:
    """Whether one plan of the list can be built, with a workspace that is not too large."""
    try:
        plan.graph.build_plan_at_index(index)
        return plan.graph.get_workspace_size_plan_at_index(index) <= _MOST_WORKSPACE
    except refusals():
        return False


def _describe(what: Convolution) -> tuple[Plan, int]:
    """The graph of a convolution with its list of plans, none of them built yet."""
    cudnn = frontend()
    kinds = {"f": cudnn.data_type.FLOAT, "e": cudnn.data_type.HALF, "E": cudnn.data_type.BFLOAT16,
             "d": cudnn.data_type.DOUBLE}  # fmt: skip
    io = kinds[what.char]
    wide = io if what.char == "d" else cudnn.data_type.FLOAT
    graph = cudnn.pygraph(
        handle=handle(), io_data_type=io, intermediate_data_type=wide, compute_data_type=wide
    )
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
    plan = Plan(graph, tuple([t.get_uid() for t in (*inputs, out)]))
    return plan, graph.get_execution_plan_count()


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


def _span(side: tuple[tuple, tuple], itemsize: int) -> int:
    dims, strides = side
    return itemsize * (1 + sum((d - 1) * s for d, s in zip(dims, strides)))


def _quickest(plan: Plan, built: list[int], what: Convolution) -> int:
    """The plan that takes least time on arrays of its own, filled with random numbers."""
    itemsize = {"f": 4, "d": 8}.get(what.char, 2)
    arrays = []
    sides = [what.first, what.second, what.out]
    for side in sides:
        words = cupy.random.random(-(-_span(side, itemsize) // 4) + 4, dtype=cupy.float32)
        arrays.append(words)
    if what.bias:
        arrays.insert(2, cupy.random.random(what.out[0][1] * 2 + 8, dtype=cupy.float32))
    pointers = [a.data.ptr for a in arrays]
    times = []
    for index in built:
        plan.choose(index, plan.graph.get_workspace_size_plan_at_index(index))
        try:
            plan(*pointers)
            times.append((_seconds(lambda: plan(*pointers)), index))
        except refusals():
            continue
    return min(times)[1] if times else built[0]


_BUSY = """extern "C" __global__ void busy(long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles);
}"""


def _seconds(call: Callable[[], None]) -> float:
    """GPU time of a few calls. They are queued while the GPU is busy, so that the time of the host is not measured."""
    stream = cupy.cuda.get_current_stream()
    begin, end = cupy.cuda.Event(), cupy.cuda.Event()
    kernel(_BUSY, "busy", ("q",))(1, 1, 1_000_000)
    begin.record(stream)
    for _ in range(_RUNS):
        call()
    end.record(stream)
    end.synchronize()
    return cupy.cuda.get_elapsed_time(begin, end)


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
