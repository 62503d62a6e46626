"""Making activations: a body and its slope become an op, its fused derivative and a public function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.inplace import change
from ...core.op import Op
from ...core.tensor import Tensor
from ...runtime.facts import NOTHING, Facts
from ...runtime.point import Point
from ..made_of.guards import FLOATS, only
from ..made_of.pointwise import same_meta
from ..made_of.precision import in_float32
from ..made_of.reference import attribute_names, by_reference


def grad_meta(gy: Any, x: Any, **attrs: Any) -> tuple:
    return x.shape, x.dtype


def activation(
    name: str,
    body: Callable,
    grad_body: Callable,
    formula: Callable | None = None,
    *,
    keeps: str = "x",
    kinds: str = FLOATS,
    label: str | None = None,
    facts: Facts = NOTHING,
    grad_facts: Facts = NOTHING,
    point: Point,
    slope: Point,
) -> Op:
    """An op `name(x, *, ...)` and `name_grad(gy, x, *, ...)`, both one kernel.

    `formula(gy, x, **attrs)` writes the derivative in tensor ops for derivatives of higher order;
    without one the slope is taken as constant in x, and the derivative as linear in gy. Where the
    slope follows from the result, `keeps="out"` gives that to `name_grad` instead of x.
    """
    rule = only(kinds, label or f"{name}_cpu")
    forward = Op(in_float32(body), name, rule=rule, meta=same_meta, facts=facts, point=point)
    backward = Op(in_float32(grad_body), name + "_grad", meta=grad_meta, facts=grad_facts, point=slope)
    if formula is not None:
        by_reference(backward, formula)
    forward.slope = backward
    forward.result_may_change = keeps == "out"  # PyTorch's derivatives of these read x
    attrs = attribute_names(body)
    _derive(forward, backward, "x", keeps, attrs)
    if formula is None:
        _derive(backward, backward, "gy", "x", attrs)
    return forward


def run(op: Op, x: Tensor, inplace: bool, **attrs: Any) -> Tensor:
    """`op(x)`, written into x if `inplace`; its derivative then needs a copy of what x was."""
    if not inplace:
        return op(x, **attrs)
    return change(x, lambda t: op(t.clone() if t.requires_grad else t, **attrs))


def inplace_of(fn: Callable) -> Callable:
    """The function `name_` of a function that takes `inplace=`."""

    def inplace(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return fn(input, *args, **kwargs, inplace=True)

    inplace.__name__ = inplace.__qualname__ = fn.__name__ + "_"
    inplace.__doc__ = f"In-place version of `{fn.__name__}`."
    return inplace


def _derive(op: Op, by: Op, of: str, keeps: str, attrs: list[str]) -> None:
    """d op / d `of` = by(g, x, **attrs); the parameter names are what the op keeps."""

    def derivative(g: Tensor, x: Tensor, *values: Any) -> Tensor:
        return by(g, x, **dict(zip(attrs, values)))

    derivative.takes = ["g", keeps, *attrs]  # type: ignore[attr-defined]
    op.derivative(**{of: derivative})
