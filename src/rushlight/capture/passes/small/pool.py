"""relu before max_pool: the same after it, on a quarter of the elements, forward and backward.

relu never falls, so relu(max of a window) = max of relu(window). Where a window's maximum is not
positive its place may be another one, but the gradient that goes there is zero either way.
"""

from __future__ import annotations

from typing import Any

from ...program.match import Found, Joining, first, maker, reader, rule


@rule(
    relu=first("relu"),
    pool=reader("max_pool", of="relu"),
    spread=reader("max_pool_grad", of="pool.1", at=1, optional=True),
    slope=reader("relu_grad", of="spread", at=0, optional=True),
)
def _exchanged(m: Found) -> Any:
    if (m.spread is None) != (m.slope is None):
        return None
    pooled, places = m.pool.outputs
    # The places get a new name: whoever else wants the old ones keeps all of this from happening.
    top, moved, masked = [m.new(s.shape, s.dtype, s) for s in (pooled, places, pooled)]
    made = {
        "relu": m.pool.replaced(inputs=m.relu.inputs, outputs=(top, moved)),
        "pool": m.relu.replaced(inputs=(top,), outputs=(pooled,)),
    }
    if m.slope is None:
        return made
    made["spread"] = m.slope.replaced(inputs=(m.spread.inputs[0], pooled), outputs=(masked,))
    made["slope"] = m.spread.replaced(inputs=(masked, moved), outputs=m.slope.outputs)
    return made if m.slope.inputs[1] is m.relu.outputs[0] else None


@rule(
    total=first("sum"),
    spread=maker("max_pool_grad", of="total<0", stays=True),
    pool=maker("max_pool", of="spread<1", stays=True),  # and not max_unpool by other indices
)
def _summed_first(m: Found) -> Any:
    """A pool's gradient is summed before it is spread: every element goes to exactly one place."""
    g, dims = m.spread.inputs[0], m.total.attrs.get("dim")
    whole = dims is not None and set(range(2, len(g.shape))) <= set(dims)
    return m.total.replaced(inputs=(g,)) if whole and g.dtype == m.total.reads[0].dtype else None


pool_before_relu = Joining(_exchanged, force=True)
sum_before_spreading = Joining(_summed_first, force=True)
