"""Folding a batch norm in evaluation mode into the layer before it."""

from __future__ import annotations

import copy
from typing import Any

from ...core.tensor import Tensor
from ..parameter import Parameter

__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """Return a convolution that computes `bn(conv(x))`; both must be in evaluation mode.

    Args:
        conv: a convolution.
        bn: the batch norm behind it.
        transpose: whether `conv` is transposed.

    Example:
        >>> conv, bn = nn.Conv2d(3, 8, 3).eval(), nn.BatchNorm2d(8).eval()
        >>> fused = nn.utils.fuse_conv_bn_eval(conv, bn)
        >>> x = torch.ones(1, 3, 5, 5)
        >>> bool((fused(x) - bn(conv(x))).abs().max() < 1e-5)
        True
    """
    if conv.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    fused = copy.deepcopy(conv)
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a convolution that includes a batch norm.

    Args:
        conv_w, conv_b: weight and bias (or None) of the convolution.
        bn_rm, bn_rv: running mean and variance of the batch norm.
        bn_eps: its `eps`.
        bn_w, bn_b: its weight and bias; 1 and 0 if None.
        transpose: whether the convolution is transposed.

    Example:
        >>> mean, var = torch.zeros(1), torch.full((1,), 4.0)
        >>> w = torch.ones(1, 1, 1)
        >>> w, b = nn.utils.fuse_conv_bn_weights(w, None, mean, var, 0.0, None, None)
        >>> w.flatten().tolist(), b.tolist()
        ([0.5], [0.0])
    """
    if conv_b is None:
        conv_b = bn_rm.new_zeros(bn_rm.shape)
    if bn_w is None:
        bn_w = bn_rm.new_ones(bn_rm.shape)
    if bn_b is None:
        bn_b = bn_rm.new_zeros(bn_rm.shape)
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    shape = [1, -1] if transpose else [-1, 1]
    weight = (conv_w * scale.reshape(shape + [1] * (conv_w.dim() - 2))).to(conv_w.dtype)
    bias = ((conv_b - bn_rm) * scale + bn_b).to(conv_b.dtype)
    return (Parameter(weight.detach(), conv_w.requires_grad), Parameter(bias.detach(), conv_b.requires_grad))


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """Return a Linear that computes `bn(linear(x))`; both must be in evaluation mode.

    Args:
        linear: a Linear.
        bn: the batch norm behind it.

    Example:
        >>> linear, bn = nn.Linear(3, 4).eval(), nn.BatchNorm1d(4).eval()
        >>> fused = nn.utils.fuse_linear_bn_eval(linear, bn)
        >>> x = torch.ones(2, 3)
        >>> bool((fused(x) - bn(linear(x))).abs().max() < 1e-5)
        True
    """
    if linear.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    fused = copy.deepcopy(linear)
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor, linear_b: Tensor | None, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> tuple[Parameter, Parameter]:
    """Return weight and bias of a Linear that includes a batch norm.

    Args:
        linear_w, linear_b: weight and bias (or None) of the Linear.
        bn_rm, bn_rv: running mean and variance of the batch norm.
        bn_eps: its `eps`.
        bn_w, bn_b: its weight and bias.

    Example:
        >>> one, zero, four = torch.ones(1), torch.zeros(1), torch.full((1,), 4.0)
        >>> w = torch.ones(1, 1)
        >>> w, b = nn.utils.fuse_linear_bn_weights(w, None, zero, four, 0.0, one, zero)
        >>> w.tolist(), b.tolist()
        ([[0.5]], [0.0])
    """
    if linear_b is None:
        linear_b = bn_rm.new_zeros(bn_rm.shape)
    scale = bn_w * (bn_rv + bn_eps).rsqrt()
    weight = (linear_w * scale.unsqueeze(-1)).to(linear_w.dtype)
    bias = ((linear_b - bn_rm) * scale + bn_b).to(linear_b.dtype)
    return (Parameter(weight.detach(), linear_w.requires_grad), Parameter(bias.detach(), linear_b.requires_grad))
