"""Recurrent networks: whole sequences and single cells of tanh/relu RNN, LSTM and GRU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from ...base.arrays import ArrayModule
from ...base.dtypes import dtype, float32, float64, promote_types
from ...base.shapes import whole
from ...core.gradients.tape import is_last_use
from ...core.op import Op
from ...core.public import NAMESPACES, public
from ...core.tensor import Tensor, tensor_over
from ...runtime import devices
from ...runtime.door import Kernel, run
from ...runtime.recurrent import BY_LAYERS, GATES, BatchSizes, Recurrence, Way
from ...runtime.thread import CASTING, here
from ..made_of.reference import by_reference, vjp
from ..memory.casting import cast_to
from .dropout import dropout as apply_dropout
from .linear import linear
from .recurrent_kernels import gru_sequence, lstm_projected, lstm_sequence, rnn_sequence

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
    return tuple([g[at : at + prod(shape)].reshape(shape).copy() for shape, at in zip(shapes, way.places)])


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
    xp: ArrayModule, x: Any, h0: Any, c0: Any, w: Any, *, what: Recurrence, way: Way, sizes: tuple, training: bool
) -> tuple:
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
    if is_last_use() and STACK_GRAD_OVER.name in devices.overrides(devices.backend_of_type(cls).type):
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
    """How the device runs a stack, in the wanted dtype or, for half precision, in float32; None for layer by layer."""
    for d in (wanted, float32) if wanted.itemsize == 2 else (wanted,):
        way = own(what, d.np.char, sizes, training)
        if way is not None:
            return None if way.algorithm == BY_LAYERS else (way, d)
    return None


def run_stack(
    what: Recurrence, way: Way, d: dtype, x: Tensor, states: Sequence[Tensor],
    params: Sequence[Tensor], sizes: tuple, training: bool,
) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
    """Run a stack by the device's library in dtype `d`: the outputs and the last states."""
    w = cast_to(rnn_weights(*params, way=way), d)
    h0, c0 = [cast_to(s, d) for s in states] + [None] * (2 - len(states))
    out, _, *finals = rnn_stack(cast_to(x, d), h0, c0, w, what=what, way=way, sizes=sizes, training=training)
    return out, finals


# A layer sees the frames of all time steps as one matrix [sum of batch sizes, features]: the input
# projection is one product, and only the recurrence itself runs step by step, inside one kernel.


class _Layer:
    """The weights of one layer in one direction."""

    def __init__(self, weights: Sequence[Tensor], biased: bool) -> None:
        self.w_ih, self.w_hh = weights[0], weights[1]
        self.b_ih = weights[2] if biased else None
        self.b_hh = weights[3] if biased else None
        rest = weights[4:] if biased else weights[2:]
        self.w_hr = rest[0] if rest else None

    def project(self, x: Tensor, both: bool = True) -> Tensor:
        bias = self.b_ih
        if both and bias is not None and self.b_hh is not None:
            bias = bias + self.b_hh
        return linear(x, self.w_ih, bias)


def _alike(sizes: tuple, x: Tensor, h: Tensor, w: Tensor, b: Tensor | None = None) -> Sequence[Any]:
    """Tensors of one dtype: what the state is multiplied with must have its own, and the sum has the wider."""
    if x._a.dtype == h._a.dtype == w._a.dtype or here.state & CASTING:
        return x, h, w, b
    wide = promote_types(x.dtype, h.dtype)
    linear(h, w, b)  # says which two do not fit
    if len(sizes) > 1 and wide != h.dtype:  # the state of the next step
        linear(h.to(wide), w, b)
    return [None if t is None else t.to(wide) for t in (x, h, w, b)]


def _rnn_layer(layer: _Layer, x: Tensor, state: tuple, sizes: tuple, reverse: bool, act: str) -> Any:
    given = _alike(sizes, layer.project(x), state[0], layer.w_hh)[:3]
    out, last, _ = rnn_sequence(*given, sizes=sizes, reverse=reverse, act=act)
    return out, (last,)


def _gru_layer(layer: _Layer, x: Tensor, state: tuple, sizes: tuple, reverse: bool, act: str) -> Any:
    given = _alike(sizes, layer.project(x, both=False), state[0], layer.w_hh, layer.b_hh)
    out, last, *_ = gru_sequence(*given, sizes=sizes, reverse=reverse)
    return out, (last,)


def _lstm_layer(layer: _Layer, x: Tensor, state: tuple, sizes: tuple, reverse: bool, act: str) -> Any:
    projected = layer.project(x)
    if layer.w_hr is not None:
        out, h, c = lstm_projected(projected, state[0], state[1], layer.w_hh, layer.w_hr, sizes, reverse)
    else:
        out, h, c, *_ = lstm_sequence(projected, *state, layer.w_hh, sizes=sizes, reverse=reverse)
    return out, (h, c)


_LAYERS: dict[str, Callable] = {"lstm": _lstm_layer, "gru": _gru_layer, "tanh": _rnn_layer, "relu": _rnn_layer}


def _stack(
    mode: str, x: Tensor, states: Sequence[Tensor], params: Sequence[Tensor], biased: bool,
    num_layers: int, drop: float, train: bool, bidirectional: bool, sizes: tuple,
) -> tuple[Tensor, Sequence[Tensor]]:  # fmt: skip
    """All layers and directions; `x` [frames, features], `states` each [layers * directions, B, H]."""
    directions = 2 if bidirectional else 1
    if not train or num_layers == 1:
        drop = 0.0
    found = _by_device(mode, x, states, params, biased, num_layers, drop, directions, sizes)
    if found is not None:
        return found
    return _by_layers(mode, x, states, params, biased, num_layers, drop, directions, sizes)


def _by_layers(
    mode: str, x: Tensor, states: Sequence[Tensor], params: Sequence[Tensor], biased: bool,
    num_layers: int, drop: float, directions: int, sizes: tuple,
) -> tuple[Tensor, list[Tensor]]:  # fmt: skip
    """One layer and direction after another."""
    run = _LAYERS[mode]
    per_cell = len(params) // (num_layers * directions)
    finals: list[tuple] = []
    for depth in range(num_layers):
        outs = []
        for d in range(directions):
            i = depth * directions + d
            layer = _Layer(params[i * per_cell : (i + 1) * per_cell], biased)
            start = tuple([s.select(0, i) for s in states])
            out, final = run(layer, x, start, sizes, d == 1, mode)
            outs.append(out)
            finals.append(final)
        x = outs[0] if len(outs) == 1 else NAMESPACES["torch"]["cat"](outs, -1)
        if drop and depth < num_layers - 1:
            x = apply_dropout(x, drop, True)
    stack = NAMESPACES["torch"]["stack"]
    return x, [stack([f[k] for f in finals], 0) for k in range(len(finals[0]))]


def _by_device(
    mode: str, x: Tensor, states: Sequence[Tensor], params: Sequence[Tensor], biased: bool,
    num_layers: int, drop: float, directions: int, sizes: tuple,
) -> tuple[Tensor, Sequence[Tensor]] | None:  # fmt: skip
    """The same by the device's library; None if it has none or refuses.

    With dropout between layers, each layer is a call of its own: the masks come from our generator.
    """
    own = own_layers(x)
    if own is None:
        return None
    whole = recurrence(mode, x, params, states, biased, num_layers, directions, sizes)
    if whole is None:
        return None
    training = here.grad and any(t.requires_grad for t in (x, *params, *states))
    wanted = dtype_of(x)
    each = 1 if drop else num_layers
    plans = []
    for first in range(0, num_layers, each):
        width = whole.width if not first else whole.out * directions
        what = whole._replace(layers=each, width=width)
        found = way_and_dtype(own, what, wanted, sizes, training)
        if found is None:
            return None
        plans.append((what, *found))
    weights, cells = len(params) // num_layers * each, each * directions
    finals = []
    for k, plan in enumerate(plans):
        if k:
            x = apply_dropout(x, drop, True)
        start = states
        if len(plans) > 1:
            start = [s.narrow(0, k * cells, cells) for s in states]
        part = params[k * weights : (k + 1) * weights]
        x, final = run_stack(*plan, x, start, part, sizes, training)
        x = cast_to(x, wanted)
        finals.append([cast_to(s, wanted) for s in final])
    if len(plans) == 1:
        return x, finals[0]
    cat = NAMESPACES["torch"]["cat"]
    return x, [cat([f[i] for f in finals], 0) for i in range(len(states))]


def _stack_grad_formula(
    x: Tensor, h0: Tensor, c0: Any, w: Tensor, y: Tensor, reserve: Tensor, gy: Any, gh: Any,
    gc: Any, what: Recurrence, way: Way, sizes: tuple,
) -> tuple:  # fmt: skip
    """What `rnn_stack_grad` computes, in tensor ops of its inputs and the incoming gradients."""

    def formula(x: Tensor, h0: Tensor, c0: Any, w: Tensor) -> tuple:
        weights = rnn_weights_grad(w, way=way, shapes=tuple(what.shapes()))
        states = (h0,) if c0 is None else (h0, c0)
        y, finals = _by_layers(what.mode, x, states, weights, what.biased, what.layers, 0.0, what.directions, sizes)
        return (y, *finals)

    given = (x, h0, c0, w)
    found = vjp(formula, given, [a is not None for a in given], (gy, gh, gc))
    return found if c0 is not None else (found[0], found[1], found[3])


by_reference(rnn_stack_grad, _stack_grad_formula)


def _sequence(mode: str, args: tuple, batch_first: bool, states: tuple) -> tuple[Tensor, Sequence[Tensor]]:
    """The form for padded input [T, B, F] (or [B, T, F])."""
    x, params, biased, num_layers, drop, train, bidirectional = args
    num_layers = whole(num_layers, "num_layers")
    if batch_first:
        x = x.transpose(0, 1)
    steps, batch, width = x._a.shape
    if not steps:
        raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
    flat = x.reshape(steps * batch, width)
    out, finals = _stack(mode, flat, states, params, biased, num_layers, drop, train, bidirectional, (batch,) * steps)
    out = out.reshape(steps, batch, out._a.shape[-1])
    return (out.transpose(0, 1) if batch_first else out), finals


def _packed(mode: str, data: Tensor, batch_sizes: Any, states: tuple, rest: tuple) -> tuple[Tensor, Sequence[Tensor]]:
    """The form for packed sequences: `batch_sizes` is the number of sequences at each step."""
    known = isinstance(batch_sizes, BatchSizes)
    sizes = tuple(batch_sizes if known else [int(n) for n in batch_sizes.tolist()])
    params, biased, num_layers, drop, train, bidirectional = rest
    num_layers = whole(num_layers, "num_layers")
    return _stack(mode, data, states, params, biased, num_layers, drop, train, bidirectional, sizes)


@public("torch")
def lstm(input: Tensor, *args: Any) -> tuple[Tensor, Tensor, Tensor]:
    """A stack of LSTM layers over a sequence: the outputs, and the last states h and c. `nn.LSTM` calls it.

    Args:
        args: hx (the first states h and c), params (the weights of all layers), has_biases,
            num_layers, dropout, train, bidirectional, batch_first. For packed sequences
            `batch_sizes` comes first, and batch_first is left out.

    Example:
        >>> x, h, c = torch.ones(5, 1, 3), torch.zeros(1, 1, 2), torch.zeros(1, 1, 2)
        >>> weights = [torch.zeros(8, 3), torch.zeros(8, 2)]
        >>> out, h, c = torch.lstm(x, (h, c), weights, False, 1, 0.0, False, False, False)
        >>> out.shape, h.shape
        (torch.Size([5, 1, 2]), torch.Size([1, 1, 2]))
    """
    if isinstance(args[0], (Tensor, BatchSizes)):
        out, (h, c) = _packed("lstm", input, args[0], tuple(args[1]), args[2:])
    else:
        hx, *rest, batch_first = args
        out, (h, c) = _sequence("lstm", (input, *rest), batch_first, tuple(hx))
    return out, h, c


def _single_state(mode: str, name: str) -> Callable:
    def function(input: Tensor, *args: Any) -> tuple[Tensor, Tensor]:
        if isinstance(args[1], Tensor):
            out, (h,) = _packed(mode, input, args[0], (args[1],), args[2:])
        else:
            hx, *rest, batch_first = args
            out, (h,) = _sequence(mode, (input, *rest), batch_first, (hx,))
        return out, h

    function.__name__ = function.__qualname__ = name
    rows = 6 if mode == "gru" else 2  # of the example's weights
    function.__doc__ = f"""Recurrent layers over a sequence: the outputs, and the last state.

    Args:
        args: hx (the first state), params (the weights of all layers), has_biases, num_layers,
            dropout, train, bidirectional, batch_first. For packed sequences `batch_sizes` comes
            first, and batch_first is left out.

    Example:
        >>> x, h = torch.ones(5, 1, 3), torch.zeros(1, 1, 2)
        >>> weights = [torch.zeros({rows}, 3), torch.zeros({rows}, 2)]
        >>> out, h = torch.{name}(x, h, weights, False, 1, 0.0, False, False, False)
        >>> out.shape, h.shape
        (torch.Size([5, 1, 2]), torch.Size([1, 1, 2]))
    """
    return public("torch")(function)


gru = _single_state("gru", "gru")
rnn_tanh = _single_state("tanh", "rnn_tanh")
rnn_relu = _single_state("relu", "rnn_relu")


# -- cells --------------------------------------------------------------------------------------


def _cell(gates: int, x: Tensor, states: Sequence[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any) -> _Layer:
    """The weights of one step; RuntimeError if weights, states and input do not fit."""
    (rows, features), hidden = w_ih._a.shape, w_hh._a.shape[-1]
    batch, given = x._a.shape[0], x._a.shape[-1]
    if given != features:
        raise RuntimeError(f"input has inconsistent input_size: got {given} expected {features}")
    if rows != gates * hidden:
        raise RuntimeError(f"weight_ih first dim must be {gates} * hidden_size = {gates * hidden}, but got {rows}")
    for i, state in enumerate(states):
        before, width = state._a.shape[0], state._a.shape[-1]
        if batch != before:
            raise RuntimeError(f"Input batch size {batch} doesn't match hidden{i} batch size {before}")
        if width != hidden:
            raise RuntimeError(f"hidden{i} has inconsistent hidden_size: got {width}, expected {hidden}")
    return _Layer((w_ih, w_hh) if b_ih is None else (w_ih, w_hh, b_ih, b_hh), b_ih is not None)


@public("torch")
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: the new states h and c.

    Args:
        input: (batch, features).
        hx: the states h and c before, (batch, hidden) each.
        w_ih: (4 * hidden, features), for the input.
        w_hh: (4 * hidden, hidden), for the state.
        b_ih: (4 * hidden), or None.
        b_hh: (4 * hidden), or None.

    Example:
        >>> h, c = torch.zeros(1, 2), torch.ones(1, 2)
        >>> torch.lstm_cell(torch.ones(1, 3), (h, c), torch.zeros(8, 3), torch.zeros(8, 2))[1]
        tensor([[0.5000, 0.5000]])
    """
    layer = _cell(4, input, hx, w_ih, w_hh, b_ih, b_hh)
    _, state = _lstm_layer(layer, input, tuple(hx), (input._a.shape[0],), False, "")
    return state


@public("torch")
def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    """One step of a GRU: the new state.

    Args:
        input: (batch, features).
        hx: the state before, (batch, hidden).
        w_ih: (3 * hidden, features), for the input.
        w_hh: (3 * hidden, hidden), for the state.
        b_ih: (3 * hidden), or None.
        b_hh: (3 * hidden), or None.

    Example:
        >>> torch.gru_cell(torch.ones(1, 3), torch.ones(1, 2), torch.zeros(6, 3), torch.zeros(6, 2))
        tensor([[0.5000, 0.5000]])
    """
    layer = _cell(3, input, (hx,), w_ih, w_hh, b_ih, b_hh)
    return _gru_layer(layer, input, (hx,), (input._a.shape[0],), False, "")[0]


def _rnn_cell(act: str) -> Callable:
    def function(
        input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
    ) -> Tensor:
        layer = _cell(1, input, (hx,), w_ih, w_hh, b_ih, b_hh)
        return _rnn_layer(layer, input, (hx,), (input._a.shape[0],), False, act)[0]

    function.__name__ = function.__qualname__ = f"rnn_{act}_cell"
    function.__doc__ = f"""One step of an RNN with {act}: the new state.

    Args:
        input: (batch, features).
        hx: the state before, (batch, hidden).
        w_ih: (hidden, features), for the input.
        w_hh: (hidden, hidden), for the state.
        b_ih: (hidden), or None.
        b_hh: (hidden), or None.

    Example:
        >>> x, h = torch.ones(1, 3), torch.zeros(1, 2)
        >>> torch.rnn_{act}_cell(x, h, torch.zeros(2, 3), torch.zeros(2, 2))
        tensor([[0., 0.]])
    """
    return public("torch")(function)


rnn_tanh_cell = _rnn_cell("tanh")
rnn_relu_cell = _rnn_cell("relu")
