"""Control flow as functions: `cond` and `while_loop`, which Python runs as they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["cond", "while_loop"]


def cond(pred: Any, true_fn: Callable, false_fn: Callable, operands: Any = ()) -> Any:
    """`true_fn(*operands)` or `false_fn(*operands)`."""
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("Expect branches to be callable.")
    return (true_fn if bool(pred) else false_fn)(*operands)


def while_loop(cond_fn: Callable, body_fn: Callable, carried_inputs: Any) -> Any:
    """`carried = body_fn(*carried)` as long as `cond_fn(*carried)` holds."""
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"carried_inputs must be a tuple or list, got {type(carried_inputs)}")
    carried: Any = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        made = body_fn(*carried)
        carried = tuple(made) if isinstance(made, (tuple, list)) else (made,)
        if len(carried) != len(carried_inputs):
            raise RuntimeError("body_fn should return the same number of values as it takes")
    return carried
