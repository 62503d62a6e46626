"""Group normalisation: groups of channels of every sample brought to mean 0 and variance 1."""

from __future__ import annotations

from math import prod
from typing import Any

from ...base.arrays import Array, ArrayModule
from ...base.dtypes import from_np
from ...base.shapes import whole
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.guards import norm_dtypes, only_for
from ..made_of.precision import rounds, widen
from ..made_of.reference import by_reference
from .layer_norm import layer_norm_op, standardised, statistics_dtype

# Contract of the kernels, which engines override by name (weight, bias [C] may be None):
#   group_norm(x, weight, bias, *, groups, eps) -> out, mean [N, groups], rstd [N, groups]
#   group_norm_grad(gy, x, weight, mean, rstd, *, groups, eps) -> gx, gw [C], gb [C]
# Statistics are float32 when x is half precision. The CPU computes all of it in one kernel, and a GPU where it is
# called; a recorder is shown a layer norm and what is pointwise behind it, which passes join in more ways than one.


def _per_channel(a: Any, ndim: int) -> Any:
    return a.reshape((1, -1) + (1,) * (ndim - 2))


@rounds("0--")
@only_for("fV", "GroupNormKernelImpl")
def _group_norm_body(
    xp: ArrayModule, x: Array, weight: Array | None, bias: Array | None, *, groups: int, eps: float
) -> tuple:
    wide = widen(xp, x).reshape((x.shape[0], groups, -1))
    mean = wide.mean(axis=2, keepdims=True)
    out = wide - mean
    rstd = 1 / xp.sqrt((out * out).mean(axis=2, keepdims=True) + eps)
    rstd = rstd.astype(wide.dtype, copy=False)
    out *= rstd
    out = out.reshape(x.shape)
    if weight is not None:
        out *= _per_channel(widen(xp, weight), x.ndim)
    if bias is not None:
        out += _per_channel(widen(xp, bias), x.ndim)
    return out.astype(x.dtype, copy=False), mean[:, :, 0], rstd[:, :, 0]


@rounds("122")
def _group_norm_grad_body(
    xp: ArrayModule, gy: Array, x: Array, weight: Array | None, mean: Array, rstd: Array, *, groups: int, eps: float
) -> tuple:
    rows, axes = (x.shape[0], groups, -1), (0, *range(2, x.ndim))
    g = widen(xp, gy)
    hat = (widen(xp, x).reshape(rows) - mean[:, :, None]) * rstd[:, :, None]
    gb = g.sum(axis=axes)
    gw = (g * hat.reshape(x.shape)).sum(axis=axes)
    if weight is not None:
        g = g * _per_channel(widen(xp, weight), x.ndim)
    g = g.reshape(rows)
    hat *= -(g * hat).mean(axis=2, keepdims=True)
    hat += g
    hat -= g.mean(axis=2, keepdims=True)
    hat *= rstd[:, :, None]
    kind = x.dtype if weight is None else weight.dtype
    gx = hat.reshape(x.shape).astype(x.dtype, copy=False)
    return gx, gw.astype(kind, copy=False), gb.astype(kind, copy=False)


def _group_norm_meta(x: Any, weight: Any, bias: Any, *, groups: int, eps: float) -> list:
    stat = ((x.shape[0], groups), statistics_dtype(x))
    return [(x.shape, x.dtype), stat, stat]


def _group_norm_grad_meta(gy: Any, x: Any, weight: Any, mean: Any, rstd: Any, *, groups: int, eps: float) -> list:
    one = ((x.shape[1],), x.dtype if weight is None else weight.dtype)
    return [(x.shape, x.dtype), one, one]


group_norm_op = Op(
    _group_norm_body,
    "group_norm",
    meta=_group_norm_meta,
    grad_name="NativeGroupNormBackward0",
    facts=Facts(layout="image", aten="native_group_norm", onnx="group_norm", one_kernel={"cpu": True}),
)
group_norm_grad = Op(
    _group_norm_grad_body, "group_norm_grad", meta=_group_norm_grad_meta, facts=Facts(aten="native_group_norm_backward")
)


@group_norm_op.backward
def _group_norm_backward(
    g: Tensor, x: Tensor, weight: Any, out1: Tensor, out2: Tensor, needs: list, groups: int, eps: float
) -> tuple:
    if g is None:
        return None, None, None
    gx, gw, gb = group_norm_grad(g, x, weight, out1, out2, groups=groups, eps=eps)
    return gx, gw if needs[1] else None, gb if needs[2] else None


def _group_norm_grad_formula(
    gy: Tensor, x: Tensor, weight: Any, mean: Tensor, rstd: Tensor, groups: int, eps: float
) -> tuple:
    rows, dims = (x.shape[0], groups, -1), (0, *range(2, x.ndim))
    hat, scale = standardised(x.reshape(rows), (2,), eps)
    gb, gw = gy.sum(dims), (gy * hat.reshape(x.shape)).sum(dims)
    g = (gy if weight is None else gy * _per_channel(weight, x.ndim)).reshape(rows)
    inner = g - g.mean(2, keepdim=True) - hat * (g * hat).mean(2, keepdim=True)
    return (inner * scale).reshape(x.shape), gw, gb


by_reference(group_norm_grad, _group_norm_grad_formula)


def _check_groups(x: Tensor, groups: int, weight: Any, bias: Any) -> None:
    shape = x._a.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    if whole(groups, "num_groups") <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {groups}")
    if shape[1] % groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(shape)} and num_groups={groups}"
        )
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t._a.shape != (shape[1],):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, "
                f"but got {name} of shape {list(t._a.shape)} and input of shape {list(shape)}"
            )
    if shape[0] * shape[1] // groups * prod(shape[2:]) == 1:
        size = [shape[0] * shape[1] // groups, groups, *shape[2:]]
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {size}")


@public("functional")
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    """As `nn.GroupNorm`, with weight and bias of (C,), or without."""
    _check_groups(input, num_groups, weight, bias)
    norm_dtypes(input, weight, bias)
    if not input._a.size:  # weight and bias are in its graph all the same
        out = input * 1.0
        out = out if weight is None else out * _per_channel(weight, input._a.ndim)
        return out if bias is None else out + _per_channel(bias, input._a.ndim)
    if group_norm_op.joins(input):
        return group_norm_op(input, weight, bias, groups=num_groups, eps=float(eps))[0]
    return in_parts(input, num_groups, weight, bias, eps)


@public("torch")
def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """`group_norm` with the mean and 1 / standard deviation of every group.

    Args:
        input: (N, C, *).
        weight, bias: (C,), applied after the normalisation.
        N, C, HxW: the input's size, and how many elements a channel has.
        group: number of groups.
        eps: added to the variance before the root is taken.

    Example:
        >>> torch.native_group_norm(torch.tensor([[1.0, 3.0]]), None, None, 1, 2, 1, 1, 0.0)[1]
        tensor([[2.]])
    """
    _check_groups(input, group, weight, bias)
    norm_dtypes(input, weight, bias)
    if N * C * HxW != input._a.size or C != input._a.shape[1]:
        raise RuntimeError(f"native_group_norm: N={N}, C={C} and HxW={HxW} do not describe an input of size {list(input._a.shape)}")  # fmt: skip
    rows = input.reshape(N, group, C // group * HxW).to(from_np(statistics_dtype(input._a)))
    mean, spread = rows.mean(-1), rows.var(-1, correction=0)
    kind = (input if weight is None else weight).dtype
    made = group_norm(input, group, weight, bias, eps)
    return made, mean.to(kind), (spread + eps).rsqrt().to(kind)


def in_parts(x: Tensor, groups: int, weight: Any, bias: Any, eps: float) -> Tensor:
    """Group norm as a layer norm and what is pointwise behind it: passes for a GPU join these."""
    shape = x._a.shape
    grouped = x.reshape((shape[0], groups, -1))
    out = layer_norm_op(grouped, None, None, dims=1, eps=float(eps))[0].reshape(shape)
    if weight is not None:
        out = out * _per_channel(weight, len(shape))
    return out if bias is None else out + _per_channel(bias, len(shape))


@public("torch", name="group_norm")
def _torch_group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:
    """As `nn.functional.group_norm`.

    Args:
        cudnn_enabled: accepted, and not used.
    """
    return group_norm(input, num_groups, weight, bias, eps)
