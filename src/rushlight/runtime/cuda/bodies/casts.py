"""Many arrays into another dtype by one launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....base.arrays import DeviceArray
from ....base.dtypes import dtype
from ...door import kernel_for
from ..code.compile import kernel, source
from ..code.geometry import dense_like
from ..code.launch import is_gapless
from ..code.sources import NUMBERS, options

MOST = 64  # arrays of a launch: their addresses and sizes must fit into 4 KiB of arguments


@kernel_for("cuda", "casts")
def casts(*xs: DeviceArray, to: dtype, source: dtype) -> Any:
    chars = source.np.char, to.np.char
    if any(c not in NUMBERS for c in chars) or not all(is_gapless(x) for x in xs):
        return NotImplemented
    outs = tuple([dense_like([x], x.shape, to.np) for x in xs])
    for first in range(0, len(xs), MOST):
        launch_casts(xs[first : first + MOST], outs[first : first + MOST], *chars)
    return outs


def launch_casts(xs: Sequence[Any], outs: Sequence[Any], given: str, wanted: str) -> None:
    """Up to MOST gapless arrays into others of another dtype, or of the same."""
    room = 16 if len(xs) <= 16 else MOST
    flags = options(wanted, SRC=NUMBERS[given][0], MAXT=room)
    launch = kernel(source("common.cu") + source("casts.cu"), "casts", flags)
    fill = [0] * (room - len(xs))
    sizes = [x.size for x in xs]
    values = [*[x.data.ptr for x in xs], *fill, *[out.data.ptr for out in outs], *fill, *sizes, *fill]
    across = max(1, min(-(-max(sizes) // 2048), max(64, 4096 // len(xs))))
    launch((across, len(xs), 1), 256, *values)
