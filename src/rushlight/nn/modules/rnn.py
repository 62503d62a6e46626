"""Recurrent layers."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...base.device import device
from ...base.dtypes import dtype
from ...base.errors import NotYet
from ...core.public import NAMESPACES
from ...core.tensor import Tensor
from ...operators.create.filled import empty, zeros
from ...runtime.recurrent import BatchSizes
from ...runtime.thread import here
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["GRU", "GRUCell", "LSTM", "LSTMCell", "RNN", "RNNBase", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """The base class of RNNCell, LSTMCell and GRUCell: the weights of one step.

    Args:
        input_size: width of the input.
        hidden_size: width of the state.
        bias: False leaves biases out.
        num_chunks: number of gates.

    Attributes:
        weight_ih: (num_chunks * hidden_size, input_size).
        weight_hh: (num_chunks * hidden_size, hidden_size).
        bias_ih, bias_hh: (num_chunks * hidden_size,), or None.

    Example:
        >>> nn.RNNCellBase(4, 8, True, num_chunks=3).weight_ih.shape
        torch.Size([24, 4])
    """

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        gates = num_chunks * hidden_size
        self.weight_ih = Parameter(empty((gates, input_size), **where))
        self.weight_hh = Parameter(empty((gates, hidden_size), **where))
        if bias:
            self.bias_ih = Parameter(empty(gates, **where))
            self.bias_hh = Parameter(empty(gates, **where))
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all weights anew from U(-k, k) with k = 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def _check(self, input: Tensor, *states: Tensor) -> None:
        name = type(self).__name__
        if input.dim() not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.dim()}D instead")
        for i, state in enumerate(states):
            if state.dim() not in (1, 2):
                label = "hidden" if len(states) == 1 else f"hx[{i}]"
                raise ValueError(f"{name}: Expected {label} to be 1D or 2D, got {state.dim()}D instead")

    def _step(self, function: str, input: Tensor, states: tuple, default: int) -> Any:
        """Call the function; an input without a batch dimension gets one, and the result loses it."""
        self._check(input, *states)
        unbatched = input.dim() == 1
        if unbatched:
            input = input.unsqueeze(0)
        if not states:
            shape = (input.size(0), self.hidden_size)
            zero = zeros(shape, dtype=input.dtype, device=input.device)
            states = (zero,) * default
        elif unbatched:
            states = tuple(s.unsqueeze(0) for s in states)
        hx = states if default > 1 else states[0]
        out = NAMESPACES["torch"][function](input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if not unbatched:
            return out
        return tuple(t.squeeze(0) for t in out) if default > 1 else out.squeeze(0)


class RNNCell(RNNCellBase):
    """One step of an RNN: tanh(W_ih x + b_ih + W_hh h + b_hh).

    Args:
        input_size: width of the input.
        hidden_size: width of the state.
        bias: False leaves biases out.
        nonlinearity: "tanh" or "relu".

    Shape:
        input (N, input_size), h (N, hidden_size) or None, or without N -> the new h.

    Example:
        >>> cell = nn.RNNCell(10, 20)
        >>> h = torch.zeros(3, 20)
        >>> for x in torch.zeros(6, 3, 10):
        ...     h = cell(x, h)
        >>> h.shape
        torch.Size([3, 20])
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        states = () if hx is None else (hx,)
        return self._step(f"rnn_{self.nonlinearity}_cell", input, states, 1)


class LSTMCell(RNNCellBase):
    """One step of an LSTM.

    Args:
        input_size: width of the input.
        hidden_size: width of state and cell.
        bias: False leaves biases out.

    Shape:
        input (N, input_size), (h, c) of (N, hidden_size) or None, or without N -> the new (h, c).

    Example:
        >>> h, c = nn.LSTMCell(10, 20)(torch.zeros(3, 10))
        >>> h.shape, c.shape
        (torch.Size([3, 20]), torch.Size([3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        return self._step("lstm_cell", input, () if hx is None else tuple(hx), 2)


class GRUCell(RNNCellBase):
    """One step of a GRU.

    Args:
        input_size: width of the input.
        hidden_size: width of the state.
        bias: False leaves biases out.

    Shape:
        input (N, input_size), h (N, hidden_size) or None, or without N -> the new h.

    Example:
        >>> nn.GRUCell(10, 20)(torch.zeros(3, 10)).shape
        torch.Size([3, 20])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step("gru_cell", input, () if hx is None else (hx,), 1)


_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    """Return the entries along `dim` in another order; deprecated in favour of `index_select`."""
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """As `RNN`, LSTM and GRU: the base class of them, a stack of recurrent layers and its weights.

    Args:
        mode: "RNN_TANH", "RNN_RELU", "LSTM" or "GRU".
        proj_size: map the hidden state to this width; LSTM only.
    """

    __constants__ = [
        "mode", "input_size", "hidden_size", "num_layers", "bias", "batch_first", "dropout",
        "bidirectional", "proj_size",
    ]  # fmt: skip

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        _check(self, dropout)
        self._flat_weights_names: list[str] = []
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: 2 if bidirectional else 1]:
                self._make_layer(layer, suffix, {"device": device, "dtype": dtype})
        self.reset_parameters()

    def _make_layer(self, layer: int, suffix: str, where: dict) -> None:
        """Weights of one layer in one direction, registered in PyTorch's order."""
        directions = 2 if self.bidirectional else 1
        out = self.proj_size if self.proj_size > 0 else self.hidden_size
        width = self.input_size if layer == 0 else out * directions
        gates = _GATES[self.mode] * self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {
            f"weight_ih_l{layer}{suffix}": (gates, width),
            f"weight_hh_l{layer}{suffix}": (gates, out),
        }
        if self.bias:
            shapes[f"bias_ih_l{layer}{suffix}"] = (gates,)
            shapes[f"bias_hh_l{layer}{suffix}"] = (gates,)
        if self.proj_size > 0:
            shapes[f"weight_hr_l{layer}{suffix}"] = (self.proj_size, self.hidden_size)
        for name, shape in shapes.items():
            setattr(self, name, Parameter(empty(shape, **where)))
        self._flat_weights_names += shapes
        self._all_weights.append(list(shapes))

    @property
    def _flat_weights(self) -> list[Tensor]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Tensor]) -> None:
        if not all(a is b for a, b in zip(self._flat_weights, weights, strict=True)):
            raise NotYet("a recurrent layer's `_flat_weights` that are not its parameters")

    def __getstate__(self) -> dict:
        # PyTorch's pickles have `_flat_weights`.
        return {**super().__getstate__(), "_flat_weights": self._flat_weights}

    def __setstate__(self, state: dict) -> None:
        super().__setstate__({k: v for k, v in state.items() if k != "_flat_weights"})

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters, a list per layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: PyTorch puts weights into one block of memory for cuDNN here."""

    def reset_parameters(self) -> None:
        """Draw all weights anew from U(-k, k) with k = 1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    # -- checks ---------------------------------------------------------------------------------

    def check_input(self, input: Tensor, batch_sizes: Tensor | BatchSizes | None) -> None:
        """Raise an error if the input's dtype, or its number or size of dimensions, is wrong."""
        first = self._flat_weights[0]
        if not here.casting and input.dtype != first.dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({first.dtype}). "
                f"Convert input: input.to({first.dtype}), or convert model: model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | BatchSizes | None) -> tuple[int, int, int]:
        """Return the shape of the initial hidden state: (layers * directions, N, width)."""
        batch = self._batch_of(input, batch_sizes)
        out = self.proj_size if self.proj_size > 0 else self.hidden_size
        return self.num_layers * (2 if self.bidirectional else 1), batch, out

    def _batch_of(self, input: Tensor, batch_sizes: Tensor | BatchSizes | None) -> int:
        if batch_sizes is not None:
            return int(batch_sizes[0])
        return input.size(0) if self.batch_first else input.size(1)

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise RuntimeError if a state does not have the expected shape."""
        if tuple(hx.size()) != tuple(expected_hidden_size):
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | BatchSizes | None) -> None:
        """Raise an error if the input or the hidden state does not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return the state with its batch in another order."""
        return hx if permutation is None else apply_permutation(hx, permutation)

    # -- forward --------------------------------------------------------------------------------

    def _zeros(self, input: Tensor, batch: int, width: int) -> Tensor:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        return zeros((layers, batch, width), dtype=input.dtype, device=input.device)

    def _initial(self, input: Tensor, batch: int) -> Any:
        return self._zeros(input, batch, self.hidden_size)

    def _batched(self, hx: Any, name: str) -> Any:
        """Add a batch dimension to a state; RuntimeError if it has one already."""
        if hx is None:
            return None
        if hx.dim() != 2:
            raise RuntimeError(f"For unbatched 2-D input, hx should also be 2-D but got {hx.dim()}-D tensor")
        return hx.unsqueeze(1)

    def _check_batched(self, hx: Any) -> None:
        if hx is not None and hx.dim() != 3:
            raise RuntimeError(f"For batched 3-D input, hx should also be 3-D but got {hx.dim()}-D tensor")

    def _run(self, input: Tensor, batch_sizes: BatchSizes | None, hx: Any) -> tuple[Tensor, Any]:
        function = NAMESPACES["torch"][self.mode.lower()]
        where = (input, hx) if batch_sizes is None else (input, batch_sizes, hx)
        settings: tuple = (
            self._flat_weights, self.bias, self.num_layers, self.dropout, self.training,
            self.bidirectional,
        )  # fmt: skip
        if batch_sizes is None:
            settings += (self.batch_first,)
        out, *state = function(*where, *settings)
        return out, tuple(state) if len(state) > 1 else state[0]

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """Run the layers over a sequence.

        Args:
            input: (T, N, input_size), (N, T, input_size) if `batch_first`, (T, input_size), or a
                `PackedSequence`.
            hx: the state to begin with, (layers * directions, N, hidden_size); zeros if None. An LSTM
                takes a pair (h, c).

        Returns:
            the outputs of the last layer at every step, and the states after the last step.
        """
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead")
        unbatched = input.dim() == 2
        if unbatched:
            batch_dim = 0 if self.batch_first else 1
            input = input.unsqueeze(batch_dim)
            hx = self._batched(hx, "hx")
        else:
            self._check_batched(hx)
        if hx is None:
            hx = self._initial(input, self._batch_of(input, None))
        self.check_forward_args(input, hx, None)
        out, state = self._run(input, None, hx)
        if unbatched:
            return out.squeeze(batch_dim), _each(state, lambda t: t.squeeze(1))
        return out, state

    def _forward_packed(self, packed: PackedSequence, hx: Any) -> tuple[PackedSequence, Any]:
        data, batch_sizes, order, back = packed
        counts = BatchSizes(packed.counts())
        if hx is None:
            hx = self._initial(data, counts[0])
        else:  # the given states have the order of the sequences before sorting
            hx = self.permute_hidden(hx, order)
        self.check_forward_args(data, hx, counts)
        out, state = self._run(data, counts, hx)
        result = PackedSequence(out, batch_sizes, order, back).knowing(packed._known)
        return result, self.permute_hidden(state, back)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text


def _each(state: Any, fn: Callable[[Tensor], Tensor]) -> Any:
    return tuple(fn(t) for t in state) if isinstance(state, tuple) else fn(state)


def _check(rnn: RNNBase, dropout: float) -> None:
    if (
        not isinstance(dropout, numbers.Number)
        or not 0 <= dropout <= 1  # type: ignore[operator]
        or isinstance(dropout, bool)
    ):
        raise ValueError(
            "dropout should be a number in range [0, 1] representing the probability of an element being zeroed"
        )
    if dropout > 0 and rnn.num_layers == 1:  # type: ignore[operator]
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout "
            f"expects num_layers greater than 1, but got dropout={dropout} and num_layers=1",
            stacklevel=4,
        )
    for name in ("bias", "batch_first"):
        flag = getattr(rnn, name)
        if not isinstance(flag, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(flag).__name__}")
    for name in ("input_size", "hidden_size"):
        size = getattr(rnn, name)
        if not isinstance(size, int):
            raise TypeError(f"{name} should be of type int, got: {type(size).__name__}")
        if size <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if rnn.num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if rnn.proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if rnn.proj_size >= rnn.hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")
    if rnn.mode not in _GATES:
        raise ValueError("Unrecognized RNN mode: " + rnn.mode)


class RNN(RNNBase):
    """A recurrent network: h[t] = tanh(W_ih x[t] + b_ih + W_hh h[t - 1] + b_hh).

    Args:
        input_size: width of the input.
        hidden_size: width of the state.
        num_layers: how many layers are stacked.
        nonlinearity: "tanh" or "relu".
        bias: False leaves biases out.
        batch_first: the input is (N, T, input_size) instead of (T, N, input_size).
        dropout: probability of dropout between layers, in training.
        bidirectional: run a second stack from the end to the beginning.

    Shape:
        input (T, N, input_size), h_0 (layers * directions, N, hidden_size), or without N ->
        output (T, N, directions * hidden_size), h_n of h_0's shape.

    Attributes:
        weight_ih_l[k]: (hidden_size, input_size), or (hidden_size, directions * hidden_size) for
            k > 0.
        weight_hh_l[k]: (hidden_size, hidden_size).
        bias_ih_l[k], bias_hh_l[k]: (hidden_size,).

    Example:
        >>> rnn = nn.RNN(10, 20, num_layers=2)
        >>> output, h = rnn(torch.zeros(5, 3, 10))
        >>> output.shape, h.shape
        (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]))
    """

    if TYPE_CHECKING:

        def __init__(
            self,
            input_size: int,
            hidden_size: int,
            num_layers: int = ...,
            nonlinearity: str = ...,
            bias: bool = ...,
            batch_first: bool = ...,
            dropout: float = ...,
            bidirectional: bool = ...,
            device: device | str | int | None = ...,
            dtype: dtype | None = ...,
        ) -> None: ...

    else:

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            if "proj_size" in kwargs:
                raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
            if len(args) > 3:
                self.nonlinearity = args[3]
                args = args[:3] + args[4:]
            else:
                self.nonlinearity = kwargs.pop("nonlinearity", "tanh")
            modes = {"tanh": "RNN_TANH", "relu": "RNN_RELU"}
            if self.nonlinearity not in modes:
                raise ValueError(f"Unknown nonlinearity '{self.nonlinearity}'. Select from 'tanh' or 'relu'.")
            super().__init__(modes[self.nonlinearity], *args, **kwargs)


class GRU(RNNBase):
    """As `RNN`, with gates that decide what is kept; weights have those of r, z and n one below the other."""

    if TYPE_CHECKING:

        def __init__(
            self,
            input_size: int,
            hidden_size: int,
            num_layers: int = ...,
            bias: bool = ...,
            batch_first: bool = ...,
            dropout: float = ...,
            bidirectional: bool = ...,
            device: device | str | int | None = ...,
            dtype: dtype | None = ...,
        ) -> None: ...

    else:

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            if "proj_size" in kwargs:
                raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
            super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory: a state and a cell whose gates decide what is kept and what is new.

    Args:
        input_size: width of the input.
        hidden_size: width of the cell, and of the state.
        num_layers: how many layers are stacked.
        bias: False leaves biases out.
        batch_first: the input is (N, T, input_size) instead of (T, N, input_size).
        dropout: probability of dropout between layers, in training.
        bidirectional: run a second stack from the end to the beginning.
        proj_size: map the state to this width, less than `hidden_size`; 0 leaves it as it is.

    Shape:
        input (T, N, input_size), (h_0, c_0) of (layers * directions, N, hidden_size), or without
        N -> output (T, N, directions * hidden_size), (h_n, c_n). With `proj_size`, output and h
        have that width.

    Attributes:
        weight_ih_l[k]: (4 hidden_size, input_size), the gates i, f, g and o one below the other.
        weight_hh_l[k]: (4 hidden_size, hidden_size).
        bias_ih_l[k], bias_hh_l[k]: (4 hidden_size,).
        weight_hr_l[k]: (proj_size, hidden_size), if `proj_size` is given.

    Example:
        >>> lstm = nn.LSTM(10, 20, num_layers=2)
        >>> output, (h, c) = lstm(torch.zeros(5, 3, 10))
        >>> output.shape, h.shape, c.shape
        (torch.Size([5, 3, 20]), torch.Size([2, 3, 20]), torch.Size([2, 3, 20]))
    """

    if TYPE_CHECKING:

        def __init__(
            self,
            input_size: int,
            hidden_size: int,
            num_layers: int = ...,
            bias: bool = ...,
            batch_first: bool = ...,
            dropout: float = ...,
            bidirectional: bool = ...,
            proj_size: int = ...,
            device: device | str | int | None = ...,
            dtype: dtype | None = ...,
        ) -> None: ...

        def forward(self, input: Any, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Any, tuple[Tensor, Tensor]]: ...

    else:

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | BatchSizes | None) -> tuple[int, int, int]:
        """Return the shape of the initial cell: (layers * directions, N, hidden_size)."""
        layers, batch, _ = self.get_expected_hidden_size(input, batch_sizes)
        return layers, batch, self.hidden_size

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | BatchSizes | None) -> None:
        """Raise an error if the input, the hidden state or the cell does not fit."""
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0], self.get_expected_hidden_size(input, batch_sizes), "Expected hidden[0] size {}, got {}"
        )
        self.check_hidden_size(
            hidden[1], self.get_expected_cell_size(input, batch_sizes), "Expected hidden[1] size {}, got {}"
        )

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """Return state and cell with their batch in another order."""
        if permutation is None:
            return hx
        return apply_permutation(hx[0], permutation), apply_permutation(hx[1], permutation)

    def _initial(self, input: Tensor, batch: int) -> Any:
        out = self.proj_size if self.proj_size > 0 else self.hidden_size
        return self._zeros(input, batch, out), self._zeros(input, batch, self.hidden_size)

    def _batched(self, hx: Any, name: str) -> Any:
        if hx is None:
            return None
        if hx[0].dim() != 2 or hx[1].dim() != 2:
            raise RuntimeError(
                "For unbatched 2-D input, hx and cx should also be 2-D but got "
                f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )
        return hx[0].unsqueeze(1), hx[1].unsqueeze(1)

    def _check_batched(self, hx: Any) -> None:
        if hx is not None and (hx[0].dim() != 3 or hx[1].dim() != 3):
            raise RuntimeError(
                "For batched 3-D input, hx and cx should also be 3-D but got "
                f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
            )
