"""Small building blocks of models: convolution with norm and activation, squeeze and excitation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import nn
from ...core.tensor import Tensor

__all__ = [
    "MLP", "Conv2dNormActivation", "Conv3dNormActivation", "ConvNormActivation",
    "FrozenBatchNorm2d", "Permute", "SqueezeExcitation",
]  # fmt: skip


class FrozenBatchNorm2d(nn.Module):
    """Batch normalisation whose statistics and weights never change.

    Args:
        num_features: channels.
        eps: added to the variance.

    Example:
        >>> ops.FrozenBatchNorm2d(3)(torch.zeros(1, 3, 2, 2)).shape
        torch.Size([1, 3, 2, 2])
    """

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        from ...operators.create.filled import ones, zeros

        self.eps = eps
        self.register_buffer("weight", ones(num_features))
        self.register_buffer("bias", zeros(num_features))
        self.register_buffer("running_mean", zeros(num_features))
        self.register_buffer("running_var", ones(num_features))

    def forward(self, x: Tensor) -> Tensor:
        shape = (1, -1, 1, 1)
        scale = self.weight.reshape(shape) * (self.running_var.reshape(shape) + self.eps).rsqrt()
        return x * scale + (self.bias.reshape(shape) - self.running_mean.reshape(shape) * scale)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.weight.shape[0]}, eps={self.eps})"


class ConvNormActivation(nn.Sequential):
    """As `Conv2dNormActivation`, by a convolution of any class, `conv_layer`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, ...] = 3,
        stride: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] | str | None = None,
        groups: int = 1,
        norm_layer: Callable[..., nn.Module] | None = nn.BatchNorm2d,
        activation_layer: Callable[..., nn.Module] | None = nn.ReLU,
        dilation: int | tuple[int, ...] = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
        conv_layer: Callable[..., nn.Module] = nn.Conv2d,
    ) -> None:
        options: dict[str, Any] = {"dilation": dilation, "groups": groups}
        options["padding"] = _keeping(kernel_size, dilation) if padding is None else padding
        options["bias"] = norm_layer is None if bias is None else bias
        layers = [conv_layer(in_channels, out_channels, kernel_size, stride, **options)]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*layers)
        self.out_channels = out_channels


def _keeping(kernel_size: Any, dilation: Any) -> Any:
    """The padding that keeps the size of the picture."""
    if isinstance(kernel_size, int) and isinstance(dilation, int):
        return (kernel_size - 1) // 2 * dilation
    n = len(kernel_size) if isinstance(kernel_size, Sequence) else len(dilation)
    sizes = kernel_size if isinstance(kernel_size, Sequence) else [kernel_size] * n
    steps = dilation if isinstance(dilation, Sequence) else [dilation] * n
    return tuple((k - 1) // 2 * d for k, d in zip(sizes, steps))


class Conv2dNormActivation(ConvNormActivation):
    """A convolution, a normalisation and an activation for pictures.

    Args:
        in_channels, out_channels, kernel_size, stride, groups, dilation, bias: of the convolution.
        padding: keeps the size if not given.
        norm_layer, activation_layer: classes, or None to leave one out.
        inplace: for the activation.
        conv_layer: the class of the convolution.

    Example:
        >>> ops.Conv2dNormActivation(3, 8)(torch.zeros(1, 3, 4, 4)).shape
        torch.Size([1, 8, 4, 4])
    """


class Conv3dNormActivation(ConvNormActivation):
    """As `Conv2dNormActivation`, for videos."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, int, int] = 3,
        stride: int | tuple[int, int, int] = 1,
        padding: int | tuple[int, int, int] | str | None = None,
        groups: int = 1,
        norm_layer: Callable[..., nn.Module] | None = nn.BatchNorm3d,
        activation_layer: Callable[..., nn.Module] | None = nn.ReLU,
        dilation: int | tuple[int, int, int] = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, groups, norm_layer,
            activation_layer, dilation, inplace, bias, nn.Conv3d,
        )  # fmt: skip


class SqueezeExcitation(nn.Module):
    """Channels scaled by numbers made from their averages (Hu et al. 2017).

    Args:
        input_channels: of the picture.
        squeeze_channels: between the two small convolutions.
        activation: the class between them.
        scale_activation: the class behind them.

    Example:
        >>> ops.SqueezeExcitation(8, 2)(torch.ones(1, 8, 4, 4)).shape
        torch.Size([1, 8, 4, 4])
    """

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: Callable[..., nn.Module] = nn.ReLU,
        scale_activation: Callable[..., nn.Module] = nn.Sigmoid,
    ) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, input: Tensor) -> Tensor:
        scale = self.activation(self.fc1(self.avgpool(input)))
        return self.scale_activation(self.fc2(scale)) * input


class MLP(nn.Sequential):
    """Linear layers with norms, activations and dropouts between them.

    Args:
        in_channels: of the input.
        hidden_channels: of each layer; the last is that of the result.
        norm_layer, activation_layer: classes, or None to leave one out.
        inplace: for activations and dropouts.
        bias: of the linear layers.
        dropout: the probability.

    Example:
        >>> ops.MLP(4, [8, 2])(torch.ones(3, 4)).shape
        torch.Size([3, 2])
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: list[int],
        norm_layer: Callable[..., nn.Module] | None = None,
        activation_layer: Callable[..., nn.Module] | None = nn.ReLU,
        inplace: bool | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        options = {} if inplace is None else {"inplace": inplace}
        layers: list[nn.Module] = []
        width = in_channels
        for size in hidden_channels[:-1]:
            layers.append(nn.Linear(width, size, bias=bias))
            if norm_layer is not None:
                layers.append(norm_layer(size))
            if activation_layer is not None:
                layers.append(activation_layer(**options))
            layers.append(nn.Dropout(dropout, **options))
            width = size
        layers += [nn.Linear(width, hidden_channels[-1], bias=bias), nn.Dropout(dropout, **options)]
        super().__init__(*layers)


class Permute(nn.Module):
    """The dims of a tensor in another order.

    Args:
        dims: the dimensions in their new order.

    Example:
        >>> ops.Permute([0, 2, 1])(torch.ones(1, 2, 3)).shape
        torch.Size([1, 3, 2])
    """

    def __init__(self, dims: list[int]) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(*self.dims)
