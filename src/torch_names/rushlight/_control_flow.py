"""Control flow as functions, which Python runs as they are: `cond`, `while_loop`, `map`, `scan` and `associative_scan`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .operators.shape.join import cat, stack
from .utils import _pytree as pytree

__all__ = ["associative_scan", "cond", "map", "scan", "while_loop"]


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: Any = ()) -> Any:
    """`true_fn(*operands)` if a condition holds, otherwise `false_fn(*operands)`.

    Args:
        pred: a truth value, or a tensor with one.
        true_fn: a function of the operands.
        false_fn: another, whose result has the same form.
        operands: a tuple of tensors.

    Example:
        >>> torch.cond(torch.tensor(True), torch.sin, torch.cos, (torch.zeros(1),))
        tensor([0.])
    """
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect branches to be callable.")
    return (true_fn if bool(pred) else false_fn)(*operands)


def while_loop(cond_fn: Callable, body_fn: Callable, carried_inputs: Any) -> Any:
    """`carried = body_fn(*carried)` as long as `cond_fn(*carried)` holds.

    Args:
        cond_fn: returns a truth value, or a tensor with one.
        body_fn: returns new values for what is carried.
        carried_inputs: the values to begin with.

    Example:
        >>> torch.while_loop(lambda i: i < 5, lambda i: (i + 2,), (torch.tensor(0),))
        (tensor(6),)
    """
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"carried_inputs must be a tuple or list, got {type(carried_inputs)}")
    carried: Any = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        made = body_fn(*carried)
        carried = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        if len(carried) != len(carried_inputs):
            raise RuntimeError("body_fn should return the same number of values as it takes")
    return carried


def map(f: Callable, xs: Any, *args: Any) -> Any:
    """`f(x, *args)` for each row of what `xs` holds, and the results stacked.

    Args:
        f: returns tensors, in any nest of lists, tuples and dicts.
        xs: tensors, one or a nest of them, of one length.
        args: given to each call as they are.

    Example:
        >>> from torch._higher_order_ops import map
        >>> map(lambda x, y: x.sum() + y, torch.ones(2, 3), torch.tensor(1.0))
        tensor([4., 4.])
    """
    leaves, form = pytree.tree_flatten(xs)
    made = [f(pytree.tree_unflatten(list(row), form), *args) for row in zip(*leaves, strict=True)]
    return pytree.tree_map(lambda *rows: stack(rows), made[0], *made[1:])


def scan(combine_fn: Callable, init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> tuple[Any, Any]:
    """Steps through `xs` with a value that is carried on: `carry, y = combine_fn(carry, x)`.

    Args:
        combine_fn: returns the next carried value, like `init`, and a result.
        init: the value to begin with; a tensor, or a nest of them.
        xs: what is stepped through; a tensor, or a nest of them.
        dim: the dimension of the steps, of `xs` and of the results.
        reverse: go from the end to the beginning.

    Returns:
        The last carried value, and the results of all steps, stacked.

    Example:
        >>> from torch._higher_order_ops import scan
        >>> scan(lambda c, x: (c + x, c * x), torch.tensor(0.0), torch.arange(4.0))
        (tensor(6.), tensor([0., 0., 2., 9.]))
    """
    leaves, form = _scanned(combine_fn, xs, dim)
    rows = list(zip(*[x.unbind(dim) for x in leaves], strict=True))
    carry, made = init, []
    for row in reversed(rows) if reverse else rows:
        carry, y = combine_fn(carry, pytree.tree_unflatten(list(row), form))
        made.append(y)
    if reverse:
        made.reverse()
    return carry, pytree.tree_map(lambda *ys: stack(ys, dim), made[0], *made[1:])


def associative_scan(
    combine_fn: Callable, xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """All prefixes `x0, x0 * x1, x0 * x1 * x2, ...` of an associative function `*`, in a number of calls that is logarithmic.

    Args:
        combine_fn: of two nests like `xs`; it is called with many elements along `dim` at once.
        xs: a tensor, or a nest of them.
        dim: the dimension of the elements.
        reverse: begin at the end.
        combine_mode: "generic" for any function; "pointwise" is for one that works element by
            element, on a GPU.

    Raises:
        ValueError: for another mode, for tensors on the CPU with "pointwise", and for no elements.

    Example:
        >>> from torch._higher_order_ops import associative_scan
        >>> associative_scan(torch.mul, torch.arange(1, 6), 0, combine_mode="generic")
        tensor([  1,   2,   6,  24, 120])
    """
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    leaves, form = _scanned(combine_fn, xs, dim)
    if combine_mode == "pointwise" and any(not x.is_cuda for x in leaves):
        raise ValueError("For combine_mode='pointwise', all input tensors need to be on CUDA or XPU")

    def combine(left: list, right: list) -> list:
        made = combine_fn(pytree.tree_unflatten(left, form), pytree.tree_unflatten(right, form))
        return pytree.tree_leaves(made)

    rows = [x.movedim(dim, 0) for x in leaves]
    if reverse:
        rows = [x.flip(0) for x in rows]
    made = _prefixes(combine, rows)
    if reverse:
        made = [x.flip(0) for x in made]
    return pytree.tree_unflatten([x.movedim(0, dim) for x in made], form)


def _scanned(combine_fn: Any, xs: Any, dim: int) -> tuple[list, Any]:
    """The leaves of what is stepped through, and its form."""
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    leaves, form = pytree.tree_flatten(xs)
    if any(not x.ndim or x.shape[dim] == 0 for x in leaves):
        raise ValueError("All xs leaves must at least have 'dim' number of dimensions and scan dimension > 0")
    return leaves, form


def _prefixes(combine: Callable[[list, list], list], xs: list) -> list:
    """Prefixes along the first dimension: those of pairs give every second one, one more call the others."""
    n = xs[0].shape[0]
    if n < 2:
        return xs
    odd = _prefixes(combine, combine([x[: n - 1 : 2] for x in xs], [x[1::2] for x in xs]))
    if n == 2:
        return [cat([x[:1], y]) for x, y in zip(xs, odd, strict=True)]
    even = combine([y[: (n - 1) // 2] for y in odd], [x[2::2] for x in xs])
    even = [cat([x[:1], y]) for x, y in zip(xs, even, strict=True)]
    return [_woven(a, b) for a, b in zip(even, odd, strict=True)]


def _woven(even: Any, odd: Any) -> Any:
    """Rows of the two in turn; `even` may have one more."""
    n = odd.shape[0]
    both = stack([even[:n], odd], 1).flatten(0, 1)
    return both if even.shape[0] == n else cat([both, even[n:]])
