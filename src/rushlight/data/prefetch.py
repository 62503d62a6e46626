"""Batches on the GPU before they are asked for: copies on a side stream while the last batch is used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..base.device import as_device, device
from ..core.tensor import Tensor
from ..operators.memory.casting import move_to
from ..runtime import devices
from .collate import map_leaves


class Prefetch:
    """An iterable over the batches of a loader with their tensors on a device.

    On a GPU the next batch is copied from page-locked memory on a stream of its own while the
    current one is being worked on; elsewhere batches are moved as they come.
    """

    def __init__(self, loader: Iterable[Any], device: Any = "cuda") -> None:  # noqa: A002
        self.loader = loader
        self.device = as_device(device)

    def __len__(self) -> int:
        return len(self.loader)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[Any]:
        backend = devices.backend_of(self.device)
        target = backend.check(self.device)
        if target.type != "cuda":
            return (_moved(batch, target, False) for batch in self.loader)
        return self._ahead(target)

    def _ahead(self, target: device) -> Iterator[Any]:
        """One batch ahead; the side stream never writes where the main stream may still read.

        Memory of a batch that was dropped goes back to the side stream's pool, so before a copy
        that stream waits for what the main stream had been given when the copy was asked for.
        """
        from ..runtime.cuda.memory import streams

        side = streams.new_stream(target.index or 0)
        main = streams.current_stream(target.index or 0)
        waiting: tuple[Any, Any] | None = None
        for batch in self.loader:
            used = streams.new_event(False, False)
            used.record(main)
            side.wait_event(used)
            with streams.using(side):
                moved = _moved(batch, target, True)
                ready = streams.new_event(False, False)
                ready.record(side)
            if waiting is not None:
                yield _handed(waiting, main)
            waiting = (moved, ready)
            del moved
        if waiting is not None:
            yield _handed(waiting, main)


def _handed(waiting: tuple[Any, Any], main: Any) -> Any:
    """A copied batch, safe to use on the main stream from here on."""
    batch, ready = waiting
    main.wait_event(ready)
    return batch


def _moved(batch: Any, target: device, non_blocking: bool) -> Any:
    """The batch with every tensor on `target`; objects of the user's may have `to(device)`."""
    if isinstance(batch, Tensor):
        if non_blocking and batch.is_cpu and not batch.is_pinned():
            batch = batch.pin_memory()
        return move_to(batch, target, non_blocking)
    if hasattr(batch, "to") and not isinstance(batch, (str, bytes)):
        return batch.to(target)
    return map_leaves(batch, lambda member: _moved(member, target, non_blocking))
