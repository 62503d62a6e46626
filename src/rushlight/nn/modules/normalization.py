"""Normalisations without running statistics: layer, group, RMS and across channels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base.device import device
from ...base.dtypes import dtype
from ...core.tensor import Tensor
from ...operators.create.filled import empty
from .. import functional as F
from .. import init
from ..parameter import Parameter
from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


class LocalResponseNorm(Module):
    """Divide every element by a power of the mean square of neighbouring channels.

    Computes `x / (k + alpha * mean(square of size channels)) ** beta`.

    Args:
        size: number of neighbouring channels.
        alpha: factor of the mean square.
        beta: the power.
        k: added to the mean square.

    Shape:
        (N, C, *) -> the same.

    Example:
        >>> nn.LocalResponseNorm(2, alpha=1.0)(torch.ones(1, 3, 1, 1)).flatten()
        tensor([0.7378, 0.5946, 0.5946])
    """

    __constants__ = ["size", "alpha", "beta", "k"]

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """As `LocalResponseNorm`, in an older form for images.

    PyTorch's running sum over channels never removes channel 0 again, so all later channels still
    contain it. Trained models depend on that, so it is the same here.
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        reach = (self.size - 1) // 2
        n = input.size(1)
        sees = input.new_tensor([[abs(c - j) <= reach or (j == 0 and c > reach) for j in range(n)] for c in range(n)])
        energy = (input * input).transpose(1, 3).matmul(sees.t()).transpose(1, 3)
        return input * (energy * (self.alpha / self.size) + self.k).pow(-self.beta)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


def _as_shape(normalized_shape: int | Sequence[int]) -> tuple[int, ...]:
    if hasattr(normalized_shape, "__index__"):
        return (normalized_shape.__index__(),)
    return tuple(normalized_shape)


class LayerNorm(Module):
    """Normalise over the last dimensions to mean 0 and variance 1, then scale and shift.

    Args:
        normalized_shape: sizes of the last dimensions, or one number for the last one.
        eps: added to the variance before the root is taken.
        elementwise_affine: False leaves out `weight` and `bias`.
        bias: False leaves out `bias` alone.

    Shape:
        (*, *normalized_shape) -> the same.

    Attributes:
        weight: `normalized_shape`, ones to begin with.
        bias: `normalized_shape`, zeros to begin with.

    Example:
        >>> nn.LayerNorm(4)(torch.tensor([[1.0, 1.0, 3.0, 3.0]])).detach()
        tensor([[-1.0000, -1.0000,  1.0000,  1.0000]])
        >>> nn.LayerNorm((3, 8))(torch.rand(2, 5, 3, 8)).shape
        torch.Size([2, 5, 3, 8])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    weight: Parameter
    bias: Parameter

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        shape = self.normalized_shape
        self.register_parameter("weight", Parameter(empty(shape, **where)) if elementwise_affine else None)
        self.register_parameter("bias", Parameter(empty(shape, **where)) if elementwise_affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the scale to 1 and the shift to 0."""
        if self.elementwise_affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, "
            f"elementwise_affine={self.elementwise_affine}, bias={self.bias is not None}"
        )


class GroupNorm(Module):
    """Normalise groups of channels of every sample to mean 0 and variance 1, then scale and shift.

    Args:
        num_groups: number of groups; 1 is a layer norm over channels and places, `num_channels` an
            instance norm.
        num_channels: number of channels C, a multiple of `num_groups`.
        eps: added to the variance before the root is taken.
        affine: False leaves out `weight` and `bias`.
        bias: False leaves out `bias` alone.

    Shape:
        (N, C, *) -> the same.

    Attributes:
        weight: (C,), ones to begin with.
        bias: (C,), zeros to begin with.

    Raises:
        ValueError: if `num_channels` is not a multiple of `num_groups`.

    Example:
        >>> nn.GroupNorm(2, 4, eps=0.0)(torch.tensor([[1.0, 3.0, 10.0, 30.0]])).detach()
        tensor([[-1.,  1., -1.,  1.]])
        >>> nn.GroupNorm(3, 6)(torch.rand(2, 6, 8, 8)).shape
        torch.Size([2, 6, 8, 8])
    """

    __constants__ = ["num_groups", "num_channels", "eps", "affine"]

    weight: Parameter
    bias: Parameter

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        where: dict[str, Any] = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(empty(num_channels, **where)) if affine else None)
        self.register_parameter("bias", Parameter(empty(num_channels, **where)) if affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the scale to 1 and the shift to 0."""
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Divide by the root mean square over the last dimensions, then scale.

    Args:
        normalized_shape: sizes of the last dimensions, or one number for the last one.
        eps: added to the mean square; the dtype's smallest step if None.
        elementwise_affine: False leaves out `weight`.

    Shape:
        (*, *normalized_shape) -> the same.

    Attributes:
        weight: `normalized_shape`, ones to begin with.

    Example:
        >>> nn.RMSNorm(2)(torch.tensor([[1.0, 7.0]])).detach()
        tensor([[0.2000, 1.4000]])
    """

    __constants__ = ["normalized_shape", "eps", "elementwise_affine"]

    weight: Parameter

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _as_shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        weight = None
        if elementwise_affine:
            weight = Parameter(empty(self.normalized_shape, device=device, dtype=dtype))
        self.register_parameter("weight", weight)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the scale to 1."""
        if self.elementwise_affine:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"
