"""Who makes, reads and writes what in a program, and when something else may take the place of its instructions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from .instructions import Instruction, Program
from .rewrite import new_numbers, new_slot
from .slots import MADE, Slot


class Index:
    """Who makes, reads and writes what: found once for a program, and kept while its instructions change.

    A place is a position of the program that was given; places of instructions that went stay empty.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.code: list[Instruction | None] = [None] * len(program)
        self.place: dict[Instruction, int] = {}
        self.maker: dict[int, Instruction] = {}  # slot number -> the instruction
        self.reads: dict[int, set[int]] = {}  # storage number -> places that read any of it
        self.writes: dict[int, set[int]] = {}  # storage number -> places that write any of it
        self.results = program.result_storages()
        self.handed = {s.number for s in program.results}
        self.cut = -1 if program.hand_over is None else program.hand_over
        self._numbers = new_numbers(program)
        self.changed = False
        for at, ins in enumerate(program.instructions):
            self._put(at, ins)

    @staticmethod
    def known(program: Program) -> Index | None:
        """The index that an earlier rewrite left, if it is still this program's."""
        found = program.index
        return found if found is not None and found.program is program else None

    @staticmethod
    def of(program: Program) -> Index:
        """The index that an earlier rewrite left, or else a new one."""
        return Index.known(program) or Index(program)

    def _put(self, at: int, ins: Instruction) -> None:
        self.code[at] = ins
        self.place[ins] = at
        for s in ins.reads:
            self.reads.setdefault(s.storage.number, set()).add(at)
        for s in ins.outputs:
            if s not in ins.writes:  # a kernel that works in place returns its input
                self.maker[s.number] = ins
        if not ins.is_view:
            for s in (*ins.outputs, *ins.writes):
                self.writes.setdefault(s.storage.number, set()).add(at)

    def _take(self, at: int) -> None:
        ins = self.code[at]
        assert ins is not None
        self.code[at] = None
        del self.place[ins]
        for s in ins.outputs:
            if self.maker.get(s.number) is ins:
                del self.maker[s.number]
        for s in (*ins.reads, *ins.outputs, *ins.writes):
            self.reads.get(s.storage.number, set()).discard(at)
            self.writes.get(s.storage.number, set()).discard(at)

    def program_now(self) -> Program:
        """The program as it is now; it keeps this index for the next pass."""
        if self.changed:
            left = [ins for ins in self.code if ins is not None]
            self.program, self.changed = self.program.with_instructions(left), False
        self.program.index = self
        return self.program

    def new(self, shape: tuple[int, ...], dtype: Any, like: Slot) -> Slot:
        """A slot in memory of its own on the device of `like`; ordered as that one where the shapes are equal."""
        return new_slot(next(self._numbers), shape, dtype, like)

    # -- questions --------------------------------------------------------------------------------

    def readers(self, slot: Slot, whole_views: bool = False) -> Iterator[Instruction]:
        """The instructions that read a slot, in order; with `whole_views` also those that read all its numbers in another shape."""
        for at in sorted(self.reads.get(slot.storage.number, ())):
            ins = self.code[at]
            assert ins is not None
            if any(is_value(i, slot, whole_views) for i in ins.inputs):
                yield ins

    def makers(self, slot: Slot) -> list[Instruction]:
        """The instruction that made a slot; for a view also the one that wrote its memory, if it is the only one."""
        made = self.maker.get(slot.number)
        found = [] if made is None else [made]
        written = self.writes.get(slot.storage.number, set())
        if (made is None or made.is_view) and len(written) == 1 and slot.storage.kind == MADE:
            found += [self.code[at] for at in written]  # type: ignore[misc]
        return found

    def is_written(self, slot: Slot, first: int, last: int) -> bool:
        """Whether anything between two places, the first included, writes the memory of a slot."""
        return any(first <= w < last for w in self.writes.get(slot.storage.number, ()))

    def is_changed(self, slot: Slot, a: int, b: int) -> bool:
        """Whether two places see different values of a slot; either may be the one that makes it."""
        low, high = min(a, b), max(a, b)
        made = self.maker.get(slot.number)
        return self.is_written(slot, low + (made is not None and self.place[made] == low), high)

    def is_once(self, slot: Slot) -> bool:
        """Whether its memory is the program's own and written by one instruction."""
        number = slot.storage.number
        return slot.storage.kind == MADE and len(self.writes.get(number, ())) == 1

    def may_move(self, ins: Instruction, to: int) -> bool:
        """Whether an instruction could run at another place: its inputs are the same there, and nobody needs its results earlier."""
        at = self.place[ins]
        if any(self.is_written(s, min(at, to), max(at, to)) for s in ins.reads) or ins.has_effect:
            return False
        own = all(s.storage.kind == MADE for s in ins.outputs)
        return own and not any(self._is_touched(s, at, to) for s in ins.outputs)

    def is_seen(self, slot: Slot, gone: set[int]) -> bool:
        """Whether its memory is used by anything else than the instructions at `gone`, and views that only these read."""
        number = slot.storage.number
        if slot.storage.kind != MADE or number in self.results:
            return True
        if not self.writes.get(number, set()) <= gone:
            return True
        return any(not self._leads_to(at, gone) for at in self.reads.get(number, ()))

    def _leads_to(self, at: int, gone: set[int]) -> bool:
        """Whether the instruction at a place is one of `gone`, or a view that only these read."""
        if at in gone:
            return True
        ins = self.code[at]
        if ins is None or not ins.is_view:
            return False
        return all(self._leads_to(self.place[r], gone) for s in ins.outputs for r in self.readers(s)) and not any(
            s.number in self.handed for s in ins.outputs
        )

    # -- replacing --------------------------------------------------------------------------------

    def replace(
        self, old: Sequence[Instruction], made: Mapping[int, Instruction], beside: Sequence[Instruction] = ()
    ) -> bool:
        """Put the instructions `made`, by their places, where `old` were; False, and no change, where results could differ.

        `beside` are instructions that stay, and that read the same values as the new ones.
        """
        gone = {self.place[ins] for ins in old}
        known = gone | {self.place[ins] for ins in beside}
        remade = {s.number: at for at, ins in made.items() for s in ins.outputs}
        lost = self._no_longer_filled(old, made, gone)
        if not self._keeps_effects(old, made):
            return False
        for ins in old:
            for s in ins.outputs:
                if s.number not in remade and self._is_missed(s, ins, gone):
                    return False
        for at, ins in made.items():
            if any(s.storage.number in lost for s in ins.reads):
                return False
            reads = all(self._reads_alike(s, at, gone, known, remade) for s in ins.reads)
            if not reads or not all(self._makes_alike(s, at, gone) for s in ins.outputs):
                return False
        self._commit(gone, made, lost)
        return True

    def _no_longer_filled(
        self, old: Sequence[Instruction], made: Mapping[int, Instruction], gone: set[int]
    ) -> set[int]:
        """The numbers of storages whose values are not made any more; views of them must not be read."""
        before = {s.storage.number for ins in old if not ins.is_view for s in ins.outputs}
        after = {s.storage.number for ins in made.values() for s in (*ins.outputs, *ins.writes)}
        return {n for n in before - after if self.writes.get(n, set()) <= gone}

    def _keeps_effects(self, old: Sequence[Instruction], made: Mapping[int, Instruction]) -> bool:
        """Whether all random draws are still made, and no write moves across an instruction that uses the same memory."""
        for ins in old:
            if ins.is_random and ins not in made.values():
                return False
            for s in ins.writes:
                places = [at for at, new in made.items() if s in new.writes]
                if len(places) != 1 or self._is_touched(s, self.place[ins], places[0]):
                    return False
        return True

    def _is_touched(self, slot: Slot, a: int, b: int, but: Iterable[int] = ()) -> bool:
        """Whether anything between two places, apart from these, uses the memory of a slot."""
        if (a < self.cut) != (b < self.cut):
            return True
        low, high, number = min(a, b), max(a, b), slot.storage.number
        used = self.reads.get(number, set()) | self.writes.get(number, set())
        return any(low <= at <= high for at in used - {a, b, *but})

    def _is_missed(self, slot: Slot, ins: Instruction, gone: set[int]) -> bool:
        """Whether another instruction needs a value that would not be made any more."""
        if not ins.is_view:
            return self.is_seen(slot, gone)
        readers = [self.place[r] for r in self.readers(slot)]
        return slot.number in self.handed or not all(self._leads_to(r, gone) for r in readers)

    def _reads_alike(self, slot: Slot, at: int, gone: set[int], known: set[int], remade: dict[int, int]) -> bool:
        """Whether a slot has at this place the value that the parts read."""
        if slot.number in remade:
            return remade[slot.number] < at
        maker = self.maker.get(slot.number)
        if maker is not None and (self.place[maker] in gone or self.place[maker] > at):
            return False
        places = known & self.reads.get(slot.storage.number, set())
        if slot.storage.kind != MADE:  # between a call and its backward() the caller may change it
            places = {p for p in places if (p < self.cut) == (at < self.cut)}
        if not places:
            return False
        return not self.is_written(slot, min(at, *places), max(at, *places))

    def _makes_alike(self, slot: Slot, at: int, gone: set[int]) -> bool:
        """Whether a value may be made at this place: nobody reads it earlier, and nothing else uses its memory until then."""
        maker = self.maker.get(slot.number)
        if maker is None:
            return slot.storage.number not in self.writes
        before = self.place[maker]
        if before not in gone or slot.storage.kind != MADE:
            return False
        return before == at or not self._is_touched(slot, before, at, gone)

    def _commit(self, gone: set[int], made: Mapping[int, Instruction], lost: set[int]) -> None:
        for at in gone:
            self._take(at)
        for at, new in made.items():
            self._put(at, new)
        for number in lost:  # views of them, which nobody reads
            for at in tuple(self.reads.get(number, ())):
                self._take(at)
        self.changed = True


def is_value(i: Any, slot: Slot, whole_views: bool = False) -> bool:
    """Whether an operand is a slot, or all its numbers in order under another shape."""
    if i.__class__ is not Slot:
        return False
    if i.number == slot.number:
        return True
    return (
        whole_views and i.storage is slot.storage and i.offset == slot.offset
        and i.size == slot.size and i.dtype == slot.dtype and i.dense and slot.dense
    )  # fmt: skip
