"""One way for every collective: counted, checked, done here or in the group's thread, seen at the door."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..core.inplace import bump
from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..runtime.door import Kernel, run
from ..runtime.thread import here
from . import compare
from .groups import GroupMember, ProcessGroup
from .reduce_op import ReduceOp
from .works import StreamWork, Work

__all__ = ["CollectiveCall", "begin", "collective", "end"]


class CollectiveCall(NamedTuple):
    """A collective as the door sees it: equal calls of two steps are equal."""

    group: str
    name: str
    op: ReduceOp | None = None
    root: int = 0
    received: tuple[int, ...] = ()
    sent: tuple[int, ...] = ()
    token: int = 0  # of a call whose end is another instruction

    def args(self) -> list[Any]:
        """What the engine's method is given behind the arrays."""
        if self.name == "all_to_all":
            return [self.received, self.sent]
        more: list[Any] = []
        if self.name in ("broadcast", "reduce", "gather", "scatter"):
            more.append(self.root)
        if self.op is not None:
            more.append(self.op)
        return more


def _group(call: CollectiveCall) -> ProcessGroup:
    world = GroupMember.WORLD
    if world is None or call.group not in world.world.groups:
        raise ValueError(f"process group {call.group!r} of this {call.name} was destroyed")
    return world.world.groups[call.group]


def _on_host(group: ProcessGroup, call: CollectiveCall, arrays: Sequence[Any]) -> None:
    """The collective over NumPy arrays in the calling thread."""
    engine = group.engine("cpu")
    rows: list[Any] = [None if a is None else np.ascontiguousarray(a) for a in arrays]
    if arrays[0] is not None and rows[0].ndim != arrays[0].ndim:  # ascontiguousarray makes 0-d 1-d
        rows[0] = rows[0].reshape(arrays[0].shape)
    group.carry_out(call.name, getattr(engine, call.name), *rows, *call.args())
    if arrays[0] is not None and not np.may_share_memory(rows[0], arrays[0]):
        np.copyto(arrays[0], rows[0])


def _on_gpu(group: ProcessGroup, call: CollectiveCall, arrays: Sequence[Any]) -> None:
    """The collective over CuPy arrays: NCCL in the current stream, or through the host."""
    some = next(a for a in arrays if a is not None)
    engine = _gpu_engine(group, some)
    if engine.kind == "self":
        return getattr(engine, call.name)(*arrays, *call.args())
    if engine.kind != "nccl" or not engine.has(call.name, some.dtype, call.op):
        from .gpus import through_the_host

        return through_the_host(lambda hosts: _on_host(group, call, hosts), list(arrays))
    import cupy

    rows: list[Any] = [None if a is None else cupy.ascontiguousarray(a) for a in arrays]
    getattr(engine, call.name)(*rows, *call.args())
    engine.watched(call.name)
    if arrays[0] is not None and rows[0].data.ptr != arrays[0].data.ptr:
        cupy.copyto(arrays[0], rows[0])


def _gpu_engine(group: ProcessGroup, a: Any) -> Any:
    """The engine for GPU arrays; NCCL is started on the GPU that the array is on."""
    with a.device:
        return group.engine("cuda")


def _perform(group: ProcessGroup, call: CollectiveCall, arrays: Sequence[Any], watched: Sequence[Any] = ()) -> None:
    """The exchange itself, perhaps in the group's thread; a profiler of the thread that asked for it is told."""
    begin = time.perf_counter()
    on_host = isinstance(_some(arrays), np.ndarray)
    (_on_host if on_host else _on_gpu)(group, call, arrays)
    for listener in watched if on_host else ():
        if hasattr(listener, "exchanged"):
            size = max(a.nbytes for a in arrays if a is not None)
            listener.exchanged(f"mpi:{call.name}", begin, time.perf_counter() - begin, size)


def _whole(xp: Any, *arrays: Any, call: CollectiveCall) -> Any:
    """The body of a collective that is done when it returns."""
    group = _group(call)
    group.begin(call.name)
    if group.world.detail:
        compare.same_everywhere(group, call, arrays)
    if group.worker.idle or not isinstance(_some(arrays), np.ndarray):
        _perform(group, call, arrays, here.listeners)
    else:  # what was begun before goes first, on every rank
        watched = here.listeners
        group.worker.submit(lambda: _perform(group, call, arrays, watched), call.name).wait()
    return arrays[0]


def _some(arrays: Sequence[Any]) -> Any:
    return next(a for a in arrays if a is not None)


def _written(arrays: Sequence[Any], attrs: dict[str, Any]) -> list[int]:
    return [] if arrays[0] is None else [0]


_under_way: dict[int, Work] = {}  # works whose end is another instruction, by token
_tokens = itertools.count(1)


def _start(xp: Any, *arrays: Any, call: CollectiveCall) -> Any:
    """The body of a collective that goes on beside what follows."""
    _under_way[call.token] = _launch(_group(call), call, arrays)
    return arrays[0]


def _finish(xp: Any, a: Any, *, call: CollectiveCall) -> Any:
    """The body of its end."""
    _under_way.pop(call.token).wait()
    return a


def _launch(group: ProcessGroup, call: CollectiveCall, arrays: Sequence[Any]) -> Work:
    group.begin(call.name)
    if group.world.detail:
        compare.same_everywhere(group, call, arrays)
    if isinstance(_some(arrays), np.ndarray):
        if group.size() == 1:
            _perform(group, call, arrays)
            return Work()
        watched = here.listeners
        return group.worker.submit(lambda: _perform(group, call, arrays, watched), call.name)
    return _launch_gpu(group, call, arrays)


def _launch_gpu(group: ProcessGroup, call: CollectiveCall, arrays: Sequence[Any]) -> Work:
    """In a stream beside the current one: NCCL's work, or the group's thread with the copies."""
    import cupy

    from ..runtime.cuda.memory.streams import new_stream, using

    index = _some(arrays).device.id
    side = group.sides.get(index)
    if side is None:
        side = group.sides[index] = new_stream(index, priority=-1)
    current = cupy.cuda.get_current_stream()
    before = cupy.cuda.Event(disable_timing=True)
    before.record(current)
    side.wait_event(before)
    engine = _gpu_engine(group, _some(arrays))
    if engine.kind != "nccl":

        def job() -> None:
            with cupy.cuda.Device(index), using(side):
                _on_gpu(group, call, arrays)

        return group.worker.submit(job, call.name) if engine.kind == "mpi" else _at_once(job)
    with using(side):
        _on_gpu(group, call, arrays)
        after = cupy.cuda.Event(disable_timing=True)
        after.record(side)
    return StreamWork(after, cupy.cuda.get_current_stream, arrays)


def _at_once(job: Any) -> Work:
    job()
    return Work()


_WHOLE = Kernel("collective", _whole, mutates=_written)
_START = Kernel("collective_begin", _start, mutates=(0,))
_END = Kernel("collective_end", _finish, mutates=(0,))


def collective(
    group: ProcessGroup, call: CollectiveCall, tensors: Sequence[Tensor | None], async_op: bool = False
) -> Work | None:
    """Do a collective over tensors; the first is written. With `async_op` a work to wait for."""
    if _between_parts(group, call, tensors):
        return _by_host_reads(group, call, tensors, async_op)
    arrays = [None if t is None else t._a for t in tensors]
    some = _some(arrays)
    if here.recorder is not None and call.name == "gather" and here.notice is not None:
        here.notice("gather() between processes")
    if async_op and here.recorder is None:
        work = _launch(group, call, arrays)
    else:
        run(_WHOLE, some.__class__, arrays, {"call": call})
        work = Work()
    if tensors[0] is not None:
        bump(tensors[0])
    if not async_op:
        return None
    work._results = [tensors[0]]
    return work


def _between_parts(group: ProcessGroup, call: CollectiveCall, tensors: Sequence[Tensor | None]) -> bool:
    """Whether a compiled step must stop for this: MPI works on the host, a CUDA graph cannot wait for it."""
    if not here.listeners or group.size() == 1:
        return False
    some = next(t for t in tensors if t is not None)._a
    if isinstance(some, np.ndarray):
        return False
    engine = _gpu_engine(group, some)
    return engine.kind != "nccl" or not engine.has(call.name, some.dtype, call.op)


def _by_host_reads(
    group: ProcessGroup, call: CollectiveCall, tensors: Sequence[Tensor | None], async_op: bool
) -> Work | None:
    """The collective over copies on the host: reading them ends one part of the step, and the next follows."""
    hosts = [None if t is None else t.detach().cpu() for t in tensors]
    collective(group, call, hosts)
    if tensors[0] is not None and hosts[0] is not None:
        with no_grad():
            tensors[0].copy_(hosts[0])
    work = Work()
    work._results = [tensors[0]]
    return work if async_op else None


def begin(group: ProcessGroup, call: CollectiveCall, tensor: Tensor) -> CollectiveCall:
    """Start a collective whose `end` is called later; both can be recorded."""
    if _between_parts(group, call, [tensor]):
        _by_host_reads(group, call, [tensor], False)
        return call._replace(token=-1)
    if call.token == 0:
        call = call._replace(token=next(_tokens))
    run(_START, tensor._a.__class__, (tensor._a,), {"call": call})
    return call


def end(call: CollectiveCall, tensor: Tensor) -> None:
    """Wait for what `begin` started."""
    if call.token == -1:
        return  # it was done at once
    run(_END, tensor._a.__class__, (tensor._a,), {"call": call})
    bump(tensor)
