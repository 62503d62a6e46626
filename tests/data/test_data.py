"""Datasets, samplers, collating and the loader's arguments, against PyTorch."""

from __future__ import annotations

import collections
import importlib
import warnings

import numpy as np
import pytest

import rushlight
import rushlight.utils.data as ours

torch = pytest.importorskip("torch")
theirs = importlib.import_module("torch.utils.data")

Point = collections.namedtuple("Point", "a b")


class MyList(list):
    pass


def plain(value):
    """Values, dtypes and containers, comparable between the two libraries."""
    if isinstance(value, (rushlight.Tensor, torch.Tensor)):
        return ("tensor", str(value.dtype).split(".")[1], tuple(value.shape), value.tolist())
    if isinstance(value, np.ndarray):
        return ("array", str(value.dtype), value.tolist())
    if isinstance(value, dict):
        return (type(value).__name__, {k: plain(v) for k, v in value.items()})
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [plain(v) for v in value])
    return value


def outcome(call):
    """What a call gives: its value, or its error, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = plain(call())
        except Exception as error:
            result = (type(error).__name__, str(error))
    return result, [(w.category.__name__, str(w.message)) for w in caught]


def both(source: str, **names):
    """Evaluate the same source in both libraries, each from seed 0."""
    results = []
    for library, data in ((rushlight, ours), (torch, theirs)):
        scope = {"torch": library, "np": np, "collections": collections, "Point": Point}
        scope |= {"MyList": MyList, **{n: getattr(data, n) for n in theirs.__all__ if hasattr(data, n)}}
        scope |= {k: v(data, library) for k, v in names.items()}
        library.manual_seed(0)
        results.append(outcome(lambda: eval(source, scope)))
    return results


def _tensors(data, library):
    return data.TensorDataset(library.arange(10.0), library.arange(20).reshape(10, 2))


def _stream(length):
    def make(data, library):
        class Stream(data.IterableDataset):
            def __iter__(self):
                return iter(range(10))

        class Sized(Stream):
            def __len__(self):
                return length

            def __repr__(self):
                return "<a stream>"

        return Stream() if length is None else Sized()

    return make


NAMES = {"ds": _tensors, "stream": _stream(None), "stream5": _stream(5)}

SAME = """
DataLoader(ds, num_workers=-1)
DataLoader(ds, timeout=-1)
DataLoader(ds, prefetch_factor=2)
DataLoader(ds, num_workers=2, prefetch_factor=-1)
DataLoader(ds, persistent_workers=True)
DataLoader(stream, shuffle=True)
DataLoader(stream, shuffle=3)
DataLoader(stream, sampler=[1])
DataLoader(stream, batch_sampler=[1])
DataLoader(ds, shuffle=True, sampler=[1])
DataLoader(ds, batch_sampler=[[1]], batch_size=2)
DataLoader(ds, batch_sampler=[[1]], shuffle=True)
DataLoader(ds, batch_sampler=[[1]], drop_last=True)
DataLoader(ds, batch_size=None, drop_last=True)
DataLoader(ds, batch_size=0)
DataLoader(ds, batch_size=2.5)
DataLoader(ds, batch_size=True)
DataLoader(ds, drop_last=3)
DataLoader([], shuffle=True)
DataLoader(ds, multiprocessing_context='fork')
DataLoader(ds, num_workers=1, multiprocessing_context='bad')
DataLoader(ds, num_workers=1, multiprocessing_context=3)
DataLoader(ds, num_workers=1, multiprocessing_context='spawn').multiprocessing_context.get_start_method()
DataLoader(ds, num_workers=999).num_workers
DataLoader(ds, num_workers=2).prefetch_factor
DataLoader(ds).prefetch_factor
setattr(DataLoader(ds), 'batch_size', 3)
setattr(DataLoader(ds), 'batch_sampler', 3)
setattr(DataLoader(ds), 'sampler', 3)
setattr(DataLoader(ds), 'drop_last', 3)
setattr(DataLoader(ds), 'dataset', 3)
setattr(DataLoader(ds), 'persistent_workers', 3)
setattr(DataLoader(ds), 'num_workers', 3)
setattr(DataLoader(ds), 'anything', 3)
setattr(DataLoader(ds), 'multiprocessing_context', 'fork')
len(DataLoader(stream5, batch_size=2))
len(DataLoader(stream5, batch_size=2, drop_last=True))
len(DataLoader(ds, batch_size=3))
len(DataLoader(ds, batch_size=3, drop_last=True))
len(DataLoader(ds, batch_size=None))
len(iter(DataLoader(ds, batch_size=3)))
list(DataLoader(ds, timeout=5))
list(DataLoader(ds, batch_size=4, pin_memory=True))
list(DataLoader(ds, batch_size=4, pin_memory=True, pin_memory_device='cuda'))
list(DataLoader(ds, batch_size=3))
list(DataLoader(ds, batch_size=3, drop_last=True))
list(DataLoader(ds, batch_size=3, shuffle=True))
list(DataLoader(ds, batch_size=None))
list(DataLoader(ds, batch_size=None, shuffle=True))
list(DataLoader(ds, batch_size=None, sampler=BatchSampler(range(10), 4, False)))
list(DataLoader(ds, batch_sampler=[[1, 2], [3]]))
list(DataLoader(ds, sampler=[9, 1, -1], batch_size=2))
list(DataLoader(ds, sampler=torch.tensor([9, 1, 4]), batch_size=2))
list(DataLoader(ds, 2, collate_fn=len))
list(DataLoader(stream, batch_size=4))
list(DataLoader(stream, batch_size=4, drop_last=True))
list(DataLoader(stream, batch_size=None))
list(DataLoader([1, 2, 3], batch_size=2))
list(DataLoader(['a', 'b', 'c'], batch_size=2))
list(DataLoader({0: 1.5, 1: 2.5}, batch_size=2))
list(DataLoader(Subset(ds, [5, 3, -1]), batch_size=2))
list(DataLoader(ConcatDataset([ds, Subset(ds, [3, 2])]), batch_size=5, shuffle=True))
list(DataLoader(ds + ds, batch_size=7, shuffle=True))
list(DataLoader(StackDataset(ds, ds), batch_size=4))
list(DataLoader(StackDataset(x=ds, y=range(10)), batch_size=4))
list(DataLoader(ds, batch_size=4, sampler=WeightedRandomSampler([1, 2, 3, 4, 5], 8)))
list(RandomSampler([]))
RandomSampler(ds, replacement=3)
RandomSampler(ds, num_samples=0)
RandomSampler(ds, num_samples=-1)
RandomSampler(ds, num_samples=2.5)
RandomSampler(3)
list(RandomSampler(range(10)))
list(RandomSampler(range(10), num_samples=25))
list(RandomSampler(range(10), num_samples=7))
list(RandomSampler(range(10), True, 70))
list(RandomSampler(range(10), True))
len(RandomSampler(range(10), True, 70))
list(SequentialSampler(range(3)))
list(SubsetRandomSampler([3, 4, 5, 9]))
list(SubsetRandomSampler('abcde'))
WeightedRandomSampler([.1, .2], 0)
WeightedRandomSampler([.1, .2], True)
WeightedRandomSampler([[.1], [.2]], 2)
WeightedRandomSampler([.1, .2], 2, replacement=3)
list(WeightedRandomSampler([.1, .2], 3, False))
list(WeightedRandomSampler([.1, .5, .3, .1], 10))
list(WeightedRandomSampler([.1, .5, .3, .1], 3, False))
list(WeightedRandomSampler(torch.tensor([.1, .5]), 3))
BatchSampler([1, 2], 0, False)
BatchSampler([1, 2], 2, 3)
list(BatchSampler(range(5), 2, False))
list(BatchSampler(range(5), 2, True))
list(BatchSampler(RandomSampler(range(5)), 2, True))
len(BatchSampler(range(5), 2, False))
len(BatchSampler(range(5), 2, True))
DistributedSampler(ds, 2, 3)
list(DistributedSampler(ds, 3, 1))
list(DistributedSampler(ds, 3, 1, drop_last=True))
list(DistributedSampler(ds, 4, 1, shuffle=False))
list(DistributedSampler(ds, 4, 3, seed=5))
list(DistributedSampler(range(2), 7, 6))
len(DistributedSampler(ds, 4, 1, shuffle=False))
Sampler(ds)
len(Sampler())
TensorDataset(torch.zeros(3), torch.zeros(4))
ds[3]
ds[-1]
len(ds)
StackDataset()
StackDataset(ds, a=ds)
StackDataset([1], [1, 2])
StackDataset(a=[1], b=[1, 2])
StackDataset([1, 2], [3, 4])[0]
StackDataset(a=[1, 2], b=[3, 4])[0]
StackDataset([1, 2], ds).__getitems__([0, 1]) if False else StackDataset([1, 2], [3, 4]).__getitems__([0, 1])
ConcatDataset([])
ConcatDataset([stream])
ConcatDataset([[1], [2]])[5]
ConcatDataset([[1], [2]])[-1]
ConcatDataset([[1], [2]])[-5]
ConcatDataset([[1], [2]]).cummulative_sizes
ConcatDataset([[1], [2, 3]]).cumulative_sizes
len(ChainDataset([stream]))
len(ChainDataset([stream5, stream5]))
list(ChainDataset([stream, stream5]))
list(ChainDataset([[1]]))
list(stream + stream)
Dataset()[0]
len(Dataset())
len(stream)
random_split(range(10), [3, 4])
random_split(range(10), [.3, .4])
random_split(range(10), [.3, 1.4])
random_split(range(10), [1.5, -.5])
[x.indices for x in random_split(range(10), [.33, .33, .34])]
[len(x) for x in random_split(range(2), [.33, .33, .34])]
[x.indices for x in random_split(range(10), [3, 7])]
[x.indices for x in random_split(range(10), [3, 7], generator=torch.Generator().manual_seed(42))]
Subset(range(10), [1, 2])[0]
Subset(range(10), [1, 2])[[0, 1]]
Subset(ds, [1, 2]).__getitems__([0, 1])
Subset(ds, [1, 2])[[0, 1]]
"""

# PyTorch's text goes on with what we do not say, or ours does.
SAME_TYPE = """
list(DataLoader(ds, generator=3))
DistributedSampler(ds, 2)
list(DataLoader(ds, sampler=[99]))
list(DataLoader(ds, batch_size=2, sampler=[0, 99]))
iter(Sampler())
iter(IterableDataset())
"""


@pytest.mark.parametrize("source", SAME.strip().splitlines())
def test_same_as_torch(source: str) -> None:
    mine, wanted = both(source, **NAMES)
    assert mine == wanted


@pytest.mark.parametrize("source", SAME_TYPE.strip().splitlines())
def test_same_error_type(source: str) -> None:
    (mine, _), (wanted, _) = both(source, **NAMES)
    if "DistributedSampler" in source:  # PyTorch has a process group to ask, we may have none
        assert mine[0] in ("ValueError", "RuntimeError")
    else:
        assert mine[0] == wanted[0]


COLLATE = """
[np.float32(1), np.float32(2)]
[np.float64(1), np.float64(2)]
[np.int32(1)]
[np.bool_(1)]
[np.array(1.5)]
[np.array([1.5, 2], np.float32)] * 2
[np.array(['a'])]
[np.array([object()])]
['a', 'b']
[b'a', b'b']
[1, 2.5]
[2.5, 1]
[True, False]
[True, 2]
[10**30]
[Point(1, 2), Point(3, 4)]
[(1, [2, 3]), (4, [5, 6])]
[(1, 'a', 2., b'x'), (1, 'b', 3., b'y')]
[MyList([1, 2]), MyList([3, 4])]
[range(3), range(3)]
[collections.OrderedDict(a=1), collections.OrderedDict(a=2)]
[collections.defaultdict(int, a=1)] * 2
[{'a': 1}, {'b': 1}]
[{'a': 1}, {'a': 1, 'b': 2}]
[{'a': {'b': [1, 2.]}}] * 2
[(), ()]
[{}]
'ab'
(1, 2)
5
[]
[None]
[object]
[1j]
[[1, 2], [1]]
[np.zeros((0, 3)), np.zeros((0, 3))]
[np.uint16(3)]
[np.zeros(2, np.uint16)]
[torch.tensor(1), torch.tensor(2)]
[torch.zeros(2, dtype=torch.int32), torch.zeros(2)]
[torch.zeros(2), torch.zeros(3)]
[torch.zeros(2, 3, dtype=torch.bfloat16)] * 2
[[1, 2], (3, 4)]
"""


@pytest.mark.parametrize("source", COLLATE.strip().splitlines())
def test_default_collate(source: str) -> None:
    mine, wanted = both(f"default_collate({source})")
    assert mine == wanted


CONVERT = """
np.zeros(2)
np.float32(2)
{'a': np.zeros(1)}
Point(np.zeros(1), 2)
(np.zeros(1), 2)
[np.zeros(1), 's']
'abc'
MyList([np.zeros(1)])
np.array(['a'])
range(3)
torch.zeros(1)
2
collections.OrderedDict(a=np.zeros(1))
"""


@pytest.mark.parametrize("source", CONVERT.strip().splitlines())
def test_default_convert(source: str) -> None:
    mine, wanted = both(f"default_convert({source})")
    assert mine == wanted


def test_collate_keeps_the_graph() -> None:
    w = rushlight.ones(2, requires_grad=True)
    ours.default_collate([w * 2, w * 3]).sum().backward()
    assert w.grad.tolist() == [5.0, 5.0]


def test_length_of_an_iterable_dataset_is_checked() -> None:
    def run(data, library):
        loader = data.DataLoader(_stream(3)(data, library), batch_size=2)
        assert len(loader) == 2
        return outcome(lambda: list(loader))

    assert run(ours, rushlight) == run(theirs, torch)


DRAWS = """
iter(DataLoader(ds, shuffle=True, generator=g))
next(iter(DataLoader(ds, shuffle=True, generator=g)))
list(DataLoader(ds, shuffle=True, generator=g))
[list(DataLoader(ds, shuffle=True, batch_size=3, drop_last=True, generator=g)) for _ in range(3)]
list(DataLoader(ds, generator=g))
next(iter(DataLoader(ds, batch_size=10, shuffle=True, generator=g)))
list(RandomSampler(ds, num_samples=25, generator=g))
list(RandomSampler(ds, num_samples=20, generator=g))
list(RandomSampler(ds, True, 32, generator=g))
next(iter(RandomSampler(ds, True, 70, generator=g)))
next(iter(BatchSampler(RandomSampler(ds, True, 70, generator=g), 33, False)))
next(iter(DataLoader(ds, 33, sampler=RandomSampler(ds, True, 70, generator=g))))
next(iter(SubsetRandomSampler(range(10), generator=g)))
next(iter(WeightedRandomSampler([1, 2, 3], 5, generator=g)))
next(iter(WeightedRandomSampler([1, 2, 3], 2, False, generator=g)))
random_split(ds, [5, 5], generator=g)
"""


@pytest.mark.parametrize("source", DRAWS.strip().splitlines())
@pytest.mark.parametrize("default", [True, False], ids=["default generator", "own generator"])
def test_random_numbers_are_drawn_when_torch_draws(source: str, default: bool) -> None:
    """The generator ends in the same state, so everything drawn afterwards agrees too."""
    words = []
    for library, data in ((rushlight, ours), (torch, theirs)):
        g = library.default_generator if default else library.Generator()
        g.manual_seed(7)
        library.manual_seed(7)
        text = source.replace("generator=g", "generator=None") if default else source
        scope = {**vars(data), "ds": _tensors(data, library), "g": g}
        kept = eval(text, scope)
        words.append((library.randint(0, 1 << 20, (3,), generator=g).tolist(), type(kept)))
    assert words[0][0] == words[1][0]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("own", [False, True], ids=["default generator", "own generator"])
def test_shuffles_of_several_epochs(workers: int, persistent: bool, own: bool) -> None:
    if persistent and not workers:
        pytest.skip("nothing to persist")
    orders = []
    for library, data in ((rushlight, ours), (torch, theirs)):
        library.manual_seed(3)
        loader = data.DataLoader(
            data.TensorDataset(library.arange(23)),
            batch_size=4,
            shuffle=True,
            num_workers=workers,
            persistent_workers=persistent,
            generator=library.Generator().manual_seed(5) if own else None,
            multiprocessing_context="fork" if workers else None,  # PyTorch settles the default else
        )
        epochs = [[b[0].tolist() for b in loader] + [library.rand(1).item()] for _ in range(3)]
        orders.append(epochs)
    assert orders[0] == orders[1]


def test_import_paths() -> None:
    from rushlight.utils.data.dataloader import DataLoader, default_collate
    from rushlight.utils.data.dataset import Dataset, random_split
    from rushlight.utils.data.distributed import DistributedSampler
    from rushlight.utils.data.sampler import SubsetRandomSampler

    assert DataLoader is ours.DataLoader and default_collate is ours.default_collate
    assert Dataset is ours.Dataset and random_split is ours.random_split
    assert DistributedSampler is ours.DistributedSampler
    assert SubsetRandomSampler is ours.SubsetRandomSampler
    assert ours.Dataset[int] and ours.Sampler[int] and ours.DataLoader[int]


def test_every_public_name_is_here() -> None:
    pipes = {n for n in theirs.__all__ if "Pipe" in n or "datapipe" in n.lower()}
    rest = {"DataChunk", "argument_validation", "non_deterministic"}
    rest |= {"runtime_validation", "runtime_validation_disabled"}
    missing = {n for n in theirs.__all__ if not n.startswith("_") and not hasattr(ours, n)}
    assert missing <= pipes | rest


def test_distributed_epochs_differ_and_cover() -> None:
    shares = [ours.DistributedSampler(range(20), 4, r) for r in range(4)]
    first = [i for s in shares for i in s]
    for s in shares:
        s.set_epoch(1)
    second = [i for s in shares for i in s]
    assert sorted(first) == sorted(second) == list(range(20))
    assert first != second
