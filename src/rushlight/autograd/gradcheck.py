"""Numeric checks of first and second derivatives, by central differences in float64."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from warnings import warn

import numpy as np

from ..base.formats import strided
from ..core.gradients.differentiate import grad
from ..core.tensor import Tensor, wrap
from ..operators.pointwise.complex import view_as_real
from . import forward_ad
from .batched import vmap


class GradcheckError(RuntimeError):
    """A numeric derivative and the computed one disagree."""


def _outputs(fn: Callable, inputs: tuple) -> list[Tensor]:
    out = fn(*inputs)
    outs = list(out) if isinstance(out, (tuple, list)) else [out]
    return [o for o in outs if isinstance(o, Tensor) and (o.is_floating_point() or o.is_complex())]


@contextmanager
def _moved(inputs: tuple, which: int, at: tuple, by: complex) -> Iterator[tuple]:
    """The inputs, one element of which is moved: in place, so that what is a parameter, or held elsewhere, stays what it is."""
    given = inputs[which]
    if given.layout is not strided:
        moved = given.detach()._host().copy()
        moved[at] += by
        yield (*inputs[:which], wrap(moved).to(given.device).requires_grad_(), *inputs[which + 1 :])
        return
    values = given.data
    before = values[at].item()
    values[at] = before + by
    try:
        yield inputs
    finally:
        values[at] = before


def _numeric(fn: Callable, inputs: tuple, which: int, seeds: list[np.ndarray], eps: float) -> np.ndarray:
    """d(sum of seeds * outputs)/d(input), one element at a time."""
    x = inputs[which].detach()._host()
    result = np.zeros(x.shape, x.dtype)
    kinds: list[Any] = []
    directions = (1, 1j) if x.dtype.kind == "c" else (1,)
    for at in np.ndindex(*x.shape):
        for direction in directions:  # PyTorch's complex gradient: d/d(real) + 1j * d/d(imag)
            values = []
            for sign in (eps, -eps):
                with _moved(inputs, which, at, sign * direction) as trial:
                    # Copies: an output may be a view of the input, which moves again.
                    outs = [_host(o).copy() for o in _outputs(fn, trial)]
                _check_alike(outs, seeds, kinds)
                values.append(sum(float((o * s.conj()).sum().real) for o, s in zip(outs, seeds)))
            result[at] += (values[0] - values[1]) / (2 * eps) * direction
    return result


def _check_alike(outs: list[np.ndarray], seeds: list[np.ndarray], kinds: list[Any]) -> None:
    """Raise where outputs look otherwise once an element of the input was moved."""
    kinds[:] = kinds or [o.dtype for o in outs]
    for what, alike in (
        ("shape", [o.shape for o in outs] == [s.shape for s in seeds]),
        ("dtype", [o.dtype for o in outs] == kinds),
    ):
        if not alike:
            raise AssertionError(
                f"Expecting gradcheck `func` to return outputs with the same {what} when inputs are perturbed by eps"
            )


def _check_input(i: int, x: Tensor) -> None:
    """Warn of, or refuse, an input by whose elements no quotients can be computed."""
    if x._a.dtype.name not in ("float64", "complex128"):
        warn(
            f"Input #{i} requires gradient and is not a double precision floating point or complex. This check will "
            "likely fail if all the inputs are not of double precision floating point or complex.",
            stacklevel=3,
        )
    if x.layout is strided and any(s == 0 and n > 1 for s, n in zip(x.stride(), x.shape)):
        raise RuntimeError(
            f"The {i}th input has a dimension with stride 0. gradcheck only supports inputs that are non-overlapping to "
            "be able to compute the numerical gradients correctly. You should call .contiguous on the input before "
            "passing it to gradcheck."
        )


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
    check_batched_forward_grad: bool = False,
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
        nondet_tol: how much the gradients of two backward passes may differ.
        check_undefined_grad: also let gradients arrive at one output only.
        check_grad_dtypes: the gradient of every input has its dtype.
        check_batched_grad: also compute several gradients at once, by `vmap`.
        check_backward_ad: compare the gradients of backward passes.
        check_forward_ad: compare tangents, which forward mode computes.
        check_batched_forward_grad: also compute several tangents at once, by `vmap`.
        fast_mode: of outputs projections are compared in any case, of inputs every element.
        masked: of sparse inputs only the elements that they hold are moved.

    Raises:
        GradcheckError: if the gradients differ.
        ValueError: if no input requires gradients.
        AssertionError: if the shape or dtype of an output depends on the numbers of an input.

    Example:
        >>> x = torch.tensor([0.5, 2.0], dtype=torch.float64, requires_grad=True)
        >>> torch.autograd.gradcheck(torch.sin, (x,))
        True
    """
    if not (check_backward_ad or check_forward_ad):
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if not check_backward_ad:
        for name, asked in (("check_grad_dtypes", check_grad_dtypes), ("check_batched_grad", check_batched_grad)):
            if asked:
                raise AssertionError(f"Setting {name}=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    ins = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    checked = [i for i, t in enumerate(ins) if isinstance(t, Tensor) and t.requires_grad]
    if not checked:
        raise ValueError("gradcheck expects at least one input tensor to require gradient")
    for i in checked:
        _check_input(i, ins[i])
    outs = _outputs(func, ins)
    rng = np.random.RandomState(0)
    seeds = [_seed(rng, o) for o in outs]
    numeric = {i: _numeric(func, ins, i, seeds, eps) for i in checked}
    try:
        if not any(o.requires_grad for o in outs):
            if any(np.any(np.abs(n) > atol) for n in numeric.values()):
                raise GradcheckError("Numerical gradient for function expected to be zero")
            return True
        if check_backward_ad:
            first = _backward(outs, ins, checked, seeds)
            for i, g in zip(checked, first):
                got = np.zeros(numeric[i].shape) if g is None else _host(g)
                if not np.allclose(got, numeric[i], rtol=rtol, atol=atol, equal_nan=True):
                    raise GradcheckError(_mismatch(func, ins, i, eps, rtol, atol))
                if check_grad_dtypes and g is not None and g.dtype != ins[i].dtype:
                    raise GradcheckError("The dtype of analytical gradient does not match input")
        if check_forward_ad:
            _check_forward(func, ins, checked, seeds, eps, rtol, atol)
        if check_batched_forward_grad:
            _check_batched_forward(func, ins, checked)
        if check_backward_ad:
            _check_again(first, _backward(outs, ins, checked, seeds), nondet_tol)
            if check_undefined_grad:
                _check_undefined(outs, ins, checked)
            if check_batched_grad:
                _check_batched(outs, ins, checked)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _host(t: Tensor) -> np.ndarray:
    return t.detach().cpu()._host()


def _backward(outs: list[Tensor], ins: tuple, checked: list[int], seeds: list) -> Any:
    live = [(o, s) for o, s in zip(outs, seeds) if o.requires_grad]
    if not live:
        return [None] * len(checked)
    return grad(
        [o for o, _ in live],
        [ins[i] for i in checked],
        [wrap(s.astype(_host(o).dtype)).to(o.device) for o, s in live],
        retain_graph=True,
        allow_unused=True,
    )


def _check_again(first: Any, second: Any, tolerance: float) -> None:
    for one, other in zip(first, second):
        if one is not None and np.abs(_host(one) - _host(other)).max(initial=0.0) > tolerance:
            raise GradcheckError(
                "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                "different values, although analytical gradient matches numerical gradient. The tolerance for "
                f"nondeterminism was {tolerance}."
            )


def _check_undefined(outs: list[Tensor], ins: tuple, checked: list[int]) -> None:
    """A backward function is given gradients of one output, and none of the others."""
    live = [o for o in outs if o.requires_grad]
    for out in live if len(live) > 1 else []:
        try:
            found = grad(out, [ins[i] for i in checked], out.detach() * 0, retain_graph=True, allow_unused=True)
        except RuntimeError as error:
            raise GradcheckError(_UNDEFINED) from error
        if any(g is not None and _host(g).any() for g in found):
            raise GradcheckError(_UNDEFINED)


_UNDEFINED = (
    "Expected backward function to handle undefined output grads. Please look at 'Notes about undefined output "
    "gradients' in 'tools/autograd/derivatives.yaml'"
)


def _check_batched(outs: list[Tensor], ins: tuple, checked: list[int]) -> None:
    """Gradients of several seeds at once are those of each."""
    targets = [ins[i] for i in checked]
    for out in outs:
        if not out.requires_grad:
            continue
        rows = [out.detach().clone().normal_() for _ in range(2)]
        one_by_one = [grad(out, targets, row, retain_graph=True, allow_unused=True) for row in rows]
        joined = wrap(np.stack([_host(row) for row in rows])).to(out.device)
        try:
            together = grad(out, targets, joined, retain_graph=True, allow_unused=True, is_grads_batched=True)
        except Exception as error:
            raise GradcheckError(
                "While computing batched gradients, got an error: vmap over the backward pass did not work. "
                f"{type(error).__name__}: {error}"
            ) from error
        for place, all_rows in enumerate(together):
            each = [found[place] for found in one_by_one]
            if all_rows is None or each[0] is None:
                continue
            if not np.allclose(_host(all_rows), np.stack([_host(g) for g in each])):
                raise GradcheckError(
                    f"For output 0 and input {checked[place]}: gradients computed with vmap over the backward pass "
                    "are not those computed one by one"
                )


def _check_batched_forward(fn: Callable, ins: tuple, checked: list[int]) -> None:
    """Tangents along several directions at once are those along each."""
    for i in checked:

        def along(direction: Tensor, i: int = i) -> list[Tensor]:
            with forward_ad.dual_level():
                trial = [_apart(t) for t in ins]
                trial[i] = forward_ad.make_dual(ins[i].detach(), direction)
                found = [forward_ad.unpack_dual(o) for o in _outputs(fn, tuple(trial))]
            return [f.primal * 0 if f.tangent is None else f.tangent for f in found]

        rows = [ins[i].detach().clone().normal_() for _ in range(2)]
        try:
            together = vmap(along)(wrap(np.stack([_host(r) for r in rows])).to(ins[i].device))
        except Exception as error:
            raise GradcheckError(
                "While computing batched gradients, got an error: vmap over forward mode did not work. "
                f"{type(error).__name__}: {error}"
            ) from error
        for k, (one, other, both) in enumerate(zip(along(rows[0]), along(rows[1]), together)):
            if not np.allclose(_host(both), np.stack([_host(one), _host(other)])):
                raise GradcheckError(
                    f"For output {k} and input {i}: tangents computed with vmap over forward mode are not those "
                    "computed one by one"
                )


def _apart(t: Any) -> Any:
    """A tensor without a history, of which gradients are wanted as before."""
    return t.detach().requires_grad_(t.requires_grad) if isinstance(t, Tensor) else t


def _check_forward(
    fn: Callable, ins: tuple, checked: list[int], seeds: list, eps: float, rtol: float, atol: float
) -> None:
    """The tangents of forward mode, along one direction for each input, and the quotient of differences along it."""
    rng = np.random.RandomState(2)
    for i in checked:
        x = ins[i].detach()
        along = _seed(rng, x).astype(_host(x).dtype)
        step = wrap(along).to(x.device)
        ends = []
        for sign in (eps, -eps):
            trial = [_apart(t) for t in ins]
            trial[i] = (x + step * sign).requires_grad_()
            ends.append([_host(o) for o in _outputs(fn, tuple(trial))])
        with forward_ad.dual_level():
            trial = [_apart(t) for t in ins]
            trial[i] = forward_ad.make_dual(_apart(ins[i]), step)
            found = [forward_ad.unpack_dual(o) for o in _outputs(fn, tuple(trial))]
            tangents = [np.zeros(f.primal.shape) if f.tangent is None else _host(f.tangent) for f in found]
        for k, (high, low, got) in enumerate(zip(*ends, tangents)):
            want = (high - low) / (2 * eps)
            if not np.allclose(got, want, rtol=rtol, atol=atol, equal_nan=True):
                raise GradcheckError(
                    f"Jacobian computed with forward mode mismatch for output {k} with respect to input {i},\n"
                    f"numerical:{wrap(np.asarray(want))}\nanalytical:{wrap(np.asarray(got))}\n"
                )


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


def _drawn(o: Tensor, gaps: bool) -> Tensor:
    """A gradient for an output, drawn from the common random stream as PyTorch's is."""
    gaps = gaps and o.ndim > 0
    drawn = o.detach().repeat_interleave(2, -1) if gaps else o.detach().clone()
    (view_as_real(drawn) if o.is_complex() else drawn).uniform_(-1, 1)
    return (drawn[..., ::2] if gaps else drawn).requires_grad_()


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
    """As `gradcheck`, of the second derivatives.

    Args:
        grad_outputs: gradients of the outputs; random ones if not given.
        gen_non_contig_grad_outputs: the random gradients of the outputs have gaps in memory.
        check_fwd_over_rev: compare tangents of the backward pass, which forward mode computes.
        check_rev_over_rev: compare the gradients of backward passes of the backward pass.
    """
    ins = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
    wanted = [i for i, t in enumerate(ins) if isinstance(t, Tensor) and t.requires_grad]
    outs = [o for o in _outputs(func, ins) if o.requires_grad]
    if not outs:
        return True
    if grad_outputs is None:
        grad_outputs = [_drawn(o, gen_non_contig_grad_outputs) for o in outs]
    seeds = (grad_outputs,) if isinstance(grad_outputs, Tensor) else tuple(grad_outputs)

    def first(*args: Any) -> tuple:
        xs, vs = args[: len(ins)], args[len(ins) :]
        ys = [o for o in _outputs(func, xs) if o.requires_grad]
        targets = [xs[i] for i in wanted]
        gs = grad(ys, targets, list(vs), create_graph=True, allow_unused=True)
        return tuple(g for g in gs if g is not None)

    return gradcheck(
        first, ins + seeds, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_undefined_grad=check_undefined_grad, check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad, check_backward_ad=check_rev_over_rev, check_forward_ad=check_fwd_over_rev,
        fast_mode=fast_mode, masked=masked,
    )  # fmt: skip
