"""Control flow as functions: `cond` and `while_loop`, which Python runs as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["cond", "while_loop"]


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
