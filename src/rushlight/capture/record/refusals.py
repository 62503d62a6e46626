"""What of graphs no replay could follow: derivatives of users' own, and graphs that were there before the call."""

from __future__ import annotations

import dis
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import CodeType, FunctionType
from typing import Any

from ...base.shapes import Size
from ...core.op import FREED
from ...core.tensor import Tensor
from ..state.keys import HOOKED, RESULT, role
from ..state.kinds import PLAIN, lookup
from ..state.known import TENSOR_SECRETS

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
    return not name.startswith("_") and name[-1] != "_" and name not in _NOT and hasattr(Tensor, name)  # fmt: skip


@contextmanager
def graphs_end_at(
    tensors: Sequence[Tensor], arguments: Sequence[Tensor], recorder: Any
) -> Iterator[None]:
    """Complain when a derivative arrives at a result of an earlier graph, or at an argument with hooks of the user."""
    entries = {id(t): t for t in tensors if role(t) == RESULT}
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
