"""Derivatives of functions: vjp, jvp, jacobian, hessian, hvp and vhp by repeated backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.differentiate import grad
from ..core.tensor import Tensor


def _prepare(inputs: Any, create_graph: bool) -> tuple[tuple[Tensor, ...], bool]:
    single = isinstance(inputs, Tensor)
    ins = (inputs,) if single else tuple(inputs)
    if create_graph:
        return tuple(
            x.view_as(x) if x.requires_grad else x.detach().requires_grad_() for x in ins
        ), single
    return tuple(x.detach().requires_grad_() for x in ins), single


def _grads(out: Tensor, ins: tuple, seed: Any, create_graph: bool) -> tuple:
    if not out.requires_grad:
        return tuple(x.new_zeros(x.shape) for x in ins)
    gs = grad(out, ins, seed, retain_graph=True, create_graph=create_graph, allow_unused=True)
    return tuple(x.new_zeros(x.shape) if g is None else g for x, g in zip(ins, gs))


def vjp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """`func(inputs)` and the product of `v` with its Jacobian."""
    ins, single = _prepare(inputs, create_graph)
    out = func(*ins)
    gs = _grads(out, ins, v, create_graph)
    return (out if create_graph else out.detach()), gs[0] if single else gs


def jvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """`func(inputs)` and the product of its Jacobian with `v`, by two backward passes."""
    ins, single = _prepare(inputs, create_graph)
    vs = (v,) if isinstance(v, Tensor) else v
    out = func(*ins)
    dummy = out.detach().new_zeros(out.shape).requires_grad_()
    gs = _grads(out, ins, dummy, True)
    total = sum((g * w).sum() for g, w in zip(gs, vs))
    (product,) = grad(total, dummy, create_graph=create_graph, retain_graph=True)
    return (out if create_graph else out.detach()), product


def jacobian(
    func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The Jacobian of `func` at `inputs`, shape (*output, *input)."""
    ins, single = _prepare(inputs, create_graph)
    out = func(*ins)
    rows: list[list[Tensor]] = [[] for _ in ins]
    flat = out.reshape(-1)
    for i in range(flat.numel()):
        for row, g in zip(rows, _grads(flat[i], ins, None, create_graph)):
            row.append(g)
    from ..ops.join import stack

    jac = tuple(
        stack(row).reshape(tuple(out.shape) + tuple(x.shape)) if row
        else x.new_zeros(tuple(out.shape) + tuple(x.shape))
        for row, x in zip(rows, ins)
    )  # fmt: skip
    return jac[0] if single else jac


def hessian(
    func: Callable, inputs: Any, create_graph: bool = False, strict: bool = False, vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:  # fmt: skip
    """The matrix of second derivatives of a scalar function."""
    single = isinstance(inputs, Tensor)
    ins = (inputs,) if single else tuple(inputs)

    def gradient(i: int) -> Callable:
        return lambda *xs: _grads(func(*xs), xs, None, True)[i]

    blocks = tuple(jacobian(gradient(i), ins, create_graph) for i in range(len(ins)))
    return blocks[0][0] if single else blocks


def hvp(
    func: Callable, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False
) -> Any:
    """`func(inputs)` and the product of its Hessian with `v`."""
    ins, single = _prepare(inputs, create_graph)
    vs = (v,) if isinstance(v, Tensor) else v
    out = func(*ins)
    gs = _grads(out, ins, None, True)
    total = sum((g * w).sum() for g, w in zip(gs, vs))
    product = _grads(total, ins, None, create_graph)
    return (out if create_graph else out.detach()), product[0] if single else product


vhp = hvp  # the Hessian is symmetric
