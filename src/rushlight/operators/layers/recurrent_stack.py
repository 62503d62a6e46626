"""Stacks of recurrent layers as one op, for devices that have a library for them, with all weights in one array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

from ...base.dtypes import dtype, float32, float64
from ...core.gradients.tape import is_last_use
from ...core.op import Op
from ...core.tensor import Tensor, tensor_over
from ...runtime import devices
from ...runtime.door import Kernel, run
from ...runtime.recurrent import GATES, Recurrence, Way
from ...runtime.thread import here
from ..memory.casting import cast_to

if TYPE_CHECKING:
    from ...base.array_module import ArrayModule

# Contract of the kernels, which devices register by name; frames lie step after step in one matrix and `sizes`
# says how many sequences are alive at each (never growing):
#   rnn_stack(x [frames, width], h0 [cells, B, out], c0 [cells, B, hidden] or None, w [way.size], *, what, way,
#             sizes, training) -> y [frames, directions * out], reserve, h, and c for an LSTM
#   rnn_stack_grad(x, h0, c0, w, y, reserve, gy, gh, gc, *, what, way, sizes) -> gx, gh0, gc0 if there is c0, gw
#   rnn_stack_grad_over: the same, which may write over `reserve`; a device need not have it
# The body of rnn_stack has an attribute `way`: way(what, dtype.char, sizes, training) -> Way, or None to refuse.


# -- the weights ----------------------------------------------------------------------------------


def _weights_body(xp: ArrayModule, *weights: Any, way: Way) -> Any:
    out = xp.zeros(way.size, weights[0].dtype)
    for a, at in zip(weights, way.places):
        out[at : at + a.size] = a.reshape(-1)
    return out


def _weights_grad_body(xp: ArrayModule, g: Any, *, way: Way, shapes: tuple) -> tuple:
    return tuple([
        g[at : at + prod(shape)].reshape(shape).copy() for shape, at in zip(shapes, way.places)
    ])  # fmt: skip


rnn_weights = Op(_weights_body, "rnn_weights")
rnn_weights_grad = Op(_weights_grad_body, "rnn_weights_grad")


@rnn_weights.backward
def _weights_backward(g: Tensor, weights_shape: Sequence[tuple], way: Way) -> tuple:
    return rnn_weights_grad(g, way=way, shapes=tuple(weights_shape))


@rnn_weights_grad.backward
def _weights_grad_backward(gs: list, g: Tensor, way: Way, shapes: tuple) -> tuple:
    parts = [g.new_zeros(shape) if part is None else part for part, shape in zip(gs, shapes)]
    return (rnn_weights(*parts, way=way),)


# -- the layers -----------------------------------------------------------------------------------


def _stack_body(
    xp: ArrayModule, x: Any, h0: Any, c0: Any, w: Any, *, what: Recurrence, way: Way, sizes: tuple,
    training: bool,
) -> tuple:  # fmt: skip
    raise RuntimeError(f"this device has no recurrent layers of its own for {what}")


def _stack_grad_body(
    xp: ArrayModule, x: Any, h0: Any, c0: Any, w: Any, y: Any, reserve: Any, gy: Any, gh: Any, gc: Any, *,
    what: Recurrence, way: Way, sizes: tuple,
) -> tuple:  # fmt: skip
    raise RuntimeError(f"this device has no recurrent layers of its own for {what}")


rnn_stack = Op(_stack_body, "rnn_stack", grad_name="CudnnRnnBackward0")
rnn_stack_grad = Op(_stack_grad_body, "rnn_stack_grad")
STACK_GRAD_OVER = Kernel("rnn_stack_grad_over", _stack_grad_body, mutates=(5,))


@rnn_stack.backward
def _stack_backward(
    gs: list, x: Tensor, h0: Tensor, c0: Any, w: Tensor, out: Tensor, out1: Tensor,
    what: Recurrence, way: Way, sizes: tuple,
) -> tuple:  # fmt: skip
    given = (x, h0, c0, w, out.detach(), out1, gs[0], gs[2], gs[3] if c0 is not None else None)
    attrs = {"what": what, "way": way, "sizes": sizes}
    cls = out._a.__class__
    if is_last_use() and STACK_GRAD_OVER.name in devices.overrides(
        devices.backend_of_type(cls).type
    ):
        arrays = [None if t is None else t._a for t in given]
        found = tuple([tensor_over(a, cls) for a in run(STACK_GRAD_OVER, cls, arrays, attrs)])
    else:
        found = rnn_stack_grad(*given, **attrs)
    return found if c0 is not None else (found[0], found[1], None, found[2])


# -- whether a device takes them ------------------------------------------------------------------


def recurrence(
    mode: str, x: Tensor, params: Sequence[Tensor], states: Sequence[Tensor], biased: bool,
    layers: int, directions: int, sizes: tuple,
) -> Recurrence | None:  # fmt: skip
    """Describe the stack that these weights form; None if a shape, dtype or device does not fit."""
    each = 2 + 2 * biased
    cells = layers * directions
    projected = len(params) > cells * each
    if len(params) != cells * (each + projected) or (projected and mode != "lstm"):
        return None
    if x._a.ndim != 2 or params[0]._a.ndim != 2 or not sizes[-1]:
        return None
    hidden = params[0]._a.shape[0] // GATES[mode]
    out = params[each]._a.shape[0] if projected else 0
    what = Recurrence(mode, x._a.shape[1], hidden, out, layers, directions, biased)
    batch = sizes[0]
    wanted = [*what.shapes(), (cells, batch, what.out), (cells, batch, hidden)]
    found = [t._a.shape for t in (*params, *states)]
    if found != wanted[: len(found)] or len(states) != (2 if mode == "lstm" else 1):
        return None
    if not x._a.size or x._a.shape[0] != sum(sizes) or not hidden:
        return None
    kinds = {(t._a.__class__, t._a.dtype) for t in params}
    if len(kinds) > 1 or any(t._a.__class__ is not x._a.__class__ for t in (*params, *states)):
        return None
    if not here.casting and any(t.dtype is not x.dtype for t in (*params, *states)):
        return None
    return what


def own_layers(t: Tensor) -> Callable[..., Way | None] | None:
    """The function that says how a tensor's device runs a stack; None if it has no library."""
    kind = devices.backend_of_type(t._a.__class__).type
    return getattr(devices.overrides(kind).get("rnn_stack"), "way", None)


def dtype_of(x: Tensor) -> dtype:
    """The dtype in which products of `x` are computed: its own, or autocast's."""
    if here.casting and x.dtype is not float64:
        place = devices.device_of(x._a).type
        if here.casts.enabled.get(place):
            return here.casts.dtype[place]
    return x.dtype


def way_and_dtype(
    own: Callable, what: Recurrence, wanted: dtype, sizes: tuple, training: bool
) -> tuple[Way, dtype] | None:
    """How the device runs a stack, in the wanted dtype or, for half precision, in float32."""
    for d in (wanted, float32) if wanted.itemsize == 2 else (wanted,):
        way = own(what, d.np.char, sizes, training)
        if way is not None:
            return way, d
    return None


def run_stack(
    what: Recurrence, way: Way, d: dtype, x: Tensor, states: Sequence[Tensor],
    params: Sequence[Tensor], sizes: tuple, training: bool,
) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
    """Run a stack by the device's library in dtype `d`: the outputs and the last states."""
    w = cast_to(rnn_weights(*params, way=way), d)
    h0, c0 = [cast_to(s, d) for s in states] + [None] * (2 - len(states))
    out, _, *finals = rnn_stack(
        cast_to(x, d), h0, c0, w, what=what, way=way, sizes=sizes, training=training
    )
    return out, finals
