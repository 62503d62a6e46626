"""Dead code: instructions whose results nobody needs are dropped, but for those whose errors somebody would see."""

from __future__ import annotations

from ..loops.fragile import may_refuse
from ..program.instructions import Program
from ..program.slots import MADE


def drop_dead(program: Program) -> Program:
    """Keep what reaches a result, lasting memory or a random stream, seen from the end."""
    needed = {s.storage.number for s in program.results}
    kept = []
    for ins in reversed(program.instructions):
        touched = [s.storage for s in (*ins.outputs, *ins.writes)]
        lasting = any(s.kind != MADE for s in touched) and not ins.is_view
        lasting = lasting or may_refuse(ins.kernel, ins.inputs, program.device)
        if lasting or ins.is_random or any(s.number in needed for s in touched):
            needed.update(s.storage.number for s in ins.reads)
            kept.append(ins)
    return program.with_instructions(kept[::-1])
