"""`fake_quantize_per_tensor_affine` and `..._per_channel_affine`: rounding that gradients pass through."""

from __future__ import annotations

from typing import Any

from .core.modes import no_grad
from .core.tensor import Tensor
from .operators.made_of.guards import check_kind

__all__ = ["fake_quantize_per_channel_affine", "fake_quantize_per_tensor_affine"]


def _through_a_grid(x: Tensor, scale: Any, zero_point: Any, low: int, high: int) -> Tensor:
    """x at the nearest point of the grid; the derivative is 1 within the grid and 0 beyond it."""
    with no_grad():
        places = (x * (1.0 / scale)).round() + zero_point
        held = places.clamp(low, high)
        # a NaN is below everything, as it is once it has been made a whole number
        held = held.masked_fill(held.isnan(), float(low))
        value = ((held - zero_point) * scale).to(x.dtype)
        within = (places >= low) & (places <= high)
    if not x.requires_grad:
        return value
    return value + (x - x.detach()).masked_fill(~within, 0.0)


def _check(x: Tensor, low: int, high: int) -> None:
    check_kind(x, "fV", "fake_quantize_tensor_cachemask_kernel_type_handling")
    if low > high:
        raise RuntimeError("`quant_min` should be less than or equal to `quant_max`.")


def fake_quantize_per_tensor_affine(
    input: Tensor, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> Tensor:
    """What `input` would be after a round trip through whole numbers, for training with quantisation in mind.

    Args:
        input: floating point.
        scale: the distance between two numbers of the grid; a number or a tensor of one element.
        zero_point: the whole number that stands for 0; a number or a tensor of one element. Where both are tensors,
            their values are not looked at.
        quant_min, quant_max: the whole numbers there are.

    Returns:
        The values on the grid. Gradients pass where the input lies within it, and are 0 elsewhere.

    Raises:
        RuntimeError: if there is no whole number, or `zero_point` is a number that is none of them.

    Example:
        >>> x = torch.tensor([0.12, 0.38, 9.0], requires_grad=True)
        >>> y = torch.fake_quantize_per_tensor_affine(x, 0.1, 0, -8, 7)
        >>> y.detach()
        tensor([0.1000, 0.4000, 0.7000])
        >>> y.sum().backward()
        >>> x.grad
        tensor([1., 1., 0.])
    """
    _check(input, quant_min, quant_max)
    if isinstance(scale, Tensor) and isinstance(zero_point, Tensor):  # nothing is read on the host
        for t in (scale, zero_point):
            if t.numel() != 1:
                raise RuntimeError(f"a Tensor with {t.numel()} elements cannot be converted to Scalar")
        whole = zero_point.detach().reshape(()).int()
        return _through_a_grid(input, scale.detach().reshape(()).float(), whole, quant_min, quant_max)
    if not quant_min <= int(zero_point) <= quant_max:
        raise RuntimeError("`zero_point` must be between `quant_min` and `quant_max`.")
    return _through_a_grid(input, scale, zero_point, quant_min, quant_max)


def fake_quantize_per_channel_affine(
    input: Tensor, scale: Tensor, zero_point: Tensor, axis: int, quant_min: int, quant_max: int
) -> Tensor:
    """As `fake_quantize_per_tensor_affine`, with a scale and a zero point for each channel.

    Args:
        input: floating point.
        scale, zero_point: (C,); zero points are int32 or floating point.
        axis: the dimension of the channels.
        quant_min, quant_max: the whole numbers there are.

    Example:
        >>> x, scale = torch.tensor([[0.37, 0.37]]), torch.tensor([0.1, 0.2])
        >>> zero = torch.zeros(2, dtype=torch.int32)
        >>> torch.fake_quantize_per_channel_affine(x, scale, zero, 1, -8, 7)
        tensor([[0.4000, 0.4000]])
    """
    _check(input, quant_min, quant_max)
    if not -input.ndim <= axis < input.ndim:
        raise RuntimeError("`axis` must be between 0 and number of dimensions of input")
    channels = (input.shape[axis],)
    if scale.shape != channels or zero_point.shape != channels:
        raise RuntimeError("dimensions of scale and zero-point are not consistent with input tensor")
    shape = [1] * input.ndim
    shape[axis] = -1
    points = zero_point.reshape(shape)
    return _through_a_grid(input, scale.reshape(shape), points, quant_min, quant_max)
