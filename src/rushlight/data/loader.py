"""DataLoader: batches of a dataset, in PyTorch's order for PyTorch's seed."""

from __future__ import annotations

import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from .batching import Batcher, batcher_of
from .collate import default_collate, default_convert
from .dataset import Dataset, IterableDataset
from .iterators import LoaderIter, make_iterator
from .sampler import BatchSampler, EndlessSampler, RandomSampler, Sampler, SequentialSampler

T_co = TypeVar("T_co", covariant=True)

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches.

    Arguments, defaults and errors are PyTorch's. Two things differ. A dataset that can fetch a whole
    batch at once (`TensorDataset`, in-memory image sets; see `rushlight.data.batching`) does so when
    `collate_fn` is the default one, and then runs in this process even if `num_workers` asks for more,
    unless a `worker_init_fn` is given; results and random numbers are those that workers would have
    given. `batch_path = False` on a loader (or on the class) switches that off. And a worker that dies
    is reported with its pid, its signal and the sample it was fetching.

    Args:
        dataset: samples by index, or an `IterableDataset`.
        batch_size: samples per batch; None for single samples without a batch dimension.
        shuffle: a new random order in each epoch.
        sampler: an iterable over indices, in place of `shuffle`.
        batch_sampler: an iterable over lists of indices, in place of all of the above.
        num_workers: processes that fetch samples; 0 fetches in this one.
        collate_fn: makes a batch from a list of samples; `default_collate` if not given.
        pin_memory: put batches into page-locked memory, from where copies to a GPU are quick;
        pin_memory_device: accepted and not needed.
        drop_last: leave out a last batch that is not full.
        timeout: seconds to wait for a batch of a worker; 0 waits for ever.
        worker_init_fn: called with the worker's number when it starts.
        multiprocessing_context: how workers are started, such as "spawn".
        generator: where the order and the workers' seeds come from.
        prefetch_factor: batches that each worker fetches ahead; 2 if not given.
        persistent_workers: keep the workers between epochs.
        in_order: give batches in the sampler's order, even if a later one is ready first.

    Raises:
        ValueError: if arguments exclude each other.
        RuntimeError: if a worker dies, or does not answer within `timeout`.

    Example:
        >>> data = torch.utils.data.TensorDataset(torch.arange(5.0), torch.arange(5) % 2)
        >>> for x, y in torch.utils.data.DataLoader(data, batch_size=2):
        ...     print(x, y)
        tensor([0., 1.]) tensor([0, 1])
        tensor([2., 3.]) tensor([0, 1])
        tensor([4.]) tensor([0])
    """

    batch_path = True
    _ready = False

    def __init__(
        self,
        dataset: Dataset[T_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler | Iterable | None = None,
        batch_sampler: Sampler[list] | Iterable[list] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self._streamed = isinstance(dataset, IterableDataset)
        if self._streamed:
            _check_streamed(shuffle, sampler, batch_sampler)
        _check_exclusive(batch_size, shuffle, sampler, batch_sampler, drop_last)
        if batch_sampler is not None:
            batch_size, drop_last = None, False
        if sampler is None:
            sampler = self._standard_sampler(bool(shuffle))
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self._IterableDataset_len_called: int | None = None  # the name others set
        self._iterator: LoaderIter | None = None
        self._ready = True
        self.check_worker_number_rationality()

    def _standard_sampler(self, shuffle: bool) -> Sampler:
        if self._streamed:
            return EndlessSampler()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)  # type: ignore[arg-type]
        return SequentialSampler(self.dataset)  # type: ignore[arg-type]

    @property
    def multiprocessing_context(self) -> Any:
        """How workers are started; None means the system's default way."""
        return self.__dict__["_context"]

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: Any) -> None:
        if context is not None:
            context = _checked_context(context, self.num_workers)
        self.__dict__["_context"] = context

    def __setattr__(self, name: str, value: Any) -> None:
        if self._ready and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    @property
    def _prefetch(self) -> int:
        return 0 if self.prefetch_factor is None else self.prefetch_factor

    def _batcher(self) -> Batcher | None:
        """The way to go without the workers that were asked for."""
        if (
            self.num_workers == 0  # the iterator of that case looks for itself
            or not self.batch_path
            or self.worker_init_fn is not None
            or self.batch_sampler is None
            or self.collate_fn is not default_collate
        ):
            return None
        return batcher_of(self.dataset)

    def __iter__(self) -> Any:
        if not self.persistent_workers or self.num_workers == 0:
            return self._get_iterator()
        self._iterator = make_iterator(self, self._batcher(), self._iterator)
        return self._iterator

    def _get_iterator(self) -> Any:
        """A new iterator; loaders that libraries derive call it themselves."""
        return make_iterator(self, self._batcher(), None)

    def __len__(self) -> int:
        if not self._streamed:
            return len(self._index_sampler)
        length = len(self.dataset)  # type: ignore[arg-type]
        self._IterableDataset_len_called = length
        if self.batch_size is not None:
            whole, rest = divmod(length, self.batch_size)
            length = whole if self.drop_last or not rest else whole + 1
        return length

    def check_worker_number_rationality(self) -> None:
        """Warn when more workers are asked for than there are cores."""
        if not self.num_workers:
            return
        try:
            cores = len(os.sched_getaffinity(0))
        except AttributeError:
            cores = os.cpu_count() or 0
        if not cores or self.num_workers <= cores:
            return
        warnings.warn(
            f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested "
            f"max number of worker in current system is {cores}, which is smaller than what this "
            "DataLoader is going to create. Please be aware that excessive worker creation might get "
            "DataLoader running slow or even freeze, lower the worker number to avoid potential "
            "slowness/freeze if necessary.",
            stacklevel=3,
        )


def _check_workers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing."
            "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_streamed(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    """An iterable dataset decides its order itself."""
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}"
            )


def _check_exclusive(batch_size: Any, shuffle: Any, sampler: Any, batch_sampler: Any, drop_last: Any) -> None:
    if sampler is not None and shuffle:
        raise ValueError("sampler option is mutually exclusive with shuffle")
    if batch_sampler is not None:
        if batch_size != 1 or shuffle or sampler is not None or drop_last:
            raise ValueError(
                "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
            )
    elif batch_size is None and drop_last:
        raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")


def _checked_context(context: Any, num_workers: int) -> Any:
    if num_workers <= 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
            f"but got num_workers={num_workers}"
        )
    if isinstance(context, str):
        known = multiprocessing.get_all_start_methods()
        if context not in known:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in "
                f"{known!r}, but got multiprocessing_context={context!r}"
            )
        return multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying "
            f"the start method, but got multiprocessing_context={context}"
        )
    return context
