"""Arrays that can be one: copies that nobody could tell from their source, and results written over what they came from."""

from __future__ import annotations

from ...runtime import joins
from ..joined.over import OVER
from ..program.instructions import Instruction, Program, writers
from ..program.match import alike
from ..program.rewrite import Renaming, once_made
from ..program.slots import MADE, Slot


def drop_copies(program: Program) -> Program:
    """Let the source of a copy stand for the copy where neither is written afterwards.

    A step copies what it could take as it is wherever it cannot know that nobody else will change it.
    """
    once, written = once_made(program), writers(program.instructions)
    taken = program.result_storages()
    renaming = Renaming()
    for at, ins in enumerate(program.instructions):
        if not _is_needless(ins, at, once, written) or ins.reads[0].storage.number in taken:
            renaming.append(ins)
            continue
        source, copy = renaming.slot(ins.reads[0]), ins.outputs[0]
        if copy.storage.number in taken:
            if source.storage.number in taken:  # two results must not share memory
                renaming.append(ins)
                continue
            taken.add(source.storage.number)
        renaming.add(copy, source)
    return renaming.program(program)


def _is_needless(
    ins: Instruction, at: int, once: dict[int, int], written: dict[int, list[int]]
) -> bool:
    """Whether a copy lies as its source does, and neither is written behind it."""
    if ins.name not in ("clone", "snapshot") or len(ins.outputs) != 1 or not ins.reads:
        return False
    source, copy = ins.reads[0], ins.outputs[0]
    if source.storage.kind != MADE or source.strides != copy.strides:
        return False
    if source.storage is copy.storage or copy.storage.number not in once:
        return False
    return all(w <= at for w in written.get(source.storage.number, ()))


def name_new_values(program: Program) -> Program:
    """Drop copies over a whole array of the program's own, and take their source from there on.

    `relu_()` is recorded as relu and a copy over the old values. Nothing needs that memory to be the same.
    """
    dropped = _over_whole_arrays(program)
    renaming = Renaming()
    for at, ins in enumerate(program.instructions):
        if at in dropped:
            copy, source = ins.inputs
            renaming.add(copy, renaming.slot(source))
        else:
            renaming.append(ins)
    return renaming.program(program) if dropped else program


def _over_whole_arrays(program: Program) -> set[int]:
    """The places of copies that can go, found from the end: what is written later must go, too."""
    found: set[int] = set()
    once, written = once_made(program), writers(program.instructions)
    taken = program.result_storages()
    for at in reversed(range(len(program))):
        ins = program.instructions[at]
        if ins.name != "copy_into" or not _are_whole(*ins.inputs):
            continue
        copy, source = ins.inputs
        number, other = copy.storage.number, source.storage.number
        # Two results must not share memory, and two devices cannot.
        if (number in taken and other in taken) or copy.storage.device != source.storage.device:
            continue
        late = [w for w in written[number] if w > at and w not in found]
        if late or other not in once or number == other or _is_seen(program, at, copy):
            continue
        if number in taken:
            taken.add(other)
        found.add(at)
    return found


def _are_whole(*slots: Slot) -> bool:
    """Whether both are all of their memory, which the program made, in the same order."""
    return alike(*slots) and all(
        s.storage.kind == MADE and s.offset == 0 and s.nbytes == s.storage.nbytes
        and s.extent() == (0, s.nbytes) for s in slots
    )  # fmt: skip


def _is_seen(program: Program, at: int, slot: Slot) -> bool:
    """Whether a window on the memory of a slot, made before a place and not that one itself, is used behind it."""
    known = {slot.number}
    for ins in program.instructions[at + 1 :]:
        for s in (*ins.reads, *ins.writes):
            if s.storage is slot.storage and s.number not in known:
                return True
        known.update(s.number for s in ins.outputs)
    return any(s.storage is slot.storage and s.number not in known for s in program.results)


def write_over(program: Program, force: bool = False) -> Program:
    """A derivative takes the place of what it was derived by, at its last use; `force` on any device."""
    if program.hand_over is not None:  # a backward() may come twice
        return program
    once, results, renaming = once_made(program), program.result_storages(), Renaming()
    for at, ins in enumerate(program.instructions):
        made = _over(program, at, once, results)
        if made is None or not (force or joins.takes(program.device, made, [ins])):
            renaming.append(ins)
            continue
        renaming.append(made)
        renaming.add(ins.outputs[0], made.writes[0])
        del once[made.writes[0].storage.number]  # and nothing else over it
    return renaming.program(program) if renaming.slots else program


def _over(program: Program, at: int, once: dict[int, int], results: set[int]) -> Instruction | None:
    """The instruction that writes over one of its inputs, where that is all of its memory and read here the last time."""
    ins = program.instructions[at]
    if ins.name not in OVER:
        return None
    kernel, which = OVER[ins.name]
    x, out = ins.inputs[which], ins.outputs[0]
    numbers = {x.storage.number, out.storage.number}
    if not _are_whole(x, out) or not x.dense or numbers & results or not numbers <= once.keys():
        return None
    later = [s for i in program.instructions[at + 1 :] for s in (*i.reads, *i.outputs)]
    if (
        any(s.storage is x.storage for s in later)
        or [s.storage for s in ins.reads].count(x.storage) > 1
    ):
        return None
    return Instruction(kernel, ins.inputs, ins.attrs, (), (x,), ins.line)
