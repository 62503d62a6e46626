"""Optimisers' updates as kernels: one call changes all parameters of a group in place.

A body sees one parameter at a time: `body(xp, h, p, g, *states, **flags)`; `h` is the list of its numbers
(learning rate and the like). They travel in a small float64 array, one row for all parameters or a row
for each, so that a captured step reads today's values. Devices may override a whole kernel by name, for
all parameters at once. A differentiable step runs a body over tensors, with their functions as `xp`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..base.arrays import ArrayModule
from ..runtime.door import Kernel


def update(name: str) -> Callable[[Callable], Kernel]:
    """Make the kernel `name(hyper, *params, *grads, *states..., n=, **flags)` of a body."""

    def make(body: Callable) -> Kernel:
        def generic(xp: ArrayModule, hyper: Any, *arrays: Any, n: int, **flags: Any) -> tuple:
            rows = hyper.tolist() if hyper.ndim == 2 else [hyper.tolist()] * n
            try:
                for i, h in enumerate(rows):
                    body(xp, h, *arrays[i::n], **flags)
            except ValueError as error:
                if _alike(arrays, n):
                    raise
                raise RuntimeError(f"a parameter and its state differ in shape: {error}") from None
            return ()

        BODIES[name] = body
        return Kernel(name, generic, mutates=written)

    return make


BODIES: dict[str, Callable[..., None]] = {}


def _alike(arrays: Sequence[Any], n: int) -> bool:
    """Whether all states have their parameters' shapes; those of a file of other parameters do not."""
    return all(a.shape == arrays[i % n].shape for i, a in enumerate(arrays))


def written(arrays: Sequence[Any], attrs: dict[str, Any]) -> list[int]:
    """Everything but the numbers and the gradients is written: parameters and states."""
    n = attrs["n"]
    return [*range(1, n + 1), *range(2 * n + 1, len(arrays))]


def _regularised(g: Any, p: Any, decay: float, maximize: bool) -> Any:
    if maximize:
        g = -g
    return g + decay * p if decay else g


def _lerp(start: Any, end: Any, weight: float) -> Any:
    """Between two arrays, as PyTorch from the nearer one: it decides what an infinite gradient leaves."""
    return start + weight * (end - start) if weight < 0.5 else end - (1 - weight) * (end - start)


def _cut(g: Any) -> Any:
    """The values alone: a first momentum has no history in PyTorch either."""
    return g.detach() if hasattr(g, "detach") else g


@update("sgd_update")
def SGD(xp: ArrayModule, h: list, p: Any, g: Any, *buffer: Any, nesterov: bool, maximize: bool, first: bool) -> None:
    """h: lr, weight decay, momentum, dampening; buffer: momentum, absent without it."""
    lr, decay, momentum, dampening = h
    g = _regularised(g, p, decay, maximize)
    if buffer:
        (b,) = buffer
        if first:
            b[...] = _cut(g)
        else:
            b *= momentum
            b += g if dampening == 0 else (1 - dampening) * g
        g = g + momentum * b if nesterov else b
    p -= lr * g


@update("adam_update")
def ADAM(
    xp: ArrayModule, h: list, p: Any, g: Any, m: Any, v: Any, *largest: Any, decoupled: bool, maximize: bool
) -> None:
    """h: lr, weight decay, beta1, beta2, eps, 1 - beta1^t, sqrt(1 - beta2^t)."""
    lr, decay, beta1, beta2, eps, c1, c2 = h
    if decoupled:
        if decay:
            p *= 1 - lr * decay
        decay = 0.0
    g = _regularised(g, p, decay, maximize)
    m[...] = _lerp(m, g, 1 - beta1)
    v *= beta2
    v += ((1 - beta2) * g) * g
    if largest:
        xp.maximum(largest[0], v, out=largest[0])
        v = largest[0]
    p -= (lr / c1) * m / (xp.sqrt(v) / c2 + eps)


@update("adamax_update")
def ADAMAX(xp: ArrayModule, h: list, p: Any, g: Any, m: Any, u: Any, *, maximize: bool) -> None:
    """h: lr, weight decay, beta1, beta2, eps, 1 - beta1^t."""
    lr, decay, beta1, beta2, eps, c1 = h
    g = _regularised(g, p, decay, maximize)
    m[...] = _lerp(m, g, 1 - beta1)
    xp.maximum(beta2 * u, xp.abs(g) + eps, out=u)
    p -= (lr / c1) * m / u


@update("nadam_update")
def NADAM(xp: ArrayModule, h: list, p: Any, g: Any, m: Any, v: Any, *, decoupled: bool, maximize: bool) -> None:
    """h: lr, weight decay, beta1, beta2, eps, 1 - beta2^t, factor of g, factor of m."""
    lr, decay, beta1, beta2, eps, c2, by_g, by_m = h
    if decoupled:
        p *= 1 - lr * decay
        decay = 0.0
    g = _regularised(g, p, decay, maximize)
    m[...] = _lerp(m, g, 1 - beta1)
    v *= beta2
    v += (1 - beta2) * g * g
    scale = xp.sqrt(v / c2) + eps
    p -= by_g * g / scale
    p -= by_m * m / scale


@update("radam_update")
def RADAM(xp: ArrayModule, h: list, p: Any, g: Any, m: Any, v: Any, *, decoupled: bool, maximize: bool) -> None:
    """h: lr, weight decay, beta1, beta2, eps, 1 - beta1^t, rectified adaptive factor or 0."""
    lr, decay, beta1, beta2, eps, c1, adaptive = h
    if decoupled:
        p *= 1 - lr * decay
        decay = 0.0
    g = _regularised(g, p, decay, maximize)
    m[...] = _lerp(m, g, 1 - beta1)
    v *= beta2
    v += (1 - beta2) * g * g
    step = m / c1
    if adaptive:
        step = step * (adaptive / (xp.sqrt(v) + eps))
    p -= lr * step


@update("rmsprop_update")
def RMSPROP(
    xp: ArrayModule, h: list, p: Any, g: Any, v: Any, *rest: Any, centered: bool, momentum: bool, maximize: bool
) -> None:
    """h: lr, weight decay, alpha, eps, momentum; rest: mean gradient, momentum buffer, as asked."""
    lr, decay, alpha, eps, factor = h
    g = _regularised(g, p, decay, maximize)
    v *= alpha
    v += (1 - alpha) * g * g
    scale = v
    if centered:
        mean = rest[0]
        mean[...] = _lerp(mean, g, 1 - alpha)
        scale = v - mean * mean
    step = g / (xp.sqrt(scale) + eps)
    if momentum:
        buffer = rest[-1]
        buffer *= factor
        buffer += step
        step = buffer
    p -= lr * step


@update("adagrad_update")
def ADAGRAD(xp: ArrayModule, h: list, p: Any, g: Any, total: Any, *, maximize: bool) -> None:
    """h: decayed lr, weight decay, eps."""
    lr, decay, eps = h
    g = _regularised(g, p, decay, maximize)
    total += g * g
    p -= lr * g / (xp.sqrt(total) + eps)


@update("adadelta_update")
def ADADELTA(xp: ArrayModule, h: list, p: Any, g: Any, square: Any, moved: Any, *, maximize: bool) -> None:
    """h: lr, weight decay, rho, eps."""
    lr, decay, rho, eps = h
    g = _regularised(g, p, decay, maximize)
    square *= rho
    square += (1 - rho) * g * g
    step = xp.sqrt(moved + eps) / xp.sqrt(square + eps) * g
    moved *= rho
    moved += (1 - rho) * step * step
    p -= lr * step


@update("rprop_update")
def RPROP(xp: ArrayModule, h: list, p: Any, g: Any, before: Any, size: Any, *, maximize: bool) -> None:
    """h: eta minus, eta plus, smallest and largest step."""
    shrink, grow, smallest, largest = h
    if maximize:
        g = -g
    agree, one = g * before, xp.ones_like(p)
    size *= xp.where(agree > 0, grow * one, xp.where(agree < 0, shrink * one, one))
    xp.clip(size, smallest, largest, out=size)
    g = xp.where(agree < 0, xp.zeros_like(g), g)
    p -= xp.where(g > 0, size, xp.where(g < 0, -size, xp.zeros_like(size)))  # 0 at NaN
    before[...] = g


@update("asgd_update")
def ASGD(xp: ArrayModule, h: list, p: Any, g: Any, mean: Any, *, maximize: bool) -> None:
    """h: eta, weight decay, 1 - lambd * eta, mu."""
    eta, decay, shrink, mu = h
    g = _regularised(g, p, decay, maximize)
    p *= shrink
    p -= eta * g
    if mu == 1:
        mean[...] = p
    else:
        mean += mu * (p - mean)


@update("adafactor_update")
def ADAFACTOR(xp: ArrayModule, h: list, p: Any, g: Any, *variance: Any, maximize: bool) -> None:
    """h: lr, weight decay, 1 - beta2, largest step, eps1 (-1: the dtype's), eps2, clipping threshold.

    variance: factors of rows and columns over the last two dims, or the whole of a vector's.
    """
    lr, decay, share, rho, eps1, eps2, threshold = h
    if maximize:
        g = -g
    if eps1 < 0:
        eps1 = _smallest(p.dtype)
    length = xp.fmax(_rms(xp, p), eps2) * rho  # of NaN: the other, as Python's max in PyTorch
    if decay:
        p *= 1 - lr * decay
    if len(variance) == 2:
        row, col = variance
        square = g * g
        row[...] = _lerp(row, square.mean(axis=-1, keepdims=True), share)
        col[...] = _lerp(col, square.mean(axis=-2, keepdims=True), share)
        estimate = (row @ col) / xp.maximum(row.mean(axis=-2, keepdims=True), eps1)
    else:
        (estimate,) = variance
        estimate[...] = _lerp(estimate, g * g, share)
    step = g / xp.sqrt(xp.maximum(estimate, eps1 * eps1))
    clipped = length / xp.fmax(_rms(xp, step) / threshold, 1.0)
    p -= (clipped * step).astype(p.dtype)


def _smallest(dtype: Any) -> float:
    """What added to 1 makes a difference; ml_dtypes knows bfloat16's, and is imported when asked."""
    from ml_dtypes import finfo

    return float(finfo(dtype).eps)


def _rms(xp: ArrayModule, x: Any) -> Any:
    """The root of the mean square, in float32 at least."""
    x = x.astype(xp.float32) if x.dtype.itemsize < 4 else x
    return xp.sqrt((x * x).mean())


@update("muon_momentum_update")
def MUON_MOMENTUM(xp: ArrayModule, h: list, out: Any, g: Any, b: Any, *, nesterov: bool) -> None:
    """h: momentum; `out` is what is made orthogonal, `b` the running mean of gradients."""
    (momentum,) = h
    b[...] = _lerp(b, g, 1 - momentum)
    out[...] = _lerp(g, b, momentum) if nesterov else b


@update("muon_update")
def MUON(xp: ArrayModule, h: list, p: Any, g: Any) -> None:
    """h: lr, weight decay; g: the orthogonal direction."""
    lr, decay = h
    p *= 1 - lr * decay
    p -= lr * g
