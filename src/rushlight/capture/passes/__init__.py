"""Passes: functions from program to program, and the order they run in."""

from __future__ import annotations

from ..program import Program
from .common import merge_common
from .copies import drop_copies
from .dead import drop_dead
from .fold import fold_constants
from .fuse import fuse_pointwise

PASSES = [
    ("fold constants", fold_constants),
    ("common subexpressions", merge_common),
    ("copies", drop_copies),
    ("dead code", drop_dead),
    ("pointwise fusion", fuse_pointwise),
]


def optimise(program: Program) -> Program:
    """The program after every pass; `history` says what each left."""
    program.history.append(("recorded", len(program)))
    for name, run in PASSES:
        program = run(program)
        program.history.append((name, len(program)))
    return program
