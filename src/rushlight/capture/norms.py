"""Kernels that passes make of a batch norm and its neighbours: their generic bodies."""

from __future__ import annotations

from typing import Any

from ..backend.door import KERNELS, Kernel, run
from ..base.dtypes import float32, from_np


def _relu(xp: Any, x: Any, weight: Any, bias: Any, *, eps: float) -> tuple:
    y, mean, invstd = KERNELS["batch_norm_train"].generic(xp, x, weight, bias, eps=eps)
    return KERNELS["relu"].generic(xp, y), mean, invstd


def _add_relu(xp: Any, x: Any, weight: Any, bias: Any, other: Any, *, eps: float) -> tuple:
    y, mean, invstd = KERNELS["batch_norm_train"].generic(xp, x, weight, bias, eps=eps)
    return KERNELS["relu"].generic(xp, y + other), mean, invstd


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
BATCH_NORM_RELU_GRAD = Kernel("batch_norm_relu_grad", _relu_grad)
# Gradients of the other summand, x, weight and bias, from one or two gradients of the output y.
BATCH_NORM_ADD_RELU_GRAD = Kernel("batch_norm_add_relu_grad", _add_relu_grad)

JOINED_NORMS = frozenset(
    ("batch_norm_relu", "batch_norm_add_relu", "batch_norm_relu_grad", "batch_norm_add_relu_grad")
)


# -- joined kernels beside their parts, both as the device computes them ---------------------------


def agrees(name: str, arrays: list[Any], attrs: dict[str, Any]) -> bool:
    """Whether a joined kernel computes what its parts do, one after another, on the same device.

    They round alike, so little may differ. Statistics are made anew, to fit the numbers of `x`.
    """
    cls = arrays[0].__class__

    def part(kernel: str, *given: Any, **how: Any) -> Any:
        return run(KERNELS[kernel], cls, given, how)

    if name.endswith("_grad"):
        given, expected = _gradients(part, name, arrays, attrs["eps"])
    else:
        x, weight, bias, *other = given = arrays
        y, *statistics = part("batch_norm_train", x, weight, bias, **attrs)
        expected = [part("relu", part("add", y, *other) if other else y), *statistics]
    out = run(KERNELS[name], cls, given, attrs)
    return all([_near(part, a, b) for a, b in zip(out, expected)])  # noqa: C419 - all of them run


def _gradients(part: Any, name: str, arrays: list[Any], eps: float) -> tuple[list, list]:
    """What the joined derivative is given, and what its parts answer."""
    if name == "batch_norm_relu_grad":
        g, x, weight, bias = arrays[:4]
        y, mean, invstd = part("batch_norm_train", x, weight, bias, eps=eps)
        masked = part("relu_grad", g, part("relu", y))
        given = [g, x, weight, bias, mean, invstd]
        return given, part("batch_norm_grad", masked, x, weight, mean, invstd, eps=eps)
    g, more, y, x, weight = arrays[:5]
    _, mean, invstd = part("batch_norm_train", x, weight, None, eps=eps)
    masked = part("relu_grad", g if more is None else part("add", g, more), y)
    given = [g, more, y, x, weight, mean, invstd]
    return given, [masked, *part("batch_norm_grad", masked, x, weight, mean, invstd, eps=eps)]


def _near(part: Any, a: Any, b: Any) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if not a.size:
        return True
    tolerance = {2: 2e-2, 4: 1e-3}.get(a.dtype.itemsize, 1e-8)
    if a.dtype.itemsize == 2:
        source = from_np(a.dtype)
        a, b = [part("cast", v, to=float32, source=source) for v in (a, b)]

    def largest(v: Any) -> float:
        return float(part("max", part("abs", v), dim=None, keepdim=False))

    return largest(part("sub", a, b)) <= tolerance * max(largest(b), 1e-6)
