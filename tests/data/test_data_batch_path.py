"""The batch path: bit-equal to the way sample by sample, and taken only where it may be."""

from __future__ import annotations

import multiprocessing
from itertools import chain, islice

import numpy as np
import pytest

import rushlight
from rushlight.data import Batcher, batching
from rushlight.data import iterators as its
from rushlight.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    RandomSampler,
    SequentialSampler,
    StackDataset,
    Subset,
    TensorDataset,
    WeightedRandomSampler,
    random_split,
)


class Noisy(Dataset):
    """Two draws a sample, by sample or by batch, as a random crop would take them."""

    def __init__(self, n: int, width: int = 3) -> None:
        self.rows = rushlight.arange(float(n * width)).reshape(n, width)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, i):
        shift = rushlight.randint(0, 9, (1,))
        return self.rows[i] + shift * rushlight.rand(1), i

    def __batcher__(self) -> Batcher:
        def fetch(indices, stream):
            words = batching.words(stream, len(indices), 2)
            unit = ((words[:, 1:] & 0xFFFFFF) * 2.0**-24).astype(np.float32)
            shift = (words[:, :1] % 9).astype(np.int64).astype(np.float32)
            rows = self.rows._a[indices] + shift * unit
            return [rushlight.from_numpy(rows), rushlight.from_numpy(indices.copy())]

        return Batcher(fetch, draws=True)


def _pictures(n: int = 37) -> TensorDataset:
    pictures = rushlight.arange(n * 12).reshape(n, 3, 2, 2).to(rushlight.uint8)
    return TensorDataset(pictures, rushlight.arange(n), rushlight.rand(n))


def _split(n: int) -> Subset:
    return random_split(_pictures(n), [0.7, 0.3])[0]


DATASETS = {
    "tensors": lambda: _pictures(),
    "strided": lambda: TensorDataset(rushlight.arange(40).reshape(4, 10).t(), rushlight.zeros(10)),
    "bfloat16": lambda: TensorDataset(rushlight.rand(20, 3).to(rushlight.bfloat16)),
    "empty rows": lambda: TensorDataset(rushlight.zeros(20, 0, 3)),
    "subset": lambda: Subset(_pictures(), [5, 3, 30, -1, 3, 8, 9]),
    "subset of subset": lambda: Subset(_split(30), range(4, 20)),
    "concat": lambda: ConcatDataset([_pictures(7), _split(20), _pictures(1)]),
    "sum": lambda: _pictures(7) + _pictures(9),
    "stack": lambda: StackDataset(_pictures(9), _pictures(9)),
    "stacked dict": lambda: StackDataset(a=_pictures(9), b=_pictures(9)),
    "noisy": lambda: Noisy(50),
    "noisy subset": lambda: Subset(Noisy(50), range(0, 50, 3)),
    "noisy concat": lambda: ConcatDataset([Noisy(20), Subset(Noisy(30), range(5, 25))]),
    "noisy stack": lambda: StackDataset(Noisy(20)),
}


def flat(batch) -> list:
    if isinstance(batch, rushlight.Tensor):
        assert batch._a.flags.c_contiguous
        return [(batch.dtype, batch._a.shape, batch._a.tobytes())]
    if isinstance(batch, dict):
        return [dict] + [x for k, v in batch.items() for x in [k, *flat(v)]]
    return [type(batch)] + [x for v in batch for x in flat(v)]


def epochs(dataset, batch_path: bool, n: int = 2, **options) -> list:
    rushlight.manual_seed(11)
    loader = DataLoader(dataset, **options)
    loader.batch_path = batch_path
    return [[flat(b) for b in loader] + [rushlight.rand(1).item()] for _ in range(n)]


@pytest.mark.parametrize("name", DATASETS)
@pytest.mark.parametrize("batch_size", [1, 4, 64])
@pytest.mark.parametrize("shuffle", [False, True])
def test_equal_to_the_plain_path(name: str, batch_size: int, shuffle: bool) -> None:
    dataset = DATASETS[name]()
    options = {"batch_size": batch_size, "shuffle": shuffle}
    assert batching.batcher_of(dataset) is not None
    assert epochs(dataset, True, **options) == epochs(dataset, False, **options)


@pytest.mark.parametrize("name", ["tensors", "noisy", "noisy concat", "stacked dict"])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("persistent", [False, True])
def test_equal_to_real_workers(name: str, workers: int, persistent: bool) -> None:
    """Blocks of batches draw what each worker's own stream would have given."""
    dataset = DATASETS[name]()
    options = {"batch_size": 3, "shuffle": True, "num_workers": workers}
    options["persistent_workers"] = persistent
    assert epochs(dataset, True, **options) == epochs(dataset, False, **options)


@pytest.mark.parametrize("limit", [1, 100, 1000, 1 << 20])
def test_any_length_of_block(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(its, "BLOCK_BYTES", limit)
    options = {"batch_size": 3, "shuffle": True, "num_workers": 2}
    dataset = Noisy(50)
    assert epochs(dataset, True, **options) == epochs(dataset, False, **options)


def test_no_worker_is_started() -> None:
    loader = DataLoader(_pictures(), batch_size=4, num_workers=2)
    before = multiprocessing.active_children()
    it = iter(loader)
    next(it)
    assert isinstance(it, its.BlockIter)
    assert set(multiprocessing.active_children()) <= set(before)


def test_batches_do_not_share_samples_with_the_dataset_or_each_other() -> None:
    dataset = _pictures()
    before = dataset.tensors[0].clone()
    batches = list(DataLoader(dataset, batch_size=4, num_workers=2))
    kept = [b[0].clone() for b in batches]
    batches[0][0].zero_()
    batches[3][0].zero_()
    assert (dataset.tensors[0] == before).all()
    assert all((b[0] == k).all() for i, (b, k) in enumerate(zip(batches, kept)) if i not in (0, 3))


def test_changes_between_batches_are_seen_without_workers() -> None:
    dataset = TensorDataset(rushlight.zeros(6))
    seen = []
    for (batch,) in DataLoader(dataset, batch_size=2):
        seen.append(batch.tolist())
        dataset.tensors[0].add_(1)
    assert seen == [[0, 0], [1, 1], [2, 2]]


def test_tensors_that_want_a_gradient_keep_their_graph() -> None:
    w = rushlight.arange(4.0).requires_grad_()
    ((batch,),) = DataLoader(TensorDataset(w), batch_size=4, sampler=[3, 3, 0, 1])
    batch.sum().backward()
    assert w.grad.tolist() == [1, 1, 0, 2]


class OwnItems(TensorDataset):
    def __getitem__(self, i):
        return tuple(t * 10 for t in super().__getitem__(i))


class OwnLists(TensorDataset):
    def __getitems__(self, indices):
        return [(rushlight.tensor(7.0),) for _ in indices]


def _no_op(worker_id: int) -> None:
    return None


def test_a_subclass_with_its_own_items_is_asked_for_them() -> None:
    rows = rushlight.arange(4.0)
    assert batching.batcher_of(OwnItems(rows)) is None
    assert [b[0].tolist() for b in DataLoader(OwnItems(rows), 2)] == [[0, 10], [20, 30]]
    assert [b[0].tolist() for b in DataLoader(OwnLists(rows), 2)] == [[7, 7], [7, 7]]
    assert batching.batcher_of(Subset(OwnItems(rows), [1])) is None
    assert batching.batcher_of(ConcatDataset([TensorDataset(rows), OwnItems(rows)])) is None
    assert batching.batcher_of(StackDataset(OwnItems(rows))) is None


@pytest.mark.parametrize(
    "options", [{"collate_fn": list}, {"worker_init_fn": _no_op}, {"batch_size": None}], ids=lambda o: next(iter(o))
)
def test_what_needs_workers_gets_them(options: dict) -> None:
    it = iter(DataLoader(_pictures(), num_workers=1, **options))
    assert isinstance(it, its.WorkerIter)
    next(it)


def test_two_members_that_draw_take_turns_sample_by_sample() -> None:
    assert batching.batcher_of(StackDataset(Noisy(5), Noisy(5))) is None
    options = {"batch_size": 4}
    dataset = StackDataset(Noisy(9), Noisy(9))
    assert epochs(dataset, True, **options) == epochs(dataset, False, **options)


class Backwards(RandomSampler):
    def __iter__(self):
        return iter(range(len(self.data_source) - 1, -1, -1))


@pytest.mark.parametrize("workers", [0, 2])
def test_a_sampler_of_ones_own_is_obeyed(workers: int) -> None:
    dataset = TensorDataset(rushlight.arange(5))
    loader = DataLoader(dataset, 2, sampler=Backwards(dataset), num_workers=workers)
    assert [b[0].tolist() for b in loader] == [[4, 3], [2, 1], [0]]
    loader = DataLoader(dataset, batch_sampler=[(0, 4), [np.int64(2)]], num_workers=workers)
    assert [b[0].tolist() for b in loader] == [[0, 4], [2]]


@pytest.mark.parametrize("workers", [0, 2])
def test_an_index_out_of_range(workers: int) -> None:
    dataset = ConcatDataset([TensorDataset(rushlight.arange(5)), TensorDataset(rushlight.arange(5))])
    with pytest.raises(IndexError):
        list(DataLoader(dataset, 2, sampler=[0, 10], num_workers=workers))
    with pytest.raises(ValueError, match="absolute value"):
        list(DataLoader(dataset, 2, sampler=[0, -11], num_workers=workers))


SAMPLERS = {
    "in order": lambda g: SequentialSampler(range(7)),
    "shuffled": lambda g: RandomSampler(range(7), generator=g),
    "shuffled often": lambda g: RandomSampler(range(7), num_samples=21, generator=g),
    "drawn": lambda g: RandomSampler(range(7), True, 77, generator=g),
    "weighted": lambda g: WeightedRandomSampler([1.0, 2.0], 7, generator=g),
    "many": lambda g: RandomSampler(range(5000), generator=g),
    "a list": lambda g: [3, 1, 2, 2, 0],
    "of one's own": lambda g: Backwards(range(7)),
}


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.parametrize("size", [1, 3, 7, 40])
def test_index_arrays_are_the_samplers_batches(name: str, drop_last: bool, size: int) -> None:
    def sampler() -> BatchSampler:
        return BatchSampler(SAMPLERS[name](rushlight.Generator().manual_seed(1)), size, drop_last)

    wanted = list(sampler())
    arrays = batching.batch_arrays(sampler())
    if name in ("a list", "of one's own"):
        assert arrays is None
    else:
        arrays = list(arrays)
        assert [a.tolist() for a in arrays] == wanted
        assert all(type(a) is np.ndarray and a.dtype == np.int64 for a in arrays)
    for count in (1, 2, 5, 300):
        blocks, found = batching.IndexBlocks(sampler()), []
        while True:
            block, lengths = blocks.take(count)
            assert block.dtype == np.int64 and len(block) == sum(lengths)
            if not lengths:
                break
            found += [a.tolist() for a in batching.cut(block, lengths)]
        assert found == wanted
        assert blocks.take(count)[1] == []


@pytest.mark.parametrize("count", [1, 2, 3, 11])
def test_blocks_draw_no_further_than_the_batches_they_hold(count: int) -> None:
    """With replacement indices are drawn by 32, which a generator that others use as well shows."""
    states = []
    for blocks in (False, True):
        generator = rushlight.Generator().manual_seed(1)
        sampler = BatchSampler(RandomSampler(range(9), True, 200, generator), 5, False)
        seen = []
        if blocks:
            taken = batching.IndexBlocks(sampler)
            taken.draw(4)
            seen.append(generator.get_state().tolist())
            while taken.take(count)[1]:
                seen.append(generator.get_state().tolist())
        else:
            single = iter(sampler)
            first = [next(single) for _ in range(4)]
            seen.append(generator.get_state().tolist())
            both = chain(first, single)
            while list(islice(both, count)):
                seen.append(generator.get_state().tolist())
        states.append(seen)
    assert states[0] == states[1]


@pytest.mark.parametrize("lengths", [[3], [2, 2], [2, 2, 1], [0, 3], [3, 0], [1, 2, 2], [0, 0], [1, 4, 1]])
@pytest.mark.parametrize("turned", [False, True])
def test_rows_are_cut(lengths: list[int], turned: bool) -> None:
    a = np.arange(sum(lengths) * 6).reshape(-1, 2, 3)
    a = np.asfortranarray(a) if turned else a
    parts = batching.cut(a, lengths)
    assert [len(p) for p in parts] == lengths
    assert (np.concatenate(parts) == a).all() and all(p.shape[1:] == (2, 3) for p in parts)
    assert all(np.shares_memory(p, a) for p in parts if p.size)
    tensors = batching.split({"a": rushlight.from_numpy(a), "b": [rushlight.arange(sum(lengths))]}, lengths)
    assert [len(t["a"]) for t in tensors] == [len(t["b"][0]) for t in tensors] == lengths


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_that_are_empty_or_no_integers(workers: int) -> None:
    dataset = TensorDataset(rushlight.arange(5))
    loader = DataLoader(dataset, batch_sampler=[[0], [1, 2], [], [3, 4]], num_workers=workers)
    assert [b[0].tolist() for b in loader] == [[0], [1, 2], [], [3, 4]]
    loader = DataLoader(dataset, batch_sampler=[["a"]], num_workers=workers)
    with pytest.raises((TypeError, IndexError)):
        list(loader)


def test_other_data_in_a_tensor_in_the_middle() -> None:
    """Rows are taken from what a tensor holds by then, also where that has other dims."""
    x = rushlight.arange(200.0)
    batches = iter(DataLoader(TensorDataset(x), 2))
    assert next(batches)[0].tolist() == [0, 1]
    x.data = rushlight.arange(400.0).reshape(200, 2)
    assert next(batches)[0].tolist() == [[4, 5], [6, 7]]
    x.data = rushlight.arange(400.0).reshape(2, 200).t()
    late = next(b for b in batches if b[0][0, 0] >= 150)[0]
    assert late.tolist() == [[150, 350], [151, 351]] and late.is_contiguous()


def test_every_draw_of_an_epoch_is_made_when_workers_would_be_sent_it() -> None:
    """With workers asked for, the shuffle is drawn by iter(), as PyTorch's prefetching does."""
    torch = pytest.importorskip("torch")
    import torch.utils.data as theirs

    numbers = []
    for library, data in ((rushlight, (DataLoader, TensorDataset)), (torch, None)):
        loader_type, dataset_type = data or (theirs.DataLoader, theirs.TensorDataset)
        library.manual_seed(0)
        it = iter(
            loader_type(dataset_type(library.arange(9)), 2, shuffle=True, num_workers=2, multiprocessing_context="fork")
        )
        numbers.append((library.rand(1).item(), [b[0].tolist() for b in it]))
    assert numbers[0] == numbers[1]
