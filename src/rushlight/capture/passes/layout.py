"""Layout choice: convolutions that cuDNN computes in channels_last order are given their arrays in it.

Between convolutions, pools, batch norms, pointwise kernels and sums the order is nobody's business; where someone
can see it - results, views, other kernels - the old one is restored.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ...operators.layers.conv_kernels import conv_grad_weight, conv_op
from ...operators.layers.pool_kernels import max_pool_grad
from ...operators.memory.copies import clone_op
from ...operators.reduce.sums import mean_op, sum_op
from ...runtime import joins
from ..program.instructions import Instruction, Program
from ..program.rewrite import Renaming, new_numbers
from ..program.slots import MADE, Slot, Storage

# The inputs whose order these follow, where it can be known.
_LEADS = {conv_grad_weight.name: (0, 1), max_pool_grad.name: (1,)}
# Reductions that read in whatever order: their results do not depend on it.
_ANY_ORDER = frozenset((mean_op.name, sum_op.name))


def _reshapes(ins: Instruction) -> bool:
    return ins.kernel.facts.is_of("convolution", "pool")


def choose_layout(program: Program, force: bool = False) -> Program:
    """Let convolutions in row-major order work in channels_last where the device gains; `force` all of them."""
    if not any(_gains(program.device, ins, force) for ins in program.instructions):
        return program
    return _Turning(program, force).turned()


def _gains(device: str, ins: Instruction, force: bool) -> bool:
    """Whether a convolution is worth turning its arrays for."""
    facts = ins.kernel.facts
    if not facts.is_of("convolution") or facts.images == (0, 0):
        return False
    a, b = ins.inputs[:2]
    if len(a.shape) != 4 or a.dtype != b.dtype:
        return False
    if force:
        return True
    w = ins.attrs["w_shape"] if ins.name == conv_grad_weight.name else b.shape
    y = ins.outputs[0].shape if ins.name == conv_op.name else a.shape
    return joins.policy(device).channels_last_pays(a, w, y)


def last_strides(s: Slot) -> tuple[int, ...]:
    """The strides of an array like s with its channels innermost."""
    _, c, h, w = s.shape
    item = s.dtype.itemsize
    return (h * w * c * item, item, w * c * item, c * item)


def _lies(s: Slot, strides: tuple[int, ...]) -> bool:
    return all(n == 1 or a == b for n, a, b in zip(s.shape, s.strides, strides))


class _Turning(Renaming):
    """One walk over the program, which keeps track of what lies in which order."""

    def __init__(self, program: Program, force: bool) -> None:
        super().__init__(program)
        self.force, self.numbers = force, new_numbers(program)
        self.is_pointwise = joins.policy(program.device).is_pointwise
        self.native: dict[int, Slot] = {}  # slot number -> the slot, made in channels_last order
        self.copies: dict[int, Slot] = {}  # slot number -> a copy in channels_last order
        self.copied: dict[int, set[int]] = {}  # storage number -> the slots of it that have copies

    def turned(self) -> Program:
        for ins in self.old.instructions:
            count, outputs = self._counts(ins)
            if not count or not self._turn(ins, count, outputs):
                self._leave(ins)
        results = [self._row_major(s) for s in self.old.results]
        made = self.old.with_instructions(self.code)
        made.results = results
        return made

    # -- instructions -----------------------------------------------------------------------------

    def _counts(self, ins: Instruction) -> tuple[int, int]:
        """How many inputs and outputs an instruction has in channels_last order; none to leave it alone."""
        if _gains(self.old.device, ins, self.force):
            return ins.kernel.facts.images
        counts = ins.kernel.facts.images if not ins.kernel.facts.is_of("convolution") else (0, 0)
        alone = len(ins.outputs) == 1 and not ins.has_effect and not ins.is_view
        if alone and self.is_pointwise(ins):
            counts = (len(ins.inputs), 1)
        native = any(self._is_native(i) for i in ins.inputs[: counts[0]])
        return counts if native else (0, 0)

    def _turn(self, ins: Instruction, count: int, outputs: int) -> bool:
        """Take inputs and make outputs in channels_last order; False where that cannot be."""
        outs = ins.outputs[:outputs]
        if any(s.storage.number not in self.once or not _is_whole(s) for s in outs):
            return False
        inputs = [i if self._is_native(i) else self._renamed(i) for i in ins.inputs]
        if not self._decides(ins, inputs[:count]):
            return False
        for at, i in enumerate(inputs):
            if i.__class__ is Slot:
                wanted = _reshapes(ins) or i.shape == outs[0].shape
                turns = at < count and wanted and (_is_whole(i) or self._is_native(i))
                inputs[at] = self._channels_last(i) if turns else self._row_major(i)
        for s in outs:
            made = Slot(s.number, s.storage, s.shape, s.dtype, last_strides(s), s.offset)
            self.native[s.number] = made
        made_here = (*[self.native[s.number] for s in outs], *ins.outputs[outputs:])
        self.code.append(ins.replaced(inputs=tuple(inputs), outputs=made_here))
        return True

    def _decides(self, ins: Instruction, inputs: list) -> bool:
        """Whether the kernel will see from its inputs which order is meant, and follow it."""
        out = ins.outputs[0]
        if _reshapes(ins):
            leads = [inputs[i] for i in _LEADS.get(ins.name, (0,))]
            return _is_either(out) or not all(_is_either(s) for s in leads)
        # An operand with gaps would decide the order of the result.
        return all(
            i.shape != out.shape or _is_whole(i) or 0 in i.strides or self._is_native(i)
            for i in inputs
            if i.__class__ is Slot
        )

    def _leave(self, ins: Instruction) -> None:
        """An instruction as it was, over arrays as they were."""
        if ins.name in _ANY_ORDER:
            inputs = [self.native[i.number] if self._is_native(i) else self._renamed(i) for i in ins.inputs]
            self.code.append(ins.replaced(inputs=tuple(inputs)))
            return
        for s in (*ins.reads, *ins.writes):
            self._row_major(s)
        self.append(ins)
        for s in ins.writes:  # copies of what is written are old now
            for number in self.copied.pop(s.storage.number, ()):
                del self.copies[number]

    # -- slots ------------------------------------------------------------------------------------

    def _is_native(self, i: object) -> bool:
        return i.__class__ is Slot and i.number in self.native  # type: ignore[attr-defined]

    def _renamed(self, i: Any) -> Any:
        """An operand; a view of something that was copied back is a view of that copy."""
        return self.slot(i) if i.__class__ is Slot else i

    def _channels_last(self, s: Slot) -> Slot:
        if s.number in self.native or _lies(s, last_strides(s)):
            return self.native.get(s.number, s)
        if s.number not in self.copies:
            self.copies[s.number] = self._copied(s, last_strides(s), (0, 2, 3, 1))
            self.copied.setdefault(s.storage.number, set()).add(s.number)
        return self.copies[s.number]

    def _row_major(self, s: Slot) -> Slot:
        if s.number in self.native and s.number not in self.slots and not _lies(s, last_strides(s)):
            self.add(s, self._copied(self.native[s.number], s.strides, "C"))
        return self.slot(s)

    def _copied(self, s: Slot, strides: tuple[int, ...], order: object) -> Slot:
        """The copy of s in another order."""
        number = next(self.numbers)
        storage = Storage(number, MADE, s.nbytes)
        storage.device = s.storage.device
        made = Slot(number, storage, s.shape, s.dtype, strides)
        self.code.append(Instruction(clone_op.kernel, (s,), {"order": order}, (made,)))
        return made


def _is_whole(s: Slot) -> bool:
    """Whether it is a row-major array that fills its memory."""
    return len(s.shape) == 4 and s.dense and s.size > 0 and s.nbytes == s.storage.nbytes


def _is_either(s: Slot) -> bool:
    """Whether both orders are the same for its shape."""
    return s.shape[1] == 1 or prod(s.shape[2:]) == 1
