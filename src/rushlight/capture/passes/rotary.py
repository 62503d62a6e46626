"""Rotary embeddings: x cos + rotated(x) sin as one kernel, and so its derivative, however the halves were cut."""

from __future__ import annotations

from ..joined.rotary import ROTARY
from ..program.instructions import Instruction, Program
from ..program.match import first, joined, maker, reader, rewrite, rule
from ..program.slots import Slot


def join_rotary(program: Program, force: bool = False) -> Program:
    """The rotation of queries and keys, forward and backward; `force` on any device."""
    return rewrite(program, [_forward, _backward, _backward_of_slices], force)


@rule(
    ROTARY,
    cat=first("cat"),
    neg=maker("neg", of="cat<0"),
    sin=reader("mul", of="cat"),
    total=reader("add", of="sin"),
    cos=maker("mul", of="total<*"),
)
def _forward(
    cat: Instruction, neg: Instruction, sin: Instruction, total: Instruction, cos: Instruction
) -> Instruction | None:
    """x cos + cat(-x2, x1) sin."""
    for x in cos.reads:
        if len(cat.inputs) == 2 and _are_halves(x, cat.inputs[1], neg.inputs[0], cat):
            return _made(x, _other(cos, x), _other(sin, cat.outputs[0]), total, back=False)
    return None


@rule(
    ROTARY,
    neg=first("neg"),
    cat=reader("cat", of="neg", at=1),
    sin=maker("mul", of="neg<0"),
    total=reader("add", of="cat"),
    cos=maker("mul", of="total<*"),
)
def _backward(
    neg: Instruction, cat: Instruction, sin: Instruction, total: Instruction, cos: Instruction
) -> Instruction | None:
    """g cos + cat(u2, -u1) with u = g sin."""
    if len(cat.inputs) != 2 or not _are_halves(sin.outputs[0], neg.inputs[0], cat.inputs[0], cat):
        return None
    return _both(sin, cos, total)


@rule(
    ROTARY,
    neg=first("neg"),
    low=reader("unwindow", of="neg"),
    inner=reader("add", of="low"),
    total=reader("add", of="inner"),
    high=maker("unwindow", of="inner<*|total<*"),
    cos=maker("mul", of="inner<*|total<*"),
    sin=maker("mul", of="neg<0"),
)
def _backward_of_slices(
    neg: Instruction, low: Instruction, inner: Instruction, total: Instruction, high: Instruction,
    cos: Instruction, sin: Instruction,
) -> Instruction | None:  # fmt: skip
    """The same where the halves were slices: each is put into zeros, and the three are added in any order."""
    u, h = sin.outputs[0], neg.outputs[0].shape[-1]
    for part, begin in ((high, 0), (low, h)):
        *rest, last = part.attrs["index"]
        whole = all(window == (None, None, None) for window in rest)
        if not whole or last != (begin, begin + h, 1) or part.attrs["shape"] != u.shape:
            return None
    return _both(sin, cos, total) if _are_halves(u, neg.inputs[0], high.inputs[0]) else None


def _both(sin: Instruction, cos: Instruction, total: Instruction) -> Instruction | None:
    """The derivative, from g sin and g cos."""
    for g in cos.reads:
        factor = _other(sin, g)
        if factor is not None:
            return _made(g, _other(cos, g), factor, total, back=True)
    return None


def _made(
    x: Slot, cos: Slot | None, sin: Slot | None, total: Instruction, back: bool
) -> Instruction | None:
    out = total.outputs[0]
    order = tuple(sorted(range(len(out.shape)), key=lambda axis: -out.strides[axis]))
    packed = out.extent() == (0, out.nbytes) and order[-1] == len(out.shape) - 1
    if cos is None or sin is None or out.shape != x.shape or not packed:
        return None
    fits = all(f.dtype == x.dtype and f.shape[-1:] == x.shape[-1:] for f in (cos, sin))
    if not fits or max(len(cos.shape), len(sin.shape)) > len(x.shape):
        return None
    return joined(ROTARY, (x, cos, sin), {"back": back, "order": order}, (out,), total.line)


def _other(product: Instruction, x: Slot) -> Slot | None:
    """The factor beside x."""
    a, b = product.inputs
    for mine, other in ((a, b), (b, a)):
        if mine.__class__ is Slot and mine.number == x.number and other.__class__ is Slot:
            return other
    return None


def _are_halves(x: Slot, low: Slot, high: Slot, cat: Instruction | None = None) -> bool:
    """Whether two slots show the first and the second half of the rows of x, joined again by `cat`."""
    if not x.shape or (cat is not None and cat.attrs["dim"] not in (-1, len(x.shape) - 1)):
        return False
    half = x.shape[-1] // 2
    shape = (*x.shape[:-1], half)
    return 2 * half == x.shape[-1] and all(
        s.storage is x.storage and s.shape == shape and s.strides == x.strides
        and s.offset == x.offset + begin * x.strides[-1]
        for s, begin in ((low, 0), (high, half))
    )  # fmt: skip
