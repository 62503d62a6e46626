"""Numeric checks of first and second derivatives, by central differences in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.gradients.differentiate import grad
from ..core.tensor import Tensor, wrap


class GradcheckError(RuntimeError):
    """A numeric derivative and the computed one disagree."""


def _outputs(fn: Callable, inputs: tuple) -> list[Tensor]:
    out = fn(*inputs)
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    return [o for o in outs if isinstance(o, Tensor) and (o.is_floating_point() or o.is_complex())]


def _numeric(
    fn: Callable, inputs: tuple, which: int, seeds: list[np.ndarray], eps: float
) -> np.ndarray:
    """d(sum of seeds * outputs)/d(input), one element at a time."""
    x = inputs[which].detach()._host()
    result = np.zeros(x.shape, x.dtype)
    directions = (1, 1j) if x.dtype.kind == "c" else (1,)
    for at in np.ndindex(*x.shape):
        for direction in directions:  # PyTorch's complex gradient: d/d(real) + 1j * d/d(imag)
            values = []
            for sign in (eps, -eps):
                moved = x.copy()
                moved[at] += sign * direction
                trial = list(inputs)
                trial[which] = wrap(moved).to(inputs[which].device).requires_grad_()
                outs = [o.detach().cpu()._host() for o in _outputs(fn, tuple(trial))]
                values.append(sum(float((o * s.conj()).sum().real) for o, s in zip(outs, seeds)))
            result[at] += (values[0] - values[1]) / (2 * eps) * direction
    return result


def _seed(rng: np.random.RandomState, o: Tensor) -> np.ndarray:
    seed = np.asarray(rng.uniform(0.5, 1.5, o.shape))
    return np.asarray(seed + 1j * seed[..., ::-1]) if o.is_complex() and o.ndim else seed


def gradcheck(
    func: Callable,
    inputs: Any,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_backward_ad: bool = True,
    check_forward_ad: bool = False,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Compare the gradients of `func` with numeric ones; inputs should be float64.

    Args:
        func: takes tensors, returns a tensor or several.
        inputs: one tensor or a tuple; those that require gradients are checked.
        eps: by how much an element is moved.
        atol, rtol: how much the two may differ.
        raise_exception: raise where they differ; otherwise return False.
        nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad, check_backward_ad, check_forward_ad,
            fast_mode, masked: accepted and not needed.

    Raises:
        GradcheckError: if the gradients differ.
        ValueError: if no input requires gradients.

    Example:
        >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradcheck(torch.sin, (x,))
        True
    """
    ins = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    checked = [i for i, t in enumerate(ins) if isinstance(t, Tensor) and t.requires_grad]
    if not checked:
        raise ValueError("gradcheck expects at least one input tensor to require gradient")
    outs = _outputs(func, ins)
    rng = np.random.RandomState(0)
    seeds = [_seed(rng, o) for o in outs]
    live = [(o, s) for o, s in zip(outs, seeds) if o.requires_grad]
    if not live:
        analytic: Any = [None] * len(checked)
    else:
        analytic = grad(
            [o for o, _ in live],
            [ins[i] for i in checked],
            [wrap(s.astype(o._host().dtype)).to(o.device) for o, s in live],
            allow_unused=True,
        )
    for i, g in zip(checked, analytic):
        want = _numeric(func, ins, i, seeds, eps)
        got = np.zeros(want.shape) if g is None else g.detach().cpu()._host()
        if not np.allclose(got, want, rtol=rtol, atol=atol, equal_nan=True):
            if raise_exception:
                raise GradcheckError(_mismatch(func, ins, i, eps, rtol, atol))
            return False
    return True


def _mismatch(fn: Callable, inputs: tuple, i: int, eps: float, rtol: float, atol: float) -> str:
    """Which output is wrong, and both Jacobians of it: found only when the projections disagree."""
    outs = _outputs(fn, inputs)
    zeros = [np.zeros(o.shape, o._host().dtype) for o in (o.detach().cpu() for o in outs)]
    for k, out in enumerate(outs):
        numeric, analytic = [], []
        for at in np.ndindex(*out.shape):
            seeds = [z.copy() for z in zeros]
            seeds[k][at] = 1
            numeric.append(_numeric(fn, inputs, i, seeds, eps).reshape(-1))
            analytic.append(_row(out, inputs[i], seeds[k]).reshape(-1))
        rows = [np.stack(r, axis=1) if r else np.zeros((0, 0)) for r in (numeric, analytic)]
        if not np.allclose(rows[1], rows[0], rtol=rtol, atol=atol, equal_nan=True):
            return (
                f"Jacobian mismatch for output {k} with respect to input {i},\n"
                f"numerical:{wrap(rows[0])}\nanalytical:{wrap(rows[1])}\n"
            )
    return f"Jacobian mismatch for the outputs together with respect to input {i}"


def _row(out: Tensor, x: Tensor, seed: np.ndarray) -> np.ndarray:
    if not out.requires_grad:
        return np.zeros(x.shape, x.detach().cpu()._host().dtype)
    (g,) = grad(out, x, wrap(seed).to(out.device), retain_graph=True, materialize_grads=True)
    return g.detach().cpu()._host()


def gradgradcheck(
    func: Callable,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Compare the second derivatives of `func` with numeric ones; inputs should be float64.

    Args:
        func: takes tensors, returns a tensor or several.
        inputs: one tensor or a tuple; those that require gradients are checked.
        grad_outputs: gradients of the outputs; random ones if not given.
        eps: by how much an element is moved.
        atol, rtol: how much the two may differ.
        raise_exception: raise where they differ; otherwise return False.
        gen_non_contig_grad_outputs, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad,
            check_fwd_over_rev, check_rev_over_rev, fast_mode, masked: accepted and not needed.

    Raises:
        GradcheckError: if the derivatives differ.

    Example:
        >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradgradcheck(lambda x: x**3, (x,))
        True
    """
    ins = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    wanted = [i for i, t in enumerate(ins) if isinstance(t, Tensor) and t.requires_grad]
    outs = [o for o in _outputs(func, ins) if o.requires_grad]
    if not outs:
        return True
    rng = np.random.RandomState(1)
    if grad_outputs is None:
        grad_outputs = [
            wrap(rng.uniform(0.5, 1.5, o.shape)).to(o.device, o.dtype).requires_grad_()
            for o in outs
        ]
    seeds = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)

    def first(*args: Any) -> tuple:
        xs, vs = args[: len(ins)], args[len(ins) :]
        ys = [o for o in _outputs(func, xs) if o.requires_grad]
        targets = [xs[i] for i in wanted]
        gs = grad(ys, targets, list(vs), create_graph=True, allow_unused=True)
        return tuple(g for g in gs if g is not None)

    return gradcheck(
        first, ins + seeds, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception
    )
