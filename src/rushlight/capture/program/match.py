"""The matcher: a pattern names instructions, a rule answers what takes their place, and only what is sound is done.

A program is flat, so a pattern is a small graph over instruction names: each part is found from one before it, as
the reader or the maker of a value. Whether a replacement may stand where it is put, `Index` says once for all rules.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from ...core.op import Op
from ...runtime import joins
from ...runtime.door import Kernel
from .index import Index, is_value
from .instructions import Instruction, Program
from .slots import Slot

Made = Mapping[str, Instruction]  # the part at whose place it stands -> the instruction


class Part(NamedTuple):
    """One instruction of a pattern: its possible names, and how it is found from the parts before it.

    `of` names a value: "conv" is the first result of that part, "pool.1" its second result, "slope<1" its second
    input, "add<*" any of its inputs, "a<*|b<*" any input of either. A tuple of such names means the first whose part
    was found. The part is an instruction that reads this value (as input number `at`) or, with `makes`, the one that
    made it. `stays`: the part is looked at, but not replaced. `optional`: a match without it is tried last.
    `maybe`: a match without it is tried only where there is no such instruction. `whole_views`: the value may be
    read in another shape.
    """

    names: tuple[str, ...]
    of: tuple[str, ...] = ()
    at: int | None = None
    makes: bool = False
    stays: bool = False
    optional: bool = False
    maybe: bool = False
    whole_views: bool = False


Named = Op | Kernel | str  # what a pattern names an instruction by


def _names(what: tuple[Named, ...]) -> tuple[str, ...]:
    return tuple([w if isinstance(w, str) else w.name for w in what])


def first(*what: Named, stays: bool = False) -> Part:
    """The part a pattern begins with."""
    return Part(_names(what), stays=stays)


def reader(*what: Named, of: str | tuple[str, ...], at: int | None = None, **how: bool) -> Part:
    """The part that reads a value."""
    return Part(_names(what), (of,) if isinstance(of, str) else of, at, False, **how)


def maker(*what: Named, of: str | tuple[str, ...], **how: bool) -> Part:
    """The part that made a value."""
    return Part(_names(what), (of,) if isinstance(of, str) else of, None, True, **how)


class Found(SimpleNamespace):
    """What a pattern found: its parts by name, None for a missing one, and `new(shape, dtype, like)` for slots of its own."""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"the pattern has no part {name!r}")


Answer = Callable[[Found], Any]


class Rule(NamedTuple):
    """A pattern, the kernels it makes, and the function that answers what takes the place of a match."""

    kernels: tuple[str, ...]
    parts: dict[str, Part]
    answer: Answer


def rule(*kernels: Any, **parts: Part) -> Callable[[Answer], Rule]:
    """Make a function a rule: it is given what was found, and answers

    - None, where that is not what it wants after all,
    - an instruction: it stands where the first of the parts stood, or else a later one,
    - a dict from the names of parts to the instructions at their places,
    - a list of these, of which the first that is sound is taken.
    """
    return lambda answer: Rule(tuple([k.name for k in kernels]), parts, answer)


class Joining:
    """A pass made of rules, one after another; with `force` the device is not asked whether they pay."""

    def __init__(self, *rules: Rule, force: bool = False) -> None:
        self.rules, self.force = rules, force

    def __call__(self, program: Program, force: bool = False) -> Program:
        return rewrite(program, self.rules, force or self.force)


def rewrite(program: Program, rules: Sequence[Rule], force: bool = False) -> Program:
    """The program after all rules, one after another, wherever the device says that it pays."""
    names = {ins.name for ins in program.instructions}
    index = Index.known(program)
    for r in rules:
        start = next(iter(r.parts.values()))
        needed = [p for p in r.parts.values() if not (p.optional or p.maybe)]
        if any(names.isdisjoint(p.names) for p in needed):
            continue
        if not force and not any(joins.knows(program.device, name) for name in r.kernels):
            continue
        index = index or Index(program)
        for ins in list(index.code):
            if ins is not None and ins.name in start.names and ins in index.place:
                _apply(index, r, ins, force)
        if index.changed:
            names |= set(r.kernels)
    return program if index is None else index.program_now()


def _apply(index: Index, r: Rule, start: Instruction, force: bool) -> None:
    for match in _matches(index, r, start):
        answer = r.answer(Found(**match, new=index.new))
        for made in answer if isinstance(answer, list) else [answer]:
            if made is not None and _try(index, r, match, made, force):
                return


def _try(index: Index, r: Rule, match: dict[str, Instruction | None], made: Any, force: bool) -> bool:
    found = {name: ins for name, ins in match.items() if ins is not None}
    old = [ins for name, ins in found.items() if not r.parts[name].stays]
    new = [made] if made.__class__ is Instruction else list(made.values())
    device = index.program.device
    if not force and not all(ins in old or joins.takes(device, ins, old) for ins in new):
        return False
    beside = [ins for name, ins in found.items() if r.parts[name].stays]
    if made.__class__ is not Instruction:
        return _put(index, old, {found[name]: ins for name, ins in made.items()}, beside)
    return any(_put(index, old, {at: made}, beside) for at in sorted(old, key=index.place.__getitem__))


def _put(
    index: Index, old: list[Instruction], made: Mapping[Instruction, Instruction], beside: list[Instruction]
) -> bool:
    """Let instructions stand where parts stood, and say that they come from the same lines."""
    for part, ins in made.items():
        ins.line = ins.line or part.line
    return index.replace(old, {index.place[part]: ins for part, ins in made.items()}, beside)


def _matches(index: Index, r: Rule, start: Instruction) -> Iterator[dict[str, Instruction | None]]:
    """Every way to find the parts of a pattern that begins at an instruction."""
    todo = list(r.parts.items())

    def go(k: int, found: dict[str, Instruction | None]) -> Iterator[dict]:
        if k == len(todo):
            yield found
            return
        name, part = todo[k]
        missing = part.optional or part.maybe
        for ins in _candidates(index, part, found):
            missing = part.optional
            yield from go(k + 1, {**found, name: ins})
        if missing:
            yield from go(k + 1, {**found, name: None})

    yield from go(1, {todo[0][0]: start})


def _candidates(index: Index, part: Part, found: dict[str, Instruction | None]) -> Iterator[Instruction]:
    taken = set(found.values())
    for at, slot in _values(index, part, found):
        options = index.makers(slot) if part.makes else [*index.readers(slot, part.whole_views)]
        for ins in options:
            if ins.name not in part.names or ins in taken:
                continue
            if part.at is not None:
                given = ins.inputs[part.at : part.at + 1]
                if not any(is_value(i, slot, part.whole_views) for i in given):
                    continue
            here = index.place[ins]
            if not (index.is_written(slot, here + 1, at) if part.makes else index.is_changed(slot, at, here)):
                yield ins


def _values(index: Index, part: Part, found: dict[str, Instruction | None]) -> Iterator[tuple[int, Slot]]:
    """The values from which a part can be found, each with the place where it is known."""
    for alternatives in part.of:
        known = [(text, found.get(re.split("[.<]", text)[0])) for text in alternatives.split("|")]
        for text, ins in known:
            if ins is not None:
                yield from [(index.place[ins], s) for s in _named(ins, text) if s.__class__ is Slot]
        if any(ins is not None for _, ins in known):
            return


def _named(ins: Instruction, text: str) -> Sequence[Any]:
    """The values of an instruction that a pattern names."""
    given = "<" in text
    slots, which = ins.inputs if given else ins.outputs, text.partition("<" if given else ".")[2]
    return slots if which == "*" else slots[int(which or 0) : int(which or 0) + 1]


def alike(*operands: Any) -> bool:
    """Whether all of them are arrays of one shape and dtype that lie in memory in the same way."""
    slots = [s for s in operands if s.__class__ is Slot]
    kinds = {(s.shape, s.dtype, s.strides) for s in slots}
    return len(slots) == len(operands) and len(kinds) == 1


def same(a: Any, b: Any) -> bool:
    """Whether two operands are the same slot, or both are none."""
    return a is b or (a.__class__ is b.__class__ is Slot and a.number == b.number)


def other(ins: Instruction, x: Slot) -> Slot | None:
    """The array beside x in a sum or a product of two without options; None where there is none."""
    a, b = ins.inputs
    beside = b if same(a, x) else a if same(b, x) else None
    return beside if beside.__class__ is Slot and not ins.attrs else None


def joined(kernel: Any, inputs: Sequence[Any], attrs: dict[str, Any], outputs: Sequence[Slot]) -> Instruction:
    """An instruction that stands for several; it answers a tuple where it has several results."""
    outs = tuple(outputs)
    return Instruction(kernel, tuple(inputs), attrs, outs, (), "", len(outs) > 1)


def chain(kernel: Any, head: Named, tail: Named, **attrs: Any) -> Rule:
    """The rule that a kernel stands for two in a row: it is given what the head is given, and answers what the tail does.

    `attrs` are the options that the tail must have.
    """

    @rule(kernel, head=first(head), tail=reader(tail, of="head"))
    def both(m: Found) -> Instruction | None:
        if m.tail.attrs != attrs or not alike(*m.head.outputs, *m.tail.outputs):
            return None
        return joined(kernel, m.head.inputs, m.head.attrs, m.tail.outputs)

    return both
