"""Small convolutions and the max_pool behind them join: the convolution's own result is never written.

Forward, `conv + max_pool + relu` becomes one kernel that writes the maxima and, as bytes, their places.
Backward, `relu_grad + max_pool_grad` goes into the convolution's gradients, which read the pooled
gradient and the places: one element of a window holds all of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ....runtime.door import KERNELS
from ...joined.convs import CONV_POOL, CONV_POOL_GRAD_INPUT, CONV_POOL_GRADS
from ...joined.small import is_small
from ...program.instructions import Instruction, Program
from ...program.rewrite import new_numbers, once_made, uses
from ...program.slots import Slot, Storage

_MOST_IN_WINDOW = 16
_GRADS = ("conv_grad_input", "conv_grad_weight")


def join_conv_pools(program: Program) -> Program:
    """conv, max_pool and relu as one kernel, forward and backward."""
    if program.device != "cuda":
        return program
    code: list[Instruction | None] = list(program.instructions)
    numbers = new_numbers(program)
    finder = _Finder(program)
    for at, ins in enumerate(program.instructions):
        if ins.name == "conv":
            found = finder.find(at, True) or finder.find(at, False)
            if found is not None:
                _join(program, code, found, numbers)
    return program.with_instructions([ins for ins in code if ins is not None])


class _Found(NamedTuple):
    """Where the parts of one layer are in the program; -1 for what is not there."""

    conv: int
    pool: int
    relu: int
    slope: int  # relu_grad
    spread: int  # max_pool_grad
    to_input: int
    to_weight: int
    to_bias: int


class _Finder:
    """Looks for layers whose inner values nobody else sees."""

    def __init__(self, program: Program) -> None:
        self.program, self.code = program, program.instructions
        self.once = once_made(program)
        self.maker = {s.number: at for at, ins in enumerate(self.code) for s in ins.outputs}

    def own(self, s: Slot) -> list[int] | None:
        """Who reads a value that is written once and seen by its readers alone."""
        return uses(self.program, s) if s.storage.number in self.once else None

    def only(self, s: Slot, name: str) -> int:
        """The one reader of a value, when it is of this name; else -1."""
        readers = self.own(s)
        fits = readers is not None and len(readers) == 1 and self.code[readers[0]].name == name
        return readers[0] if readers and fits else -1

    def find(self, at: int, with_relu: bool) -> _Found | None:
        conv = self.code[at]
        y = conv.outputs[0]
        pool = self.only(y, "max_pool") if is_small(conv) else -1
        if pool < 0 or not _side_by_side(self.code[pool]):
            return None
        top, places = self.code[pool].outputs
        relu = self.only(top, "relu") if with_relu else -1
        if with_relu and (relu < 0 or self.code[relu].outputs[0].storage.number not in self.once):
            return None
        spreads = self.own(places)
        if spreads is None or len(spreads) > 1 or top.storage.number not in self.once:
            return None
        if not spreads:
            return _Found(at, pool, relu, -1, -1, -1, -1, -1)
        back = self._backward(spreads[0], self.code[relu].outputs[0] if relu >= 0 else None, y)
        return None if back is None else _Found(at, pool, relu, *back)

    def _backward(self, spread: int, relued: Slot | None, y: Slot) -> tuple | None:
        """relu_grad, max_pool_grad and the gradients they lead to, when they lead nowhere else."""
        if self.code[spread].name != "max_pool_grad":
            return None
        masked, dense = self.code[spread].inputs[0], self.code[spread].outputs[0]
        slope, sums = -1, []
        if relued is not None:
            slope = self.maker.get(masked.number, -1)
            readers = self.own(masked)
            if slope < 0 or self.code[slope].name != "relu_grad" or readers is None:
                return None
            if self.code[slope].inputs[1] is not relued:
                return None
            sums = [r for r in readers if r != spread]
        ends = self.own(dense)
        g = self.code[slope].inputs[0] if slope >= 0 else masked
        if ends is None or g.__class__ is not Slot or g.dtype != y.dtype or g.shape != masked.shape:
            return None
        ends = sorted({*ends, *sums})
        parts = [[at for at in ends if self.code[at].name == name] for name in (*_GRADS, "sum")]
        if any(len(p) > 1 for p in parts) or sum(map(len, parts)) != len(ends):
            return None
        to_input, to_weight, to_bias = [p[0] if p else -1 for p in parts]
        if to_bias >= 0 and (to_weight < 0 or not _sums_channels(self.code[to_bias])):
            return None
        first = slope if slope >= 0 else spread
        if not self._stays(first, max(ends), [g, *self._others(to_input, to_weight)]):
            return None
        return slope, spread, to_input, to_weight, to_bias

    def _others(self, *grads: int) -> Iterator[Slot]:
        """The weight and the images that gradients read."""
        for at in grads:
            if at >= 0:
                yield self.code[at].inputs[1]

    def _stays(self, first: int, last: int, slots: list[Slot]) -> bool:
        """Whether nothing writes into the memory of these between two instructions."""
        held = {s.storage.number for s in slots}
        return not any(
            s.storage.number in held
            for ins in self.code[first : last + 1]
            for s in (*ins.writes, *([] if ins.is_view else ins.outputs))
        )


def _side_by_side(pool: Instruction) -> bool:
    """Whether windows neither overlap nor reach over the edge."""
    how, (x, y) = pool.attrs, (pool.inputs[0].shape, pool.outputs[0].shape)
    kernel = how["kernel"]
    return (
        len(kernel) == 2 and how["stride"] == kernel and not any(how["padding"])
        and how["dilation"] == (1, 1) and 1 < kernel[0] * kernel[1] <= _MOST_IN_WINDOW
        and y[2:] == tuple([n // k for n, k in zip(x[2:], kernel)])
    )  # fmt: skip


def _sums_channels(ins: Instruction) -> bool:
    """Whether a sum is the bias's gradient."""
    how = ins.attrs
    dims = how.get("dim")
    return dims is not None and set(dims) == {0, 2, 3} and not how.get("keepdim") and len(how) == 2


def _join(program: Program, code: list, found: _Found, numbers: Iterator[int]) -> None:
    old = program.instructions
    conv, pool = old[found.conv], old[found.pool]
    top = old[found.relu].outputs[0] if found.relu >= 0 else pool.outputs[0]
    how = {**conv.attrs, "window": pool.attrs["kernel"]}
    places = _bytes_like(next(numbers), top)
    code[found.conv] = Instruction(
        CONV_POOL, conv.inputs, {**how, "relu": found.relu >= 0}, (top, places), (), pool.line, True
    )
    for at in found[1:]:
        if at >= 0:
            code[at] = None
    if found.spread < 0:
        return
    g = old[found.slope if found.slope >= 0 else found.spread].inputs[0]
    how["y_shape"] = conv.outputs[0].shape
    if found.to_input >= 0:
        ins = old[found.to_input]
        attrs = {**ins.attrs, **how}
        code[found.to_input] = Instruction(
            CONV_POOL_GRAD_INPUT, (g, places, ins.inputs[1]), attrs, ins.outputs, (), ins.line
        )
    if found.to_weight >= 0:
        ins = old[found.to_weight]
        sums = old[found.to_bias].outputs if found.to_bias >= 0 else (_sums(next(numbers), ins),)
        at = min(a for a in (found.to_weight, found.to_bias) if a >= 0)
        inputs, outs = (g, places, ins.inputs[1]), (*ins.outputs, *sums)
        attrs = {**ins.attrs, **how}
        code[at] = Instruction(CONV_POOL_GRADS, inputs, attrs, outs, (), ins.line, True)


def _new(number: int, shape: tuple[int, ...], dtype: np.dtype, device: str) -> Slot:
    """A slot in dense memory of its own."""
    strides, step = [], dtype.itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= n
    storage = Storage(number, "made", step)
    storage.device = device
    return Slot(number, storage, shape, dtype, tuple(reversed(strides)))


def _bytes_like(number: int, s: Slot) -> Slot:
    return _new(number, s.shape, np.dtype(np.uint8), s.storage.device)


def _sums(number: int, grad_weight: Instruction) -> Slot:
    """Room for a bias's gradient that nobody asked for."""
    gw = grad_weight.outputs[0]
    return _new(number, gw.shape[:1], gw.dtype, gw.storage.device)


def join_conv_grads(program: Program) -> Program:
    """The gradients of a small convolution's weight and bias as one kernel."""
    if program.device != "cuda":
        return program
    code: list[Instruction | None] = list(program.instructions)
    finder = _Finder(program)
    for at, ins in enumerate(program.instructions):
        if ins.name != "conv_grad_weight" or not is_small(ins):
            continue
        g = ins.inputs[0]
        for later in range(at + 1, len(program)):
            total = program.instructions[later]
            if any(s.storage.number == g.storage.number for s in total.writes):
                break
            if total.name == "sum" and total.reads[0] is g and _sums_channels(total):
                if total.outputs[0].storage.number in finder.once:
                    outs = (*ins.outputs, *total.outputs)
                    kernel = KERNELS["conv_grads"]
                    code[at] = ins.replaced(kernel=kernel, outputs=outs, several=True)
                    code[later] = None
                break
    return program.with_instructions([ins for ins in code if ins is not None])
