"""Derivatives by reference: a fused op is differentiated through the same formula in tensor ops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.gradients.differentiate import grad
from ...core.modes import enable_grad
from ...core.op import Op
from ...core.tensor import Tensor, tensor_over
from ...runtime.thread import here
from ..shape.reshape import view


def by_reference(op: Op, formula: Callable[..., Any]) -> Op:
    """Let `op`'s derivative be that of `formula(*inputs, **attrs)`, which computes the same values.

    Meant for the ops that are themselves derivatives: first order stays one kernel, and the rarely
    used second order costs one look at the mathematics instead of a second hand-derived kernel.
    """
    attrs = attribute_names(op.kernel.generic)
    count = len(op.inputs)

    def backward(gs: list[Any], needs: list[bool], *kept: Any) -> tuple:
        named = dict(zip(attrs, kept[count:]))
        return vjp(lambda *xs: formula(*xs, **named), kept[:count], needs, gs)

    backward.takes = ["gs", "needs", *op.inputs, *attrs]  # type: ignore[attr-defined]
    op.backward(backward)
    return op


def attribute_names(body: Any) -> list[str]:
    """The keyword-only parameters of a kernel body, through its wrappers."""
    while hasattr(body, "__wrapped__"):
        body = body.__wrapped__
    code = body.__code__
    return list(code.co_varnames[code.co_argcount : code.co_argcount + code.co_kwonlyargcount])


def vjp(fn: Callable[..., Any], inputs: Sequence[Any], needs: Sequence[bool], gs: Sequence[Any]) -> tuple:
    """The gradients of `inputs` when those of `fn(*inputs)` are `gs`; None where not needed."""
    create = here.grad
    with enable_grad():
        heads = [_head(x, create) if want else _stop(x) for x, want in zip(inputs, needs)]
        result = fn(*heads)
    outs = result if isinstance(result, tuple) else (result,)
    pairs = [(o, g) for o, g in zip(outs, gs) if g is not None and o is not None]
    pairs = [(o, g) for o, g in pairs if o.requires_grad]
    wanted = [h for h, want in zip(heads, needs) if want]
    if not pairs or not wanted:
        return (None,) * len(inputs)
    found = iter(grad([o for o, _ in pairs], wanted, [g for _, g in pairs], create_graph=create, allow_unused=True))
    return tuple([next(found) if want else None for want in needs])


def _head(x: Tensor, connected: bool) -> Tensor:
    """A fresh start of a graph at `x`, itself hanging on x's own graph, if it has one, when `connected`."""
    if connected and x.requires_grad:
        return view(x, x._a.shape) if x._a.flags.c_contiguous else x.expand(x._a.shape)
    return tensor_over(x._a, x._a.__class__).requires_grad_()


def _stop(x: Any) -> Any:
    return tensor_over(x._a, x._a.__class__) if isinstance(x, Tensor) else x
