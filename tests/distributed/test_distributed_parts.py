"""Parts of torch.distributed that need no second process: NCCL's calls, stores, options, the sampler, reductions."""

from __future__ import annotations

import copy
import datetime
import gc
import json
import socket
import threading
import weakref
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight.distributed import ReduceOp, mpiexec, patience, reduce_op
from rushlight.distributed.engine_nccl import NcclEngine
from rushlight.distributed.errors import DistBackendError, DistStoreError
from rushlight.distributed.launcher.job import _script, variables, with_local_rank
from rushlight.distributed.launcher.options import parse
from rushlight.distributed.neighbours import Neighbours
from rushlight.distributed.patience import wait_until
from rushlight.distributed.store import FileStore, HashStore, PrefixStore, TCPStore
from rushlight.io.sharded import CheckpointReader


class FakeNccl:
    """Records what is asked of NCCL."""

    def __init__(self) -> None:
        self.calls: list[tuple] = []

    def NcclCommunicator(self, size: int, key: Any, rank: int) -> Any:
        self.calls.append(("init", size, key, rank))
        return self

    def __getattr__(self, name: str) -> Any:
        return lambda *args: self.calls.append((name, *args))


class FakeArray:
    """What the engine looks at of a CuPy array."""

    def __init__(self, address: int, size: int, dtype: str) -> None:
        self.data = SimpleNamespace(ptr=address)
        self.size, self.dtype = size, np.dtype(dtype)
        self.nbytes = size * self.dtype.itemsize


def engine(size: int = 2) -> tuple[NcclEngine, FakeNccl]:
    fake = FakeNccl()
    made = NcclEngine(fake, "key", size, 1, lambda: 77)
    assert fake.calls.pop() == ("init", size, "key", 1)
    return made, fake


def test_nccl_is_called_with_its_own_numbers() -> None:
    nccl, fake = engine()
    a, b = FakeArray(1000, 6, "float32"), FakeArray(5000, 3, "float32")
    nccl.all_reduce(a, ReduceOp.AVG)
    nccl.reduce(a, 0, ReduceOp.MAX)
    nccl.reduce_scatter(b, a, ReduceOp.SUM)
    nccl.broadcast(a, 1)
    nccl.all_gather(a, b)
    nccl.all_reduce(FakeArray(9, 4, "complex64"), ReduceOp.SUM)
    nccl.all_reduce(FakeArray(9, 4, "bool"), ReduceOp.SUM)
    assert fake.calls == [
        ("allReduce", 1000, 1000, 6, 7, 4, 77),
        ("reduce", 1000, 1000, 6, 7, 2, 0, 77),
        ("reduceScatter", 1000, 5000, 3, 7, 0, 77),
        ("broadcast", 1000, 1000, 24, 1, 1, 77),
        ("allGather", 5000, 1000, 12, 1, 77),
        ("allReduce", 9, 9, 8, 7, 0, 77),
        ("allReduce", 9, 9, 4, 1, 2, 77),
    ]


def test_nccl_exchanges_in_one_group() -> None:
    nccl, fake = engine()
    out, a = FakeArray(0, 4, "int64"), FakeArray(100, 3, "int64")
    nccl.all_to_all(out, a, (1, 3), (2, 1))
    assert fake.calls == [
        ("groupStart",), ("send", 100, 16, 1, 0, 77), ("recv", 0, 8, 1, 0, 77),
        ("send", 116, 8, 1, 1, 77), ("recv", 8, 24, 1, 1, 77), ("groupEnd",),
    ]  # fmt: skip
    fake.calls.clear()
    nccl.scatter(FakeArray(7, 1, "float64"), None, 0)
    nccl.gather(None, FakeArray(7, 1, "float64"), 0)
    assert fake.calls == [
        ("groupStart",), ("recv", 7, 8, 1, 0, 77), ("groupEnd",),
        ("groupStart",), ("send", 7, 8, 1, 0, 77), ("groupEnd",),
    ]  # fmt: skip


def test_what_nccl_lacks_goes_another_way() -> None:
    nccl, _ = engine()
    assert nccl.has("all_reduce", "bfloat16", ReduceOp.SUM) and nccl.has("broadcast", "int16", None)
    for dtype, op in (("int16", "SUM"), ("int64", "BAND"), ("complex64", "PRODUCT"), ("bool", "AVG")):
        assert not nccl.has("all_reduce", dtype, getattr(ReduceOp, op))


def _own_neighbour() -> Neighbours:
    """Two ranks that are one process, whose memory is the same."""
    near = Neighbours(0, 2, lambda number: [number, number])
    if not near.all_reached:
        pytest.skip("the memory of processes is not to be read here")
    return near


def test_a_neighbour_that_is_lost_in_the_middle_of_a_sum_is_told() -> None:
    near, a = _own_neighbour(), np.ones(1 << 20, np.float32)
    assert near.reduce(a, ReduceOp.SUM, [0]) == [] and a[0] == 2
    writes = iter([True, False])
    near._write = lambda *_: next(writes)  # type: ignore[method-assign]
    with pytest.raises(RuntimeError, match="rank 0 lost sight of the memory of other ranks"):
        near.reduce(a, ReduceOp.SUM, [0, 1])


def test_memory_that_neighbours_may_still_write_to_is_kept() -> None:
    near, a = _own_neighbour(), np.ones(1 << 20, np.float32)
    answers = iter([[a.ctypes.data, a.ctypes.data]])
    near._tell = lambda number: next(answers)  # type: ignore[method-assign]
    gone = weakref.ref(a)
    with pytest.raises(StopIteration):  # as when the others do not come within the timeout
        near.reduce(a, ReduceOp.SUM, [0, 1])
    del a
    gc.collect()
    assert gone() is not None


def test_reductions_of_few_bits_round_once() -> None:
    small = rl.zeros(1, dtype=rl.bfloat16)._a.dtype
    parts = [np.array(v, small) for v in ([1.0, 256.0], [2.0**-8, 1.0], [2.0**-8, 1.0])]
    total = reduce_op.combine(ReduceOp.SUM, parts, np.empty(2, small))
    assert total.astype(np.float64).tolist() == [1.0078125, 258.0]  # one by one: 1.0 and 256.0


@pytest.mark.parametrize(
    ("op", "dtype", "error"),
    [
        ("BAND", "float32", RuntimeError),
        ("AVG", "bool", TypeError),
        ("MAX", "complex64", ValueError),
        ("PRODUCT", "complex128", ValueError),
    ],
)
def test_reductions_without_a_meaning_are_refused(op: str, dtype: str, error: type) -> None:
    with pytest.raises(error, match=f"Red.*Op.*{op}"):
        reduce_op.check(getattr(ReduceOp, op), np.dtype(dtype))


def stores(folder: Path) -> list[Any]:
    served = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    return [HashStore(), FileStore(str(folder / "store")), PrefixStore("part", HashStore()), served]


def test_stores_answer_as_pytorchs(tmp_path: Path) -> None:
    for store in stores(tmp_path):
        store.set("a", "one")
        assert store.get("a") == b"one" and store.check(["a"]) and not store.check(["a", "b"])
        assert store.add("n", 2) == 2 and store.add("n", 3) == 5
        assert store.compare_set("a", "other", "x") == b"one"
        assert store.compare_set("a", "one", "x") == b"x"
        store.append("a", "y")
        assert store.get("a") == b"xy" and store.delete_key("a") and not store.delete_key("a")
        with pytest.raises(DistStoreError, match="wait timeout after 50ms"):
            store.wait(["never"], datetime.timedelta(milliseconds=50))
        # a client of a served store asks one thing at a time, as PyTorch's does
        other = TCPStore("localhost", store.port) if isinstance(store, TCPStore) else store
        threading.Timer(0.05, other.set, ("late", b"came")).start()
        assert store.get("late") == b"came"
        if isinstance(store, TCPStore):
            store.close()


def test_a_store_without_a_limit_has_the_usual_one() -> None:
    store = TCPStore("localhost", 0, is_master=True, timeout=None, wait_for_workers=False)
    store.set("key", "value")
    store.wait(["key"])
    assert store.get("key") == b"value"


def test_the_command_line_is_found_as_a_module_of_a_rank() -> None:
    import runpy

    import rushlight.cli.commands  # noqa: F401 - as `rushlight run -m rushlight train` has done

    assert callable(runpy.run_module("rushlight", run_name="not main")["main"])


def test_a_port_in_use_and_nobody_there() -> None:
    first = TCPStore("localhost", 0, is_master=True, wait_for_workers=False)
    with pytest.raises(RuntimeError, match="failed to listen"):
        TCPStore("localhost", first.port, is_master=True)
    first.close()
    with socket.socket() as taken:  # nobody else listens at its port meanwhile, nor does it
        taken.bind(("localhost", 0))
        with pytest.raises(RuntimeError, match="Is the process of rank 0 running"):
            limit = datetime.timedelta(seconds=0.2)
            TCPStore("localhost", taken.getsockname()[1], timeout=limit)


def test_waiting_asks_who_is_alive_and_ends() -> None:
    asked = []
    with pytest.raises(DistBackendError):
        wait_until(lambda: False, 0.3, lambda: asked.append(1), lambda: None)
    assert asked


@pytest.mark.parametrize("busy", [True, False])
def test_a_core_that_is_given_away_for_long_does_not_keep_who_waits_from_the_news(busy, monkeypatch) -> None:
    """On a busy machine each yield lasts as long as others compute: turns are bounded by time, not by their number."""
    clock = SimpleNamespace(now=0.0, monotonic=lambda: clock.now, sleep=lambda s: passes(s))

    def passes(seconds: float = 3e-3) -> None:
        clock.now += seconds

    def alive() -> None:
        raise DistBackendError("rank 1 is gone")

    monkeypatch.setattr(patience, "time", clock)
    monkeypatch.setattr(patience, "_yield", passes)
    with pytest.raises(DistBackendError, match="rank 1 is gone"):
        wait_until(lambda: False, 60.0, alive, lambda: None, busy)
    assert clock.now < 0.2


def test_torchruns_options_in_both_spellings() -> None:
    chosen = parse(["--nproc_per_node", "3", "--max-restarts=2", "--master_port", "99", "s.py", "--lr", "1"])
    assert (chosen.nproc_per_node, chosen.max_restarts, chosen.master_port) == (3, 2, 99)
    assert (chosen.training_script, chosen.training_script_args) == ("s.py", ["--lr", "1"])
    chosen = parse(["--standalone", "--nnodes=1:4", "--rdzv-endpoint", "host:12", "-m", "pkg.train"])
    assert chosen.module and chosen.nnodes == 1
    chosen = parse(["--rdzv_backend=c10d", "--rdzv_endpoint=host:12", "s.py"])
    assert (chosen.master_addr, chosen.master_port) == ("host", 12)


@pytest.mark.parametrize(
    "words", [["--nproc-per-node", "none", "s.py"], ["--nnodes", "2", "s.py"], ["--node-rank", "1", "s.py"], ["--max-restarts", "-1", "s.py"]]
)  # fmt: skip
def test_options_that_make_no_sense_are_refused(words: list[str], monkeypatch, capsys) -> None:
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    with pytest.raises(SystemExit):
        parse(words)
    assert "--" in capsys.readouterr().err


def test_scripts_of_the_older_launcher_are_told_their_local_rank() -> None:
    place = mpiexec.RankPlace(3, 4, 1, 2)
    for more, told in (([], ["--local-rank=1"]), (["--use_env"], [])):
        command = _script(parse(["--tell-local-rank", *more, "s.py", "x"]))
        assert with_local_rank(command, place)[-len(told) - 2 :] == ["s.py", *told, "x"]


def test_a_ranks_environment_is_torchruns() -> None:
    job = {"host": "h", "store": 5, "restarts": 1, "max_restarts": 3, "id": "x"}
    made = variables(job, mpiexec.RankPlace(rank=5, size=8, local_rank=1, local_size=4))
    expected = {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4", "GROUP_RANK": "1",
                "MASTER_ADDR": "h", "MASTER_PORT": "5", "TORCHELASTIC_RESTART_COUNT": "1"}  # fmt: skip
    assert expected.items() <= made.items()


@pytest.mark.parametrize(
    "given",
    [
        {"OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4", "OMPI_COMM_WORLD_LOCAL_RANK": "1", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"},
        {"PMI_RANK": "3", "PMI_SIZE": "4", "MPI_LOCALRANKID": "1", "MPI_LOCALNRANKS": "2"},
        {"PMIX_RANK": "3", "SLURM_NTASKS": "4", "SLURM_LOCALID": "1", "SLURM_TASKS_PER_NODE": "2(x2)"},
    ],
    ids=["openmpi", "mpich", "slurm"],
)  # fmt: skip
def test_every_launcher_tells_a_rank_its_place(given: dict[str, str], monkeypatch) -> None:
    for name in ("OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"):
        monkeypatch.delenv(name, raising=False)
    assert mpiexec.place() is None
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    assert mpiexec.place() == (3, 4, 1, 2)


def test_commands_of_both_mpis() -> None:
    mpich = mpiexec.Mpiexec("mpiexec", "mpich", "5")
    assert mpich.command(4, "hosts", 2) == ["mpiexec", "-n", "4", "-f", "hosts", "-ppn", "2"]
    assert mpich.lending(2)[:2] == ["mpiexec", "-pmi-port"]
    words = mpiexec.Mpiexec("mpiexec", "openmpi", "4.1").command(2)
    assert "--oversubscribe" in words and "mpi_yield_when_idle" in words


def test_sampler_is_pytorchs() -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.utils.data.distributed.DistributedSampler
    ours = rl.utils.data.distributed.DistributedSampler
    for size, ranks, drop, shuffle in ((10, 3, False, True), (10, 3, True, True), (2, 5, False, False), (7, 2, False, True)):  # fmt: skip
        for rank in range(ranks):
            a = theirs(range(size), ranks, rank, shuffle, 4, drop)
            b = ours(range(size), ranks, rank, shuffle, 4, drop)
            for epoch in range(2):
                a.set_epoch(epoch)
                b.set_epoch(epoch)
                assert list(a) == list(b) and len(a) == len(b)


MISUSES = {
    "root of another world": lambda d, x, z: d.broadcast(x, 1),
    "no root": lambda d, x, z: d.broadcast(x),
    "two roots": lambda d, x, z: d.broadcast(x, 0, group_src=0),
    "a list of two": lambda d, x, z: d.all_gather([z, z], x),
    "two dtypes": lambda d, x, z: d.all_gather([z.double()], x),
    "to itself": lambda d, x, z: d.send(x, 0),
    "no tensor": lambda d, x, z: d.all_reduce([1.0]),
    "nowhere to gather": lambda d, x, z: d.gather(x),
    "nothing to scatter": lambda d, x, z: d.scatter(x),
    "wrong splits": lambda d, x, z: d.all_to_all_single(z, x, [1], [2]),
    "too many splits": lambda d, x, z: d.all_to_all_single(z, x, [1, 1], [2]),
    "a rank of nobody": lambda d, x, z: d.new_group([0, 1]),
    "the same rank twice": lambda d, x, z: d.new_group([0, 0]),
    "a second world": lambda d, x, z: d.init_process_group("gloo", rank=0, world_size=1),
    "bits of floats": lambda d, x, z: d.all_reduce(x, d.ReduceOp.BAND),
    "no message": lambda d, x, z: d.P2POp(print, x, 0),
    "no batch": lambda d, x, z: d.batch_isend_irecv([1]),
    "a number as timeout": lambda d, x, z: d.new_group([0], timeout=3),
    "larger groups than ranks": lambda d, x, z: d.new_subgroups(3),
}


def _misused(library: Any) -> dict[str, str]:
    dist = library.distributed
    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    found = {}
    try:
        for name, call in MISUSES.items():
            try:
                call(dist, library.ones(2), library.zeros(2))
                found[name] = "no error"
            except Exception as error:
                found[name] = type(error).__name__
    finally:
        dist.destroy_process_group()
    return found


def test_misuse_raises_what_pytorch_raises() -> None:
    torch = pytest.importorskip("torch")
    assert _misused(rl) == _misused(torch)


def test_a_container_without_parameters_of_its_own_is_sharded() -> None:
    """All of its parameters belong to parts that are sharded already: nothing is left to gather."""
    dist = rl.distributed
    dist.init_process_group("gloo", rank=0, world_size=1, store=dist.HashStore())
    try:
        rl.manual_seed(0)
        net = rl.nn.Sequential(rl.nn.Linear(2, 3), rl.nn.Linear(3, 1))
        plain = copy.deepcopy(net)
        mesh = dist.init_device_mesh("cpu", (1,))
        for part in (*net, net):
            dist.fsdp.fully_shard(part, mesh=mesh)
        x = rl.ones(4, 2)
        for _ in range(2):  # the second pass gathers ahead
            out = net(x)
            out.sum().backward()
            plain(x).sum().backward()
        assert np.array_equal(out.detach().numpy(), plain(x).detach().numpy())
        for p, q in zip(net.parameters(), plain.parameters()):
            np.testing.assert_allclose(p.grad.full_tensor().numpy(), q.grad.numpy(), rtol=1e-6)
    finally:
        dist.destroy_process_group()


def test_leaves_with_hooks_are_finished_while_backward_goes_on() -> None:
    net = rl.nn.Sequential(*[rl.nn.Linear(3, 3) for _ in range(3)])
    seen = []
    for name, p in net.named_parameters():
        p.register_post_accumulate_grad_hook(lambda p, n=name: seen.append((n, net[0].weight.grad is None)))
    net(rl.ones(2, 3)).sum().backward()
    assert [n for n, _ in seen[:2]] in (["2.weight", "2.bias"], ["2.bias", "2.weight"])
    assert all(early for n, early in seen if n.startswith(("1", "2")))
    w = rl.ones(2, requires_grad=True)
    calls = []
    w.register_post_accumulate_grad_hook(lambda p: calls.append(p.grad.tolist()))
    (w * 2 + (w * 3) * w).sum().backward()  # three uses: one call, with all of them
    assert calls == [[8.0, 8.0]]


def test_files_that_describe_spread_tensors_wrongly_are_refused() -> None:
    from rushlight.io.errors import CorruptFileError
    from rushlight.io.rebuild import mesh_of_ranks, part_of_tensor

    for words in (("cpu",), ("cpu", [[0, 1], [2]], None), ("cpu", [0, 0], None), ("cpu", [1 << 70], None),
                  ("cpu", [0], ("a", "b")), (7, [0], None), ("cpu", ["0"], None), ("cpu", [], None)):  # fmt: skip
        with pytest.raises(CorruptFileError):
            mesh_of_ranks(*words)
    mesh = mesh_of_ranks("cpu", [0, 1], None)
    assert part_of_tensor(rl.ones(2), mesh, (("shard", 0),), (3,), False, False).shape == (3,)
    for local, kinds, shape in (
        (rl.ones(2), (("shard", 1),), (3,)), (rl.ones(2), (("shard", 0),), (1,)), (rl.ones(2), (("melt", 0),), (3,)),
        (rl.ones(2), (), (3,)), (rl.ones(2), (("shard", 0),), (3, 3)), ([1, 2], (("shard", 0),), (3,)), (rl.ones(2), (("shard", 0),), ("3",)),
    ):  # fmt: skip
        with pytest.raises(CorruptFileError):
            part_of_tensor(local, mesh, kinds, shape, False, False)
    with pytest.raises(CorruptFileError):
        part_of_tensor(rl.ones(2), "mesh", (("shard", 0),), (3,), False, False)


def test_checkpoint_keeps_its_nesting_and_is_read_in_part(tmp_path: Path) -> None:
    from rushlight.distributed import checkpoint
    from rushlight.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp

    net = rl.nn.Linear(2, 1)
    state = {"net": net, "rows": [{"a.b": rl.ones(2)}, 5], "ids": {7: rl.arange(3)}, "none": {}}
    checkpoint.save(state, checkpoint_id=tmp_path / "step")
    dcp_to_torch_save(tmp_path / "step", tmp_path / "whole.pt")
    found = rl.load(tmp_path / "whole.pt")
    assert sorted(found) == ["ids", "net", "rows"] and found["rows"][1] == 5  # as PyTorch's table keeps it
    assert rl.equal(found["net"]["weight"], net.weight)
    assert found["rows"][0]["a.b"].tolist() == [1, 1] and found["ids"]["7"].tolist() == [0, 1, 2]
    torch_save_to_dcp(tmp_path / "whole.pt", tmp_path / "again")
    wanted = {"ids": {7: rl.zeros(3, dtype=rl.int64)}, "more": rl.zeros(1), "step": 8}
    with pytest.raises(checkpoint.CheckpointException, match="Missing key in checkpoint state_dict: more"):
        checkpoint.load(wanted, checkpoint_id=tmp_path / "again")
    planner = checkpoint.DefaultLoadPlanner(allow_partial_load=True)
    checkpoint.load(wanted, checkpoint_id=tmp_path / "again", planner=planner)
    assert wanted["ids"][7].tolist() == [0, 1, 2] and wanted["more"].tolist() == [0] and wanted["step"] == 8


def test_a_new_optimiser_has_the_state_that_a_checkpoint_fills() -> None:
    from rushlight.distributed.checkpoint.state_dict import get_optimizer_state_dict

    net = rl.nn.Linear(2, 1)
    before = net.weight.tolist()
    optimizer = rl.optim.AdamW(net.parameters(), lr=0.1)
    state = get_optimizer_state_dict(net, optimizer)
    assert sorted(state["state"]) == ["bias", "weight"] and state["param_groups"][0]["lr"] == 0.1
    assert net.weight.tolist() == before and net.weight.grad is None


def test_checkpoint_of_one_process_and_damaged_ones(tmp_path: Path) -> None:
    dcp = rl.distributed.checkpoint
    folder = tmp_path / "c"
    state = {"w": rl.arange(6.0).reshape(2, 3), "b": rl.ones(2, dtype=rl.bfloat16), "n": {"lr": 0.1, "names": ["a"]}}
    dcp.save(state, checkpoint_id=folder)
    other = {"w": rl.zeros(2, 3), "b": rl.zeros(2, dtype=rl.bfloat16), "n": {"lr": 0.0, "names": [""]}}
    dcp.load(other, checkpoint_id=folder)
    assert rl.equal(other["w"], state["w"]) and rl.equal(other["b"], state["b"]) and other["n"] == state["n"]
    with pytest.raises(dcp.CheckpointException, match="rank 0: ValueError: Size mismatch"):
        dcp.load({"w": rl.zeros(3, 3)}, checkpoint_id=folder)
    with pytest.raises(dcp.CheckpointException, match="Missing key in checkpoint state_dict: z"):
        dcp.load({"z": rl.zeros(1)}, checkpoint_id=folder)
    data = next(folder.glob("*.distcp"))
    data.write_bytes(data.read_bytes()[:-4])
    with pytest.raises(dcp.CheckpointException, match="cut off"):
        dcp.load(other, checkpoint_id=folder)
    found = dcp.FileSystemReader(folder).read_metadata().state_dict_metadata
    assert found["w"].size == (2, 3) and found["b"].properties.dtype == rl.bfloat16 and len(found) == 4
    (folder / ".metadata").write_text("{")
    with pytest.raises(RuntimeError, match="damaged"):
        CheckpointReader(str(folder))
    with pytest.raises(RuntimeError, match="was not finished"):
        CheckpointReader(str(tmp_path))


class _Stream:
    """A stream that writes down what it is asked for."""

    def __init__(self, name: str, log: list) -> None:
        self.name, self.log, self.ptr = name, log, name

    def synchronize(self) -> None:
        self.log.append(("synchronize", self.name))

    def wait_event(self, event: Any) -> None:
        self.log.append(("wait", self.name, event.at))


class _Device:
    id = 0

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exc: Any) -> None:
        pass


class _GpuArray:
    """Memory of NumPy that pretends to be a GPU's."""

    def __init__(self, a: np.ndarray) -> None:
        self.a, self.shape, self.dtype, self.size, self.nbytes = (a, a.shape, a.dtype, a.size, a.nbytes)
        self.flags, self.device = a.flags, _Device()
        self.data = SimpleNamespace(ptr=a.__array_interface__["data"][0])


@pytest.fixture
def pretended_gpu(monkeypatch) -> list:
    """CuPy as far as the collectives of GPU arrays touch it; what happened, in order."""
    import ctypes
    import sys

    log: list = []
    now = [_Stream("current", log)]

    class Event:
        def __init__(self, **options: Any) -> None:
            self.at = ""

        def record(self, stream: Any) -> None:
            self.at = stream.name
            log.append(("record", stream.name))

    class using:
        def __init__(self, stream: Any) -> None:
            self.stream = stream

        def __enter__(self) -> None:
            now.append(self.stream)

        def __exit__(self, *exc: Any) -> None:
            now.pop()

    def copy(to: int, of: int, size: int, kind: int, stream: Any) -> None:
        log.append(({1: "up", 2: "down"}[kind], stream))
        ctypes.memmove(to, of, size)

    cuda = SimpleNamespace(
        get_current_stream=lambda: now[-1], Event=Event, Device=lambda index: _Device(),
        runtime=SimpleNamespace(memcpyAsync=copy),
    )  # fmt: skip
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(cuda=cuda, ascontiguousarray=lambda a: a))
    copies = SimpleNamespace(pinned_empty=lambda shape, dtype: np.empty(shape, dtype))
    monkeypatch.setitem(sys.modules, "rushlight.runtime.cuda.memory.host_copies", copies)
    streams = SimpleNamespace(new_stream=lambda index, priority=0: _Stream("side", log), using=using)
    monkeypatch.setitem(sys.modules, "rushlight.runtime.cuda.memory.streams", streams)
    return log


def test_safetensors_of_pytorchs_ranks_are_read(tmp_path: Path) -> None:
    """As its HuggingFaceStorageWriter(save_distributed=True) lays parts out; whole ones both ways."""
    dcp, files = rl.distributed.checkpoint, pytest.importorskip("rushlight.io.safetensors")
    pytest.importorskip("safetensors")
    whole = rl.arange(12.0).reshape(4, 3)
    for k in range(2):
        place = {"w": {"saved_offsets": [2 * k, 0]}}
        files.save_file({"w": whole[2 * k : 2 * k + 2]}, tmp_path / f"shard-{k}.safetensors", {"DCP_SHARDING_INFO": json.dumps(place)})  # fmt: skip
    found = {"w": rl.zeros(4, 3)}
    dcp.load(found, storage_reader=dcp.HuggingFaceStorageReader(tmp_path))
    assert rl.equal(found["w"], whole)
    state = {"a": rl.ones(2, dtype=rl.bfloat16), "b": whole}
    dcp.save(state, storage_writer=dcp.HuggingFaceStorageWriter(tmp_path / "hub", {"a": 1, "b": 2}))
    assert sorted(p.name for p in (tmp_path / "hub").iterdir()) == [
        "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors", "model.safetensors.index.json"]  # fmt: skip
    found = {"a": rl.zeros(2, dtype=rl.bfloat16), "b": rl.zeros(4, 3)}
    dcp.load(found, storage_reader=dcp.HuggingFaceStorageReader(tmp_path / "hub"))
    assert rl.equal(found["a"], state["a"]) and rl.equal(found["b"], whole)
    with pytest.raises(dcp.CheckpointException, match="has no safetensors files"):
        dcp.load(found, storage_reader=dcp.HuggingFaceStorageReader(tmp_path / "none"))


def test_gpu_arrays_go_through_the_host_and_back(pretended_gpu: list) -> None:
    from rushlight.distributed.gpus import through_the_host

    out, a = _GpuArray(np.zeros(6, np.float32)), _GpuArray(np.arange(3, dtype=np.float32))

    def twice(hosts: list) -> None:
        hosts[0][:] = np.concatenate([hosts[1], hosts[1] + 1])

    through_the_host(twice, [out, a])
    assert out.a.tolist() == [0, 1, 2, 1, 2, 3] and a.a.tolist() == [0, 1, 2]
    assert [step[0] for step in pretended_gpu] == ["down", "synchronize", "up", "synchronize"]
    pretended_gpu.clear()
    through_the_host(lambda hosts: hosts[0].__imul__(2), [a])  # written and read: down first
    assert a.a.tolist() == [0, 2, 4] and pretended_gpu[0][0] == "down"


def test_nccl_runs_beside_the_current_stream(pretended_gpu: list) -> None:
    from rushlight.distributed import calls

    fake = FakeNccl()
    stream = lambda: __import__("cupy").cuda.get_current_stream().ptr
    nccl = NcclEngine(fake, "key", 2, 0, stream)
    fake.calls.clear()
    group: Any = SimpleNamespace(
        sides={}, begin=lambda name: None, engine=lambda device: nccl, size=lambda: 2,
        world=SimpleNamespace(detail=False), worker=None,
    )  # fmt: skip
    a = _GpuArray(np.ones(4, np.float32))
    work = calls._launch(group, calls.CollectiveCall("g", "all_reduce", ReduceOp.SUM), [a])
    assert fake.calls == [("allReduce", a.data.ptr, a.data.ptr, 4, 7, 0, "side")]
    # the side waits for what made the array; whoever waits for the work waits for the side
    assert pretended_gpu == [("record", "current"), ("wait", "side", "current"), ("record", "side")]
    work.wait()
    assert pretended_gpu[-1] == ("wait", "current", "side")


def test_what_nccl_does_not_end_is_broken_off_and_raised(pretended_gpu: list, monkeypatch) -> None:
    """Its thread hears who did not come, as it would of MPI, though it waits for a stream."""
    import sys
    import time

    from rushlight.distributed import calls, groups
    from rushlight.distributed.nccl_watch import NcclWatch

    monkeypatch.setattr(_Stream, "is_capturing", lambda self: False, raising=False)
    monkeypatch.setattr(sys.modules["cupy"].cuda.Event, "done", False, raising=False)
    fake, world = FakeNccl(), groups.World(0, 2, None)
    at = {"1": {"g": (0, "")}}
    world.presence = SimpleNamespace(check=lambda doing, ranks: None, where=lambda: {"at": at, "gone": {}})
    group = groups.ProcessGroup(world, [0, 1], "g", "nccl", datetime.timedelta(seconds=0.2))
    nccl = group._engines["cuda"] = NcclEngine(fake, "key", 2, 0, lambda: 77)
    nccl.watch = NcclWatch(group, nccl.comm)
    call = calls.CollectiveCall("g", "all_reduce", ReduceOp.SUM)
    words = r"\[Rank 0\] all_reduce #1 of group 'g' did not end within 0.2 s: rank 1 did not come"
    group.begin("all_reduce")
    with pytest.raises(DistBackendError, match=words):
        calls._on_gpu(group, call, [_GpuArray(np.ones(4, np.float32))])
        for _ in range(6000):
            time.sleep(0.01)
    with pytest.raises(DistBackendError, match=words):  # and so is all that follows in this group
        calls._on_gpu(group, call, [_GpuArray(np.ones(4, np.float32))])
    group.close()
    assert ("abort",) in fake.calls and fake.calls[-1] == ("destroy",)
