"""Layout choice: convolutions that cuDNN computes in channels_last order are given their arrays in it.

Between convolutions, pools, batch norms, pointwise kernels and sums the order is nobody's business; where someone
can see it - results, views, other kernels - the old one is restored.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from ...runtime import joins
from ...runtime.door import KERNELS
from ..program.instructions import Instruction, Program
from ..program.rewrite import new_numbers, once_made
from ..program.slots import MADE, Slot, Storage

# Kernel -> how many inputs and outputs are in that order.
_CONVOLUTIONS = {"conv": (2, 1), "conv_grad_input": (2, 1), "conv_grad_weight": (2, 1)}
_POOLS = {"max_pool": (1, 2), "max_pool_grad": (2, 1), "avg_pool": (1, 1), "avg_pool_grad": (1, 1)}
_NORMS = {"batch_norm_train": (1, 1), "batch_norm_eval": (1, 1), "batch_norm_grad": (2, 1)}
_RESHAPING = {**_CONVOLUTIONS, **_POOLS}
# The inputs whose order these follow, where it can be known.
_LEADS = {"conv_grad_weight": (0, 1), "max_pool_grad": (1,)}
_ANY_ORDER = frozenset(("mean", "sum"))  # read in whatever order, their results do not depend on it


def choose_layout(program: Program, force: bool = False) -> Program:
    """Let convolutions in row-major order work in channels_last where the device gains; `force` all of them."""
    if not any(_gains(program.device, ins, force) for ins in program.instructions):
        return program
    return _Turning(program, force).program()


def _gains(device: str, ins: Instruction, force: bool) -> bool:
    """Whether a convolution is worth turning its arrays for."""
    if ins.name not in _CONVOLUTIONS:
        return False
    a, b = ins.inputs[:2]
    if len(a.shape) != 4 or a.dtype != b.dtype:
        return False
    if force:
        return True
    w = ins.attrs["w_shape"] if ins.name == "conv_grad_weight" else b.shape
    y = ins.outputs[0].shape if ins.name == "conv" else a.shape
    return joins.policy(device).channels_last_pays(a, w, y)


def last_strides(s: Slot) -> tuple[int, ...]:
    """The strides of an array like s with its channels innermost."""
    _, c, h, w = s.shape
    item = s.dtype.itemsize
    return (h * w * c * item, item, w * c * item, c * item)


def _lies(s: Slot, strides: tuple[int, ...]) -> bool:
    return all(n == 1 or a == b for n, a, b in zip(s.shape, s.strides, strides))


class _Turning:
    """One walk over the program, which keeps track of what lies in which order."""

    def __init__(self, program: Program, force: bool) -> None:
        self.old = program
        self.force = force
        self.once = once_made(program)
        self.is_pointwise = joins.policy(program.device).is_pointwise
        self.numbers: Iterator[int] = new_numbers(program)
        self.native: dict[int, Slot] = {}  # slot number -> the slot, made in channels_last order
        self.copies: dict[int, Slot] = {}  # slot number -> a copy in channels_last order
        self.sources: dict[int, int] = {}  # and the storage it was copied from
        self.back: dict[int, Slot] = {}  # number of a native slot -> its row-major copy
        self.homes: dict[int, Storage] = {}  # where views of what was copied back have their memory
        self.code: list[Instruction] = []

    def program(self) -> Program:
        for ins in self.old.instructions:
            count, outputs = self._turned(ins)
            if not count or not self._turn(ins, count, outputs):
                self._plain(ins)
        made = self.old.with_instructions(self.code)
        made.results = [self._row_major(s) for s in self.old.results]
        return made

    # -- instructions -----------------------------------------------------------------------------

    def _turned(self, ins: Instruction) -> tuple[int, int]:
        """How many inputs and outputs an instruction has in channels_last order; none to leave it alone."""
        if _gains(self.old.device, ins, self.force):
            return _CONVOLUTIONS[ins.name]
        counts = _NORMS.get(ins.name) or _POOLS.get(ins.name) or (0, 0)
        if (
            self.is_pointwise(ins)
            and not ins.has_effect
            and not ins.is_view
            and len(ins.outputs) == 1
        ):
            counts = (len(ins.inputs), 1)
        native = any(self._is_native(i) for i in ins.inputs[: counts[0]])
        return counts if native else (0, 0)

    def _turn(self, ins: Instruction, count: int, outputs: int) -> bool:
        """Take inputs and make outputs in channels_last order; False where that cannot be."""
        outs = ins.outputs[:outputs]
        if any(s.storage.number not in self.once or not _is_whole(s) for s in outs):
            return False
        inputs = [self._here(i) if i.__class__ is Slot else i for i in ins.inputs]
        if not self._decides(ins, inputs[:count]):
            return False
        for at, i in enumerate(inputs):
            if i.__class__ is not Slot:
                continue
            wanted = ins.name in _RESHAPING or i.shape == outs[0].shape
            if at < count and wanted and (_is_whole(i) or self._is_native(i)):
                inputs[at] = self._channels_last(i)
            else:
                inputs[at] = self._row_major(i)
        for s in outs:
            made = Slot(s.number, s.storage, s.shape, s.dtype, last_strides(s), s.offset)
            self.native[s.number] = made
        turned = tuple([self.native[s.number] for s in outs])
        self.code.append(
            ins.replaced(inputs=tuple(inputs), outputs=(*turned, *ins.outputs[outputs:]))
        )
        return True

    def _decides(self, ins: Instruction, inputs: list) -> bool:
        """Whether the kernel will see from its inputs which order is meant, and follow it."""
        out = ins.outputs[0]
        if ins.name in _RESHAPING:
            leads = [inputs[i] for i in _LEADS.get(ins.name, (0,))]
            return _is_either(out) or not all(_is_either(s) for s in leads)
        # An operand with gaps would decide the order of the result.
        return all(
            i.shape != out.shape or _is_whole(i) or 0 in i.strides or self._is_native(i)
            for i in _slots(inputs)
        )

    def _plain(self, ins: Instruction) -> None:
        """An instruction as it was, over arrays as they were."""
        inputs: list = []
        for i in ins.inputs:
            if i.__class__ is not Slot:
                inputs.append(i)
            elif ins.name in _ANY_ORDER and self._is_native(i):
                inputs.append(self.native[i.number])
            else:
                inputs.append(self._row_major(i))
        writes = tuple([self._row_major(s) for s in ins.writes])
        outputs = tuple([self._here(s) for s in ins.outputs])
        self.code.append(ins.replaced(inputs=tuple(inputs), outputs=outputs, writes=writes))
        changed = {s.storage.number for s in ins.writes}
        if changed:  # copies of what is written are old now
            kept = self.copies.items()
            self.copies = {n: c for n, c in kept if self.sources[n] not in changed}

    # -- slots ------------------------------------------------------------------------------------

    def _is_native(self, i: object) -> bool:
        return i.__class__ is Slot and i.number in self.native  # type: ignore[attr-defined]

    def _here(self, s: Slot) -> Slot:
        """A view of something that was copied back, as a view of that copy."""
        home = self.homes.get(s.storage.number)
        if home is None or s.number in self.native:
            return s
        return Slot(s.number, home, s.shape, s.dtype, s.strides, s.offset, s.array)

    def _channels_last(self, s: Slot) -> Slot:
        if s.number in self.native:
            return self.native[s.number]
        if _lies(s, last_strides(s)):
            return s
        found = self.copies.get(s.number)
        if found is None:
            found = self.copies[s.number] = self._copied(s, last_strides(s), (0, 2, 3, 1))
            self.sources[s.number] = s.storage.number
        return found

    def _row_major(self, s: Slot) -> Slot:
        if s.number not in self.native or _lies(s, last_strides(s)):
            return self._here(s)
        found = self.back.get(s.number)
        if found is None:
            found = self.back[s.number] = self._copied(self.native[s.number], s.strides, "C")
            self.homes[s.storage.number] = found.storage
        return found

    def _copied(self, s: Slot, strides: tuple[int, ...], order: object) -> Slot:
        """The copy of s in another order."""
        number = next(self.numbers)
        storage = Storage(number, MADE, s.nbytes)
        storage.device = s.storage.device
        made = Slot(number, storage, s.shape, s.dtype, strides)
        self.code.append(Instruction(KERNELS["clone"], (s,), {"order": order}, (made,)))
        return made


def _is_whole(s: Slot) -> bool:
    """Whether it is a row-major array that fills its memory."""
    return len(s.shape) == 4 and s.dense and s.size > 0 and s.nbytes == s.storage.nbytes


def _is_either(s: Slot) -> bool:
    """Whether both orders are the same for its shape."""
    return s.shape[1] == 1 or prod(s.shape[2:]) == 1


def _slots(inputs: list) -> list[Slot]:
    return [i for i in inputs if i.__class__ is Slot]
