"""Row groups: pointwise instructions and reductions along rows become one that passes over memory once.

A chain such as `x * rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight` reads and writes its rows seven times; as a
group it reads them once. Whatever is written out in this way belongs to it: normalisations, softmaxes, losses and
their derivatives. A group takes the place of its last member; what reads its values before that waits for it.
"""

from __future__ import annotations

from math import prod
from typing import Any

from ...runtime import joins
from ..joined.row_group import COLUMN, FULL, ONE, ROW, ROW_GROUP, SOME, VIEW
from ..program.index import Index
from ..program.instructions import Instruction, Program
from ..program.slots import MADE, Slot
from .fuse import read_outside, steps_of


def lies_as_rows(shape: tuple[int, ...], strides: tuple[int, ...], step: int) -> bool:
    """Whether one number for every row, `step` bytes apart in front, lies without gaps."""
    for n, s in zip(reversed(shape), reversed(strides)):
        if n != 1 and s != step:
            return False
        step *= n
    return True


def kind_of(s: Slot, out: tuple[int, ...]) -> str | None:
    """What an operand holds for the rows of a result of shape `out`; None where that has no name."""
    item, columns = s.dtype.itemsize, out[-1]
    if s.size == 1:
        return ONE
    if s.shape == out:
        if s.dense:
            return FULL
        rows = s.strides[-1] == 0 and lies_as_rows(s.shape[:-1], s.strides[:-1], item)
        return ROW if rows else None
    if s.shape == (*out[:-1], 1):
        return ROW if s.dense else None
    beside = all(n == 1 for n in s.shape[:-1]) and len(s.shape) <= len(out)
    if s.shape and s.shape[-1] == columns and beside and s.strides[-1] == item:
        return COLUMN
    return None if turn_of(s, out) is None else SOME


def turn_of(s: Slot, out: tuple[int, ...]) -> tuple[int, int] | None:
    """How the rows of a smaller operand take turns: (every, count) if row i of the result reads row i // every % count.

    Its dims are those of the result in one run, and 1 before and behind: a mask for all heads, a bias of each head.
    """
    shape = (1,) * (len(out) - len(s.shape)) + s.shape
    if len(shape) != len(out) or not s.dense or shape[-1] != out[-1]:
        return None
    own = [d for d in range(len(out) - 1) if shape[d] != 1]
    if not own or any(shape[d] != out[d] for d in own):
        return None
    if any(out[d] != 1 for d in range(own[0], own[-1] + 1) if d not in own):
        return None
    every, count = prod(out[own[-1] + 1 : -1]), prod(shape[d] for d in own)
    return every, count


def reduces_rows(ins: Instruction) -> bool:
    """Whether a reduction runs over the last dim of an array without gaps, and over no other."""
    if not ins.kernel.facts.is_of("reduction") or len(ins.inputs) != 1 or len(ins.outputs) != 1:
        return False
    x, y = ins.inputs[0], ins.outputs[0]
    if x.__class__ is not Slot or not x.shape or not x.dense or not y.dense or ins.is_view:
        return False
    if ins.name == "sum_to_size":
        return y.shape == (*x.shape[:-1], 1)
    return ins.attrs.get("dim") == (len(x.shape) - 1,) and y.size * x.shape[-1] == x.size


def has_whole_rows(ins: Instruction) -> bool:
    """Whether a softmax or its like runs over the last dim, of arrays without gaps."""
    if not ins.kernel.facts.is_of("row") or len(ins.outputs) != 1 or len(ins.reads) != len(ins.inputs):
        return False
    y = ins.outputs[0]
    if not y.shape or ins.attrs.get("dim") not in (-1, len(y.shape) - 1):
        return False
    return y.dense and all(s.shape == y.shape and s.dense for s in ins.reads)


_PATIENCE = 24  # instructions that a group lets pass before it ends


def join_rows(program: Program) -> Program:
    """Make row groups of what is next to each other in the flow of values, where the device has such kernels."""
    policy = joins.policy(program.device)
    if not hasattr(policy, "row_step"):
        return program
    walk = _Walk(program, policy)
    for at, ins in enumerate(program.instructions):
        walk.meet(at, ins)
    walk.close()
    return program.with_instructions(walk.code) if walk.joined else program


# -- one group ---------------------------------------------------------------------------------------


class _Group:
    """Members that will be one instruction, and what waits for it."""

    def __init__(self, rows: int, columns: int, width: str) -> None:
        self.rows, self.columns, self.width = rows, columns, width
        self.members: list[tuple[int, Instruction, str]] = []  # place, itself, kind of its result
        self.number: dict[int, int] = {}  # slot number -> member
        self.made: set[int] = set()  # storages
        self.reads: dict[int, str] = {}  # slots from outside -> what they hold
        self.read: set[int] = set()  # their storages
        self.turns: dict[int, tuple[int, int]] = {}  # slots whose rows take turns -> how
        self.passed = 0  # instructions that went by since the last member came
        self.waiting: list[Instruction] = []
        self.later: set[int] = set()  # storages that waiting instructions make
        self.later_reads: set[int] = set()

    def kind(self, member: int) -> str:
        """What a member's value holds, behind its views."""
        while True:
            _, ins, kind = self.members[member]
            if kind != VIEW:
                return kind
            member = self.number[ins.inputs[0].number]

    def knows(self, s: Slot, kind: str) -> bool:
        """Whether a slot can be read as this kind: a member's value is what it was made as, all others are new or the same."""
        member = self.number.get(s.number)
        if member is None:
            return self.reads.get(s.number, kind) == kind
        made = self.kind(member)
        return made == kind or (kind == ONE and made == ROW and self.rows == 1)

    def turns_alike(self, s: Slot, out: tuple[int, ...]) -> bool:
        """Whether a smaller operand's rows take turns as they did for the member that read it first."""
        found = turn_of(s, out)
        return found is not None and self.turns.setdefault(s.number, found) == found

    def operands(self, ins: Instruction, out: tuple[int, ...]) -> dict[int, str] | None:
        """What each slot that a pointwise instruction reads holds; None where one has no name."""
        found: dict[int, str] = {}
        for s in ins.reads:
            kind = kind_of(s, out)
            if kind is None or not self.knows(s, kind):
                return None
            if kind == SOME and not self.turns_alike(s, out):
                return None
            found[s.number] = kind
        return found

    def shares(self, ins: Instruction) -> bool:
        """Whether an instruction reads what a member made or reads."""
        return any(s.number in self.number or self.reads.get(s.number) == FULL for s in ins.reads)

    def is_later(self, s: Slot) -> bool:
        """Whether a slot is there only when the group has run, and is not a member's."""
        if s.number in self.number:
            return False
        return s.storage.number in self.later or s.storage.number in self.made

    def depends(self, ins: Instruction) -> bool:
        """Whether an instruction reads what is made no earlier than here."""
        return any(s.number in self.number or self.is_later(s) for s in ins.reads)

    def disturbs(self, ins: Instruction) -> bool:
        """Whether an instruction writes what this group or who waits for it still reads, or has made."""
        if ins.is_view:
            return False
        written = {s.storage.number for s in (*ins.writes, *ins.outputs)}
        return bool(written & (self.read | self.made | self.later | self.later_reads))

    def add(self, at: int, ins: Instruction, kind: str, operands: dict[int, str]) -> None:
        for s in ins.reads:
            if s.number not in self.number:
                self.reads.setdefault(s.number, operands[s.number])
                self.read.add(s.storage.number)
        self.number[ins.outputs[0].number] = len(self.members)
        self.members.append((at, ins, kind))
        self.passed = 0
        if kind != VIEW:
            self.made.add(ins.outputs[0].storage.number)

    def wait(self, ins: Instruction) -> None:
        self.waiting.append(ins)
        if not ins.is_view:
            self.later |= {s.storage.number for s in ins.outputs}
        self.later_reads |= {s.storage.number for s in ins.reads}


class _Walk:
    """The instructions in order, with one group open at a time."""

    def __init__(self, program: Program, policy: Any) -> None:
        self.policy = policy
        self.index = Index(program)
        self.code: list[Instruction] = []
        self.group: _Group | None = None
        self.joined = False

    def meet(self, at: int, ins: Instruction) -> None:
        if ins.name == "hand_over" or (self.group is not None and self._is_old(self.group)):
            self.close()
        if self.group is not None and (self._joins(at, ins) or self._waits(ins)):
            return
        if self.group is not None and self.group.disturbs(ins):
            self.close()
        if self._opens(ins) and (self.group is None or self._is_done(self.group)):
            self.close()
            frame = self._frame(ins)
            assert frame is not None
            self.group = _Group(*frame)
            self._add(at, ins)
            return
        self.code.append(ins)
        if self.group is not None:
            self.group.passed += 1

    def _is_done(self, group: _Group) -> bool:
        """Whether a group has no use of its own yet, or something waits for it already."""
        return len(group.members) < 2 or bool(group.waiting)

    def _is_old(self, group: _Group) -> bool:
        """Whether a group has waited for members so long that memory is held for it."""
        return group.passed + len(group.waiting) > _PATIENCE

    # -- members -----------------------------------------------------------------------------------

    def _frame(self, ins: Instruction) -> tuple[int, int, str] | None:
        """Rows, columns and numbers that an instruction works on as a whole."""
        if len(ins.outputs) != 1 or not self._is_own(ins.outputs[0]):
            return None
        if reduces_rows(ins) or has_whole_rows(ins):
            x = ins.inputs[0]
            fine = self.policy.row_reduction(ins)
        elif self.policy.row_step(ins):
            x = ins.outputs[0]
            fine = bool(x.shape) and x.dense and x.shape[-1] > 1
        else:
            return None
        if not fine or not x.size or not self.policy.row_columns(x.shape[-1]):
            return None
        if any(s.storage.device != x.storage.device for s in ins.reads):
            return None
        return x.size // x.shape[-1], x.shape[-1], self._width(ins)

    def _width(self, ins: Instruction) -> str:
        """The numbers that an instruction computes with, masks apart."""
        found = {self.policy.width(s) for s in (*ins.reads, *ins.outputs)} - {"b"}
        return "".join(sorted(found))

    def _is_own(self, s: Slot) -> bool:
        """Whether a result has memory of its own, written by nobody else."""
        alone = s.storage.kind == MADE and s.offset == 0 and s.nbytes == s.storage.nbytes
        return alone and len(self.index.writes.get(s.storage.number, ())) == 1

    def _opens(self, ins: Instruction) -> bool:
        frame = self._frame(ins)
        if frame is None or not ins.reads:
            return False
        return ins.kernel.facts.is_of("reduction") or self._kinds(_Group(*frame), ins) is not None

    def _kinds(self, group: _Group, ins: Instruction) -> dict[int, str] | None:
        """The kinds of a full pointwise instruction's operands; one of them has all the numbers."""
        found = group.operands(ins, ins.outputs[0].shape)
        return found if found is not None and FULL in found.values() else None

    def _add(self, at: int, ins: Instruction) -> bool:
        """Add an instruction that works on whole rows, unless it reads them in another way."""
        group = self.group
        assert group is not None
        if ins.kernel.facts.is_of("reduction"):
            if not group.knows(ins.inputs[0], FULL):
                return False
            group.add(at, ins, ROW, {ins.inputs[0].number: FULL})
            return True
        kinds = self._kinds(group, ins)
        if kinds is None:
            return False
        group.add(at, ins, FULL, kinds)
        return True

    def _joins(self, at: int, ins: Instruction) -> bool:
        """Add an instruction to the open group, if it belongs there."""
        group = self.group
        assert group is not None
        if len(group.members) >= self.policy.MOST_ROW_STEPS or ins.has_effect:
            return False
        if any(group.is_later(s) for s in ins.reads) or group.disturbs(ins):
            return False
        if ins.is_view:
            return self._joins_as_view(at, ins)
        if not self._has_room(ins):
            return False
        if self._frame(ins) == (group.rows, group.columns, group.width) and group.shares(ins):
            return self._add(at, ins)
        return self._joins_as_row(at, ins)

    def _has_room(self, ins: Instruction) -> bool:
        assert self.group is not None
        new = {s.number for s in ins.reads} - set(self.group.number) - set(self.group.reads)
        return len(self.group.reads) + len(new) <= self.policy.MOST_ROW_INPUTS

    def _joins_as_view(self, at: int, ins: Instruction) -> bool:
        """A view of a member's value that still is one number for every place, or one for every row."""
        group = self.group
        assert group is not None
        if len(ins.inputs) != 1 or len(ins.outputs) != 1:
            return False
        x, y = ins.inputs[0], ins.outputs[0]
        member = group.number.get(x.number) if x.__class__ is Slot else None
        if member is None or not y.shape or x.dtype != y.dtype or y.offset != x.offset:
            return False
        if group.kind(member) == FULL:
            fine = y.dense and y.size == x.size and y.shape[-1] == group.columns
        elif y.size == group.rows:
            fine = y.dense
        else:
            fine = kind_of(y, (*y.shape[:-1], group.columns)) == ROW
            fine = fine and y.size == group.rows * group.columns
        if fine:
            group.add(at, ins, VIEW, {})
        return fine

    def _joins_as_row(self, at: int, ins: Instruction) -> bool:
        """A pointwise instruction over one number for every row, which a member made."""
        group = self.group
        assert group is not None
        if len(ins.outputs) != 1 or not self.policy.row_step(ins) or self._width(ins) != group.width:
            return False
        out = ins.outputs[0]
        if out.size != group.rows or not out.dense or not out.shape or not self._is_own(out):
            return False
        kinds: dict[int, str] = {}
        for s in ins.reads:
            kind = ONE if s.size == 1 else ROW
            fine = kind == ONE or (s.shape == out.shape and s.dense)
            if not fine or not group.knows(s, kind) or s.storage.device != out.storage.device:
                return False
            kinds[s.number] = kind
        mine = [group.number.get(s.number) for s in ins.reads]
        if not any(m is not None and group.kind(m) == ROW for m in mine):
            return False
        group.add(at, ins, ROW, kinds)
        return True

    # -- the rest ----------------------------------------------------------------------------------

    def _waits(self, ins: Instruction) -> bool:
        """Put an instruction that needs the group behind it; where it cannot wait, the group is closed."""
        group = self.group
        assert group is not None
        if not group.depends(ins):
            return False
        if ins.has_effect or self._opens(ins) or group.disturbs(ins):
            self.close()
            return False
        group.wait(ins)
        return True

    def close(self) -> None:
        """End the open group: as one instruction where that saves memory traffic, else as it was."""
        group, self.group = self.group, None
        if group is None:
            return
        made = self._made(group)
        if made is None:
            self.code += [ins for _, ins, _ in group.members]
        else:
            self.joined = True
            self.code.append(made)
            written = {o.storage.number for o in made.outputs}
            self.code += [
                ins for _, ins, kind in group.members if kind == VIEW and ins.outputs[0].storage.number in written
            ]
        self.code += group.waiting

    def _outs(self, group: _Group) -> list[int]:
        """The members whose values somebody else reads."""
        places = {at for at, _, _ in group.members}
        found = []
        for number, (_, ins, kind) in enumerate(group.members):
            s = ins.outputs[0]
            others = self.index.reads.get(s.storage.number, set()) - places
            if kind != VIEW and (others or s.storage.number in self.index.results):
                found.append(number)
        return found

    def _made(self, group: _Group) -> Instruction | None:
        parts = [ins for _, ins, kind in group.members if kind != VIEW]
        outs = self._outs(group)
        reduces = any(ins.kernel.facts.is_of("reduction", "row") for ins in parts)
        if len(parts) < 2 or not outs or not reduces:
            return None
        members = [ins for _, ins, _ in group.members]
        slots = read_outside(members)
        if not any(group.reads[s.number] == FULL for s in slots):
            return None
        results = tuple([group.members[o][1].outputs[0] for o in outs])
        attrs = {
            "steps": steps_of(members, slots),
            "kinds": "".join(group.reads[s.number] for s in slots),
            "made": "".join(kind for _, _, kind in group.members),
            "dtypes": tuple([ins.outputs[0].dtype.name for ins in members]),
            "outs": tuple(outs),
            "shapes": tuple([s.shape for s in results]),
            "turns": tuple([group.turns.get(s.number, (1, 1)) for s in slots]),
            "columns": group.columns,
        }
        if hasattr(self.policy, "packed_rows"):  # for a device that interprets groups
            attrs["code"] = self.policy.packed_rows(attrs)
        return Instruction(ROW_GROUP, tuple(slots), attrs, results, (), parts[-1].line, True)
