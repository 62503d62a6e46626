"""The kernel of a row group: pointwise steps and reductions along rows in one pass over memory, described as data.

Normalisations, softmaxes and losses that somebody wrote out in small pieces become such a kernel. All its arrays have
rows of the same number of columns; what an operand holds for them is its kind: `FULL` a number for every place,
`ROW` one for every row, `COLUMN` one for every column, `ONE` a single number, `SOME` fewer rows than there are, which
take turns (a mask for all heads): row `i` reads row `i // every % count` of them.
"""

from __future__ import annotations

from ...base.arrays import Array, ArrayModule
from ...runtime.door import Kernel
from .fused import Step, values_of

FULL, ROW, COLUMN, ONE, SOME = "f", "r", "c", "1", "s"
LARGE = frozenset((FULL, COLUMN, SOME))  # read by all threads of a row, number by number
VIEW = "v"  # the kind of a step that only looks at a value in another shape


def _body(
    xp: ArrayModule,
    *arrays: Array,
    steps: tuple[Step, ...],
    kinds: str,
    made: str,
    dtypes: tuple[str, ...],
    outs: tuple[int, ...],
    shapes: tuple[tuple[int, ...], ...],
    turns: tuple[tuple[int, int], ...],
    columns: int,
    code: bytes = b"",
) -> tuple:
    """The values of the steps that others read.

    `kinds` are those of the arrays, `made` and `dtypes` those of the steps, `outs` the steps that others read, `shapes`
    theirs; `turns` are `every` and `count` of the arrays, where their rows take turns. `code` is all of it as a device
    reads it that interprets groups.
    """
    values = values_of(xp, arrays, steps, dtypes)
    return tuple([values[i] for i in outs])


ROW_GROUP = Kernel("row_group", _body)
