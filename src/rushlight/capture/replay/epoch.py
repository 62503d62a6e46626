"""A compiled step over a loader whose data lie on the device: the program fetches its batches itself.

The order of an epoch is copied to the device once; a counter there says how far it has come. The program's first
instruction reads the next places and raises the counter, others gather those rows: a step needs nothing from the host.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...base.arrays import ArrayModule
from ...core.tensor import Tensor, tensor_over, wrap
from ...runtime.devices import backend_of, device_of
from ...runtime.door import Kernel, run

_KEPT = 4  # loaders that one function remembers


def _next_places(xp: ArrayModule, order: Any, at: Any, *, n: int) -> Any:
    places = order.take(at * n + xp.arange(n))
    at[...] = at + 1
    return places


# The next n numbers of an order, and a counter of the batches so far raised by one.
NEXT_PLACES = Kernel("next_places", _next_places, mutates=(1,))


class Gathered:
    """A step without arguments: its batches come from an order and a counter on the device."""

    def __init__(self, compiled: Any, resident: Any, n: int, batches: int) -> None:
        self.resident, self.n, self.batches = resident, n, batches
        cls = resident.tensors[0]._a.__class__
        order, at = self._like(np.zeros(n * batches, np.int64)), self._like(np.zeros((), np.int64))
        self.order, self.at = order, at
        fn, tensors, fetch = compiled.fn, list(resident.tensors), resident.fetch

        def step() -> Any:
            places = run(NEXT_PLACES, cls, (order._a, at._a), {"n": n})
            return fn(*[tensor_over(a, cls) for a in fetch(places, *[t._a for t in tensors])])

        step.__qualname__ = step.__name__ = getattr(fn, "__name__", type(fn).__name__)
        self.step = compiled.__class__(step, **compiled.options())

    def _like(self, a: np.ndarray) -> Tensor:
        """A host array as a tensor beside the data."""
        place = device_of(self.resident.tensors[0]._a)
        backend = backend_of(place)
        return wrap(backend.from_host(a, backend.check(place)))

    def fits(self, resident: Any, n: int, batches: int) -> bool:
        mine = self.resident
        return (
            (self.n, self.batches, mine.fetch) == (n, batches, resident.fetch)
            and len(mine.tensors) == len(resident.tensors)
            and all(a is b for a, b in zip(mine.tensors, resident.tensors))
        )

    def start(self, indices: np.ndarray) -> None:
        """Begin an epoch in this order."""
        self.order.copy_(self._like(indices))
        self.at.zero_()


def epoch(compiled: Any, loader: Any) -> Iterator[Any]:
    """The results of `compiled(*batch)` for every batch of a loader, one after another."""
    batches = iter(loader)
    ahead = getattr(batches, "ahead", None)  # only a loader that knows its epoch has it
    found = None if ahead is None else ahead()
    if found is None:
        for batch in batches:
            yield compiled(*batch)
        return
    resident, whole, rest = found
    if len(whole):
        gathered = _gathered(compiled, resident, len(whole[0]), len(whole))
        gathered.start(np.concatenate(whole))
        for _ in whole:
            yield gathered.step()
    for batch in rest:
        yield compiled(*batch)


def _gathered(compiled: Any, resident: Any, n: int, batches: int) -> Gathered:
    for known in compiled.gathered:
        if known.fits(resident, n, batches):
            return known
    compiled.gathered = [Gathered(compiled, resident, n, batches), *compiled.gathered[: _KEPT - 1]]
    return compiled.gathered[0]
