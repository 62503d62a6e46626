"""The small namespaces: trees, comparisons, one-rank collectives, sparse tensors, marks and refusals."""

from __future__ import annotations

from collections import defaultdict, deque, namedtuple

import pytest

import rushlight as rl
from rushlight.utils import _pytree as tree
from side_by_side import agree

Point = namedtuple("Point", "x y")

# -- trees -----------------------------------------------------------------------------------------

TREES = [
    "{'b': [1, 2], 'a': (3, None)}",
    "[]",
    "3",
    "((), {}, [1])",
    "OrderedDict([('k', 1), ('j', [2])])",
    "[{'a': {'b': (1, (2, 3))}}]",
]


@pytest.mark.parametrize("source", TREES)
def test_trees_flatten_and_come_back(source: str) -> None:
    agree(
        f"""
import importlib
P = importlib.import_module(torch.__name__ + ".utils._pytree")
t = {source}
leaves, spec = P.tree_flatten(t)
r = [leaves, repr(spec), spec.num_leaves, P.tree_unflatten(leaves, spec) == t,
     P.tree_map(lambda v: (v, 1), t), P.tree_leaves(t), P.tree_structure(t) == spec,
     P.tree_all(lambda v: v != 7, t), P.tree_any(lambda v: v == 3, t), P.tree_map_only(int, str, t)]
"""
    )


def test_trees_of_other_containers() -> None:
    made = [Point(1, [2]), defaultdict(int, a=3), deque([4], maxlen=2)]
    leaves, spec = tree.tree_flatten(made)
    assert leaves == [1, 2, 3, 4]
    back = tree.tree_unflatten(["w", "x", "y", "z"], spec)
    assert back == [Point("w", ["x"]), {"a": "y"}, deque(["z"])]
    assert type(back[0]) is Point and back[1].default_factory is int and back[2].maxlen == 2


def test_trees_side_by_side_must_fit() -> None:
    assert tree.tree_map(lambda a, b: a + b, {"x": 1, "y": 2}, {"y": 20, "x": 10}) == {"x": 11, "y": 22}
    with pytest.raises(ValueError, match="mismatch"):
        tree.tree_map(lambda a, b: a, [1, 2], [1])
    with pytest.raises(ValueError, match="`leaves` has length 1 but the spec refers to a pytree"):
        tree.tree_unflatten([1], tree.tree_structure([1, 2]))
    with pytest.raises(TypeError, match="Expected `treespec`"):
        tree.tree_unflatten([1], 3)


def test_a_class_can_become_a_container() -> None:
    class Pair:
        def __init__(self, a, b):
            self.a, self.b = a, b

    tree.register_pytree_node(Pair, lambda p: ((p.a, p.b), "kept"), lambda vs, c: Pair(*vs))
    doubled = tree.tree_map(lambda v: 2 * v, Pair(1, [2]))
    assert isinstance(doubled, Pair) and (doubled.a, doubled.b) == (2, [4])
    with pytest.raises(ValueError, match="already registered"):
        tree.register_pytree_node(Pair, None, None)


# -- testing ---------------------------------------------------------------------------------------

CLOSE = [
    "T([1.0, 2.0]), T([1.0, 2.1])", "T([1.0, 2.0, float('nan')]), T([1.0, 2.1, float('nan')])",
    "T(1.0), T(2.0)", "T([1, 2]), T([1, 3])", "T([1.0]), T([1])", "T([1.0]), T([1.0, 2.0])",
    "1.0, 1.1", "1, 2", "[1.0, 2.0], [1.0, 2.5]", "{'a': T([1.0])}, {'a': T([2.0])}",
    "{'a': 1}, {'b': 1}", "[1], [1, 2]", "T([1.0]), [1.0]", "T([1.0]), 1.0", "'a', 'b'", "None, 1",
    "None, None", "T([1.0, 2.0]), T([1.0, 2.1]), rtol=0.01", "T([1.0, 2.0]), T([1.0, 2.1]), rtol=0.1, atol=0.0",
    "T([1.0, 2.0]), T([1.0, 2.1]), rtol=0.0, atol=0.0", "T([1.0]), T([2.0]), msg='said'",
    "T([1.0]), T([2.0]), msg=lambda m: 'before ' + m", "T([[1.0, 2.0], [3.0, 4.0]]), T([[1.0, 2.0], [5.0, 4.0]])",
    "T([True, False]), T([True, True])", "float('nan'), float('nan')", "float('nan'), float('nan'), equal_nan=True",
    "torch.ones(2, 3).t(), torch.ones(3, 2), check_stride=True", "torch.ones(2, 3).t(), torch.ones(3, 2)",
    "T([float('inf')]), T([1.0])", "T([1 + 1j]), T([1 + 2j])",
    "{'a': [T([1.0]), T([2.0])]}, {'a': [T([1.0]), T([3.0])]}", "True, False", "1, 1.0",
    "1, 1.0, check_dtype=False", "torch.zeros(3), T([1e-6, 1e-9, 0])", "(1, 2), [1, 2]",
    "torch.ones(3).half(), torch.ones(3).half() * 1.002", "torch.ones(3).bfloat16(), torch.ones(3).bfloat16() * 1.002",
    "torch.ones(0), torch.ones(0)", "T([1.0]), T([1.0]).double()", "T([1.0]), T([1.0]).double(), check_dtype=False",
    "T([1.0], requires_grad=True), T([1.0])",
]  # fmt: skip


@pytest.mark.parametrize("source", CLOSE)
def test_assert_close(source: str) -> None:
    agree(
        f"""
import importlib
T = torch.tensor
r = importlib.import_module(torch.__name__ + ".testing").assert_close({source})
"""
    )


MADE = [
    "3, dtype=torch.float32, device='cpu'", "(2, 2), dtype=torch.int64, device='cpu'",
    "3, dtype=torch.bool, device='cpu'", "3, dtype=torch.uint8, device='cpu', exclude_zero=True",
    "3, dtype=torch.float32, device='cpu', low=0, high=1, requires_grad=True",
    "2, 3, dtype=torch.float32, device='cpu', noncontiguous=True", "3, dtype=torch.complex64, device='cpu'",
    "3, dtype=torch.float64, device='cpu', low=2, high=1", "3, dtype=torch.int64, device='cpu', requires_grad=True",
    "20, dtype=torch.int8, device='cpu', low=-3, high=4",
]  # fmt: skip


@pytest.mark.parametrize("source", MADE)
def test_make_tensor(source: str) -> None:
    agree(
        f"""
import importlib
t = importlib.import_module(torch.__name__ + ".testing").make_tensor({source})
r = [t, t.stride(), t.requires_grad]
"""
    )


# -- one rank --------------------------------------------------------------------------------------


@pytest.fixture
def world():
    rl.distributed.init_process_group("gloo", rank=0, world_size=1)
    yield rl.distributed
    if rl.distributed.is_initialized():
        rl.distributed.destroy_process_group()


def test_without_a_group() -> None:
    dist = rl.distributed
    assert dist.is_available() and not dist.is_initialized()
    for call in (dist.get_rank, dist.get_world_size, dist.barrier, dist.get_backend):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            call()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        dist.all_reduce(rl.ones(2))
    with pytest.raises(AssertionError, match="Process group cannot be None"):
        dist.destroy_process_group()
    with pytest.raises(ValueError, match="Default process group has not been initialized"):
        rl.nn.parallel.DistributedDataParallel(rl.nn.Linear(2, 2))


def test_a_world_of_several_needs_mpi(monkeypatch) -> None:
    from rushlight.distributed import mpiexec

    monkeypatch.setattr(mpiexec, "find_spec", lambda name: None)
    dist = rl.distributed
    with pytest.raises(RuntimeError, match="a world of 2 processes needs MPI.*pip install"):
        dist.init_process_group("nccl", rank=0, world_size=2)
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(ValueError, match="environment variable WORLD_SIZE expected, but not set"):
        dist.init_process_group("gloo")
    monkeypatch.setenv("WORLD_SIZE", "4")
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(RuntimeError, match="a world of 4 processes needs MPI"):
        dist.init_process_group("gloo")
    with pytest.raises(ValueError, match="Unknown backend type some"):
        dist.init_process_group("some", rank=0, world_size=1)
    assert not dist.is_initialized()


def test_a_launcher_of_one_process(monkeypatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "1")
    monkeypatch.setenv("RANK", "0")
    rl.distributed.init_process_group(backend="nccl", init_method="env://")
    assert rl.distributed.get_backend() == "nccl"
    rl.distributed.destroy_process_group()


def test_collectives_of_one_rank(world) -> None:
    assert (world.get_rank(), world.get_world_size(), world.is_initialized()) == (0, 1, True)
    with pytest.raises(ValueError, match="twice"):
        world.init_process_group("gloo", rank=0, world_size=1)
    t = rl.tensor([1.0, 2.0])
    for op in ("SUM", "AVG", "PRODUCT", "MIN", "MAX"):
        assert world.all_reduce(t, op=getattr(world.ReduceOp, op)) is None
    assert world.all_reduce(t, async_op=True).wait()
    assert t.tolist() == [1.0, 2.0]
    room = rl.zeros(2)
    world.all_gather([room], t)
    assert room.tolist() == [1.0, 2.0]
    for call in (lambda r: world.gather(t, [r]), lambda r: world.scatter(r, [t]),
                 lambda r: world.reduce_scatter(r, [t]), lambda r: world.all_gather_into_tensor(r, t)):  # fmt: skip
        room = rl.zeros(2)
        call(room)
        assert room.tolist() == [1.0, 2.0]
    found = [None]
    world.all_gather_object(found, {"a": 1})
    assert found == [{"a": 1}]
    world.broadcast(t, 0)
    world.barrier()
    assert world.new_group([0]).size() == 1
    with pytest.raises(RuntimeError, match="invalid root rank: 1"):
        world.broadcast(t, 1)
    with pytest.raises(RuntimeError, match="expected length 1, got 2"):
        world.all_gather([room, room], t)
    with pytest.raises(ValueError, match="destination rank should not be the same"):
        world.send(t, 0)
    with pytest.raises(TypeError, match="Expected parameter `tensor` of type torch.Tensor"):
        world.all_reduce([1.0])


def test_distributed_data_parallel_and_sampler(world) -> None:
    net = rl.nn.Linear(2, 2)
    wrapped = rl.nn.parallel.DistributedDataParallel(net, device_ids=None)
    assert list(wrapped.state_dict()) == ["module.weight", "module.bias"]
    with wrapped.no_sync():
        assert not wrapped.require_backward_grad_sync
        wrapped(rl.ones(1, 2)).sum().backward()
    assert net.weight.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]]
    sampler = rl.utils.data.distributed.DistributedSampler(range(5), shuffle=False)
    assert list(sampler) == [0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError, match="doesn't have any parameter that requires a gradient"):
        rl.nn.parallel.DistributedDataParallel(rl.nn.ReLU())
    with pytest.raises(ValueError, match="device_ids can only be None or contain a single element"):
        rl.nn.parallel.DistributedDataParallel(net, device_ids=[0, 1])


def test_scatter_and_gather_for_one_device() -> None:
    from rushlight.nn.parallel import gather, parallel_apply, replicate, scatter

    shares = scatter((rl.ones(4), {"k": rl.zeros(2)}), ["cpu"])
    assert len(shares) == 1 and shares[0][0].shape == (4,)
    assert gather([rl.ones(2)], "cpu").tolist() == [1.0, 1.0]
    net = rl.nn.Linear(2, 2)
    assert replicate(net, ["cpu"]) == [net]
    assert parallel_apply([net], [rl.ones(1, 2)])[0].shape == (1, 2)
    with pytest.raises(NotImplementedError, match="scatter over 2 devices"):
        scatter(rl.ones(4), [0, 1])


# -- sparse ----------------------------------------------------------------------------------------

SPARSE = """
import warnings
i = torch.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])
v = torch.tensor([3.0, 4.0, 5.0, 1.0])
s = torch.sparse_coo_tensor(i, v, (2, 3))
d = torch.arange(6.0).reshape(3, 2)
"""

SPARSE_SAME = [
    "s.to_dense()", "s.coalesce().indices()", "s.coalesce().values()", "s.coalesce().to_dense()",
    "[s.is_coalesced(), s._nnz(), s.coalesce()._nnz(), s.is_sparse, s.shape, s.dim(), s.numel()]",
    "s @ d", "torch.sparse.mm(s, d)", "torch.spmm(s, d)", "s.mm(d)", "torch.mm(s, d)", "torch.matmul(s, d)", "s @ torch.ones(3)",
    "s.t().to_dense()", "(s * 2).to_dense()", "(2 * s).to_dense()", "(s / 2).to_dense()", "(-s).to_dense()",
    "(s + s).to_dense()", "(s - s * 3).to_dense()", "torch.sparse.sum(s)", "s.sum()",
    "torch.sparse.addmm(torch.ones(2, 2), s, d)", "[s.sparse_dim(), s.dense_dim()]", "s.double().to_dense()",
    "torch.eye(2).to_sparse().to_dense()", "torch.eye(2).to_sparse().indices()", "torch.eye(2).to_dense()",
    "torch.sparse_coo_tensor(i, v).shape", "torch.sparse_coo_tensor((2, 3)).to_dense()",
    "torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2)).to_dense()",
    "torch.sparse_coo_tensor(i, torch.ones(4, 2), (2, 3, 2)).to_dense()",
    "torch.sparse_coo_tensor(i, v, (2, 3), dtype=torch.float64).dtype.itemsize",
    "repr(s)", "repr(s.coalesce())", "repr(torch.sparse_coo_tensor(i, v.double(), (2, 3)))", "str(s.layout)",
    "torch.sparse.softmax(s, 1).to_dense()", "torch.sparse.log_softmax(s, 1).to_dense()",
    "(s * torch.arange(6.0).reshape(2, 3)).to_dense()",
    "s.indices()", "s.values()", "torch.sparse_coo_tensor(i, torch.tensor([1.0, 2.0]), (2, 3))",
    "torch.sparse.FloatTensor(i, v, torch.Size([2, 3])).to_dense()",
]  # fmt: skip


@pytest.mark.parametrize("source", SPARSE_SAME)
def test_sparse(source: str) -> None:
    agree(SPARSE + f"r = {source}")


def test_gradients_through_a_sparse_product() -> None:
    agree(
        SPARSE
        + """
w, e = v.clone().requires_grad_(), d.clone().requires_grad_()
(torch.sparse.mm(torch.sparse_coo_tensor(i, w, (2, 3)), e) ** 2).sum().backward()
r = [w.grad, e.grad]
"""
    )


def test_sparse_refusals() -> None:
    s = rl.eye(3).to_sparse()
    with pytest.raises(NotImplementedError, match=r"Could not run 'aten::sigmoid' .* Use .to_dense"):
        s.sigmoid()
    assert rl.nn.functional.relu(s).is_sparse
    with pytest.raises(AttributeError, match="no attribute 'no_such'"):
        s.no_such  # noqa: B018
    with pytest.raises(RuntimeError, match="size is inconsistent with indices: for dim 0"):
        rl.sparse_coo_tensor([[5], [0]], [1.0], (2, 2))
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        s @ rl.ones(2, 2)
    assert (rl.ones(2, 3) @ s).tolist() == [[1.0] * 3] * 2


def test_a_graph_layer() -> None:
    """Kipf and Welling's layer, as scripts write it."""
    agree(
        SPARSE
        + """
adj = torch.eye(4).to_sparse()
weight = nn.Parameter(torch.randn(3, 2))
out = torch.spmm(adj, torch.mm(torch.randn(4, 3), weight))
out.sum().backward()
r = [out, weight.grad]
"""
    )


# -- marks and refusals ----------------------------------------------------------------------------


def test_names_that_only_refuse() -> None:
    with pytest.raises(NotImplementedError, match="has one exporter"):
        rl.onnx.dynamo_export(None, None)
    assert not rl.onnx.is_in_onnx_export()


def test_small_names() -> None:
    assert str(rl.jagged) == "rushlight.jagged" and str(rl.sparse_coo) == "rushlight.sparse_coo"
    assert rl.ones(2).layout is rl.strided
    rl._assert(True, "fine")
    with pytest.raises(AssertionError, match="no"):
        rl._assert(rl.tensor(False), "no")
    assert isinstance(3, rl.types.Number) and isinstance("cpu", rl.types.Device)
    assert rl.autograd.ProfilerActivity.CPU is rl.profiler.ProfilerActivity.CPU


def test_resize_under_its_old_name() -> None:
    agree("r = torch.arange(4).resize(2, 2)")
    agree("r = torch.arange(4).resize(3)")


def test_benchmark_timer() -> None:
    from rushlight.utils.benchmark import Timer

    threads = rl.get_num_threads()
    made = Timer("x + x", globals={"x": rl.ones(2)}, label="sum", sub_label="small")
    m = made.timeit(20)
    assert 0 < m.mean < 1 and m.number_per_run == 20
    blocks = made.blocked_autorange(min_run_time=0.01)
    assert blocks.times and blocks.median > 0 and "sum: small" in repr(blocks)
    assert rl.get_num_threads() == threads
    with pytest.raises(NotImplementedError, match="only Python"):
        Timer("x", language="c++")


def test_benchmark_compare() -> None:
    from rushlight.utils.benchmark import Compare, Timer

    runs = [
        Timer("x + x", globals={"x": rl.ones(n)}, label="sum", sub_label=f"{n}", description=word)
        for n in (2, 200)
        for word in ("first", "again")
    ]
    table = Compare([t.timeit(3) for t in runs[:3]])
    table.extend_results([runs[3].adaptive_autorange(threshold=9.0)])
    table.trim_significant_figures()
    lines = str(table).splitlines()
    assert " sum " in lines[0] and lines[1].split() == ["|", "first", "|", "again"]
    assert [line.split()[0] for line in lines[2:5]] == ["1", "2", "200"]
    assert lines[-1].startswith("Times are in ")
    with pytest.raises(ValueError, match="Measurement"):
        Compare([1])  # type: ignore[list-item]


def test_submodules_of_utils_by_attribute() -> None:
    assert rl.utils.checkpoint.checkpoint and rl.utils.model_zoo.load_url
    with pytest.raises(AttributeError, match="no attribute 'no_such'"):
        rl.utils.no_such  # noqa: B018


# -- hub -------------------------------------------------------------------------------------------


def test_weights_from_a_file_address(tmp_path) -> None:
    """A file: address needs no network; the second call finds the copy."""
    made = {"w": rl.arange(3.0)}
    rl.save(made, tmp_path / "net.pth")
    address = (tmp_path / "net.pth").as_uri()
    cache = tmp_path / "cache"
    for _ in range(2):
        loaded = rl.hub.load_state_dict_from_url(address, str(cache), progress=False)
        assert loaded["w"].tolist() == [0.0, 1.0, 2.0]
        (tmp_path / "net.pth").unlink(missing_ok=True)
    assert [p.name for p in cache.iterdir()] == ["net.pth"]


def test_a_wrong_checksum_leaves_nothing(tmp_path) -> None:
    (tmp_path / "file").write_bytes(b"hello")
    target = tmp_path / "copy"
    with pytest.raises(RuntimeError, match="checksum"):
        rl.hub.download_url_to_file((tmp_path / "file").as_uri(), target, "abc", progress=False)
    assert not target.exists() and sorted(p.name for p in tmp_path.iterdir()) == ["file"]
    prefix = "2cf24dba"  # of "hello"
    rl.hub._download_url_to_file((tmp_path / "file").as_uri(), target, prefix, progress=False)
    assert target.read_bytes() == b"hello"


def test_no_network_is_told_plainly(tmp_path) -> None:
    with pytest.raises(RuntimeError, match="cannot be reached.*place the file w.pth in"):
        rl.hub.load_state_dict_from_url("http://127.0.0.1:9/w.pth", str(tmp_path), progress=False)
