"""Passes: functions from program to program, and the order they run in."""

from __future__ import annotations

from ...base.config import settings
from ..program import Program
from .common import merge_common
from .copies import drop_copies
from .dead import drop_dead
from .fold import fold_constants
from .fuse import fuse_pointwise
from .pool import pool_before_relu, sum_before_spreading

PASSES = [
    ("fold constants", fold_constants),
    ("common subexpressions", merge_common),
    ("copies", drop_copies),
    ("dead code", drop_dead),
    ("relu after max_pool", pool_before_relu),
    ("sums before pools", sum_before_spreading),
    ("pointwise fusion", fuse_pointwise),
]
# They add up in another order than eager does: not with `use_deterministic_algorithms(True)`.
ROUNDING = ("sums before pools",)


def optimise(program: Program) -> Program:
    """The program after every pass; `history` says what each left."""
    program.history.append(("recorded", len(program)))
    for name, run in PASSES:
        if settings.deterministic and name in ROUNDING:
            continue
        program = run(program)
        program.history.append((name, len(program)))
    return program
