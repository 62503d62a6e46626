"""Derivatives of users' own functions in graphs that are differentiated later: which may become a part of a program.

They run while a call is recorded, beside the caller's own backward pass, and never again; so they may depend on nothing
but what they are given, and change nothing.
"""

from __future__ import annotations

import dis
from types import CodeType, FunctionType
from typing import Any

from ...base.shapes import Size
from ...core.tensor import Tensor
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
