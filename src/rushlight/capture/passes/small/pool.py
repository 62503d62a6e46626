"""relu before max_pool: the same after it, on a quarter of the elements, forward and backward.

relu never falls, so relu(max of a window) = max of relu(window). Where a window's maximum is not
positive its place may be another one, but the gradient that goes there is zero either way.
"""

from __future__ import annotations

from ....runtime.door import KERNELS
from ...program.instructions import Instruction, Program
from ...program.rewrite import new_numbers, once_made, uses
from ...program.slots import Slot, Storage


def pool_before_relu(program: Program) -> Program:
    """Exchange relu and max_pool, and relu_grad and max_pool_grad behind them."""
    instructions = list(program.instructions)
    numbers = new_numbers(program)
    changed: set[int] = set()
    for at, ins in enumerate(program.instructions):
        if ins.name == "relu" and at not in changed:
            found = _pattern(program, at)
            if found is not None:
                changed.update(found)
                _exchange(instructions, found, numbers)
    return program.with_instructions(instructions) if changed else program


def _pattern(program: Program, at: int) -> tuple[int, ...] | None:
    """The places of relu, max_pool and, when the gradient is there, max_pool_grad and relu_grad."""
    code, once = program.instructions, once_made(program)
    relu = code[at]
    y = relu.outputs[0]
    readers = uses(program, y)
    if readers is None or y.storage.number not in once:
        return None
    pools = [r for r in readers if code[r].name == "max_pool"]
    slopes = [r for r in readers if code[r].name == "relu_grad"]
    if len(pools) != 1 or len(slopes) > 1 or len(readers) != 1 + len(slopes):
        return None
    pooled, places = code[pools[0]].outputs
    place_readers = uses(program, places)
    if place_readers is None or pooled.storage.number not in once:
        return None
    if not slopes:
        return (at, pools[0]) if not place_readers else None
    slope = code[slopes[0]]
    spread = [r for r in place_readers if code[r].name == "max_pool_grad"]
    if len(spread) != 1 or len(place_readers) != 1 or slope.inputs[1] is not y:
        return None
    between = code[spread[0]].outputs[0]
    if slope.inputs[0] is not between or uses(program, between) != [slopes[0]]:
        return None
    return at, pools[0], spread[0], slopes[0]


def _like(number: int, s: Slot) -> Slot:
    """A new slot in memory of its own, shaped and ordered as another, without gaps."""
    strides, step = [], s.dtype.itemsize
    for n in reversed(s.shape):
        strides.append(step)
        step *= n
    storage = Storage(number, "made", s.nbytes)
    storage.device = s.storage.device
    order = s.strides if s.extent() == (0, s.nbytes) else tuple(reversed(strides))
    return Slot(number, storage, s.shape, s.dtype, order)


def _exchange(code: list[Instruction], found: tuple[int, ...], numbers: object) -> None:
    relu, pool = code[found[0]], code[found[1]]
    pooled, places = pool.outputs
    top = _like(next(numbers), pooled)  # type: ignore[call-overload]
    # The pool moves up to where relu stood: nothing is made between them that either reads.
    code[found[0]] = pool.replaced(inputs=relu.inputs, outputs=(top, places))
    code[found[1]] = relu.replaced(inputs=(top,), outputs=(pooled,))
    if len(found) == 2:
        return
    spread, slope = code[found[2]], code[found[3]]
    g, kept = spread.inputs[0], spread.inputs[1]
    masked = _like(next(numbers), pooled)  # type: ignore[call-overload]
    kernel = KERNELS["relu_grad"]
    code[found[2]] = Instruction(kernel, (g, pooled), {}, (masked,), (), slope.line)
    code[found[3]] = spread.replaced(inputs=(masked, kept), outputs=slope.outputs)


def _spreads(ins: Instruction, maker: dict[int, Instruction]) -> bool:
    """Whether an instruction is the gradient of a max_pool, and not max_unpool by other indices."""
    if ins.name != "max_pool_grad":
        return False
    origin = maker.get(ins.inputs[1].number)
    return origin is not None and origin.name == "max_pool"


def sum_before_spreading(program: Program) -> Program:
    """Sum a pool's gradient before it is spread: every element goes to exactly one place."""
    maker = {s.number: ins for ins in program.instructions for s in ins.outputs}
    once = once_made(program)
    found = []
    for ins in program.instructions:
        source = maker.get(ins.reads[0].number) if ins.name == "sum" and ins.reads else None
        if source is not None and _spreads(source, maker):
            g = source.inputs[0]
            dims = ins.attrs.get("dim")
            whole = dims is not None and set(range(2, len(g.shape))) <= set(dims)
            if whole and g.storage.number in once and g.dtype == ins.reads[0].dtype:
                ins = ins.replaced(inputs=(g,))
        found.append(ins)
    return program.with_instructions(found)
