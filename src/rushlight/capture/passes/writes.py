"""In-place operations as new values: a copy over a whole array is dropped, its source taken from there on.

`relu_()` is recorded as relu and a copy over the old values. Nothing needs that memory to be the same.
"""

from __future__ import annotations

from ..program.instructions import Instruction, Program, writers
from ..program.rewrite import once_made
from ..program.slots import MADE, Slot, Storage


def name_new_values(program: Program) -> Program:
    """Drop every copy over a whole array of the program's own, where nobody could see the difference."""
    dropped = _needless(program)
    if not dropped:
        return program
    names: dict[int, Slot] = {}
    moved: dict[int, Storage] = {}

    def now(s: Slot) -> Slot:
        if s.number in names:
            return names[s.number]
        storage = moved.get(s.storage.number)
        if storage is None:
            return s
        return Slot(s.number, storage, s.shape, s.dtype, s.strides, s.offset, s.array)

    kept = []
    for at, ins in enumerate(program.instructions):
        if at in dropped:
            copy, source = ins.inputs
            source = now(source)
            names[copy.number] = source
            moved[copy.storage.number] = source.storage
            continue
        inputs = tuple([now(i) if i.__class__ is Slot else i for i in ins.inputs])
        outputs = tuple([now(s) for s in ins.outputs])
        writes = tuple([now(s) for s in ins.writes])
        kept.append(ins.replaced(inputs=inputs, outputs=outputs, writes=writes))
    made = program.with_instructions(kept)
    made.results = [now(s) for s in program.results]
    return made


def _needless(program: Program) -> set[int]:
    """The places of copies that can go, found from the end: what is written later must go, too."""
    found: set[int] = set()
    once, written = once_made(program), writers(program.instructions)
    taken = {s.storage.number for s in program.results}
    for at in reversed(range(len(program))):
        ins = program.instructions[at]
        if ins.name != "copy_into" or not _is_whole_copy(ins, once):
            continue
        copy, source = ins.inputs
        number = copy.storage.number
        if any(later > at and later not in found for later in written[number]):
            continue
        if number in taken and source.storage.number in taken:
            continue  # two results must not share memory
        if _seen_through_views(program, at, copy):
            continue
        if number in taken:
            taken.add(source.storage.number)
        found.add(at)
    return found


def _is_whole_copy(ins: Instruction, once: dict[int, int]) -> bool:
    """Whether all of one made array becomes all of another, which stays as it is."""
    copy, source = ins.inputs
    if copy.__class__ is not Slot or source.__class__ is not Slot:
        return False
    if copy.storage.kind != MADE or source.storage.number not in once:
        return False
    if copy.storage is source.storage or copy.storage.device != source.storage.device:
        return False
    alike = (copy.shape, copy.dtype, copy.strides) == (source.shape, source.dtype, source.strides)
    return alike and all(
        s.offset == 0 and s.nbytes == s.storage.nbytes and s.extent() == (0, s.nbytes)
        for s in (copy, source)
    )


def _seen_through_views(program: Program, at: int, copy: Slot) -> bool:
    """Whether another window on the memory, made before the copy, is used after it."""
    number = copy.storage.number
    known = {copy.number}
    for ins in program.instructions[at + 1 :]:
        for s in (*ins.reads, *ins.writes):
            if s.storage.number == number and s.number not in known:
                return True
        known.update(s.number for s in ins.outputs)
    return any(s.storage.number == number and s.number not in known for s in program.results)
