"""The fused kernel on the CPU: its steps packed for the native engine's small interpreter."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

_RELU, _RELU_GRAD, _UNARY, _BINARY, _SCALAR, _GRAD = range(6)
RELUS = ("relu", "relu_grad")
# The numbers of native/codes.h.
ONES = {
    "exp": 0, "tanh": 1, "sigmoid": 2, "silu": 3, "sqrt": 4, "neg": 5, "abs": 6, "square": 7,
    "log": 8, "gelu none": 9, "gelu tanh": 10, "erf": 11, "log1p": 12, "expm1": 13, "logsigmoid": 14,
    "rsqrt": 15, "reciprocal": 16, "pow 2": 7, "pow 3": 17, "pow 0.5": 4, "pow -0.5": 15, "pow -1": 16,
}  # fmt: skip
ORDERED = ("maximum", "minimum")  # which zero is answered depends on the order of operands
TWOS = {"add": 0, "sub": 1, "mul": 2, "div": 3, "maximum": 4, "minimum": 5}
_FLIPPED = {"sub": 6, "div": 7}  # the number comes first
GRADS = {
    "sigmoid_backward": 0, "tanh_backward": 1, "silu_grad": 2, "gelu_grad none": 3,
    "gelu_grad tanh": 4, "logsigmoid_grad": 5,
}  # fmt: skip


def named(name: str, attrs: Mapping[str, Any], operands: Sequence[Any]) -> str:
    """A kernel as the tables have it: with the one option that some have, or a power."""
    if name == "pow" and operands[1].__class__ in (int, float):
        return f"pow {operands[1]:g}"
    return f"{name} {attrs['approximate']}" if set(attrs) == {"approximate"} else name


def fuses(ins: Any) -> bool:
    """Whether the interpreter knows an instruction: float32 of one dense layout, and numbers."""
    name = named(ins.name, ins.attrs, ins.inputs)
    if not (name in ONES or name in TWOS or name in GRADS or name in RELUS):
        return False
    if len(ins.outputs) != 1 or ins.has_effect or ins.is_view:
        return False
    if ins.attrs and name == ins.name:
        return False
    numbers = [i for i in ins.inputs if not hasattr(i, "strides")]
    if ins.name != "pow" and numbers:
        if ins.name not in TWOS or any(n.__class__ not in (int, float) for n in numbers):
            return False
    if numbers and ins.name in ORDERED:
        return False
    out = ins.outputs[0]
    return all(
        s.dtype.char == "f" and s.shape == out.shape and s.strides == out.strides
        for s in (*ins.reads, out)
    )


def pack(steps: Sequence[Any]) -> bytes:
    """The steps (capture/joined/fused.py) as native/bind_fused.c reads them."""
    packed = [packed_step(step.kernel, step.operands, dict(step.attrs)) for step in steps]
    return b"".join([struct.pack("4if", *line) for line in packed])


def packed_step(
    kernel: str, operands: Sequence[tuple[str, Any]], attrs: Mapping[str, Any]
) -> tuple[int, int, int, int, float]:
    """One step: its kind, which of these, its operands, a number."""
    places = [_place(kind, value) for kind, value in operands if kind != "number"]
    numbers = [float(value) for kind, value in operands if kind == "number"]
    name = named(kernel, attrs, [value for _, value in operands])
    a = places[0]
    b = places[1] if len(places) > 1 else a
    if name == "relu":
        return _RELU, 0, a, a, 0.0
    if name == "relu_grad":
        return _RELU_GRAD, 0, a, b, 0.0
    if name in ONES:
        return _UNARY, ONES[name], a, a, 0.0
    if name in GRADS:
        return _GRAD, GRADS[name], a, b, 0.0
    if not numbers:
        return _BINARY, TWOS[name], a, b, 0.0
    first = operands[0][0] == "number"
    which = _FLIPPED.get(name, TWOS[name]) if first else TWOS[name]
    return _SCALAR, which, a, a, numbers[0]


def _place(kind: str, value: int) -> int:
    return value if kind == "in" else -1 - value
