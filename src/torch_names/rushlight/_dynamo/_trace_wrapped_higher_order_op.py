"""`torch._dynamo._trace_wrapped_higher_order_op`: a block in which tensors may be indices under vmap."""

from __future__ import annotations

from typing import Any


class TransformGetItemToIndex:
    """Nothing to change: `x[i]` with a tensor `i` is an index of ours under vmap, too."""

    def __enter__(self) -> TransformGetItemToIndex:
        return self

    def __exit__(self, *exc: Any) -> None:
        return None
