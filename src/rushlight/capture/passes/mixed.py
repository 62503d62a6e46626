"""Norms take the casts around them along: halves in, halves out, while they compute and keep float32."""

from __future__ import annotations

from typing import Any

from ..joined.mixed import MIXED_GRADS, MIXED_NORMS
from ..program.instructions import Instruction, Program
from ..program.match import first, joined, maker, reader, rewrite, rule

_HALVES = frozenset(("float16", "bfloat16"))
_ADDING = {f"add_{norm}": norm for norm in MIXED_NORMS}
_GRADS = {f"{norm}_grad": norm for norm in MIXED_GRADS}
_GRADS_ADD = {f"{norm}_grad_add": norm for norm in MIXED_GRADS}


def join_mixed_norms(program: Program, force: bool = False) -> Program:
    """cast + norm + cast, forward and backward, as one kernel each; `force` on any device."""
    return rewrite(program, [_forward, _backward], force)


def _widens(cast: Instruction | None) -> bool:
    """Whether a cast makes float32 of halves; also where there is none."""
    if cast is None:
        return True
    return cast.inputs[0].dtype.name in _HALVES and cast.outputs[0].dtype.name == "float32"


def _narrows(cast: Instruction | None) -> bool:
    if cast is None:
        return True
    return cast.inputs[0].dtype.name == "float32" and cast.outputs[0].dtype.name in _HALVES


@rule(
    *MIXED_NORMS.values(),
    norm=first(*MIXED_NORMS, *_ADDING),
    before=maker("cast", of="norm<0|norm<1", optional=True),
    after=reader("cast", of="norm", at=0, optional=True),
)
def _forward(
    norm: Instruction, before: Instruction | None, after: Instruction | None
) -> Instruction | None:
    adds = norm.name in _ADDING
    if not (_widens(before) and _narrows(after)) or (before is None and after is None):
        return None
    x, *rest = norm.inputs
    other = rest.pop(0) if adds else None
    if before is not None:
        if not adds or x is other:
            return None
        if before.outputs[0] is x:  # a sum does not ask which comes first
            x, other = other, x
        if before.outputs[0] is not other:  # it is a view of what was cast
            return None
        other = before.inputs[0]
    if x.dtype.name != "float32" or (other is not None and not other.dense):
        return None
    y, *kept = norm.outputs
    made = (y if after is None else after.outputs[0], *kept)
    to = None if after is None else after.attrs["to"]
    kernel = MIXED_NORMS[_ADDING.get(norm.name, norm.name)]
    return joined(kernel, (x, other, *rest), {**norm.attrs, "to": to}, made, norm.line)


@rule(
    *MIXED_GRADS.values(),
    back=first(*_GRADS, *_GRADS_ADD),
    before=maker("cast", of="back<0", optional=True),
    after=reader("cast", of="back", at=0, optional=True),
)
def _backward(
    back: Instruction, before: Instruction | None, after: Instruction | None
) -> Instruction | None:
    """The gradient that goes out is written twice where somebody wants it in halves, too."""
    if before is None or not _widens(before) or not _narrows(after):
        return None
    g, x = before.inputs[0], back.inputs[1]
    if before.outputs[0] is not back.inputs[0] or x.dtype.name != "float32" or not g.dense:
        return None
    if after is not None and after.outputs[0].dtype != g.dtype:
        return None
    rest: tuple[Any, ...] = back.inputs[2:]
    if back.name in _GRADS:
        rest = (*rest, None)
    outs = back.outputs if after is None else (*back.outputs, after.outputs[0])
    attrs = {**back.attrs, "also": after is not None}
    kernel = MIXED_GRADS[_GRADS.get(back.name) or _GRADS_ADD[back.name]]
    return joined(kernel, (g, x, *rest), attrs, outs, back.line)
