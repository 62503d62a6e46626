"""What a dataset is: indexable, or iterable; several in a row are one."""

from __future__ import annotations

import bisect
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import accumulate
from typing import Any, Generic, TypeVar

import numpy as np

from ..core.tensor import Tensor, wrap
from ..core.views import current_edge
from .batching import Batcher, Fetch, batcher_of, gather
from .resident import Resident, rows

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """Samples by index: subclasses write `__getitem__`, and `__len__` for most samplers.

    A subclass may add `__getitems__(indices)` (a list of samples at once), or `__batcher__` to hand out
    whole batches (see `rushlight.data.batching`).

    Example:
        >>> class Squares(torch.utils.data.Dataset):
        ...     def __len__(self):
        ...         return 5
        ...     def __getitem__(self, index):
        ...         return index**2
        >>> list(torch.utils.data.DataLoader(Squares(), batch_size=3))
        [tensor([0, 1, 4]), tensor([ 9, 16])]
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    # No __len__ here: many samplers fall back on TypeError from len(), which a default would hide.

    def __add__(self, other: Dataset) -> Any:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co], Iterable[T_co]):
    """Samples in a stream: subclasses write `__iter__`.

    Each worker iterates its own copy, so `__iter__` has to look at `get_worker_info()` and take its
    share, or the samples come once per worker.

    Example:
        >>> class Counting(torch.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(4))
        >>> list(torch.utils.data.DataLoader(Counting(), batch_size=2))
        [tensor([0, 1]), tensor([2, 3])]
    """

    def __add__(self, other: Dataset) -> ChainDataset:
        return ChainDataset([self, other])


class ChainDataset(IterableDataset):
    """Several iterable datasets one after the other.

    Args:
        datasets: iterable datasets only; others raise AssertionError when they are reached.

    Example:
        >>> class Counting(torch.utils.data.IterableDataset):
        ...     def __iter__(self):
        ...         return iter(range(3))
        >>> list(torch.utils.data.ChainDataset([Counting(), Counting()]))
        [0, 1, 2, 0, 1, 2]
    """

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        super().__init__()
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for d in self.datasets:
            self._check(d)
            yield from d  # type: ignore[misc]

    def __len__(self) -> int:
        total = 0
        for d in self.datasets:
            self._check(d)
            total += len(d)  # type: ignore[arg-type]
        return total

    @staticmethod
    def _check(d: Any) -> None:
        if not isinstance(d, IterableDataset):
            raise AssertionError("ChainDataset only supports IterableDataset")


class ConcatDataset(Dataset[T_co]):
    """Datasets one after the other.

    Args:
        datasets: at least one; each has a length.

    Raises:
        AssertionError: if there is none, or one is an `IterableDataset`.

    Example:
        >>> a = torch.utils.data.TensorDataset(torch.arange(2))
        >>> b = torch.utils.data.TensorDataset(torch.arange(10, 13))
        >>> both = torch.utils.data.ConcatDataset([a, b])
        >>> len(both), both[3]
        (5, (tensor(11),))
    """

    datasets: list[Dataset]
    cumulative_sizes: list[int]

    @staticmethod
    def cumsum(sequence: Iterable[Any]) -> list[int]:
        """The running total of the lengths."""
        return list(accumulate(len(d) for d in sequence))

    def __init__(self, datasets: Iterable[Dataset]) -> None:
        super().__init__()
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        if any(isinstance(d, IterableDataset) for d in self.datasets):
            raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = self.cumsum(self.datasets)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, idx: int) -> Any:
        if idx < 0:
            if -idx > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            idx += len(self)
        which = bisect.bisect_right(self.cumulative_sizes, idx)
        if which == len(self.datasets):  # what ends a `for` over datasets that never raise it
            raise IndexError("list index out of range")
        return self.datasets[which][idx - (self.cumulative_sizes[which - 1] if which else 0)]

    @property
    def cummulative_sizes(self) -> list[int]:
        """The old spelling of `cumulative_sizes`; warns."""
        warnings.warn("`cummulative_sizes` attribute is renamed to `cumulative_sizes`", FutureWarning, stacklevel=2)
        return self.cumulative_sizes

    def __batcher__(self) -> Batcher | None:
        members = [batcher_of(d) for d in self.datasets]
        known = [b for b in members if b is not None]
        if len(known) != len(members):
            return None
        ends = np.array(self.cumulative_sizes, np.int64)
        draws = any(b.draws for b in known)
        return Batcher(lambda indices, stream: _from_members(known, ends, indices, stream), draws)


def _from_members(members: list[Batcher], ends: np.ndarray, indices: np.ndarray, stream: Any) -> Any:
    """A batch of samples that lie in several datasets, in the order of `indices`."""
    total = int(ends[-1])
    if indices.size and int(indices.min()) < -total:
        raise ValueError("absolute value of index should not exceed dataset length")
    indices = np.where(indices < 0, indices + total, indices)
    owner = np.minimum(np.searchsorted(ends, indices, side="right"), len(ends) - 1)
    inside = indices - np.where(owner > 0, ends[owner - 1], 0)
    order = None
    if not any(b.draws for b in members):
        # Without random numbers the order of fetching is free: one fetch per dataset.
        order = np.argsort(owner, kind="stable")
        owner, inside = owner[order], inside[order]
    cuts = np.flatnonzero(np.diff(owner)) + 1
    starts = [0, *cuts.tolist()]
    runs = np.split(inside, cuts)
    parts = [members[owner[s]].fetch(run, stream) for s, run in zip(starts, runs)]
    if order is None or len(parts) == 1:
        return gather(parts)
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    return gather(parts, back)


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Tensors of equal first size; a sample is a tuple with one row of each.

    Args:
        tensors: one or more, with samples along the first dimension.

    Raises:
        AssertionError: if the first sizes differ.

    Example:
        >>> data = torch.utils.data.TensorDataset(torch.arange(6.0).reshape(3, 2), torch.tensor([0, 1, 0]))
        >>> data[1]
        (tensor([2., 3.]), tensor(1))
    """

    tensors: tuple[Tensor, ...]

    def __init__(self, *tensors: Tensor) -> None:
        if any(t.size(0) != tensors[0].size(0) for t in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple([t[index] for t in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].size(0)

    def __batcher__(self) -> Batcher | None:
        if not self.tensors:
            return None
        return Batcher(_rows_of(self.tensors), resident=self._resident())

    def _resident(self) -> Any:
        """The tensors and how to gather rows of them, where all lie on one device."""
        kinds = {(t._a.__class__, t._a.dtype.kind != "V", current_edge(t)) for t in self.tensors}
        plain = len(kinds) == 1 and next(iter(kinds))[1:] == (True, None)
        return Resident(self.tensors, _take_rows) if plain else None


def _take_rows(places: Any, *arrays: Any) -> list[Any]:
    return [rows(a, places) for a in arrays]


def _rows_of(tensors: tuple[Tensor, ...]) -> Fetch:
    """How the rows of some tensors at an index array become new tensors."""
    if all(_is_plain(t) and t._a.flags.c_contiguous for t in tensors):
        return partial(_contiguous_rows, tensors)
    takes = [_row_taker(t) for t in tensors]
    return lambda indices, stream: [take(indices) for take in takes]


def _is_plain(t: Tensor) -> bool:
    return t._a.__class__ is np.ndarray and current_edge(t) is None


def _contiguous_rows(tensors: tuple[Tensor, ...], indices: np.ndarray, stream: Any) -> list[Tensor]:
    out = []
    for t in tensors:
        # t._a is looked up at every call: the user may put other data into t between batches.
        a = t._a
        # Each the quicker of two ways.
        out.append(wrap(a[indices] if a.ndim == 1 else a.take(indices, 0)))
    return out


def _row_taker(t: Tensor) -> Callable[[np.ndarray], Tensor]:
    """A function from an index array to the rows of `t` as a new tensor."""
    if not _is_plain(t):
        return lambda indices: t[wrap(indices).to(t.device)]  # keeps the device and the graph
    if t._a.flags.c_contiguous:
        return lambda indices: wrap(t._a.take(indices, 0))
    return lambda indices: wrap(np.ascontiguousarray(t._a[indices]))
