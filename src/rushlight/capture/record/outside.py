"""Graphs that were there before a recorded call: a backward pass inside of it that goes on into them cannot be replayed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...core.tensor import Tensor
from ..state.keys import HOOKED, RESULT, role


@contextmanager
def graphs_end_at(
    tensors: Sequence[Tensor], arguments: Sequence[Tensor], recorder: Any
) -> Iterator[None]:
    """Complain when a derivative arrives at a result of an earlier graph, or at an argument with hooks of the user."""
    entries = {id(t): t for t in tensors if role(t) == RESULT}
    entries.update({id(t): t for t in arguments if role(t) == HOOKED})

    def arrived(_: Tensor) -> None:
        recorder.complain("goes back into a graph, or to hooks, that a tensor from outside brings")

    handles = [t.register_hook(arrived) for t in entries.values()]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
