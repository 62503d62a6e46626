"""A line search for the strong Wolfe conditions (Nocedal and Wright, chapter 3), as LBFGS uses it.

Losses are floats. Slopes, and steps made of them, are tensors of one element: they are rounded as
the parameters are, so that a search in float32 goes where PyTorch's goes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


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
    return _zoom(
        evaluate, bracket, d, f, slope, scale, used, (c1, c2, tolerance, max_steps - steps)
    )


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
