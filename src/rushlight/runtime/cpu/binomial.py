"""Binomial counts one by one, from the doubles of a random stream."""

from __future__ import annotations

import math
from collections.abc import Callable


def binomial(double: Callable[[], float], count: float, prob: float) -> float:
    """How many of `count` trials succeed; a frequent success is drawn as a rare failure."""
    if math.isnan(prob):
        return math.nan
    if count <= 0 or prob <= 0:
        return 0.0
    if prob >= 1:
        return count
    rare = min(prob, 1.0 - prob)
    draw = _rejection if count * rare >= 10.0 else _inversion
    drawn = draw(double, count, rare)
    return drawn if prob <= 0.5 else count - drawn


def _inversion(double: Callable[[], float], count: float, prob: float) -> float:
    """Waiting times between successes are geometric: count how many fit in."""
    successes, trials = 0.0, 0.0
    log_miss = math.log1p(-prob)
    while True:
        u = double()
        trials += math.ceil(math.log(u) / log_miss) if u > 0.0 else math.inf
        if trials > count:
            return successes
        successes += 1.0


def _rejection(double: Callable[[], float], count: float, prob: float) -> float:
    """BTRS of Hoermann 1993, "The generation of binomial random variates"."""
    spread = math.sqrt(count * prob * (1.0 - prob))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = count * prob + 0.5
    v_r = 0.92 - 4.2 / b
    ratio = prob / (1.0 - prob)
    alpha = (2.83 + 5.1 / b) * spread
    mode = math.floor((count + 1) * prob)
    while True:
        u, v = double() - 0.5, double()
        us = 0.5 - abs(u)
        k = math.floor((2.0 * a / us + b) * u + c)
        if us >= 0.07 and v <= v_r:
            return k
        if k < 0 or k > count:
            continue
        v = math.log(v * alpha / (a / (us * us) + b)) if v > 0.0 else -math.inf
        bound = (
            (mode + 0.5) * math.log((mode + 1) / (ratio * (count - mode + 1)))
            + (count + 1) * math.log((count - mode + 1) / (count - k + 1))
            + (k + 0.5) * math.log(ratio * (count - k + 1) / (k + 1))
            + _tail(mode)
            + _tail(count - mode)
            - _tail(k)
            - _tail(count - k)
        )
        if v <= bound:
            return k


_TAILS = (
    0.08106146679532726, 0.04134069595540929, 0.02767792568499834, 0.02079067210376509,
    0.01664469118982119, 0.01387612882307075, 0.01189670994589177, 0.01041126526197209,
    0.00925546218271273, 0.00833056343336287,
)  # fmt: skip


def _tail(k: float) -> float:
    """What Stirling's formula leaves of log k!."""
    if k <= 9:
        return _TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)
