"""Initial values for parameters, drawn in PyTorch's order so that a seed gives its numbers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..operators.create.filled import empty
from ..operators.create.like import empty_like
from ..operators.random.draws import randperm

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal",
    "kaiming_normal_", "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_",
    "orthogonal", "orthogonal_", "sparse", "sparse_", "trunc_normal_", "uniform", "uniform_",
    "xavier_normal", "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_",
]  # fmt: skip

_LINEAR = (
    "linear", "conv1d", "conv2d", "conv3d",
    "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid",
)  # fmt: skip


# If at least this share of normal values lies in [a, b], PyTorch draws them again until they do.
_ENOUGH_INSIDE = 0.3


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """Return the factor by which weights are scaled so that a nonlinearity keeps the variance.

    Args:
        nonlinearity: "linear", "conv1d" and the like, "sigmoid", "tanh", "relu", "leaky_relu" or
            "selu".
        param: the slope of leaky_relu; 0.01 if None.

    Raises:
        ValueError: if the nonlinearity is not known.

    Example:
        >>> nn.init.calculate_gain("relu")
        1.4142135623730951
        >>> nn.init.calculate_gain("leaky_relu", 0.2)
        1.3867504905630728
    """
    if nonlinearity in _LINEAR:
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with numbers drawn from U(a, b), in place, and return the tensor.

    Args:
        tensor: any shape.
        a: the smallest number.
        b: the largest number.

    Example:
        >>> w = nn.init.uniform_(torch.empty(3, 5), -1.0, 1.0)
        >>> bool((w.abs() <= 1).all())
        True
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with numbers drawn from N(mean, std^2), in place, and return the tensor.

    Args:
        tensor: any shape.
        mean: the mean.
        std: the standard deviation.

    Example:
        >>> nn.init.normal_(torch.empty(3, 5), std=0.02).shape
        torch.Size([3, 5])
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """As `normal_`, with numbers inside [a, b]."""
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect.",
            stacklevel=2,
        )

    if tensor.is_meta:  # no values, so none is outside
        return tensor
    low, high = (a - mean) / std, (b - mean) / std
    inside = (math.erf(high / math.sqrt(2)) - math.erf(low / math.sqrt(2))) / 2
    draw = _normal_within if inside > _ENOUGH_INSIDE else _uniform_accepted
    with no_grad():
        waiting = None
        while waiting is None or bool(waiting.any()):
            # As PyTorch: draw all again each time, and take only those that are missing.
            values, good = draw(tensor, mean, std, a, b, generator)
            if waiting is None:
                tensor.copy_(values)
                waiting = ~good
            else:
                taken = waiting & good
                tensor.copy_(values.where(taken, tensor))
                waiting = waiting & ~good
    return tensor


def _normal_within(like: Tensor, mean: float, std: float, a: float, b: float, generator: Any) -> tuple[Tensor, Tensor]:
    """Normal values, and which of them lie in [a, b]."""
    values = empty_like(like)
    values.normal_(mean, std, generator=generator)
    low, high = like.new_tensor([a, b], device="cpu").tolist()
    return values, (values >= low) & (values <= high)


def _uniform_accepted(
    like: Tensor, mean: float, std: float, a: float, b: float, generator: Any
) -> tuple[Tensor, Tensor]:
    """Uniform values in [a, b], and which of them a normal density accepts (Robert, 1995)."""
    likeliest = ((max(a, min(mean, b)) - mean) / std) ** 2
    values = empty_like(like).uniform_(a, b, generator=generator)
    coin = empty_like(like).uniform_(generator=generator)
    distance = (values - mean).div_(std).pow_(2)
    return values, ~(coin.log_() > distance.mul_(-0.5).add_(0.5 * likeliest))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one value, in place, and return the tensor.

    Args:
        tensor: any shape.
        val: the value.

    Example:
        >>> nn.init.constant_(torch.empty(3), 0.3)
        tensor([0.3000, 0.3000, 0.3000])
    """
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with 1, in place, and return the tensor.

    Example:
        >>> nn.init.ones_(torch.empty(3))
        tensor([1., 1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with 0, in place, and return the tensor.

    Example:
        >>> nn.init.zeros_(torch.empty(3))
        tensor([0., 0., 0.])
    """
    with no_grad():
        return tensor.zero_()


def eye_(tensor: Tensor) -> Tensor:
    """Make a matrix the identity, as far as its shape allows, in place, and return it.

    Raises:
        ValueError: if the tensor has not two dimensions.

    Example:
        >>> nn.init.eye_(torch.empty(2, 3))
        tensor([[1., 0., 0.],
                [0., 1., 0.]])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        tensor.zero_()
        tensor.diagonal().fill_(1)
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Make the weight of a convolution pass its input channels on unchanged, in place; return it.

    Args:
        tensor: a weight of 3, 4 or 5 dimensions, (O, C, *kernel).
        groups: do it in each of so many groups of output channels.

    Raises:
        ValueError: if the number of dimensions is wrong, or O is not a multiple of `groups`.

    Example:
        >>> w = nn.init.dirac_(torch.empty(2, 2, 3))
        >>> F.conv1d(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), w, padding=1)
        tensor([[1., 2.],
                [3., 4.]])
    """
    dims = tensor.ndimension()
    if dims not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    sizes = tensor.size()
    if sizes[0] % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = sizes[0] // groups
    middle = tuple(s // 2 for s in sizes[2:])
    with no_grad():
        tensor.zero_()
        for g in range(groups):
            for d in range(min(per_group, sizes[1])):
                tensor[(g * per_group + d, d, *middle)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """How many inputs each output sums over, and how many outputs each input reaches."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Draw from U(-a, a), a = gain sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, 2010), in place.

    Args:
        tensor: a weight of at least two dimensions.
        gain: see `calculate_gain`.

    Example:
        >>> w = nn.init.xavier_uniform_(torch.empty(3, 3))
        >>> bool((w.abs() <= 1).all())
        True
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """As `xavier_uniform_`, from N(0, s^2), s = gain sqrt(2 / (fan_in + fan_out))."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    std = gain * math.sqrt(2.0 / float(fan_in + fan_out))
    return normal_(tensor, 0.0, std, generator)


def _nothing_to_do(tensor: Tensor) -> bool:
    if 0 not in tensor.shape:
        return False
    warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
    return True


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Draw from U(-b, b), b = gain sqrt(3 / fan) (He and others, 2015), in place.

    Args:
        tensor: a weight of at least two dimensions.
        a: the negative slope, for leaky_relu.
        mode: "fan_in" keeps the variance forward, "fan_out" backward.
        nonlinearity: what follows the layer; see `calculate_gain`.

    Example:
        >>> w = nn.init.kaiming_uniform_(torch.empty(4, 6), nonlinearity="relu")
        >>> bool((w.abs() <= 1).all())
        True
    """
    if _nothing_to_do(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """As `kaiming_uniform_`, from N(0, std^2), std = gain / sqrt(fan)."""
    if _nothing_to_do(tensor):
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Draw a matrix whose rows (or columns, if they are fewer) are orthonormal, in place; return it.

    Args:
        tensor: at least two dimensions; those after the first count as one.
        gain: what the result is multiplied by.

    Raises:
        ValueError: if the tensor has less than two dimensions.

    Example:
        >>> w = nn.init.orthogonal_(torch.empty(2, 4))
        >>> bool((w @ w.T - torch.eye(2)).abs().max() < 1e-5)
        True
    """
    from ..operators.matrix.linalg_factor import qr

    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    cols = tensor.numel() // rows
    with no_grad():
        flat = empty((rows, cols), dtype=tensor.dtype, device=tensor.device)
        flat.normal_(0, 1, generator=generator)
        if rows < cols:
            flat = flat.t()
        q, r = qr(flat)
        q = q * r.diagonal().sign()  # so that the result is uniform over orthogonal matrices
        if rows < cols:
            q = q.t()
        tensor.copy_(q.reshape(tensor.shape))
        tensor.mul_(gain)
    return tensor


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Draw from N(0, std^2) and set a part of every column to zero, in place; return the tensor.

    Args:
        tensor: a matrix.
        sparsity: the part of each column that is zero.
        std: the standard deviation of the others.

    Raises:
        ValueError: if the tensor has not two dimensions.

    Example:
        >>> w = nn.init.sparse_(torch.empty(10, 4), sparsity=0.3)
        >>> (w == 0).sum(0)
        tensor([3, 3, 3, 3])
    """
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, cols = tensor.shape
    zeros = int(math.ceil(sparsity * rows))
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for col in range(cols):
            chosen = randperm(rows)[:zeros]
            tensor[chosen, col] = 0
    return tensor


def _make_deprecate(meth: Callable) -> Callable:
    """Make the old name, without the underscore, which warns."""
    new_name = meth.__name__
    old_name = new_name[:-1]

    def deprecated_init(*args: Any, **kwargs: Any) -> Any:
        warnings.warn(
            f"`nn.init.{old_name}` is now deprecated in favor of `nn.init.{new_name}`.", FutureWarning, stacklevel=2
        )
        return meth(*args, **kwargs)

    deprecated_init.__name__ = old_name
    deprecated_init.__doc__ = f"As `{new_name}`, under its old name; deprecated."
    return deprecated_init


uniform = _make_deprecate(uniform_)
normal = _make_deprecate(normal_)
constant = _make_deprecate(constant_)
eye = _make_deprecate(eye_)
dirac = _make_deprecate(dirac_)
xavier_uniform = _make_deprecate(xavier_uniform_)
xavier_normal = _make_deprecate(xavier_normal_)
kaiming_uniform = _make_deprecate(kaiming_uniform_)
kaiming_normal = _make_deprecate(kaiming_normal_)
orthogonal = _make_deprecate(orthogonal_)
sparse = _make_deprecate(sparse_)


# -- what libraries call with a tensor that is on no tape -------------------------------------------


def _no_grad_uniform_(tensor: Tensor, a: float, b: float, generator: Any = None) -> Tensor:
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _no_grad_normal_(tensor: Tensor, mean: float, std: float, generator: Any = None) -> Tensor:
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def _no_grad_trunc_normal_(
    tensor: Tensor, mean: float, std: float, a: float, b: float, generator: Any = None
) -> Tensor:
    return trunc_normal_(tensor, mean, std, a, b, generator=generator)


def _no_grad_fill_(tensor: Tensor, val: float) -> Tensor:
    with no_grad():
        return tensor.fill_(val)


def _no_grad_zero_(tensor: Tensor) -> Tensor:
    with no_grad():
        return tensor.zero_()
