"""Linear layers: affine maps and their lazy and bilinear forms."""

from __future__ import annotations

import math
from typing import Any

from ...base.device import device
from ...base.dtypes import dtype
from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...operators.create.filled import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear"]


class Identity(Module):
    """Return the input; a place holder where a layer is optional.

    Args:
        args, kwargs: anything; not used.

    Shape:
        any -> the same.

    Example:
        >>> nn.Identity(54, note="not used")(torch.tensor([1, 2]))
        tensor([1, 2])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """Apply an affine map to the last dimension: `y = x @ weight.T + bias`.

    Args:
        in_features: size of the input's last dimension.
        out_features: size of the output's last dimension.
        bias: False leaves `bias` out.

    Shape:
        (*, in_features) -> (*, out_features), where * is any number of dimensions, or none.

    Attributes:
        weight: (out_features, in_features), drawn from U(-k, k) with k = 1 / sqrt(in_features).
        bias: (out_features,), drawn the same way, or None.

    Example:
        >>> layer = nn.Linear(20, 30)
        >>> layer(torch.zeros(128, 20)).shape
        torch.Size([128, 30])
        >>> layer.weight.shape, layer.bias.shape
        (torch.Size([30, 20]), torch.Size([30]))
    """

    __constants__ = ["in_features", "out_features"]

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(empty((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew from U(-k, k) with k = 1 / sqrt(in_features)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            bound = 1 / math.sqrt(fan_in) if fan_in > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear under the name that PyTorch's MultiheadAttention gives to its output layer.

    Example:
        >>> nn.MultiheadAttention(4, 2).out_proj
        NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True)
    """


class Bilinear(Module):
    """Combine two inputs: `y[o] = x1 @ weight[o] @ x2 + bias[o]`.

    Args:
        in1_features: size of the first input's last dimension.
        in2_features: size of the second input's last dimension.
        out_features: size of the output's last dimension.
        bias: False leaves `bias` out.

    Shape:
        (*, in1_features), (*, in2_features) -> (*, out_features).

    Attributes:
        weight: (out_features, in1_features, in2_features).
        bias: (out_features,), or None.

    Raises:
        ValueError: if `in1_features` is not positive.

    Example:
        >>> nn.Bilinear(5, 6, 4)(torch.zeros(8, 5), torch.zeros(8, 6)).shape
        torch.Size([8, 4])
    """

    __constants__ = ["in1_features", "in2_features", "out_features"]

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew from U(-k, k) with k = 1 / sqrt(in1_features)."""
        if self.in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={self.in1_features})")
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, "
            f"out_features={self.out_features}, bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """A Linear that takes `in_features` from its first input, and is a plain Linear afterwards.

    Args:
        out_features: size of the output's last dimension.
        bias: False leaves `bias` out.

    Shape:
        (*, in_features) -> (*, out_features).

    Example:
        >>> layer = nn.LazyLinear(3)
        >>> layer(torch.zeros(2, 5)).shape
        torch.Size([2, 3])
        >>> layer
        Linear(in_features=5, out_features=3, bias=True)
    """

    cls_to_become = Linear
    weight: UninitializedParameter
    bias: UninitializedParameter

    def __init__(
        self, out_features: int, bias: bool = True, device: device | str | int | None = None, dtype: dtype | None = None
    ) -> None:
        super().__init__(0, 0, False, device, dtype)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            self.in_features = self.weight.shape[-1]
