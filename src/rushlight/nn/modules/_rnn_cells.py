"""One step of recurrent layers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...core.public import NAMESPACES
from ...core.tensor import Tensor
from ...operators.create.filled import empty, zeros
from .. import init
from ..parameter import Parameter
from .module import Module

if TYPE_CHECKING:
    from ...base.device import device
    from ...base.dtypes import dtype


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
                raise ValueError(
                    f"{name}: Expected {label} to be 1D or 2D, got {state.dim()}D instead"
                )

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
        out = NAMESPACES["torch"][function](
            input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        )
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

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
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
