"""The iterators of a loader: in this process, by blocks of batches, or over worker processes."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import numpy as np

from ..base.device import device
from ..core.tensor import Tensor
from ..runtime import devices
from ..runtime.thread import here
from .batching import Batcher, IndexBlocks, batch_arrays, can_split, cut, nbytes, split
from .collate import map_leaves
from .fetch import BatchFetcher, make_fetcher
from .pool import WorkerPool
from .resident import Resident
from .sampler import BatchSampler, RandomSampler, SequentialSampler
from .seeding import default_stream, draw_seed, worker_stream
from .worker import DATA, END, RESUME, TASK, Setup


def finisher(pin_memory: bool, pin_memory_device: str) -> Callable[[Any], Any] | None:
    """What is applied to every finished batch, or None; a device prefetch has its place here too."""
    if not pin_memory:
        return None
    if pin_memory_device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{pin_memory_device}'.",
            stacklevel=4,
        )
    if _accelerator():
        return pin
    warnings.warn(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.",
        stacklevel=4,
    )
    return None


def _accelerator() -> bool:
    try:
        devices.backend_of(device("cuda"))
    except Exception:  # whatever the reason, there is none to pin for
        return False
    return True


def pin(batch: Any) -> Any:
    """The batch with its tensors in page-locked memory; an object of yours may have `pin_memory()`."""
    if isinstance(batch, Tensor) or (hasattr(batch, "pin_memory") and not isinstance(batch, (str, bytes))):
        return batch.pin_memory()
    return map_leaves(batch, pin)


# A block of batches is fetched at once while it stays about this large: small enough for the cache.
BLOCK_BYTES = 1 << 20
BLOCK_BATCHES = 64


class LoaderIter:
    """What all iterators share; it holds no reference to its loader, so dropping either is enough."""

    def __init__(self, loader: Any) -> None:
        self._finish = finisher(loader.pin_memory, loader.pin_memory_device)
        self._base_seed = draw_seed(loader.generator)
        self._start(loader)

    def _start(self, loader: Any) -> None:
        """Begin an epoch."""
        self._index_sampler = loader._index_sampler
        self._dataset = loader.dataset
        self._num_workers = loader.num_workers
        self._expected = loader._IterableDataset_len_called
        self._yielded = 0

    def __iter__(self) -> LoaderIter:
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __next__(self) -> Any:
        return self._next() if here.tracer is None else here.tracer.fetch(self._next)

    def _next(self) -> Any:
        batch = self._take()
        if self._expected is not None:
            self._check_length(self._expected)
        return batch if self._finish is None else self._finish(batch)

    def _take(self) -> Any:
        raise NotImplementedError

    def _check_length(self, expected: int) -> None:
        """Count batches of a dataset that said how many there are, and warn of more."""
        self._yielded += 1
        if self._yielded <= expected:
            return
        text = (
            f"Length of IterableDataset {self._dataset} was reported to be {self._expected}"
            f"(when accessing len(dataloader)), but {self._yielded} samples have been fetched. "
        )
        if self._num_workers:
            text += (
                "For multiprocessing data-loading, this could be caused by not properly configuring "
                "the IterableDataset replica at each worker: __iter__ should take the share that "
                "get_worker_info() gives it."
            )
        warnings.warn(text, stacklevel=3)


class SingleIter(LoaderIter):
    """Batches fetched in this process when they are asked for."""

    def _start(self, loader: Any) -> None:
        if loader.timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        super()._start(loader)
        self._fetch = make_fetcher(
            loader.dataset,
            loader._auto_collation,
            loader.collate_fn,
            loader.drop_last,
            # Loaders of others have no such switch, and say themselves how their data are read.
            whole=getattr(loader, "batch_path", False),
            stream=getattr(loader, "_dataset_kind", 0) == 1,
        )
        fetch = self._fetch
        arrays = batch_arrays(self._index_sampler) if isinstance(fetch, BatchFetcher) else None
        self._indices = iter(self._index_sampler) if arrays is None else arrays
        if arrays is not None and isinstance(fetch, BatchFetcher):
            self._source = map(fetch.batcher.fetch, arrays, repeat(default_stream()))
        else:
            self._source = map(fetch, self._indices)

    def _next(self) -> Any:
        batch = next(self._source)
        if self._expected is not None:
            self._check_length(self._expected)
        return batch if self._finish is None else self._finish(batch)

    def ahead(self) -> tuple[Resident, list[np.ndarray], Iterator[Any]] | None:
        """What this epoch will be: the data, the indices of its full batches, the last batch.

        None where that cannot be known before: other samplers, random transforms. The indices are
        drawn here. A compiled step asks, to fetch its batches itself.
        """
        fetch, sampler = self._fetch, self._index_sampler
        if not isinstance(fetch, BatchFetcher) or type(sampler) is not BatchSampler:
            return None
        resident = fetch.batcher.resident
        if resident is None or self._finish is not None:
            return None
        order = sampler.sampler
        if type(order) is not SequentialSampler and (type(order) is not RandomSampler or order.replacement):
            return None
        indices = list(self._indices)
        whole = [b for b in indices if len(b) == sampler.batch_size]
        return resident, whole, (fetch(b) for b in indices[len(whole) :])


class BlockIter(LoaderIter):
    """Whole batches of a dataset that has a Batcher, in this process though workers were asked for.

    Many small batches are fetched as one block and cut apart. Random numbers are those the workers
    would have drawn: batch k belongs to worker k modulo their number, each with its own stream.
    """

    def __init__(self, loader: Any, batcher: Batcher) -> None:
        self._streams: list[Any] = []
        self._batcher = batcher
        super().__init__(loader)

    def restart(self, loader: Any, batcher: Batcher) -> None:
        """Begin another epoch with the streams as they are (`persistent_workers`)."""
        self._batcher = batcher
        self._start(loader)

    def _start(self, loader: Any) -> None:
        super()._start(loader)
        lanes = self._num_workers if self._batcher.draws else 1
        if not self._streams:
            self._streams = [worker_stream(self._base_seed, w) for w in range(lanes)]
        indices = IndexBlocks(self._index_sampler)
        # Workers would be sent these at once, so the sampler draws now, not at the first batch.
        indices.draw(loader._prefetch * self._num_workers)
        self._source = self._blocks(indices)

    def __next__(self) -> Any:
        return self._next() if here.tracer is None else here.tracer.fetch(self._next)

    def _next(self) -> Any:
        batch = next(self._source)
        return batch if self._finish is None else self._finish(batch)

    def _blocks(self, indices: IndexBlocks) -> Iterator[Any]:
        streams, fetch = self._streams, self._batcher.fetch
        lanes = len(streams)
        each = 1  # batches of one lane in a block; the first of all tells how large they are
        while True:
            block, lengths = indices.take(each * lanes)
            if not lengths:
                return
            if each == 1:
                for array, stream in zip(cut(block, lengths), streams):
                    batch = fetch(array, stream)
                    yield batch
                each = _block_length(batch)
            elif lanes == 1:
                yield from split(fetch(block, streams[0]), lengths)
            else:
                yield from self._in_lanes(block, lengths)

    def _in_lanes(self, block: np.ndarray, lengths: list[int]) -> list[Any]:
        """The batches of a block, each fetched with its lane's stream."""
        streams = self._streams
        lanes = len(streams)
        arrays = cut(block, lengths)
        parts: list[Any] = [None] * len(arrays)
        for lane, stream in enumerate(streams):
            mine = arrays[lane::lanes]
            if mine:
                found = self._batcher.fetch(np.concatenate(mine), stream)
                parts[lane::lanes] = split(found, lengths[lane::lanes])
        return parts


def _block_length(batch: Any) -> int:
    """How many batches like this one make a block."""
    if not can_split(batch):
        return 1
    return max(1, min(BLOCK_BATCHES, BLOCK_BYTES // max(1, nbytes(batch))))


class WorkerIter(LoaderIter):
    """Batches fetched by worker processes, a few ahead, delivered in order."""

    def __init__(self, loader: Any) -> None:
        self._timeout = loader.timeout
        self._in_order = loader.in_order
        self._persistent = loader.persistent_workers
        self._sent = 0  # the number of the next task; it goes on counting over epochs
        self._pool: WorkerPool | None = None
        super().__init__(loader)

    def _start(self, loader: Any) -> None:
        super()._start(loader)
        if self._pool is None:
            self._pool = WorkerPool(loader.multiprocessing_context, _setup(loader, self._base_seed))
            # Also at the end of the program; the pool knows nothing of this iterator.
            self._end = weakref.finalize(self, self._pool.shutdown)
        self._indices = iter(self._index_sampler)
        self._owner: dict[int, int] = {}  # of every task not yet delivered, in order
        self._answers: dict[int, tuple] = {}
        self._active = [True] * self._num_workers
        self._turn = 0
        for worker in self._pool.workers:
            worker.first_task = self._sent
        for _ in range(loader._prefetch * self._num_workers):
            self._put()

    def restart(self, loader: Any) -> None:
        """Begin another epoch with the same workers; answers to older tasks are dropped."""
        assert self._pool is not None
        for number in range(len(self._pool.workers)):
            self._pool.send(number, (RESUME, 0, None))
        self._start(loader)

    @property
    def usable(self) -> bool:
        """Whether the workers are still there for another epoch."""
        return self._pool is not None and not self._pool.closed

    def _put(self) -> None:
        """Send the next indices to the next worker that still works."""
        assert self._pool is not None
        if True not in self._active:
            return
        indices = next(self._indices, self)
        if indices is self:
            return
        while not self._active[self._turn]:
            self._turn = (self._turn + 1) % self._num_workers
        self._owner[self._sent] = self._turn
        self._pool.send(self._turn, (TASK, self._sent, indices))
        self._turn = (self._turn + 1) % self._num_workers
        self._sent += 1

    def _take(self) -> Any:
        while self._owner:
            task = self._due()
            number = self._owner.pop(task)
            kind, _, content, doing = self._answers.pop(task)
            if kind == END:
                if self._active[number]:
                    self._active[number] = False
                    self._put()
                continue
            self._put()
            if kind == DATA:
                return content
            content.reraise(f"\nThe worker was {doing}.\n" if doing else "")
        if not self._persistent:
            self._end()
        raise StopIteration

    def _due(self) -> int:
        """The task whose answer is to be delivered next; waits for it."""
        assert self._pool is not None
        first = next(iter(self._owner))
        while True:
            if first in self._answers:
                return first
            if self._answers and not self._in_order:
                return next(iter(self._answers))
            try:
                number, (kind, task, content) = self._pool.receive(self._owner[first], self._timeout)
            except BaseException:  # a death, a timeout, Ctrl-C: nothing more will come
                self._owner.clear()
                self._end()
                raise
            worker = self._pool.workers[number]
            doing = worker.doing(task, content.place) if kind == "error" else ""
            worker.tasks.pop(task, None)
            if task in self._owner:
                self._answers[task] = (kind, task, content, doing)


def _setup(loader: Any, base_seed: int) -> Setup:
    return Setup(
        loader.dataset,
        loader._auto_collation,
        loader.collate_fn,
        loader.drop_last,
        base_seed,
        loader.num_workers,
        loader.worker_init_fn,
        getattr(loader, "batch_path", False),
    )


def make_iterator(loader: Any, batcher: Batcher | None, last: Any) -> LoaderIter:
    """The iterator for one epoch; `last` is the one to use again with `persistent_workers`."""
    if loader.num_workers == 0:
        return SingleIter(loader)
    if batcher is not None:
        if isinstance(last, BlockIter):
            last.restart(loader, batcher)
            return last
        return BlockIter(loader, batcher)
    if isinstance(last, WorkerIter) and last.usable:
        last.restart(loader)
        return last
    return WorkerIter(loader)
