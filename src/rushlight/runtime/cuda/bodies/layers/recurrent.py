"""Recurrent layers on the GPU: whole stacks by cuDNN, their weights gathered in one array by one launch."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from .....base.arrays import DeviceArray
from ....door import kernel_for
from ....recurrent import Recurrence, Way
from ...code.sources import NUMBERS, blocks_for, load
from ...library.cudnn_rnn import call_for
from ...memory.streams import current
from ..casts import MOST, launch_casts
from ..fills import row_major
from .recurrent_choice import way

# -- weights --------------------------------------------------------------------------------------


def _copies(froms: Sequence[Any], tos: Sequence[Any]) -> None:
    char = froms[0].dtype.char
    for first in range(0, len(froms), MOST):
        launch_casts(froms[first : first + MOST], tos[first : first + MOST], char, char)


def _windows(whole: DeviceArray, way: Way, sizes: Sequence[int]) -> list[Any]:
    return [whole[at : at + n] for at, n in zip(way.places, sizes)]


@kernel_for("cuda", "rnn_weights")
def rnn_weights(*weights: DeviceArray, way: Way) -> Any:
    if weights[0].dtype.char not in NUMBERS or any(a.dtype != weights[0].dtype for a in weights):
        return NotImplemented
    out = cupy.ndarray((way.size,), weights[0].dtype)
    sizes = [a.size for a in weights]
    if sum(sizes) < way.size:  # gaps between weights
        runtime.memsetAsync(out.data.ptr, 0, out.nbytes, current.ptr)
    _copies([row_major(a) for a in weights], _windows(out, way, sizes))
    return out


@kernel_for("cuda", "rnn_weights_grad")
def rnn_weights_grad(g: DeviceArray, *, way: Way, shapes: tuple) -> Any:
    if g.dtype.char not in NUMBERS:
        return NotImplemented
    outs = [cupy.ndarray(shape, g.dtype) for shape in shapes]
    _copies(_windows(row_major(g), way, [prod(shape) for shape in shapes]), outs)
    return tuple(outs)


# -- layers ---------------------------------------------------------------------------------------


@kernel_for("cuda", "rnn_stack")
def rnn_stack(
    x: DeviceArray,
    h0: DeviceArray,
    c0: DeviceArray | None,
    w: DeviceArray,
    *,
    what: Recurrence,
    way: Way,
    sizes: tuple,
    training: bool,
) -> Any:
    call = call_for(what, x.dtype.char, way, sizes, training)
    x, h0, c0, w = row_major(x), row_major(h0), row_major(c0), row_major(w)
    y = cupy.ndarray((x.shape[0], what.out * what.directions), x.dtype)
    h = cupy.ndarray(h0.shape, x.dtype)
    c = None if c0 is None else cupy.ndarray(c0.shape, x.dtype)
    reserve = cupy.ndarray((call.reserve if training else 0,), np.uint8)
    call.forward(x, h0, c0, w, y, h, c, reserve)
    return (y, reserve, h) if c is None else (y, reserve, h, c)


rnn_stack.way = way  # type: ignore[attr-defined]


@kernel_for("cuda", "rnn_stack_grad_over")
def rnn_stack_grad_over(
    x: DeviceArray, h0: DeviceArray, c0: DeviceArray | None, w: DeviceArray, y: DeviceArray, reserve: DeviceArray, gy: DeviceArray | None, gh: DeviceArray, gc: DeviceArray | None, *,
    what: Recurrence, way: Way, sizes: tuple,
) -> Any:  # fmt: skip
    """cuDNN writes over what forward left."""
    call = call_for(what, x.dtype.char, way, sizes, True)
    given = tuple([row_major(a) for a in (x, h0, c0, w, y)])
    if gy is None:
        gy = cupy.ndarray(y.shape, y.dtype)
        runtime.memsetAsync(gy.data.ptr, 0, gy.nbytes, current.ptr)
    gradients = (row_major(gy), row_major(gh), row_major(gc))
    gx, gh0 = cupy.ndarray(x.shape, x.dtype), cupy.ndarray(h0.shape, x.dtype)
    gc0 = None if c0 is None else cupy.ndarray(c0.shape, x.dtype)
    gw = cupy.ndarray(w.shape, x.dtype)
    runtime.memsetAsync(gw.data.ptr, 0, gw.nbytes, current.ptr)
    call.backward(given, gradients, (gx, gh0, gc0, gw), reserve)
    return (gx, gh0, gw) if gc0 is None else (gx, gh0, gc0, gw)


@kernel_for("cuda", "rnn_stack_grad")
def rnn_stack_grad(
    x: DeviceArray, h0: DeviceArray, c0: DeviceArray | None, w: DeviceArray, y: DeviceArray, reserve: DeviceArray, gy: DeviceArray | None, gh: DeviceArray, gc: DeviceArray | None, *,
    what: Recurrence, way: Way, sizes: tuple,
) -> Any:  # fmt: skip
    """A second backward over a retained graph needs what forward left as it was."""
    own = cupy.ndarray(reserve.shape, np.uint8)
    if own.size:
        copy = load("copies.cu", "copy_one")
        copy(blocks_for(-(-own.size // 16)), 256, reserve, own, own.size)
    return rnn_stack_grad_over(x, h0, c0, w, y, own, gy, gh, gc, what=what, way=way, sizes=sizes)
