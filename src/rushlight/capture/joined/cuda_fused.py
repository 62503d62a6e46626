"""The fused kernel on a GPU: its steps become one expression, and a kernel is generated for it."""

from __future__ import annotations

from typing import Any

from ...base.arrays import DeviceArray
from ...base.bounded import Bounded
from ...runtime.cuda.code.expressions import Expression
from ...runtime.cuda.code.generate import TYPES
from ...runtime.cuda.code.variants import compute
from ...runtime.cuda.joins import expression_of
from ...runtime.door import kernel_for
from .fused import text_of

_chains: dict[tuple, Expression] = Bounded(1024)


def _chain(steps: tuple, count: int, main: int, kept: tuple[str, ...]) -> Expression:
    """A chain of steps as one expression of `count` inputs, made on first use."""
    key = (repr(steps), count, main, kept)  # -0.0 is no 0.0
    found = _chains.get(key)
    if found is None:
        inputs = [f"in{i}" for i in range(count)]
        text = text_of(steps, expression_of, inputs, [TYPES[name][0] for name in kept])
        found = _chains[key] = Expression(" ".join(inputs), "one" if kept else "", main=main, f=text)
    return found


@kernel_for("cuda", "fused")
def fused(*arrays: DeviceArray, steps: tuple, dtype: str, code: bytes = b"", kept: tuple[str, ...] = ()) -> Any:
    """One launch for all steps; the array that decides the arithmetic comes first."""
    main = next((i for i, a in enumerate(arrays) if a.dtype.kind != "b"), 0)
    return compute(_chain(steps, len(arrays), main, kept), arrays, (1.0,) if kept else (), None, dtype)
