"""Batch norm joined with its neighbours: the add and the relu behind it, forward and backward."""

from __future__ import annotations

from ..joined.norms import (
    BATCH_NORM_ADD_RELU,
    BATCH_NORM_ADD_RELU_GRAD,
    BATCH_NORM_EVAL_ADD_RELU,
    BATCH_NORM_EVAL_RELU,
    BATCH_NORM_RELU,
    BATCH_NORM_RELU_GRAD,
)
from ..program.instructions import Instruction, Program, writers
from ..program.rewrite import once_made, uses
from ..program.slots import Slot

# Without and with another summand.
_FORWARD = {
    "batch_norm_train": (BATCH_NORM_RELU, BATCH_NORM_ADD_RELU),
    "batch_norm_eval": (BATCH_NORM_EVAL_RELU, BATCH_NORM_EVAL_ADD_RELU),
}
_TYPES = frozenset(("float64", "float32", "float16", "bfloat16"))


class _Facts:
    """What the walks ask about a program, found once."""

    def __init__(self, program: Program) -> None:
        self.program, self.code = program, program.instructions
        self.once = once_made(program)
        self.results = program.result_storages()
        self.writers = writers(program.instructions)
        self.made_by = {s.number: at for at, ins in enumerate(self.code) for s in ins.outputs}

    def is_written(self, slots: list[Slot], start: int, end: int) -> bool:
        """Whether the memory of some slots changes behind `start`, up to `end`."""
        return any(start < w <= end for s in slots for w in self.writers.get(s.storage.number, ()))

    def is_touched(self, slots: tuple[Slot, ...], start: int, end: int) -> bool:
        """Whether anything between two places reads or writes the memory of some slots."""
        numbers = {s.storage.number for s in slots}
        return any(
            s.storage.number in numbers
            for ins in self.code[start + 1 : end + 1]
            for s in (*ins.reads, *ins.outputs, *ins.writes)
        )


def join_norms(program: Program, force: bool = False) -> Program:
    """batch norm (+ add) + relu, and their gradients, as one kernel each; `force` on any device."""
    if program.device != "cuda" and not force:
        return program
    if not any(ins.name in _FORWARD for ins in program.instructions):
        return program
    # Backward first: it looks for the instructions that forward will replace.
    return _join_forward(_join_backward(program))


# -- forward --------------------------------------------------------------------------------------


def _join_forward(program: Program) -> Program:
    facts = _Facts(program)
    code: list[Instruction | None] = list(program.instructions)
    late: dict[int, list[Instruction]] = {}  # what moves behind an instruction
    for at, ins in enumerate(program.instructions):
        if ins.name in _FORWARD:
            _join_relu(facts, code, at, late)
    made: list[Instruction] = []
    for at, kept in enumerate(code):
        made += [] if kept is None else [kept]
        made += late.get(at, ())
    return program.with_instructions(made)


def _join_relu(facts: _Facts, code: list, at: int, late: dict) -> None:
    norm = facts.code[at]
    chain = _chain(facts, at)
    if chain is None or norm.outputs[0].dtype.name not in _TYPES:
        return
    if any(code[place] is not facts.code[place] for place in chain):
        return  # the other summand is a batch norm, too, and has them already
    end, other = chain[-1], None
    if len(chain) == 2:
        a, b = facts.code[chain[0]].inputs
        other = b if a.number == norm.outputs[0].number else a
        if facts.is_written([other], chain[0], end):
            return
    waiting = _waiting(facts, norm, at, end)
    if waiting is None or facts.is_written(norm.reads, at, end):
        return
    outs = (facts.code[end].outputs[0], *norm.outputs[1:])
    kernel = _FORWARD[norm.name][other is not None]
    inputs = norm.inputs if other is None else (*norm.inputs, other)
    for place in (at, *chain, *waiting):
        code[place] = None
    code[end] = Instruction(kernel, inputs, norm.attrs, outs, (), norm.line, norm.several)
    late[end] = [facts.code[w] for w in waiting]


def _chain(facts: _Facts, at: int) -> list[int] | None:
    """The places of relu, or of add and relu, that alone use a batch norm's result."""
    y = facts.code[at].outputs[0]
    chain: list[int] = []
    for _ in range(2):
        readers = uses(facts.program, y)
        if readers is None or len(readers) != 1 or y.storage.number not in facts.once:
            return None
        ins = facts.code[readers[0]]
        chain.append(readers[0])
        if ins.name == "relu":
            return chain if ins.outputs[0].strides == y.strides else None
        if ins.name != "add" or chain[1:] or not _are_alike(ins, y):
            return None
        y = ins.outputs[0]
    return None


def _are_alike(add: Instruction, y: Slot) -> bool:
    """Whether two different arrays laid out alike are added."""
    slots = [*add.reads, *add.outputs]
    if len(add.reads) != 2 or add.reads[0].number == add.reads[1].number or add.attrs:
        return False
    return all((s.shape, s.dtype, s.strides) == (y.shape, y.dtype, y.strides) for s in slots)


def _waiting(facts: _Facts, norm: Instruction, at: int, end: int) -> list[int] | None:
    """Who uses the statistics before `end` and can do so behind it; None when someone cannot."""
    numbers = {s.storage.number for s in norm.outputs[1:]}
    if numbers & facts.results:
        return None
    found = [
        place for place in range(at + 1, end)
        if any(s.storage.number in numbers for s in facts.code[place].reads)
    ]  # fmt: skip
    for place in found:
        ins = facts.code[place]
        if ins.name != "running_statistics" or facts.is_touched(ins.writes, place, end):
            return None
    return found


# -- backward -------------------------------------------------------------------------------------


def _join_backward(program: Program) -> Program:
    facts = _Facts(program)
    code: list[Instruction | None] = list(program.instructions)
    for at, ins in enumerate(program.instructions):
        if ins.name == "relu_grad" and code[at] is not None:
            norm = _norm_in_front(facts, ins.inputs[1])
            if norm is not None:
                _join_slope(facts, code, at, norm)
    return program.with_instructions([ins for ins in code if ins is not None])


def _norm_in_front(facts: _Facts, y: Slot) -> int | None:
    """The batch norm whose result, perhaps after an add, was given to the relu that made `y`."""
    relu = facts.made_by.get(y.number)
    if relu is None or facts.code[relu].name != "relu":
        return None
    maker = facts.made_by.get(facts.code[relu].inputs[0].number)
    if maker is None:
        return None
    tries = [maker]
    if facts.code[maker].name == "add":
        made = [facts.made_by.get(s.number) for s in facts.code[maker].reads]
        tries = [at for at in made if at is not None]
    for at in tries:
        norm = facts.code[at]
        if norm.name == "batch_norm_train" and norm.outputs[0].dtype.name in _TYPES:
            if _chain(facts, at) is not None:
                return at
    return None


def _join_slope(facts: _Facts, code: list, at: int, norm_at: int) -> None:
    norm, slope = facts.code[norm_at], facts.code[at]
    g, y = slope.inputs
    masked = slope.outputs[0]
    back = _gradient_of(facts, norm, masked)
    if back is None or any(s.storage.number not in facts.once for s in (g, y, masked)):
        return
    if facts.is_written(norm.reads, norm_at, back):
        return
    x, weight, bias = norm.inputs
    stats = tuple(norm.outputs[1:])
    outs = facts.code[back].outputs
    # Between a call and its backward() the caller may change the bias, from which the sign is found.
    at_once = facts.program.hand_over is None
    if at_once and uses(facts.program, masked) == [back] and len(_chain(facts, norm_at) or ()) == 1:
        inputs: tuple = (g, x, weight, bias, *stats)
        code[back] = Instruction(
            BATCH_NORM_RELU_GRAD, inputs, norm.attrs, outs, (), slope.line, True
        )
        code[at] = None
        return
    g, more = _summands(facts, code, g, at)
    inputs = (g, more, y, x, weight, *stats)
    outs = (masked, *outs)
    code[at] = Instruction(BATCH_NORM_ADD_RELU_GRAD, inputs, norm.attrs, outs, (), slope.line, True)
    code[back] = None


def _gradient_of(facts: _Facts, norm: Instruction, g: Slot) -> int | None:
    """Where the derivative of a batch norm takes `g`."""
    wanted = [norm.inputs[0].number, *[s.number for s in norm.outputs[1:]]]
    for at, ins in enumerate(facts.code):
        if ins.name == "batch_norm_grad" and ins.inputs[0].number == g.number:
            given = [ins.inputs[i].number for i in (1, 3, 4)]
            if given == wanted and _same(ins.inputs[2], norm.inputs[1]):
                return at
    return None


def _same(a: object, b: object) -> bool:
    if a.__class__ is Slot and b.__class__ is Slot:
        return a.number == b.number  # type: ignore[attr-defined]
    return a is b


def _summands(facts: _Facts, code: list, g: Slot, at: int) -> tuple[Slot, Slot | None]:
    """The two gradients that only this instruction wants the sum of, or the one it is given."""
    adder = facts.made_by.get(g.number)
    if adder is None or facts.code[adder].name != "add" or code[adder] is None:
        return g, None
    add = facts.code[adder]
    if uses(facts.program, g) != [at] or not _are_alike(add, g):
        return g, None
    if facts.is_written(add.reads, adder, at):
        return g, None
    code[adder] = None
    return add.reads[0], add.reads[1]
