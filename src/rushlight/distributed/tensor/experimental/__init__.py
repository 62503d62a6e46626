"""`torch.distributed.tensor.experimental`: plain tensors beside those that are spread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ....runtime.thread import here
from .attention import context_parallel
from .mapping import local_map

__all__ = ["context_parallel", "implicit_replication", "local_map"]


@contextmanager
def implicit_replication() -> Iterator[None]:
    """A block in which a plain tensor beside a DTensor counts as one that every rank has whole.

    Example:
        >>> from rushlight.distributed.tensor.experimental import implicit_replication
        >>> with implicit_replication():
        ...     pass
    """
    before, here.replicating = here.replicating, True
    try:
        yield
    finally:
        here.replicating = before
