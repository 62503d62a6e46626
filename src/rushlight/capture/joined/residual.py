"""Kernels that a pass makes of a residual sum and the norm behind it, and of the norm's derivative and the sum behind that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...runtime.door import KERNELS, Kernel
from .parts import PARTS


def _forward(norm: str) -> tuple[Callable[..., tuple], Callable[..., tuple]]:
    """The generic body of `add + norm`, and what its parts answer."""

    def by(part: Callable[..., Any], x: Any, other: Any, *affine: Any, **attrs: Any) -> tuple:
        total = part("add", x, other)
        return (*part(norm, total, *affine, **attrs), total)

    return _generic(by), lambda part, arrays, attrs: (arrays, by(part, *arrays, **attrs))


def _backward(norm: str) -> tuple[Callable[..., tuple], Callable[..., tuple]]:
    """The generic body of the derivative + another gradient of its input, and what the parts answer."""

    def by(part: Callable[..., Any], *arrays: Any, **attrs: Any) -> tuple:
        gx, *grads = part(f"{norm}_grad", *arrays[:-1], **attrs)
        return (part("add", gx, arrays[-1]), *grads)

    def parts(part: Callable[..., Any], arrays: list, attrs: dict) -> tuple[list, Any]:
        """Statistics are made anew, to fit the numbers of x."""
        g, x, weight = arrays[:3]
        affine = (weight, None) if norm == "layer_norm" else (weight,)
        given = [g, x, weight, *part(norm, x, *affine, **attrs)[1:], arrays[-1]]
        return given, by(part, *given, **attrs)

    return _generic(by), parts


def _generic(by: Callable[..., tuple]) -> Callable[..., tuple]:
    def body(xp: Any, *arrays: Any, **attrs: Any) -> tuple:
        def part(name: str, *given: Any, **how: Any) -> Any:
            return KERNELS[name].generic(xp, *given, **how)

        return by(part, *arrays, **attrs)

    return body


def _made(name: str, body: Callable[..., tuple], parts: Callable[..., tuple]) -> Kernel:
    PARTS[name] = parts
    return Kernel(name, body)


_NORMS = ("layer_norm", "rms_norm")
# (x, other, weight, bias) -> result, statistics, x + other; the root-mean-square norm has neither bias nor mean.
ADD_NORMS = {norm: _made(f"add_{norm}", *_forward(norm)) for norm in _NORMS}
# (g, x, weight, statistics, another gradient of x) -> gradients of x and of the weight and bias.
NORM_GRADS_ADD = {f"{norm}_grad": _made(f"{norm}_grad_add", *_backward(norm)) for norm in _NORMS}
