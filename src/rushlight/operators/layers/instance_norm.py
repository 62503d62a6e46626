"""Instance normalisation: the channels of every sample brought to mean 0 and variance 1, each by itself."""

from __future__ import annotations

from math import prod

from ...core.modes import no_grad
from ...core.public import public
from ...core.tensor import Tensor
from .batch_norm import normalised


@public("functional")
def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """As `nn.InstanceNorm2d`, of any (N, C, *), with its statistics and parameters of (C,), or without; `use_input_stats=False` takes the running ones."""
    shape = input._a.shape
    kind = (input if weight is None else weight).dtype
    mean, var = (t if t is None else t.detach().to(kind) for t in (running_mean, running_var))
    if not use_input_stats:
        return normalised(input, mean, var, weight, bias, False, momentum, eps)
    if len(shape) < 3:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    if prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    n = shape[0]
    means = None if mean is None else mean.repeat(n)
    variances = None if var is None else var.repeat(n)
    out = normalised(
        input.reshape((1, n * shape[1], *shape[2:])),
        means,
        variances,
        None if weight is None else weight.repeat(n),
        None if bias is None else bias.repeat(n),
        True,
        momentum,
        eps,
    )
    with no_grad():  # the running statistics are updated by the mean over the samples
        if running_mean is not None and means is not None:
            running_mean.copy_(means.reshape(n, -1).mean(0))
        if running_var is not None and variances is not None:
            running_var.copy_(variances.reshape(n, -1).mean(0))
    return out.reshape(shape)


@public("torch", name="instance_norm")
def _torch_instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """As `nn.functional.instance_norm`, with weight and bias before the running statistics.

    Args:
        cudnn_enabled: accepted, and not used.
    """
    return instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)
