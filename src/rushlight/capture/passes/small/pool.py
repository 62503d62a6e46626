"""relu before max_pool: the same after it, on a quarter of the elements, forward and backward.

relu never falls, so relu(max of a window) = max of relu(window). Where a window's maximum is not
positive its place may be another one, but the gradient that goes there is zero either way.
"""

from __future__ import annotations

from collections.abc import Callable

from ...program.instructions import Instruction, Program
from ...program.match import Made, first, maker, reader, rewrite, rule
from ...program.slots import Slot


def pool_before_relu(program: Program) -> Program:
    """Exchange relu and max_pool, and relu_grad and max_pool_grad behind them."""
    return rewrite(program, [_exchanged], force=True)


@rule(
    relu=first("relu"),
    pool=reader("max_pool", of="relu"),
    spread=reader("max_pool_grad", of="pool.1", at=1, optional=True),
    slope=reader("relu_grad", of="spread", at=0, optional=True),
)
def _exchanged(
    relu: Instruction, pool: Instruction, spread: Instruction | None, slope: Instruction | None,
    new: Callable[..., Slot],
) -> Made | None:  # fmt: skip
    if (spread is None) != (slope is None):
        return None
    pooled, places = pool.outputs
    # The places get a new name: whoever else wants the old ones keeps all of this from happening.
    top, moved = [new(s.shape, s.dtype, s) for s in (pooled, places)]
    made = {
        "relu": pool.replaced(inputs=relu.inputs, outputs=(top, moved)),
        "pool": relu.replaced(inputs=(top,), outputs=(pooled,)),
    }
    if spread is None or slope is None:
        return made
    if slope.inputs[1] is not relu.outputs[0]:
        return None
    g, masked = spread.inputs[0], new(pooled.shape, pooled.dtype, pooled)
    made["spread"] = slope.replaced(inputs=(g, pooled), outputs=(masked,))
    made["slope"] = spread.replaced(inputs=(masked, moved), outputs=slope.outputs)
    return made


def sum_before_spreading(program: Program) -> Program:
    """Sum a pool's gradient before it is spread: every element goes to exactly one place."""
    return rewrite(program, [_summed_first], force=True)


@rule(
    total=first("sum"),
    spread=maker("max_pool_grad", of="total<0", stays=True),
    pool=maker("max_pool", of="spread<1", stays=True),  # and not max_unpool by other indices
)
def _summed_first(total: Instruction, spread: Instruction, pool: Instruction) -> Instruction | None:
    g, dims = spread.inputs[0], total.attrs.get("dim")
    whole = dims is not None and set(range(2, len(g.shape))) <= set(dims)
    return total.replaced(inputs=(g,)) if whole and g.dtype == total.reads[0].dtype else None
