"""Row groups on the CPU: which instructions the native engine's interpreter takes, and how it reads a group."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

from ..door import KERNELS
from .fused import ORDERED, is_step, packed_step

MOST_ROW_INPUTS, MOST_ROW_STEPS = 24, 48  # as native/bind_row_group.c has room for
_LEAST_COLUMNS, _MOST_COLUMNS = 4, 4096
_KINDS = {"f": 0, "r": 1, "c": 2, "1": 3, "s": 4}  # capture/joined/row_group.py
_REDUCE, _WHOLE = 6, 7  # behind the kinds of pointwise steps
_FOLDS = {"plus": 0, "average": 1, "top": 2, "bottom": 3, "log_plus": 4}
_WHOLE_ROWS = {"shares": 0, "log_shares": 1, "shares_back": 2, "log_shares_back": 3}


def row_step(ins: Any) -> bool:
    """Whether an instruction can be a pointwise step of a row group: float32, whatever its operands' shapes."""
    if not is_step(ins):
        return False
    return ins.name not in ORDERED or all(s.shape == ins.outputs[0].shape for s in ins.reads)


def row_reduction(ins: Any) -> bool:
    """Whether an instruction can be a reduction of a row group, as far as its dtypes matter."""
    return all(s.dtype.char == "f" for s in (*ins.reads, *ins.outputs))


def row_columns(columns: int) -> bool:
    """Whether some rows of so many numbers stay in the first caches for all steps."""
    return _LEAST_COLUMNS <= columns <= _MOST_COLUMNS


def packed_rows(attrs: Mapping[str, Any]) -> bytes:
    """A group (capture/joined/row_group.py) as native/bind_row_group.c reads it."""
    steps, made, outs = attrs["steps"], attrs["made"], attrs["outs"]
    stands = _behind_views(steps, made)
    places, count = _places(steps, made, outs, stands)
    head = struct.pack("5i", attrs["columns"], len(steps), len(attrs["kinds"]), len(outs), count)
    arrays = [struct.pack("3i", _KINDS[k], *turn) for k, turn in zip(attrs["kinds"], attrs["turns"])]
    lines = []
    for number, step in enumerate(steps):
        if made[number] == "v":
            lines.append(struct.pack("7if", -1, 0, 0, 0, 0, -1, -1, 0.0))
            continue
        operands = tuple([stands.get(v, (k, v)) if k == "step" else (k, v) for k, v in step.operands])
        kind, which, a, b, scalar = _line(step, operands)
        out = outs.index(number) if number in outs else -1
        full = int(made[number] != "f")
        lines.append(struct.pack("7if", kind, which, a, b, full, places.get(number, -1), out, scalar))
    return b"".join([head, *arrays, *lines])


def _line(step: Any, operands: tuple) -> tuple[int, int, int, int, float]:
    facts = KERNELS[step.kernel].facts
    if facts.is_of("reduction", "row"):
        at = [v if k == "in" else -1 - v for k, v in operands]
        if facts.is_of("reduction"):
            return _REDUCE, _FOLDS[facts.fold], at[0], at[0], 0.0
        return _WHOLE, _WHOLE_ROWS[facts.fold], at[0], at[-1], 0.0
    return packed_step(step.kernel, operands, dict(step.attrs))


def _behind_views(steps: Sequence[Any], made: str) -> dict[int, tuple[str, Any]]:
    """By the number of a view, the step whose value it shows."""
    stands: dict[int, tuple[str, Any]] = {}
    for number, step in enumerate(steps):
        if made[number] == "v":
            kind, value = step.operands[0]
            stands[number] = stands.get(value, (kind, value))
    return stands


def _places(
    steps: Sequence[Any], made: str, outs: Sequence[int], stands: Mapping[int, tuple[str, Any]]
) -> tuple[dict[int, int], int]:
    """Which of how many blocks of memory each whole value has, until the last step that reads it."""
    last: dict[int, int] = {}
    for number, step in enumerate(steps):
        for kind, value in step.operands:
            if kind == "step":
                last[stands.get(value, (kind, value))[1]] = number
    places: dict[int, int] = {}
    free: list[int] = []
    count = 0
    for number in range(len(steps)):
        if made[number] == "f" and number not in outs:
            if free:
                places[number] = free.pop()
            else:
                places[number], count = count, count + 1
        free += [places[n] for n, end in last.items() if end == number and n in places]
    return places, count
