"""The fused kernel on a GPU: its steps become one expression, and a kernel is generated for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....runtime.cuda.code.expressions import TABLE, Expression
from ....runtime.cuda.code.variants import compute
from ....runtime.cuda.joins import expression_of
from ....runtime.door import kernel_for
from ..fused import text_of

if TYPE_CHECKING:
    from ....base.protocols import DeviceArray

_names: dict[tuple, str] = {}  # one for each chain that is compiled, whose kernel stays loaded


def name_of(steps: tuple, count: int) -> str:
    """The table's entry for a chain of steps, made on first use."""
    key = (steps, count)
    found = _names.get(key)
    if found is None:
        inputs = [f"in{i}" for i in range(count)]
        found = _names[key] = f"fused:{len(_names)}"
        text = text_of(steps, expression_of, inputs)
        TABLE[found] = Expression(" ".join(inputs), f=text)
    return found


@kernel_for("cuda", "fused")
def fused(*arrays: DeviceArray, steps: tuple, dtype: str, code: bytes = b"") -> Any:
    """One launch for all steps; the array that decides the arithmetic comes first."""
    main = next((i for i, a in enumerate(arrays) if a.dtype.kind != "b"), 0)
    name = name_of(steps, len(arrays))
    TABLE[name].main = main
    return compute(name, arrays, (), None, dtype)
