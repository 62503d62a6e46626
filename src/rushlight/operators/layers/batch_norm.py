"""Batch normalisation: channels brought to mean 0 and variance 1 over the batch."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import uint8
from ...core.inplace import bump, check_writable
from ...core.modes import no_grad
from ...core.op import Op
from ...core.public import into_same, public
from ...core.tensor import Tensor
from ...runtime.door import Kernel, run
from ...runtime.facts import Facts
from ..made_of.guards import norm_dtypes, only_for, refuse_grad
from ..made_of.precision import rounds, widen
from ..made_of.reference import by_reference, vjp
from .layer_norm import standardised, statistics_dtype

# Contract of the kernels, which engines override by name (weight, bias may be None; C is dim 1 of x):
#   batch_norm_train(x, weight, bias, *, eps) -> out, mean [C], invstd [C]
#   batch_norm_grad(gy, x, weight, mean, invstd, *, eps) -> gx, gw [C], gb [C]
#   batch_norm_eval(x, weight, bias, mean, var, *, eps) -> out
# Statistics are float32 when x is half precision. The derivative's eps is already inside invstd; it is
# an attribute so that the derivative can be differentiated again.


def _channels(a: Array, ndim: int) -> Any:
    return a.reshape((1, -1) + (1,) * (ndim - 2))


def _others(ndim: int) -> tuple[int, ...]:
    return (0, *range(2, ndim))


@rounds("0--")
@only_for("fV", "batch_norm")
def _batch_norm_train_body(xp: ArrayModule, x: Array, weight: Array | None, bias: Array | None, *, eps: float) -> tuple:
    wide = widen(xp, x)
    axes = _others(x.ndim)
    n = max(x.size // max(x.shape[1], 1), 1)
    mean = wide.sum(axis=axes) / wide.dtype.type(n)
    out = wide - _channels(mean, x.ndim)
    var = (out * out).sum(axis=axes) / wide.dtype.type(n)
    invstd = 1 / xp.sqrt(var + eps)
    scale = invstd if weight is None else invstd * widen(xp, weight)
    out *= _channels(scale, x.ndim)
    if bias is not None:
        out += _channels(widen(xp, bias), x.ndim)
    return out.astype(x.dtype, copy=False), mean, invstd.astype(mean.dtype, copy=False)


@rounds("122")
def _batch_norm_grad_body(
    xp: ArrayModule, gy: Array, x: Array, weight: Array | None, mean: Array, invstd: Array, *, eps: float
) -> tuple:
    n = max(x.size // max(x.shape[1], 1), 1)
    axes = _others(x.ndim)
    g = widen(xp, gy)
    hat = widen(xp, x) - _channels(mean, x.ndim)
    hat *= _channels(invstd, x.ndim)
    gb = g.sum(axis=axes)
    gw = (g * hat).sum(axis=axes)
    hat *= _channels(gw / -n, x.ndim)
    hat += g
    hat -= _channels(gb / n, x.ndim)
    scale = invstd if weight is None else invstd * widen(xp, weight)
    hat *= _channels(scale, x.ndim)
    kind = x.dtype if weight is None else weight.dtype
    return (hat.astype(x.dtype, copy=False), gw.astype(kind, copy=False), gb.astype(kind, copy=False))


def _batch_norm_meta(x: Any, weight: Any, bias: Any, *, eps: float) -> list:
    stat = ((x.shape[1],), statistics_dtype(x))
    return [(x.shape, x.dtype), stat, stat]


def _batch_norm_grad_meta(gy: Any, x: Any, weight: Any, mean: Any, invstd: Any, *, eps: float) -> list:
    one = ((x.shape[1],), x.dtype if weight is None else weight.dtype)
    return [(x.shape, x.dtype), one, one]


batch_norm_train = Op(
    _batch_norm_train_body, "batch_norm_train", meta=_batch_norm_meta,
    grad_name="NativeBatchNormBackward0", facts=Facts(layout="image", aten="native_batch_norm batch_norm learning", onnx="batch_norm_train", family="norm", images=(1, 1)),
)  # fmt: skip
batch_norm_grad = Op(
    _batch_norm_grad_body,
    "batch_norm_grad",
    meta=_batch_norm_grad_meta,
    facts=Facts(aten="native_batch_norm_backward", family="norm", images=(2, 1)),
)


@batch_norm_train.backward
def _batch_norm_backward(
    g: Tensor, x: Tensor, weight: Any, out1: Tensor, out2: Tensor, needs: list, eps: float
) -> tuple:
    if g is None:
        return None, None, None
    gx, gw, gb = batch_norm_grad(g, x, weight, out1, out2, eps=eps)
    return gx, gw if needs[1] else None, gb if needs[2] else None


def _batch_norm_learn_body(
    xp: ArrayModule, x: Any, weight: Any, bias: Any, means: Any, variances: Any, batches: Any, *,
    momentum: float, eps: float,
) -> tuple:  # fmt: skip
    """batch_norm_train, the running statistics and the count of batches in one call."""
    out = _batch_norm_train_body(xp, x, weight, bias, eps=eps)
    n = x.size // x.shape[1]
    _running_body(xp, means, variances, *out[1:], momentum=momentum, eps=eps, n=n)
    if batches is not None:
        batches += 1
    return out


# Used only if the device has a body of its own; the recorder of `compile` sees the parts.
batch_norm_learn = Op(
    _batch_norm_learn_body, "batch_norm_learn", grad_name="NativeBatchNormBackward0",
    meta=lambda x, weight, bias, *_, momentum, eps: _batch_norm_meta(x, weight, bias, eps=eps), facts=Facts(aten="native_batch_norm batch_norm learning"),
)  # fmt: skip
batch_norm_learn.kernel.mutates = lambda arrays, attrs: [i for i in (3, 4, 5) if arrays[i] is not None]


@batch_norm_learn.backward
def _batch_norm_learn_backward(
    g: Tensor, x: Tensor, weight: Any, out1: Tensor, out2: Tensor, needs: list, eps: float
) -> tuple:
    return (*_batch_norm_backward(g, x, weight, out1, out2, needs, eps), None, None, None)


def _batch_norm_grad_formula(gy: Tensor, x: Tensor, weight: Any, mean: Tensor, invstd: Tensor, eps: float) -> tuple:
    dims = _others(x.ndim)
    hat, scale = standardised(x, dims, eps)
    inner = gy - gy.mean(dims, keepdim=True) - hat * (gy * hat).mean(dims, keepdim=True)
    if weight is not None:
        scale = scale * weight.reshape((1, -1) + (1,) * (x.ndim - 2))
    return inner * scale, (gy * hat).sum(dims), gy.sum(dims)


by_reference(batch_norm_grad, _batch_norm_grad_formula)


def _running_body(
    xp: ArrayModule, means: Array, variances: Array, mean: Array, invstd: Array, *, momentum: float, eps: float, n: int
) -> tuple:
    """Update running statistics, either of which may be None, by those of a batch."""
    if means is not None:
        means[...] = (means * (1 - momentum) + mean * momentum).astype(means.dtype)
    if variances is not None:
        unbiased = (invstd**-2.0 - eps) * (n / max(n - 1, 1))
        variances[...] = (variances * (1 - momentum) + unbiased * momentum).astype(variances.dtype)
    return ()


RUNNING = Kernel(
    "running_statistics", _running_body, mutates=lambda arrays, attrs: [i for i in (0, 1) if arrays[i] is not None]
)


def _learn(means: Any, variances: Any, mean: Tensor, invstd: Tensor, momentum: float, eps: float, n: int) -> None:
    """Update the running statistics in place, in one call."""
    held = [t for t in (means, variances) if t is not None]
    if not held:
        return
    for t in held:
        check_writable(t)
    arrays = [None if t is None else t._a for t in (means, variances, mean, invstd)]
    attrs = {"momentum": float(momentum), "eps": float(eps), "n": n}
    run(RUNNING, mean._a.__class__, arrays, attrs)
    for t in held:
        bump(t)


@rounds("0")
@only_for("fV", "batch_norm")
def _batch_norm_eval_body(
    xp: ArrayModule, x: Array, weight: Array | None, bias: Array | None, mean: Array, var: Array, *, eps: float
) -> Any:
    wide = widen(xp, x)
    scale = 1 / xp.sqrt(widen(xp, var) + eps)
    if weight is not None:
        scale = scale * widen(xp, weight)
    shift = -widen(xp, mean) * scale
    if bias is not None:
        shift = shift + widen(xp, bias)
    out = wide * _channels(scale.astype(wide.dtype, copy=False), x.ndim)
    out += _channels(shift, x.ndim)
    return out.astype(x.dtype, copy=False)


batch_norm_eval = Op(
    _batch_norm_eval_body, "batch_norm_eval", grad_name="NativeBatchNormBackward0",
    meta=lambda x, *_, **__: (x.shape, x.dtype), facts=Facts(layout="image", aten="native_batch_norm batch_norm", onnx="batch_norm", family="norm", images=(1, 1)),
)  # fmt: skip


def _batch_norm_eval_formula(x: Tensor, weight: Any, bias: Any, mean: Tensor, var: Tensor, eps: float) -> Tensor:
    shape = (1, -1) + (1,) * (x.ndim - 2)
    scale = (var + eps) ** -0.5
    if weight is not None:
        scale = scale * weight
    out = (x - mean.reshape(shape)) * scale.reshape(shape)
    out = out if bias is None else out + bias.reshape(shape)
    return out.to(x.dtype)


@rounds("122")
def _batch_norm_eval_grad_body(
    xp: ArrayModule, gy: Array, x: Array, weight: Array | None, mean: Array, var: Array, *, eps: float
) -> tuple:
    g, axes = widen(xp, gy), _others(x.ndim)
    invstd = 1 / xp.sqrt(widen(xp, var) + eps)
    hat = (widen(xp, x) - _channels(widen(xp, mean), x.ndim)) * _channels(invstd, x.ndim)
    scale = invstd if weight is None else invstd * widen(xp, weight)
    kind = x.dtype if weight is None else weight.dtype
    gx = (g * _channels(scale, x.ndim)).astype(x.dtype, copy=False)
    return gx, (g * hat).sum(axis=axes).astype(kind), g.sum(axis=axes).astype(kind)


# batch_norm_eval_grad(gy, x, weight, mean, var, *, eps) -> gx, gw [C], gb [C]: the host's, for layers whose
# statistics stand still
batch_norm_eval_grad = Op(
    _batch_norm_eval_grad_body, "batch_norm_eval_grad",
    meta=lambda gy, x, weight, *_, **__: [
        (x.shape, x.dtype), *[((x.shape[1],), (x if weight is None else weight).dtype)] * 2], facts=Facts(one_kernel={"cpu": True}))  # fmt: skip


def _batch_norm_eval_grad_formula(gy: Tensor, x: Tensor, weight: Any, mean: Tensor, var: Tensor, eps: float) -> tuple:
    shape, dims = (1, -1) + (1,) * (x.ndim - 2), _others(x.ndim)
    scale = (var + eps) ** -0.5
    hat = (x - mean.reshape(shape)) * scale.reshape(shape)
    by = scale if weight is None else scale * weight
    return gy * by.reshape(shape), (gy * hat).sum(dims), gy.sum(dims)


by_reference(batch_norm_eval_grad, _batch_norm_eval_grad_formula)


@batch_norm_eval.backward
def _batch_norm_eval_backward(
    g: Tensor, x: Tensor, weight: Any, bias: Any, mean: Tensor, var: Tensor, needs: list, eps: float
) -> tuple:
    if g is None:
        return (None,) * 5
    if needs[3] or needs[4] or not batch_norm_eval_grad.is_whole(x):
        inputs, formula = (x, weight, bias, mean, var), partial(_batch_norm_eval_formula, eps=eps)
        return vjp(formula, inputs, needs, [g])
    gx, gw, gb = batch_norm_eval_grad(g, x, weight, mean, var, eps=eps)
    return gx if needs[0] else None, gw if needs[1] else None, gb if needs[2] else None, None, None


def _check_per_channel(x: Tensor, named: dict[str, Any]) -> None:
    channels = x._a.shape[1]
    for name, t in named.items():
        if t is not None and t._a.size != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {t._a.size}")


def _check(input: Tensor, mean: Any, var: Any, weight: Any, bias: Any) -> None:
    shape = input._a.shape
    if len(shape) < 2:
        raise ValueError(f"expected at least 2D input (got {len(shape)}D input)")
    named = {"running_mean": mean, "running_var": var, "weight": weight, "bias": bias}
    _check_per_channel(input, named)
    norm_dtypes(input, weight, bias, mean, var)


def _check_batch(input: Tensor) -> None:
    shape = input._a.shape
    if shape[0] * prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")


@public("functional")
def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise every channel (dimension 1) to mean 0 and variance 1 over all other dimensions.

    Args:
        input: (N, C, *).
        running_mean, running_var: (C,); used if not training, and updated in place if training;
            may be None in training.
        weight, bias: (C,), applied after the normalisation.
        training: use the statistics of this batch.
        momentum: weight of this batch in the running statistics.
        eps: added to the variance before the root is taken.

    Raises:
        ValueError: in training, if there is one value per channel, or if `eps` is 0; if it is negative.

    Example:
        >>> x = torch.tensor([[0.0, 10.0], [2.0, 30.0]])
        >>> F.batch_norm(x, None, None, training=True)
        tensor([[-1.0000, -1.0000],
                [ 1.0000,  1.0000]])
        >>> F.batch_norm(x, torch.zeros(2), torch.ones(2) * 4)
        tensor([[ 0.0000,  5.0000],
                [ 1.0000, 15.0000]])
    """
    if training:
        check_eps(eps)
    elif eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    refuse_grad("native_batch_norm", running_mean=running_mean, running_var=running_var)
    return normalised(input, running_mean, running_var, weight, bias, training, momentum, eps)


def check_eps(eps: float) -> None:
    """`nn.functional.batch_norm` alone, and the layers made of it, want more than 0 in training."""
    if eps <= 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")


def normalised(
    input: Tensor, running_mean: Any, running_var: Any, weight: Any, bias: Any, training: bool,
    momentum: float, eps: float,
) -> Tensor:  # fmt: skip
    if not input._a.size:
        return _of_nothing(input, weight, bias)
    if training and batch_norm_learn.joins(input):
        return learning_batch_norm(input, running_mean, running_var, None, weight, bias, momentum, eps)
    _check(input, running_mean, running_var, weight, bias)
    if not training:
        for name, t in (("running_mean", running_mean), ("running_var", running_var)):
            if t is None:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        return batch_norm_eval(input, weight, bias, running_mean, running_var, eps=float(eps))
    _check_batch(input)
    shape = input._a.shape
    n = input._a.size // shape[1] if shape[1] else 0
    out, mean, invstd = batch_norm_train(input, weight, bias, eps=float(eps))
    with no_grad():
        _learn(running_mean, running_var, mean, invstd, momentum, eps, n)
    return out


def _of_nothing(input: Tensor, weight: Any, bias: Any) -> Tensor:
    """An input without elements: it teaches nothing, but weight and bias are in its graph."""
    out = input.clone()
    out = out if weight is None else out * weight[0]
    return out if bias is None else out + bias[0]


def learning_batch_norm(
    input: Tensor, running_mean: Any, running_var: Any, batches: Any, weight: Any, bias: Any,
    momentum: float, eps: float,
) -> Tensor:  # fmt: skip
    """Batch norm in training by one kernel that also updates the statistics and counts the batch.

    For inputs for which `batch_norm_learn.joins` is true.
    """
    _check(input, running_mean, running_var, weight, bias)
    _check_batch(input)
    held = [t for t in (running_mean, running_var, batches) if t is not None]
    for t in held:
        check_writable(t)
    out = batch_norm_learn(
        input, weight, bias, running_mean, running_var, batches, momentum=float(momentum), eps=float(eps)
    )[0]
    for t in held:
        bump(t)
    return out


@public("torch", name="batch_norm")
def _torch_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """As `nn.functional.batch_norm`, with weight and bias before the running statistics.

    Args:
        cudnn_enabled: accepted, and not used.
    """
    return normalised(input, running_mean, running_var, weight, bias, training, momentum, eps)


# -- with the statistics as results -----------------------------------------------------------------


@public("torch")
def native_batch_norm(
    input: Tensor,  # noqa: A002
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    *,
    out: Any = None,
) -> Any:
    """`batch_norm` with the mean and 1 / standard deviation of every channel; without them if not training.

    Args:
        input, weight, bias, running_mean, running_var, training, momentum, eps: as in `nn.functional.batch_norm`.

    Example:
        >>> y, mean, inverse = torch.native_batch_norm(torch.tensor([[1.0], [3.0]]), None, None, None, None, True, 0.1, 0.0)
        >>> mean, inverse
        (tensor([2.]), tensor([1.]))
    """
    if training and input._a.size:
        _check(input, running_mean, running_var, weight, bias)
        made = batch_norm_train(input, weight, bias, eps=float(eps))
        n = input._a.size // input._a.shape[1]
        with no_grad():
            _learn(running_mean, running_var, made[1], made[2], momentum, eps, n)
        kind = (input if weight is None else weight).dtype
        found = (made[0], made[1].detach().to(kind), made[2].detach().to(kind))
    else:
        y = normalised(input, running_mean, running_var, weight, bias, False, momentum, eps)
        found = (y, input.new_empty(0), input.new_empty(0))
    return into_same(out, found)


@public("torch")
def _native_batch_norm_legit(
    input: Tensor,  # noqa: A002
    weight: Tensor | None,
    bias: Tensor | None,
    *rest: Any,
    out: Any = None,
    **named: Any,
) -> Any:
    """As `native_batch_norm`; the running statistics may be left out."""
    if rest and rest[0].__class__ is bool:
        rest = (None, None, *rest)
    return native_batch_norm(input, weight, bias, *rest, out=out, **named)


@public("aten")
def _batch_norm_with_update(
    input: Tensor,  # noqa: A002
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor,
    running_var: Tensor,
    momentum: float,
    eps: float,
) -> Any:
    """As `native_batch_norm` in training, with an empty place for what other devices keep."""
    made = native_batch_norm(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return (*made, input.new_empty(0, dtype=uint8))
