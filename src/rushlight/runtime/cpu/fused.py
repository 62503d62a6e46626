"""The fused kernel on the CPU: its steps packed for the native engine's small interpreter."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

try:
    from ._native import codes
except ImportError:  # not built: nothing is fused
    CODES: dict[str, tuple[int, int]] = {}
else:
    CODES = codes()  # kind and number of each step that the interpreter knows, by the name that `named` gives it
ORDERED = ("maximum", "minimum")  # which zero is answered depends on the order of operands
_POWERS = {2: "square", 3: "cube", 0.5: "sqrt", -0.5: "rsqrt", -1: "reciprocal"}
_NUMBERS = (int, float)


def named(name: str, attrs: Mapping[str, Any], operands: Sequence[Any]) -> str:
    """A kernel as the engine names it, with the one option that some have and where a number stands; "" if it cannot."""
    first, *rest = [v.__class__ in _NUMBERS for v in operands]
    if name == "pow":
        return _POWERS.get(operands[1], "") if rest[0] else ""
    if attrs:
        name = f"{name} {attrs['approximate']}" if set(attrs) == {"approximate"} else ""
    return f"number {name}" if first else f"{name} number" if any(rest) else name


def is_step(ins: Any) -> bool:
    """Whether the interpreter knows an instruction, as far as shapes do not matter: of float32, and numbers."""
    if len(ins.outputs) != 1 or ins.has_effect or ins.is_view or not ins.inputs:
        return False
    if named(ins.name, ins.attrs, ins.inputs) not in CODES:
        return False
    numbers = [i for i in ins.inputs if not hasattr(i, "strides")]
    if any(n.__class__ not in _NUMBERS for n in numbers) or (numbers and ins.name in ORDERED):
        return False
    return all(s.dtype.char == "f" for s in (*ins.reads, *ins.outputs))


def fuses(ins: Any) -> bool:
    """Whether an instruction can be a step of a chain: all its arrays have one dense layout."""
    if not is_step(ins):
        return False
    out = ins.outputs[0]
    return all(s.shape == out.shape and s.strides == out.strides for s in ins.reads)


def pack(steps: Sequence[Any]) -> bytes:
    """The steps (capture/joined/fused.py) as native/bind_fused.c reads them."""
    packed = [packed_step(step.kernel, step.operands, dict(step.attrs)) for step in steps]
    return b"".join([struct.pack("4if", *line) for line in packed])


def packed_step(
    kernel: str, operands: Sequence[tuple[str, Any]], attrs: Mapping[str, Any]
) -> tuple[int, int, int, int, float]:
    """One step: its kind, which of these, its operands, a number."""
    places = [_place(kind, value) for kind, value in operands if kind != "number"]
    values = [value if kind == "number" else None for kind, value in operands]
    kind, which = CODES[named(kernel, attrs, values)]
    number = next((float(v) for v in values if v is not None and kernel != "pow"), 0.0)
    return kind, which, places[0], places[-1], number


def _place(kind: str, value: int) -> int:
    return value if kind == "in" else -1 - value
