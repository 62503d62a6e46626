"""FloatStorage and the like beside PyTorch's: making, reading and writing the memory of tensors."""

from __future__ import annotations

import sys
from typing import Any

import pytest

import rushlight as rl

torch = pytest.importorskip("torch")
BOTH = pytest.mark.parametrize("lib", [rl, torch], ids=["rushlight", "torch"])
pytestmark = pytest.mark.filterwarnings("ignore:TypedStorage is deprecated:UserWarning")


@BOTH
def test_storages_of_one_dtype(lib: Any) -> None:
    made = lib.FloatStorage([1.0, 2.0])
    assert type(made) is lib.TypedStorage and isinstance(made, lib.FloatStorage)
    assert made.tolist() == list(made) == [1.0, 2.0] and lib.FloatStorage.dtype is lib.float32
    assert lib.LongStorage(3).size() == 3 and lib.LongStorage().size() == 0
    assert isinstance(lib.ones(2).double().storage(), lib.DoubleStorage)
    assert not isinstance(lib.ones(2).storage(), lib.DoubleStorage)
    assert lib.ByteStorage.from_buffer(b"abc").tolist() == [97, 98, 99]
    assert lib.ShortStorage.from_buffer(b"\x01\x00", "big").tolist() == [256]
    assert lib.tensor([], dtype=lib.float32).set_(made).tolist() == [1.0, 2.0]
    assert lib.BoolStorage([True]).double().tolist() == [1.0]


@BOTH
def test_writing_reaches_the_tensor(lib: Any) -> None:
    t = lib.ones(3)
    memory = t.storage()
    memory[1] = 7
    assert t.tolist() == [1.0, 7.0, 1.0]
    assert memory.clone().fill_(2).tolist() == [2.0, 2.0, 2.0] and t[1] == 7
    memory.copy_(lib.FloatStorage([4.0, 5.0, 6.0]))
    assert t.tolist() == [4.0, 5.0, 6.0]
    with pytest.raises(RuntimeError, match="size does not match"):
        t.untyped_storage().copy_(lib.UntypedStorage(2))
    raw = lib.UntypedStorage([1, 2, 3])
    raw[0] = 9
    assert raw.tolist() == [9, 2, 3] and lib.UntypedStorage(4).nbytes() == 4 and raw.cpu() is raw
    assert lib.is_storage(raw) and lib.is_storage(memory)


def test_storages_are_written_where_they_are(device: str) -> None:
    """Bytes and elements, from a storage of the same device and of the host; views see it, versions do not."""
    x = rl.arange(8.0, device=device)
    turned = x.view(2, 4).t()
    x.untyped_storage().fill_(0)
    assert x.tolist() == [0.0] * 8
    for source in (rl.arange(8.0, device=device), rl.arange(8.0)):
        x.untyped_storage().copy_(source.untyped_storage())
        assert turned.tolist() == [[0.0, 4.0], [1.0, 5.0], [2.0, 6.0], [3.0, 7.0]]
        x.storage().fill_(2.5)
        assert x.tolist() == [2.5] * 8
    x.storage()[2] = 7.0
    x.untyped_storage()[0:4] = 0
    assert x.tolist() == [0.0, 2.5, 7.0, 2.5, 2.5, 2.5, 2.5, 2.5] and x._version == 0
    with pytest.raises(RuntimeError, match="size does not match"):
        x.untyped_storage().copy_(rl.zeros(3).untyped_storage())


@BOTH
def test_memory_given_up_and_taken_back(lib: Any) -> None:
    """What reversible networks do with their inputs: no bytes until the values are known again."""
    x = lib.ones(4)
    for typed, whole in ((False, 16), (True, 4)):
        memory = (lambda: x.storage()) if typed else x.untyped_storage  # noqa: B023
        memory().resize_(0)
        assert memory().size() == 0 and x.untyped_storage().nbytes() == 0 and x.shape == (4,)
        memory().resize_(whole)
        assert memory().size() == whole and 16 < sys.getsizeof(memory()) < 200
    x.set_(lib.full((4,), 2.0))
    assert x.tolist() == [2.0] * 4 and x.untyped_storage().nbytes() == 16
