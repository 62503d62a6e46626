"""What of a call no replay could follow: kernels and reads that need Python, derivatives of users' own, graphs of before."""

from __future__ import annotations

import dis
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import CodeType, FrameType, FunctionType
from typing import Any

import numpy as np

from ...base.shapes import Size
from ...core.memory import root_array
from ...core.op import FREED
from ...core.tensor import Tensor
from ...core.values import HOST_READ
from ...runtime.door import Kernel
from ...runtime.facts import NOTHING
from ..program.instructions import Program
from ..program.refuse import BY_VALUES, looked_at, may_refuse
from ..program.slots import ARGUMENT, CONSTANT, MADE, STATE, Slot
from ..state.keys import HOOKED, PART, RESULT, role
from ..state.kinds import PLAIN, lookup
from ..state.known import TENSOR_SECRETS
from .flow import Reading, destination, is_caught, watched
from .recorder import Recorder, RecorderRule, at_once, strange_use, user_line, values_decide


class RuleOfCalls(RecorderRule):
    """Of a call whose Python is to be skipped: whatever a replay could not do is complained of."""

    def __init__(self, owned: dict[int, str], fed: list[Any]) -> None:
        self.owned = owned  # id of array -> what it is, for memory that outlives the call
        self.fed = fed  # arrays the host refreshes before each replay, known while it goes on

    def outside(self, a: Any, root: Any) -> tuple[str, str]:
        label = self.owned.get(id(a)) or self.owned.get(id(root))
        return (CONSTANT, "") if label is None else (STATE, label)

    def meets(
        self, recorder: Recorder, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any]
    ) -> Callable[[Callable[[], Any]], Any] | None:
        if kernel is HOST_READ:
            return partial(_host_read, recorder, arrays[0])
        stranger = strange_use(arrays)
        if stranger is not None:
            recorder.complain(stranger)
            return at_once
        if values_decide(kernel, arrays):
            recorder.complain(f"calls {kernel.name}, whose result's shape depends on values,")
        if kernel.name == "as_strided" and recorder.inputs_of(arrays)[0].storage.kind == ARGUMENT:
            # Arguments are compared by how they lie, not by where in their memory they begin.
            recorder.complain("calls as_strided, which looks at the memory around an argument,")
        if _may_raise(recorder, kernel, arrays) and _left_traces(recorder) and is_caught(BY_VALUES):
            # A program that failed there could not be run anew, and nobody but Python knows what its handler does.
            recorder.complain(f"catches what {kernel.name} may raise behind a change that lasts")
        return None

    def program(self, recorder: Recorder, results: list[Slot]) -> Program:
        """What was heard, as a program that knows what the host refreshes."""
        fed = {id(root_array(a)) for a in self.fed}
        for key, storage in recorder.roots.items():
            if key in fed:
                storage.fed = True
                storage.kind, storage.label = STATE, storage.label or "numbers of the host"
        return recorder.program(results)


def _may_raise(recorder: Recorder, kernel: Kernel, arrays: Sequence[Any]) -> bool:
    """Whether a kernel of the CPU may refuse values that nobody can look at beforehand."""
    facts = kernel.facts
    if facts is NOTHING or not any(a.__class__ is np.ndarray for a in arrays):
        return False
    operands = looked_at(facts)
    if operands is None:
        return may_refuse(kernel, arrays, "cpu")
    inputs = recorder.inputs_of(arrays)
    return any(s.kind == MADE or s.number in recorder.bounds.written for s in (inputs[i].storage for i in operands))


def _left_traces(recorder: Recorder) -> bool:
    """Whether the call has changed what outlives it: memory from outside, a random stream."""
    return any(
        (ins.is_random and ins.outputs) or any(s.storage.kind != MADE for s in ins.writes)
        for ins in recorder.instructions
    )


def _host_read(recorder: Recorder, a: Any, call: Callable[[], Any]) -> Any:
    """Give the host a value. A replay is only possible if the number is returned to the caller without being used."""
    values = call()
    asking = _asking()
    if a.size != 1 or asking is None or recorder.watching is None:
        recorder.complain(f"reads the values of a tensor {list(a.shape)} on the host")
        return values
    found = destination(asking, recorder.watching.start)
    if found == "used":
        recorder.complain("reads a tensor's value on the host (item())")
    if found != "returned":
        return values
    reading = Reading(recorder, recorder.slot_of(a), user_line())
    recorder.readings.append(reading)
    return watched(values, reading)


def _asking() -> FrameType | None:
    """Who called `Tensor.item`, where that asked for the host read at work."""
    frame: Any = sys._getframe(2)
    for _ in range(8):
        if frame is None or frame.f_code is Tensor.item.__code__:
            return None if frame is None else frame.f_back
        frame = frame.f_back
    return None


_REACHES = (  # beginnings of the names of instructions that look at, or change, what is not given
    "DELETE_", "IMPORT_", "LOAD_BUILD", "LOAD_CLASS", "LOAD_CLOSURE", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME",
    "STORE_ATTR", "STORE_DEREF", "STORE_GLOBAL", "STORE_NAME", "STORE_SUBSCR", "BEFORE_", "GET_A", "SEND", "YIELD",
    "LOAD_SUPER", "CALL_INTRINSIC", "DICT_UPDATE", "LIST_APPEND", "SETUP_",
)  # fmt: skip
_OF_CONTEXT = frozenset(("saved_tensors", "needs_input_grad"))
_NOT = TENSOR_SECRETS | {
    "backward", "data", "grad", "item", "numpy", "register_hook", "retain_grad", "tolist", "share_memory", "cpu",
}  # fmt: skip


def body(cls: Any) -> Any:
    """The function behind a class's `backward`, or what stands there instead."""
    member = lookup(cls, "backward")
    return getattr(member, "__func__", member)


def is_plain(cls: Any, ctx: Any) -> bool:
    """Whether a derivative is known to read its arguments alone: `return -ctx.scale * g`, `g * (x.abs() < 1)`."""
    fn = body(cls)
    if type(fn) is not FunctionType or fn.__closure__ or fn.__defaults__ or fn.__kwdefaults__:
        return False
    if vars(fn) or any(type(c) is CodeType for c in fn.__code__.co_consts):
        return False
    kept = vars(ctx)
    for ins in dis.get_instructions(fn.__code__):
        if ins.opname.startswith(_REACHES):
            return False
        if ins.opname == "BINARY_OP" and ins.argrepr.endswith("="):
            return False  # in place
        if ins.opname in ("LOAD_ATTR", "LOAD_METHOD") and not _may_ask(ins.argval, kept):
            return False
    return True


def _may_ask(name: str, kept: dict[str, Any]) -> bool:
    if name in _OF_CONTEXT:
        return True
    if name in kept:
        return type(kept[name]) in (*PLAIN, Tensor, Size)
    return not name.startswith("_") and name[-1] != "_" and name not in _NOT and hasattr(Tensor, name)


@contextmanager
def graphs_end_at(tensors: Sequence[Tensor], arguments: Sequence[Tensor], recorder: Any) -> Iterator[None]:
    """Complain when a derivative arrives at a result of an earlier graph, or at an argument with hooks of the user."""
    entries = {id(t): t for t in tensors if role(t) in (RESULT, PART)}
    entries.update({id(t): t for t in arguments if role(t) == HOOKED})

    def arrived(_: Tensor) -> None:
        recorder.complain("goes back into a graph, or to hooks, that a tensor from outside brings")

    handles = [t.register_hook(arrived) for t in entries.values()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def spent(node: Any) -> bool:
    """Whether backward has run through this graph already."""
    stack, seen = [node], set()
    while stack:
        node = stack.pop()
        if node.seq in seen:
            continue
        seen.add(node.seq)
        if FREED in (getattr(node, "saved", None), getattr(node, "outputs", None)):
            return True
        stack.extend([e[0] for e in node.edges if e is not None])
    return False


def first_failure(node: Any) -> tuple[int, str] | None:
    """Which node of a graph a backward pass would fail at first, by its number, and why; None where it would not."""
    nodes, stack = {}, [node]
    while stack:
        node = stack.pop()
        if node.seq not in nodes:
            nodes[node.seq] = node
            stack.extend([e[0] for e in node.edges if e is not None])
    for seq in sorted(nodes, reverse=True):  # the order in which a pass comes to them
        saved, outputs = (getattr(nodes[seq], name, None) for name in ("saved", "outputs"))
        if FREED in (saved, outputs):
            return seq, "freed"
        kept = [*(saved.values() if isinstance(saved, dict) else ()), *(outputs or ())]
        for k in kept:
            if k.__class__ is tuple and len(k) == 3 and k[1].__class__ is list and k[1][0] != k[2]:
                return seq, f"a tensor {list(k[0].shape)} that a compiled function used"
    return None
