"""One kernel of a path, and the kinds of its operands and results."""

from __future__ import annotations

from typing import Any, NamedTuple

from ...runtime.door import Kernel

KNOWN, FIXED, VALUE, BIND = range(4)  # kinds of operands
FRESH, VIEW, GIVEN = range(3)  # kinds of results
NOT_MET = object()  # stands for an array that the stretch has not come to; an operand may be None


class Step(NamedTuple):
    """One kernel of a path; `outs` are numbers of arrays, or of operands where those are given back."""

    kernel: Kernel
    attrs: dict[str, Any]
    operands: tuple[tuple[int, Any], ...]
    how: int
    outs: tuple[int, ...]
    several: bool
    cls: type
    look: Any  # (operand, function): the check of values that is needed before the kernel may wait
    line: str
