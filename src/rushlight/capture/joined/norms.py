"""Kernels that passes make of a batch norm and its neighbours: their generic bodies."""

from __future__ import annotations

from typing import Any

from ...runtime.door import KERNELS, Kernel
from .parts import PARTS


def _relu(xp: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> tuple:
    y, mean, invstd = KERNELS["batch_norm_train"].generic(xp, x, weight, bias, eps=eps)
    return KERNELS["relu"].generic(xp, y), mean, invstd


def _add_relu(xp: Any, x: Any, weight: Any, bias: Any, other: Any, *, eps: float) -> tuple:
    y, mean, invstd = KERNELS["batch_norm_train"].generic(xp, x, weight, bias, eps=eps)
    return KERNELS["relu"].generic(xp, y + other), mean, invstd


def _eval_relu(xp: Any, x: Any, weight: Any, bias: Any, mean: Any, var: Any, *, eps: float) -> Any:
    y = KERNELS["batch_norm_eval"].generic(xp, x, weight, bias, mean, var, eps=eps)
    return KERNELS["relu"].generic(xp, y)


def _eval_add_relu(
    xp: Any, x: Any, weight: Any, bias: Any, mean: Any, var: Any, other: Any, *, eps: float
) -> Any:
    y = KERNELS["batch_norm_eval"].generic(xp, x, weight, bias, mean, var, eps=eps)
    return KERNELS["relu"].generic(xp, y + other)


def _relu_grad(
    xp: Any, g: Any, x: Any, weight: Any, bias: Any, mean: Any, invstd: Any, *, eps: float
) -> tuple:
    """The sign of relu's output is found again from the normalised numbers."""
    shape = (1, -1) + (1,) * (x.ndim - 2)
    scale = invstd if weight is None else invstd * weight
    y = (x - mean.reshape(shape)) * scale.reshape(shape)
    y = y if bias is None else y + bias.reshape(shape)
    masked = KERNELS["relu_grad"].generic(xp, g, y.astype(x.dtype)).astype(g.dtype, copy=False)
    return KERNELS["batch_norm_grad"].generic(xp, masked, x, weight, mean, invstd, eps=eps)


def _add_relu_grad(
    xp: Any, g: Any, more: Any, y: Any, x: Any, weight: Any, mean: Any, invstd: Any, *, eps: float
) -> tuple:
    total = g if more is None else g + more
    masked = KERNELS["relu_grad"].generic(xp, total, y).astype(g.dtype, copy=False)
    rest = KERNELS["batch_norm_grad"].generic(xp, masked, x, weight, mean, invstd, eps=eps)
    return (masked, *rest)


BATCH_NORM_RELU = Kernel("batch_norm_relu", _relu)
BATCH_NORM_ADD_RELU = Kernel("batch_norm_add_relu", _add_relu)
BATCH_NORM_EVAL_RELU = Kernel("batch_norm_eval_relu", _eval_relu)
BATCH_NORM_EVAL_ADD_RELU = Kernel("batch_norm_eval_add_relu", _eval_add_relu)
BATCH_NORM_RELU_GRAD = Kernel("batch_norm_relu_grad", _relu_grad)
# Gradients of the other summand, x, weight and bias, from one or two gradients of the output y.
BATCH_NORM_ADD_RELU_GRAD = Kernel("batch_norm_add_relu_grad", _add_relu_grad)

JOINED_NORMS = frozenset((
    "batch_norm_relu", "batch_norm_add_relu", "batch_norm_relu_grad", "batch_norm_add_relu_grad",
    "batch_norm_eval_relu", "batch_norm_eval_add_relu",
))  # fmt: skip


# -- the same by the device's own parts -------------------------------------------------------------


def _forward_parts(part: Any, arrays: list, attrs: dict) -> tuple[list, Any]:
    x, weight, bias, *other = arrays
    y, *statistics = part("batch_norm_train", x, weight, bias, **attrs)
    return arrays, [part("relu", part("add", y, *other) if other else y), *statistics]


def _eval_parts(part: Any, arrays: list, attrs: dict) -> tuple[list, Any]:
    """A variance is not negative."""
    *given, var = arrays[:5]
    given, other = [*given, part("abs", var)], arrays[5:]
    y = part("batch_norm_eval", *given, **attrs)
    return [*given, *other], part("relu", part("add", y, *other) if other else y)


def _relu_grad_parts(part: Any, arrays: list, attrs: dict) -> tuple[list, Any]:
    """Statistics are made anew, to fit the numbers of x."""
    g, x, weight, bias = arrays[:4]
    y, mean, invstd = part("batch_norm_train", x, weight, bias, **attrs)
    masked = part("relu_grad", g, part("relu", y))
    expected = part("batch_norm_grad", masked, x, weight, mean, invstd, **attrs)
    return [g, x, weight, bias, mean, invstd], expected


def _add_relu_grad_parts(part: Any, arrays: list, attrs: dict) -> tuple[list, Any]:
    g, more, y, x, weight = arrays[:5]
    _, mean, invstd = part("batch_norm_train", x, weight, None, **attrs)
    masked = part("relu_grad", g if more is None else part("add", g, more), y)
    rest = part("batch_norm_grad", masked, x, weight, mean, invstd, **attrs)
    return [g, more, y, x, weight, mean, invstd], [masked, *rest]


PARTS["batch_norm_relu"] = PARTS["batch_norm_add_relu"] = _forward_parts
PARTS["batch_norm_eval_relu"] = PARTS["batch_norm_eval_add_relu"] = _eval_parts
PARTS["batch_norm_relu_grad"] = _relu_grad_parts
PARTS["batch_norm_add_relu_grad"] = _add_relu_grad_parts
