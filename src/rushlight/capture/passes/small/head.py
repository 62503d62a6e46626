"""A classifier's head on a GPU: the last layer, its loss and the way back to its input as one launch."""

from __future__ import annotations

from ....runtime.cuda.small.head_sizes import is_joined_head, is_whole_head
from ...joined.epilogues import LINEAR_GRADS
from ...joined.head import HEAD_STEP, HEAD_WHOLE
from ...program.instructions import Instruction, Program, writers
from ...program.rewrite import once_made
from ...program.slots import Slot

_LABELS = frozenset(("int64", "uint8"))
_BACK = frozenset(("mm", "mm_masked", "linear_backward"))


def join_heads(program: Program) -> Program:
    """linear + cross_entropy_step + what takes its gradient back to the layer's input, joined."""
    if program.device != "cuda":
        return program
    for ins in program.instructions:
        if ins.name == "cross_entropy_step":
            program = _Head(program, ins).joined()
    return program


class _Head:
    """The three instructions of a head, by the places they have in a program."""

    def __init__(self, program: Program, loss: Instruction) -> None:
        self.program, self.code = program, program.instructions
        self.written = writers(self.code)
        self.once = once_made(program)
        self.loss, self.at = loss, self.code.index(loss)
        self.first = self._maker(loss.inputs[0], "linear")
        self.last = self._back(loss.outputs[1])

    def _maker(self, slot: Slot, name: str) -> int | None:
        at = self.once.get(slot.storage.number)
        if (
            at is None
            or self.code[at].name != name
            or self.code[at].outputs[0].number != slot.number
        ):
            return None
        return at

    def _back(self, g: Slot) -> int | None:
        """Who multiplies the logits' gradient by the layer's weight."""
        if self.first is None or g.storage.number not in self.once:
            return None
        w = self.code[self.first].inputs[1]
        for at in range(self.at + 1, len(self.code)):
            ins = self.code[at]
            place = 2 if ins.name == "linear_backward" else 1
            if ins.name in _BACK and ins.inputs[0] is g and ins.inputs[place] is w:
                return at
        return None

    def joined(self) -> Program:
        """The program with one launch at the loss's place, or as it is where that cannot be."""
        if self.first is None or self.last is None:
            return self.program
        layer, back = self.code[self.first], self.code[self.last]
        mask = back.inputs[-1] if back.name != "mm" else None
        inputs = (*layer.inputs, *self.loss.inputs[1:], mask)
        if not self._fits(inputs) or self._is_changed(layer, back):
            return self.program
        if back.name == "linear_backward" and back.inputs[1] is not layer.inputs[0]:
            return self.program
        places = self._seen_at(layer.outputs[0])
        if any(self.first < at < self.at for at in places):
            return self.program  # somebody wants the logits before the loss is there
        logits = layer.outputs if places != [self.at] else ()
        code: list[Instruction | None] = [*self.code]
        made = self._made(inputs, back, logits)
        code[self.first], code[self.at], code[self.last] = None, made[0], made[1]
        return self.program.with_instructions([ins for ins in code if ins is not None])

    def _made(
        self, inputs: tuple, back: Instruction, logits: tuple[Slot, ...]
    ) -> tuple[Instruction, Instruction | None]:
        """What stands for the loss, and for the way back."""
        loss, g = self.loss.outputs
        attrs = {**self.loss.attrs, "logits": bool(logits)}
        line = self.loss.line
        if back.name != "linear_backward":
            outs = (loss, g, *back.outputs, *logits)
            return Instruction(HEAD_STEP, inputs, attrs, outs, (), line, True), None
        if is_whole_head(*_sizes(inputs)) and self._seen_at(g) == [self.last]:
            outs = (loss, *back.outputs, *logits)
            return Instruction(HEAD_WHOLE, inputs, attrs, outs, (), line, True), None
        gx, *grads = back.outputs
        outs = (loss, g, gx, *logits)
        return (
            Instruction(HEAD_STEP, inputs, attrs, outs, (), line, True),
            Instruction(LINEAR_GRADS, (g, inputs[0]), {}, tuple(grads), (), back.line, True),
        )

    def _fits(self, inputs: tuple) -> bool:
        """Whether the kernel takes them: of one dtype, dense, and as aligned as slots can tell."""
        x, w, b, target, gy, mask = inputs
        if (
            len(x.shape) != 2
            or target.dtype.name not in _LABELS
            or not is_joined_head(*_sizes(inputs))
        ):
            return False
        alike = all(s is None or s.dtype == x.dtype for s in (w, b, gy, mask))
        dense = all(s is None or s.dense for s in inputs)
        return alike and dense and all(s is None or s.offset % 16 == 0 for s in (x, w, mask))

    def _is_changed(self, layer: Instruction, back: Instruction) -> bool:
        """Whether what the parts read is written before or behind the loss, or what they make twice."""
        assert self.first is not None and self.last is not None
        outs = (*layer.outputs, *self.loss.outputs, *back.outputs)
        if any(s.storage.number not in self.once for s in outs):
            return True
        if any(ins.name == "hand_over" for ins in self.code[self.first : self.last]):
            return True
        moved = ((layer.reads, self.first, self.at), (back.reads, self.at, self.last))
        return any(
            start < at < end
            for reads, start, end in moved
            for s in reads
            for at in self.written.get(s.storage.number, ())
        )

    def _seen_at(self, slot: Slot) -> list[int]:
        """Where the memory of a slot is read; behind the end, too, where it is a result."""
        number = slot.storage.number
        found = [
            at for at, ins in enumerate(self.code) if any(s.storage.number == number for s in ins.reads)
        ]  # fmt: skip
        return [*found, len(self.code)] if number in self.program.result_storages() else found


def _sizes(inputs: tuple) -> tuple[int, int, int, str]:
    x, w = inputs[:2]
    return x.shape[0], w.shape[0], x.shape[1], x.dtype.char
