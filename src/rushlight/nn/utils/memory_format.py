"""Giving convolution weights another memory format."""

from __future__ import annotations

from typing import Any

from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]


def _convert(module: Any, kinds: tuple, memory_format: Any) -> Any:
    for m in module.modules():
        if isinstance(m, kinds):
            m.weight.data = m.weight.detach().clone(memory_format=memory_format)
    return module


def convert_conv2d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Convert the weights of every Conv2d and ConvTranspose2d in a module; return the module.

    Args:
        module: a convolution, or a module with convolutions in it.
        memory_format: such as `torch.channels_last`.

    Example:
        >>> net = nn.Sequential(nn.Conv2d(8, 4, 3))
        >>> net = nn.utils.convert_conv2d_weight_memory_format(net, torch.channels_last)
        >>> net[0].weight.stride()
        (72, 1, 24, 8)
    """
    return _convert(module, (Conv2d, ConvTranspose2d), memory_format)


def convert_conv3d_weight_memory_format(module: Any, memory_format: Any) -> Any:
    """Convert the weights of every Conv3d and ConvTranspose3d in a module; return the module.

    Args:
        module: a convolution, or a module with convolutions in it.
        memory_format: such as `torch.channels_last_3d`.

    Example:
        >>> net = nn.Sequential(nn.Conv3d(8, 4, 3))
        >>> net = nn.utils.convert_conv3d_weight_memory_format(net, torch.channels_last_3d)
        >>> net[0].weight.stride()
        (216, 1, 72, 24, 8)
    """
    return _convert(module, (Conv3d, ConvTranspose3d), memory_format)
