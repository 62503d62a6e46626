"""Kernels that passes make of a batch norm and its neighbours: their generic bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...runtime.door import KERNELS
from .parts import Part, join

if TYPE_CHECKING:
    from ...base.array_module import ArrayModule
    from ...base.protocols import Array


def _train(
    part: Part, x: Array, weight: Array | None, bias: Array | None, *other: Array, **how: Any
) -> tuple:
    y, *statistics = part("batch_norm_train", x, weight, bias, **how)
    return (part("relu", part("add", y, *other) if other else y), *statistics)


def _eval(part: Part, *arrays: Array | None, **how: Any) -> Any:
    y, other = part("batch_norm_eval", *arrays[:5], **how), arrays[5:]
    return part("relu", part("add", y, *other) if other else y)


def _positive(part: Part, arrays: list, attrs: dict) -> list:
    """A variance is not negative."""
    return [*arrays[:4], part("abs", arrays[4]), *arrays[5:]]


def _relu_grad(
    xp: ArrayModule,
    g: Array,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    mean: Array,
    invstd: Array,
    *,
    eps: float,
) -> tuple:
    """The sign of relu's output is found again from the normalised numbers."""
    shape = (1, -1) + (1,) * (x.ndim - 2)
    scale = invstd if weight is None else invstd * weight
    y = (x - mean.reshape(shape)) * scale.reshape(shape)
    y = y if bias is None else y + bias.reshape(shape)
    masked = KERNELS["relu_grad"].generic(xp, g, y.astype(x.dtype)).astype(g.dtype, copy=False)
    return KERNELS["batch_norm_grad"].generic(xp, masked, x, weight, mean, invstd, eps=eps)


def _relu_grad_by(
    part: Part,
    g: Array,
    x: Array,
    weight: Array | None,
    bias: Array | None,
    mean: Array,
    invstd: Array,
    **how: Any,
) -> Any:
    y = part("batch_norm_train", x, weight, bias, **how)[0]
    return part(
        "batch_norm_grad", part("relu_grad", g, part("relu", y)), x, weight, mean, invstd, **how
    )


def _of_x(part: Part, arrays: list, attrs: dict) -> list:
    """Statistics are made anew, to fit the numbers of x."""
    affine = arrays[1:4] if len(arrays) == 6 else [*arrays[3:5], None]
    return [*arrays[:-2], *part("batch_norm_train", *affine, **attrs)[1:]]


def _add_relu_grad(
    part: Part,
    g: Array,
    more: Array | None,
    y: Array,
    x: Array,
    weight: Array | None,
    mean: Array,
    invstd: Array,
    **how: Any,
) -> tuple:
    masked = part("relu_grad", g if more is None else part("add", g, more), y)
    return (masked, *part("batch_norm_grad", masked, x, weight, mean, invstd, **how))


BATCH_NORM_RELU = join("batch_norm_relu", _train)
BATCH_NORM_ADD_RELU = join("batch_norm_add_relu", _train)
BATCH_NORM_EVAL_RELU = join("batch_norm_eval_relu", _eval, _positive)
BATCH_NORM_EVAL_ADD_RELU = join("batch_norm_eval_add_relu", _eval, _positive)
BATCH_NORM_RELU_GRAD = join("batch_norm_relu_grad", _relu_grad_by, _of_x, _relu_grad)
# Gradients of the other summand, x, weight and bias, from one or two gradients of the output y.
BATCH_NORM_ADD_RELU_GRAD = join("batch_norm_add_relu_grad", _add_relu_grad, _of_x)
