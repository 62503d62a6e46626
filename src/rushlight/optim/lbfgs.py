"""LBFGS: a quasi-Newton method that calls its closure several times per step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import index
from typing import Any

from ..core.modes import enable_grad, no_grad
from ..core.tensor import Tensor
from ..operators.pointwise.complex import view_as_real
from ..operators.shape.join import cat
from .calls import number
from .checks import check_lr
from .optimizer import Optimizer


def cubic_minimum(x1: Any, f1: float, g1: Any, x2: Any, f2: float, g2: Any,
                  bounds: tuple[Any, Any] | None = None) -> Any:  # fmt: skip
    """The minimiser of the cubic through two points with their slopes, kept within bounds."""
    low, high = bounds or ((x1, x2) if x1 <= x2 else (x2, x1))
    d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2)
    square = d1**2 - g1 * g2
    if not square >= 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    if x1 <= x2:
        at = x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
    else:
        at = x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2))
    return min(max(at, low), high)


def strong_wolfe(
    evaluate: Callable[[Any], tuple[float, Any]], t: Any, d: Any, f: float, g: Any, slope: Any,
    c1: float = 1e-4, c2: float = 0.9, tolerance: float = 1e-9, max_steps: int = 25,
) -> tuple[float, Any, Any, int]:  # fmt: skip
    """(loss, gradient, step, evaluations) at a step along `d` that decreases enough and flattens."""
    scale = d.abs().max()
    g = g.clone()
    f_new, g_new = evaluate(t)
    used = 1
    slope_new = g_new.dot(d)
    before = (0, f, g, slope)
    bracket: list[tuple] = []
    steps = 0
    while steps < max_steps:
        point = (t, f_new, g_new.clone(), slope_new)
        if f_new > f + c1 * t * slope or (steps > 1 and f_new >= before[1]):
            bracket = [before, point]
            break
        if abs(slope_new) <= -c2 * slope:
            return f_new, g_new, t, used
        if slope_new >= 0:
            bracket = [before, point]
            break
        bounds = (t + 0.01 * (t - before[0]), t * 10)
        here = t
        t = cubic_minimum(before[0], before[1], before[3], t, f_new, slope_new, bounds)
        before = (here, f_new, g_new.clone(), slope_new)
        f_new, g_new = evaluate(t)
        used += 1
        slope_new = g_new.dot(d)
        steps += 1
    if not bracket:
        bracket = [(0, f, g, slope), (t, f_new, g_new, slope_new)]
    return _zoom(evaluate, bracket, d, f, slope, scale, used, (c1, c2, tolerance, max_steps - steps))


def _zoom(evaluate: Callable, bracket: list[tuple], d: Any, f: float, slope: Any, scale: Any,
          used: int, limits: tuple) -> tuple[float, Any, Any, int]:  # fmt: skip
    """Shrink a bracket that holds a good step."""
    c1, c2, tolerance, max_steps = limits
    low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
    stuck = False
    for _ in range(max_steps):
        if abs(bracket[1][0] - bracket[0][0]) * scale < tolerance:
            break
        (x1, f1, _, s1), (x2, f2, _, s2) = bracket
        t = cubic_minimum(x1, f1, s1, x2, f2, s2)
        left, right = min(x1, x2), max(x1, x2)
        margin = 0.1 * (right - left)
        if min(right - t, t - left) < margin:
            if stuck or t >= right or t <= left:
                t = right - margin if abs(t - right) < abs(t - left) else left + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        f_new, g_new = evaluate(t)
        used += 1
        slope_new = g_new.dot(d)
        point = (t, f_new, g_new.clone(), slope_new)
        if f_new > f + c1 * t * slope or f_new >= bracket[low][1]:
            bracket[high] = point
            low, high = (0, 1) if bracket[0][1] <= bracket[1][1] else (1, 0)
            continue
        if abs(slope_new) <= -c2 * slope:
            bracket[low] = point
            break
        if slope_new * (bracket[high][0] - bracket[low][0]) >= 0:
            bracket[high] = bracket[low]
        bracket[low] = point
    t, f_best, g_best, _ = bracket[low]
    return f_best, g_best, t, used


_ORDER = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")


class LBFGS(Optimizer):
    """Limited-memory BFGS over one group of parameters: few, expensive steps for smooth functions.

    `step` needs a closure that clears the gradients, computes the loss, calls `backward` and returns the loss.

    Args:
        params: tensors; one group only.
        lr: size of the steps.
        max_iter: directions per call of `step`.
        max_eval: evaluations per call of `step`; `max_iter * 5 // 4` if not given.
        tolerance_grad: stop where no gradient is larger.
        tolerance_change: stop where neither loss nor parameters change more.
        history_size: steps that are remembered.
        line_search_fn: None, or "strong_wolfe".

    Raises:
        ValueError: if there are several groups.

    Example:
        >>> w = torch.tensor([3.0, -4.0], requires_grad=True)
        >>> optimizer = optim.LBFGS([w], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((w - torch.tensor([1.0, 2.0])) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure).item()
        40.0
        >>> w.detach().round(decimals=3)
        tensor([1., 2.])
    """

    def __init__(
        self, params: Iterable[Any], lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
        tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:  # fmt: skip
        check_lr(lr)
        index(history_size)
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
            "history_size": history_size, "line_search_fn": line_search_fn,
        })  # fmt: skip
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _flat_grad(self) -> Tensor:
        parts = []
        for p in self._params:
            g = p.detach().new_zeros(p.shape) if p.grad is None else p.grad
            g = g.to_dense() if g.is_sparse else g
            parts.append((view_as_real(g) if p.is_complex() else g).reshape(-1))
        return cat(parts)

    def _move(self, step: float | Tensor, direction: Tensor) -> None:
        at, size = 0, number(step) if isinstance(step, Tensor) else step
        for p in self._params:
            p = view_as_real(p) if p.is_complex() else p
            n = p.numel()
            p.add_(direction[at : at + n].view_as(p), alpha=size)
            at += n

    def _evaluate(self, closure: Callable, x: list[Tensor], t: float | Tensor, d: Tensor) -> tuple[float, Tensor]:
        """Loss and gradient at x + t d; the parameters are put back."""
        self._move(t, d)
        loss = float(closure())
        grad = self._flat_grad()
        for p, before in zip(self._params, x):
            p.copy_(before)
        return loss, grad

    @no_grad()
    def step(self, closure: Callable[[], Any]) -> Any:  # type: ignore[override]
        """Go downhill for up to `max_iter` directions; `closure` gives the loss and makes gradients."""
        if len(self.param_groups) != 1:
            raise AssertionError(f"Expected exactly one param_group, but got {len(self.param_groups)}")
        group = self.param_groups[0]
        lr = number(group["lr"]) if isinstance(group["lr"], Tensor) else group["lr"]
        with_grad = enable_grad()(closure)
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        work = {name: state.get(name) for name in _ORDER}  # what an error of the closure leaves as it was
        first_loss = with_grad()
        loss = float(first_loss)
        evaluations = 1
        state["func_evals"] += 1
        grad = self._flat_grad()
        if grad.abs().max().item() <= group["tolerance_grad"]:
            return first_loss
        iterations = 0
        while iterations < group["max_iter"]:
            iterations += 1
            state["n_iter"] += 1
            d = self._direction(state, work, grad, group["history_size"])
            before = work["prev_flat_grad"]
            work["prev_flat_grad"] = grad.clone() if before is None else before.copy_(grad)
            work["prev_loss"] = loss
            t: Any = lr
            if state["n_iter"] == 1:
                t = min(1.0, 1.0 / grad.abs().sum()) * lr  # type: ignore[operator]
            work["d"], work["t"] = d, t
            slope = grad.dot(d)
            if slope.item() > -group["tolerance_change"]:
                break
            last = iterations == group["max_iter"]
            room = group["max_eval"] - evaluations
            loss, grad, t, used = self._search(with_grad, group, loss, grad, t, d, slope, last, room)
            work["t"] = t
            evaluations += used
            state["func_evals"] += used
            if last or self._converged(group, evaluations, grad, d, t, loss, work):
                break
        state.update(work)
        return first_loss

    def _search(self, closure: Callable, group: dict, loss: float, grad: Tensor, t: float | Tensor,
                d: Tensor, slope: Tensor, last: bool, room: int) -> tuple[float, Tensor, Any, int]:  # fmt: skip
        if group["line_search_fn"] is not None:
            if group["line_search_fn"] != "strong_wolfe":
                raise RuntimeError("only 'strong_wolfe' is supported")
            start = [p.clone() for p in self._params]
            loss, grad, t, used = strong_wolfe(
                lambda step: self._evaluate(closure, start, step, d), t, d, loss, grad, slope, max_steps=room
            )
            self._move(t, d)
            return loss, grad, t, used
        self._move(t, d)
        if last:
            return loss, grad, t, 0
        loss = float(closure())
        return loss, self._flat_grad(), t, 1

    def _direction(self, state: dict[str, Any], work: dict[str, Any], grad: Tensor, history: int) -> Tensor:
        """The two-loop recursion over the kept differences.

        Its numbers are tensors: they are rounded as the parameters are, which decides where a
        search in float32 goes.
        """
        if state["n_iter"] == 1:
            work["old_dirs"], work["old_stps"], work["ro"], work["H_diag"] = [], [], [], 1
            return grad.neg()
        y = grad - work["prev_flat_grad"]
        s = work["d"] * work["t"]
        ys = y.dot(s)
        if ys.item() > 1e-10:
            if len(work["old_dirs"]) == history:
                for name in ("old_dirs", "old_stps", "ro"):
                    work[name].pop(0)
            work["old_dirs"].append(y)
            work["old_stps"].append(s)
            work["ro"].append(1.0 / ys)
            work["H_diag"] = ys / y.dot(y)
        kept = list(zip(work["old_dirs"], work["old_stps"], work["ro"]))
        factors = state.setdefault("al", [None] * history)
        q = grad.neg()
        for i in reversed(range(len(kept))):
            dy, ds, ro = kept[i]
            factors[i] = ds.dot(q) * ro
            q.add_(dy, alpha=-factors[i].item())
        r = q * work["H_diag"]
        for (dy, ds, ro), factor in zip(kept, factors):
            r.add_(ds, alpha=(factor - dy.dot(r) * ro).item())
        return r

    def _converged(self, group: dict, evaluations: int, grad: Tensor, d: Tensor, t: float | Tensor,
                   loss: float, work: dict) -> bool:  # fmt: skip
        return (
            evaluations >= group["max_eval"]
            or grad.abs().max().item() <= group["tolerance_grad"]
            or d.mul(t).abs().max().item() <= group["tolerance_change"]
            or abs(loss - work["prev_loss"]) < group["tolerance_change"]
        )
