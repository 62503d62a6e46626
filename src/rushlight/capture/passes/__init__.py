"""Passes: functions from program to program, and the order they run in."""

from __future__ import annotations

from ..program import Program


def optimise(program: Program) -> Program:
    """The program after every pass; `history` says what each left."""
    program.history.append(("recorded", len(program)))
    for name, run in PASSES:
        program = run(program)
        program.history.append((name, len(program)))
    return program


PASSES: list = []
