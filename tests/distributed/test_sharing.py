"""Tensors in memory that several processes see."""

from __future__ import annotations

import os
import subprocess
import sys
from multiprocessing.reduction import ForkingPickler
from pathlib import Path

import numpy as np
import pytest

import rushlight as rl
from rushlight.base import shared_blocks
from rushlight.multiprocessing import reductions

# What tests/distributed/processes_script.py prints with PyTorch 2.13 (its own warnings left out).
THEIRS = """\
[0, 1] 2.0 [((1, 3), True, True), ((1, 3), True, True)]
[[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]
[0, 0] [1.0, 2.0, 0.0, 0.0] [1.0, 2.0]
[1.0, 2.0] [[0.0, 7.0], [0.0, 7.0]] True
[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]] Parameter True
[0, 1] 2.0 [((1, 3), True, True), ((1, 3), True, True)]
[[0.0, 1.0, 2.0], [1.0, 2.0, 3.0]]
[0, 0] [1.0, 2.0, 0.0, 0.0] [1.0, 2.0]
[[1.0, 1.0, 1.0], [2.0, 2.0, 2.0]] Parameter True
Cowardly refusing to serialize
[[0.0, 0.0], [1.0, 1.0], [4.0, 4.0]]
process 1 terminated with signal SIGKILL -9 SIGKILL 1
['file_descriptor', 'file_system'] file_descriptor
file_system
"""


def test_processes_see_each_others_writes() -> None:
    """Parameters, arguments, queues, pools and spawn, by spawn and by fork, as in PyTorch."""
    script = Path(__file__).with_name("processes_script.py")
    done = subprocess.run([sys.executable, "-W", "ignore::DeprecationWarning", script, "rushlight"],
                          capture_output=True, text=True, timeout=900)  # fmt: skip
    assert done.stdout == THEIRS, done.stderr[-2000:]


def arrived(t: rl.Tensor) -> rl.Tensor:
    """What the other end of a queue would make of a tensor; here both ends are this process."""
    make, args = reductions.reduce_tensor(t)
    return make(*args)


@pytest.mark.parametrize("kind", [rl.float32, rl.bfloat16, rl.int64, rl.bool, rl.complex64])
def test_a_tensor_arrives_as_it_was(kind) -> None:
    for t in (rl.ones(3, 4).to(kind), rl.ones(3, 4).to(kind).t(), rl.ones(()).to(kind),
              rl.ones(2, 0).to(kind), rl.ones(4, 3).to(kind)[1:, ::2]):  # fmt: skip
        got = arrived(t)
        assert got.equal(t) and got.dtype == t.dtype and got.stride() == t.stride()
        assert got.is_shared() and not got.requires_grad
        if t.numel():
            got.fill_(0)
            assert not t.any()  # the sender sees it: the memory was moved, not copied


def test_what_others_look_at_is_not_moved_away() -> None:
    x = rl.zeros(4)
    y = x[1:]
    got = arrived(y)
    got.fill_(5)
    assert x.tolist() == [0.0] * 4 and y.tolist() == [0.0] * 3 and not x.is_shared()
    y[0] = 2
    assert x.tolist() == [0.0, 2.0, 0.0, 0.0]
    array = x.numpy()
    arrived(x).fill_(9)
    assert array.tolist() == x.tolist() == [0.0, 2.0, 0.0, 0.0]


def test_views_of_shared_memory_stay_views() -> None:
    x = rl.zeros(2, 3).share_memory_()
    a, b = arrived(x), arrived(x[1].view(rl.int32))
    a[1, 2] = 1.0
    assert x[1, 2] == 1.0 and b[2] == rl.tensor(1.0).view(rl.int32)
    assert a.untyped_storage() == b.untyped_storage() and b.storage_offset() == 3
    assert x.storage().dtype == rl.float32


def test_a_parameter_arrives_as_one() -> None:
    p = rl.nn.Parameter(rl.ones(2), requires_grad=False)
    p.note = "kept"
    got = arrived(p)
    assert type(got) is rl.nn.Parameter and not got.requires_grad and got.note == "kept"
    w = rl.nn.Linear(2, 2).share_memory().weight
    got = arrived(w)
    assert got.requires_grad and got.is_leaf and got.data_ptr() == w.data_ptr()


def test_a_file_s_memory_stays_the_file_s(tmp_path) -> None:
    path = tmp_path / "numbers"
    np.arange(4, dtype=np.float32).tofile(path)
    t = rl.from_file(str(path), shared=True, size=4)
    arrived(t).fill_(9)
    t[0] = 5
    del t
    assert np.fromfile(path, np.float32).tolist() == [5.0, 1.0, 2.0, 3.0]
    own = rl.from_file(str(path), size=4)
    own[0] = 6  # not written
    assert np.fromfile(path, np.float32)[0] == 5.0
    with pytest.raises(RuntimeError, match="size <16> is smaller than the required mapping size <20>"):
        rl.from_file(str(path), size=5)
    with open(path) as file, pytest.raises(TypeError, match="must be str, not int"):
        rl.from_file(file.fileno(), size=1)  # would close it
    with pytest.raises(RuntimeError, match="unable to open file"):
        rl.from_file(str(tmp_path / "none" / "x"), shared=True, size=1)
    assert rl.from_file(str(tmp_path / "new"), shared=True, size=2, dtype=rl.int64).tolist() == [0, 0]


def test_many_small_tensors_need_few_descriptors() -> None:
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else None
    many = [rl.ones(100).share_memory_() for _ in range(1000)]
    assert rl.stack(many).sum() == 100_000 and len({t.data_ptr() for t in many}) == 1000
    if before is not None:
        assert len(os.listdir("/proc/self/fd")) <= before + 4
        del many
        shared_blocks._chunk.block = None
        assert len(os.listdir("/proc/self/fd")) <= before


def test_a_forked_child_takes_memory_of_its_own() -> None:
    rl.zeros(8).share_memory_()  # there is a block with room in it
    pid = os.fork()
    if not pid:
        try:
            rl.ones(8).share_memory_()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    block, at = shared_blocks.take(32)
    assert bytes(block[at : at + 32]) == bytes(32)


def test_a_graph_cannot_be_sent() -> None:
    with pytest.raises(RuntimeError, match="non-leaf tensor which requires_grad"):
        ForkingPickler.dumps(rl.ones(2, requires_grad=True) * 2)
