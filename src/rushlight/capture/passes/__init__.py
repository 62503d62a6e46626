"""Passes: functions from program to program, and the order they run in."""

from __future__ import annotations

from collections.abc import Callable

from ...base.config import settings
from ..program.instructions import Program
from ..record.recorder import WrongKernel
from .casts import join_casts
from .copies import drop_copies, name_new_values, write_over
from .epilogues import join_conv_grads, join_conv_relus, join_epilogues
from .few import join_conv_pools, join_heads, pool_before_relu, sum_before_spreading
from .fuse import fuse_pointwise
from .layout import choose_layout
from .norms import join_batch_norms, join_group_norms, join_mixed_norms, join_residuals
from .rows import join_rows
from .sequences import drop_entropy_casts, join_attention_grads, join_lookups, join_rotary
from .tidy import drop_dead, fold_constants, merge_common

# Name, function, and whether it keeps every bit, on all devices or on the CPU; the others may round in another order.
# Chains and row groups of the CPU's engine call what its single kernels call, some numbers or rows at a time
# (tests/loops/test_joined_bits.py). A GPU's chains round after each step where bits must be the same.
PASSES: list[tuple[str, Callable[[Program], Program], bool | str]] = [
    ("in-place writes", name_new_values, True),
    ("fold constants", fold_constants, True),
    ("common subexpressions", merge_common, True),
    ("copies", drop_copies, True),
    ("dead code", drop_dead, True),
    ("relu after max_pool", pool_before_relu, True),
    ("sums before pools", sum_before_spreading, False),
    ("group norm and SiLU", join_group_norms, False),
    ("layout", choose_layout, False),  # behind it nothing is seen across copies into another order
    ("convolutions and pools", join_conv_pools, False),
    ("convolutions' gradients", join_conv_grads, False),
    ("batch norm and relu", join_batch_norms, True),
    ("convolution and relu", join_conv_relus, False),
    ("residuals and norms", join_residuals, True),
    ("casts around norms", join_mixed_norms, True),
    ("attention's gradients", join_attention_grads, True),
    ("embeddings and positions", join_lookups, True),
    ("rotary embeddings", join_rotary, False),
    ("casts around cross entropy", drop_entropy_casts, True),
    ("casts", join_casts, True),
    ("epilogues", join_epilogues, False),
    ("classifier's head", join_heads, False),
    ("row groups", join_rows, "cpu"),
    ("pointwise fusion", fuse_pointwise, True),
    ("views left over", drop_dead, True),
    ("gradients in their place", write_over, True),
]


# What only takes away, puts in order or names anew: the kernels that are left are those that eager calls run.
_PLAIN = frozenset(
    ["in-place writes", "fold constants", "common subexpressions", "copies", "dead code", "relu after max_pool",
     "views left over", "gradients in their place"]
)  # fmt: skip
JOINING = frozenset([name for name, _, _ in PASSES]) - _PLAIN


def optimise(program: Program, exact_only: bool = False, without: frozenset[str] = frozenset()) -> Program:
    """The program after every pass but those in `without`; `history` says what each left.

    `use_deterministic_algorithms` asks for results that do not depend on whether a step was replayed,
    so then only passes that keep every bit run.
    """
    program.history = [("recorded", len(program))]
    origin: dict[str, str] = {}
    program.exact = exact_only or settings.deterministic
    for name, run, exact in PASSES:
        if name not in without and (not program.exact or exact in (True, program.device)):
            before = {ins.name for ins in program.instructions}
            program = run(program)
            program.history.append((name, len(program)))
            for new in {ins.name for ins in program.instructions} - before:
                origin[new] = name
    program.origin, program.without, program.index = origin, without, None
    return program


EVERY_INEXACT = frozenset(["every pass that rounds in another order"])


def again(recorded: Program, tried: Program, error: WrongKernel) -> Program:
    """The recorded program once more, without the pass whose kernel turned out to be wrong."""
    if tried.without is EVERY_INEXACT:
        raise error
    culprit = tried.origin.get(error.kernel)
    if culprit is not None:
        return optimise(recorded, without=tried.without | {culprit})
    made = optimise(recorded, exact_only=True)
    made.without = EVERY_INEXACT
    return made
