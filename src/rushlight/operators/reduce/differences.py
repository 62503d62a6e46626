"""Finite differences and sums of trapezoids: diff, gradient, trapezoid, cumulative_trapezoid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base import dtypes
from ...base.shapes import whole, wrap_dim
from ...core.public import into, public
from ...core.tensor import Tensor
from ..made_of.spelling import axis_for_dim
from ..memory.casting import cast_to
from ..shape.join import cat


def _between(x: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The elements but the first, and the elements but the last, along `dim`."""
    n = max(x._a.shape[dim] - 1, 0)
    return x.narrow(dim, min(1, x._a.shape[dim]), n), x.narrow(dim, 0, n)


@public()
@axis_for_dim
def diff(
    input: Tensor,
    n: int = 1,
    dim: int = -1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
    *,
    out: Any = None,
) -> Tensor:
    """The differences of neighbours along a dimension.

    Args:
        n: how often to take them.
        prepend: elements to put before the first one.
        append: elements to put behind the last one.

    Example:
        >>> torch.tensor([1, 4, 9]).diff()
        tensor([3, 5])
    """
    if not input._a.ndim:
        raise RuntimeError("diff expects input to be at least one-dimensional")
    if whole(n, "n") < 0:
        raise RuntimeError(f"order must be non-negative but got {n}")
    at = wrap_dim(dim, input._a.ndim)
    parts = [t for t in (prepend, input, append) if t is not None]
    if any(t._a.ndim != input._a.ndim for t in parts):
        raise RuntimeError("diff expects prepend or append to be the same dimension as input")
    if n == 0:
        return into(out, input.clone())
    x = cat(parts, at) if len(parts) > 1 else input
    for _ in range(min(n, x._a.shape[at])):
        later, earlier = _between(x, at)
        x = later ^ earlier if x._a.dtype.kind == "b" else later - earlier
    return into(out, x)


# -- trapezoids ---------------------------------------------------------------------------------


def _sides(name: str, y: Tensor, x: Any, dx: Any, dim: int) -> tuple[Tensor, Any, int]:
    """What is integrated, the widths between points (a number, or tensors' differences), the wrapped dim."""
    if not y._a.ndim:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    if x is not None and dx is not None:
        raise TypeError(f"{name}() takes the points `x` or the spacing `dx`, not both")
    at = wrap_dim(dim, y._a.ndim)
    if y._a.dtype.kind == "b" and (y._a.shape[at] or name != "trapezoid"):
        raise RuntimeError(f"{name}: received a bool input for `y`, but bool is not supported")
    if x is None:
        if dx is not None and isinstance(dx, (bool, complex)):
            raise RuntimeError(f"{name}: Currently, we only support dx as a real number.")
        return y, 1 if dx is None else dx, at
    if x._a.ndim == 1:
        if x._a.shape[0] != y._a.shape[at]:
            raise RuntimeError(f"{name}: There must be one `x` value for each sample point")
        x = x.reshape((-1,) + (1,) * (y._a.ndim - at - 1))
        right, left = _between(x, 0)
    else:
        right, left = _between(x, at - y._a.ndim + x._a.ndim)
    return y, right - left, at


@public("torch", aliases=("trapz",))
def trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """The area under samples along a dimension, by the trapezoid rule.

    Args:
        y: the samples.
        x: where they were taken; a tensor.
        dx: their distance, if it is the same everywhere; 1 if neither is given.

    Example:
        >>> torch.trapezoid(torch.tensor([1.0, 2.0, 3.0]))
        tensor(4.)
    """
    y, width, at = _sides("trapezoid", y, x, dx, dim)
    if isinstance(width, Tensor):
        later, earlier = _between(y, at)
        return ((later + earlier) * width).sum(at) / 2.0
    n = y._a.shape[at]
    if not n:
        return y.sum(at).to(y.dtype)
    ends = y.narrow(at, 0, 1) + y.narrow(at, n - 1, 1)
    return (y.sum(at) - ends.squeeze(at) * 0.5) * width


@public("torch")
def cumulative_trapezoid(y: Tensor, x: Any = None, *, dx: Any = None, dim: int = -1) -> Tensor:
    """As `trapezoid`: the integrals up to every point."""
    y, width, at = _sides("cumulative_trapezoid", y, x, dx, dim)
    later, earlier = _between(y, at)
    if isinstance(width, Tensor):
        return (width * (later + earlier)).cumsum(at) / 2.0
    return (width / 2.0 * (later + earlier)).cumsum(at)


# -- gradient -----------------------------------------------------------------------------------


def _spacings(x: Tensor, spacing: Any, dims: list[int], given: bool) -> list[Any]:
    """One spacing (a number or a 1-d tensor of coordinates) per dim."""
    if spacing is None:
        return [1.0] * len(dims)
    if isinstance(spacing, Tensor) or not isinstance(spacing, Sequence):
        return [spacing] * len(dims)
    if len(spacing) != len(dims):
        if given:
            raise RuntimeError(
                "torch.gradient expected spacing to be unspecified, a scalar or it's spacing and dim arguments to "
                f"have the same length, but got a spacing argument of length {len(spacing)} and a dim argument of "
                f"length {len(dims)}."
            )
        raise RuntimeError(
            "torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to "
            f"'self.dim() = {x._a.ndim}', since dim argument was not given, but got a list of length {len(spacing)}"
        )
    return list(spacing)


@public("torch")
def gradient(input: Tensor, *, spacing: Any = None, dim: Any = None, edge_order: int = 1) -> tuple[Tensor, ...]:
    """The slope of a sampled function, one tensor per dimension, by differences of the neighbours on both sides.

    Args:
        spacing: the distance of samples: one number, one for each dimension, or their
            coordinates.
        edge_order: 1 or 2, how exact the slope at the ends is.

    Example:
        >>> torch.gradient(torch.tensor([1.0, 4.0, 9.0, 16.0]))
        (tensor([3., 4., 6., 7.]),)
    """
    if whole(edge_order, "edge_order") not in (1, 2):
        raise RuntimeError("torch.gradient only supports edge_order=1 and edge_order=2.")
    given = dim is not None
    raw = range(input._a.ndim) if dim is None else dim if isinstance(dim, (tuple, list)) else [dim]
    dims = [wrap_dim(d, input._a.ndim) for d in raw]
    if len(set(dims)) != len(dims):
        twice = next(d for d in dims if dims.count(d) > 1)
        raise RuntimeError(f"dim {twice} appears multiple times in the list of dims")
    spaces = _spacings(input, spacing, dims, given)
    if any(input._a.shape[d] <= edge_order for d in dims):
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    if input._a.dtype.kind in "biu":
        input = cast_to(input, dtypes.get_default_dtype())
    return tuple([_gradient_along(input, d, h, edge_order) for d, h in zip(dims, spaces)])


def _gradient_along(x: Tensor, dim: int, spacing: Any, order: int) -> Tensor:
    n = x._a.shape[dim]
    if isinstance(spacing, Tensor) and spacing._a.ndim:
        return _gradient_between(x, dim, spacing, order)

    def at(i: int, m: int = 1) -> Tensor:
        return x.narrow(dim, i, m)

    inner = (at(2, n - 2) - at(0, n - 2)) / spacing / 2
    if order == 1:
        first, last = at(1) - at(0), at(n - 1) - at(n - 2)
    else:
        first = -1.5 * at(0) + 2 * at(1) - 0.5 * at(2)
        last = 0.5 * at(n - 3) - 2 * at(n - 2) + 1.5 * at(n - 1)
    return cat([first / spacing, inner, last / spacing], dim)


def _gradient_between(x: Tensor, dim: int, points: Tensor, order: int) -> Tensor:
    """Slopes of the parabola through a point and its neighbours, whose distances differ."""
    n = x._a.shape[dim]
    right, left = _between(points.reshape((-1,) + (1,) * (x._a.ndim - dim - 1)), 0)
    after, before = _between(right - left, 0)

    def weighed(i: int, m: int, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        return a * x.narrow(dim, i, m) + b * x.narrow(dim, i + 1, m) + c * x.narrow(dim, i + 2, m)

    def apart(at: int) -> Tensor:
        """The slope between two neighbours."""
        step = right.narrow(0, at, 1) - left.narrow(0, at, 1)
        return (x.narrow(dim, at + 1, 1) - x.narrow(dim, at, 1)) / step

    both = after + before
    inner = weighed(0, n - 2, -after / (before * both), (after - before) / (before * after), before / (after * both))
    if order == 1:
        return cat([apart(0), inner, apart(n - 2)], dim)
    d, e = before.narrow(0, 0, 1), after.narrow(0, 0, 1)
    first = weighed(0, 1, -(2.0 * d + e) / (d * (d + e)), (d + e) / (d * e), -d / (e * (d + e)))
    d, e = before.narrow(0, n - 3, 1), after.narrow(0, n - 3, 1)
    last = weighed(n - 3, 1, e / (d * (d + e)), -(e + d) / (d * e), (2.0 * e + d) / (e * (d + e)))
    return cat([first, inner, last], dim)
