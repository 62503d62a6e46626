"""Arrays that can be one: copies that nobody could tell from their source, and results written over what they came from."""

from __future__ import annotations

from ...runtime import joins
from ..joined.over import OVER
from ..program.index import Index
from ..program.instructions import Instruction, Program
from ..program.match import alike
from ..program.rewrite import Renaming
from ..program.slots import MADE, Slot


def drop_copies(program: Program) -> Program:
    """Let the source of a copy stand for the copy where neither is written afterwards.

    A step copies what it could take as it is wherever it cannot know that nobody else will change it.
    """
    index, renaming = Index(program), Renaming(program)
    taken = set(renaming.results)
    for ins in program.instructions:
        if _is_needless(ins, index) and ins.reads[0].storage.number not in taken:
            source, copy = renaming.slot(ins.reads[0]), ins.outputs[0]
            numbers = {source.storage.number, copy.storage.number}
            if not numbers <= taken:  # two results must not share memory
                taken |= numbers if numbers & taken else set()
                renaming.add(copy, source)
                continue
        renaming.append(ins)
    return renaming.program()


def _is_needless(ins: Instruction, index: Index) -> bool:
    """Whether a copy lies as its source does, and neither is written behind it."""
    if ins.name not in ("clone", "snapshot") or len(ins.outputs) != 1 or not ins.reads:
        return False
    source, copy = ins.reads[0], ins.outputs[0]
    if source.storage.kind != MADE or source.strides != copy.strides or not index.is_once(copy):
        return False
    behind = index.is_written(source, index.place[ins] + 1, len(index.code))
    return source.storage is not copy.storage and not behind


def name_new_values(program: Program) -> Program:
    """Drop copies over a whole array of the program's own, and take their source from there on.

    `relu_()` is recorded as relu and a copy over the old values. Nothing needs that memory to be the same.
    """
    dropped, renaming = _over_whole_arrays(program), Renaming(program)
    for ins in program.instructions:
        if ins in dropped:
            copy, source = ins.inputs
            renaming.add(copy, renaming.slot(source))
        else:
            renaming.append(ins)
    return renaming.program()


def _over_whole_arrays(program: Program) -> set[Instruction]:
    """The copies that can go, found from the end: what is written later must go, too."""
    found: set[Instruction] = set()
    index = Index(program)
    taken = set(index.results)
    for at in reversed(range(len(program))):
        ins = program.instructions[at]
        if ins.name != "copy_into" or not _are_whole(*ins.inputs):
            continue
        copy, source = ins.inputs
        number, other = copy.storage.number, source.storage.number
        # Two results must not share memory, and two devices cannot.
        if (number in taken and other in taken) or copy.storage.device != source.storage.device:
            continue
        late = any(w > at and program.instructions[w] not in found for w in index.writes[number])
        if late or number == other or not index.is_once(source) or _is_seen(index, at, copy):
            continue
        if number in taken:
            taken.add(other)
        found.add(ins)
    return found


def _are_whole(*slots: Slot) -> bool:
    """Whether both are all of their memory, which the program made, in the same order."""
    return alike(*slots) and all(
        s.storage.kind == MADE and s.offset == 0 and s.nbytes == s.storage.nbytes and s.extent() == (0, s.nbytes)
        for s in slots
    )


def _is_seen(index: Index, at: int, slot: Slot) -> bool:
    """Whether a window on the memory of a slot, made before a place and not that one itself, is used behind it."""
    number, seen = slot.storage.number, list(index.program.results)
    for place in index.reads.get(number, set()) | index.writes.get(number, set()):
        ins = index.code[place]
        if ins is not None and place > at:
            seen += (*ins.reads, *ins.writes)
    early = [s for s in seen if s.number not in index.maker or index.place[index.maker[s.number]] <= at]
    return any(s.storage is slot.storage and s.number != slot.number for s in early)


def write_over(program: Program, force: bool = False) -> Program:
    """A derivative takes the place of what it was derived by, at its last use; `force` on any device."""
    if program.hand_over is not None:  # a backward() may come twice
        return program
    index, renaming = Index(program), Renaming(program)
    for ins in program.instructions:
        made = _over(ins, index, renaming)
        if made is None or not (force or joins.takes(program.device, made, [ins])):
            renaming.append(ins)
            continue
        renaming.append(made)
        renaming.add(ins.outputs[0], made.writes[0])
        del renaming.once[made.writes[0].storage.number]  # and nothing else over it
    return renaming.program()


def _over(ins: Instruction, index: Index, renaming: Renaming) -> Instruction | None:
    """The instruction that writes over one of its inputs, where that is all of its memory and read here the last time."""
    if ins.name not in OVER:
        return None
    kernel, which = OVER[ins.name]
    x, out = ins.inputs[which], ins.outputs[0]
    numbers = {x.storage.number, out.storage.number}
    if not _are_whole(x, out) or not x.dense or not numbers <= renaming.once.keys():
        return None
    last = max(index.reads[x.storage.number]) == index.place[ins]
    alone = [s.storage for s in ins.reads].count(x.storage) == 1
    if not last or not alone or numbers & renaming.results:
        return None
    return Instruction(kernel, ins.inputs, ins.attrs, (), (x,), ins.line)
