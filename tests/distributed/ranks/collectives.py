"""Run by several ranks: each collective against what one process computes from all ranks' inputs."""

import datetime
import itertools
import sys

import numpy as np

import rushlight as rl
import rushlight.distributed as dist
from rushlight.distributed.nn import functional as differentiable

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=600))
ME, N = dist.get_rank(), dist.get_world_size()
BY_MPI = "mpi4py" in sys.modules and sys.modules["mpi4py"] is not None
FLOATS = ["float32", "float64", "float16", "bfloat16"]
INTS = ["int8", "uint8", "int16", "int32", "int64"]
COMPLEX = ["complex64", "complex128"]


def given(rank, dtype, shape=(3, 5)):
    """What a rank brings: every process can compute everybody's."""
    a = np.resize(np.random.RandomState(rank).randint(0, 5, 97), shape) + rank
    if dtype == "bool":
        return rl.from_numpy(a % 2 == 0)
    return rl.from_numpy(a).to(getattr(rl, dtype))


def wide(t):
    if t.is_complex():
        return t.to(rl.complex128).numpy()
    return t.to(rl.float64 if t.is_floating_point() else rl.int64).numpy()


def same(got, expected, what):
    assert got.dtype == expected.dtype and got.shape == expected.shape, (what, got, expected)
    assert np.array_equal(wide(got), wide(expected)), (what, got, expected)


FOLD = {"SUM": np.add, "PRODUCT": np.multiply, "MIN": np.minimum, "MAX": np.maximum,
        "BAND": np.bitwise_and, "BOR": np.bitwise_or, "BXOR": np.bitwise_xor}  # fmt: skip


def reduced(op, dtype, shape=(3, 5), of=range(N)):
    parts = [wide(given(r, dtype, shape)) for r in of]
    if op == "AVG":
        total = sum(parts)
        mean = total / N if np.dtype(total.dtype).kind in "fc" else total // N
        return rl.from_numpy(np.asarray(mean)).to(getattr(rl, dtype))
    total = parts[0]
    for p in parts[1:]:
        total = FOLD[op](total, p)
    return rl.from_numpy(np.asarray(total)).to(getattr(rl, dtype))


def reductions():
    cases = [*itertools.product(FLOATS + INTS, ["SUM", "AVG", "MIN", "MAX"]),
             *itertools.product(INTS, ["BAND", "BOR", "BXOR"]),
             *itertools.product(COMPLEX, ["SUM", "AVG"])]  # fmt: skip
    cases += [("float32", "PRODUCT"), ("int64", "PRODUCT"), ("bfloat16", "PRODUCT")]
    for dtype, op in cases:
        t = given(ME, dtype)
        assert dist.all_reduce(t, getattr(dist.ReduceOp, op)) is None
        same(t, reduced(op, dtype), ("all_reduce", dtype, op))
        t = given(ME, dtype)
        dist.reduce(t, N - 1, getattr(dist.ReduceOp, op))
        same(t, reduced(op, dtype) if ME == N - 1 else given(ME, dtype), ("reduce", dtype, op))
        whole = given(ME, dtype, (N, 4))
        out = rl.empty(4, dtype=whole.dtype)
        dist.reduce_scatter_tensor(out, whole, getattr(dist.ReduceOp, op))
        same(out, reduced(op, dtype, (N, 4))[ME], ("reduce_scatter", dtype, op))
    truth = [given(r, "bool").numpy() for r in range(N)]
    for op, fold in (("SUM", np.any), ("MAX", np.any), ("PRODUCT", np.all), ("MIN", np.all)):
        t = given(ME, "bool")
        dist.all_reduce(t, getattr(dist.ReduceOp, op))
        same(t, rl.from_numpy(fold(truth, axis=0)), ("bool", op))
    t = rl.ones(3)
    dist.all_reduce(t, dist._make_nccl_premul_sum(0.5))
    assert t.tolist() == [N / 2] * 3


class Watched:
    """A communicator that counts the bytes of each sum."""

    def __init__(self, comm):
        self.comm, self.most, self.sums = comm, 0, 0

    def __getattr__(self, name):
        return getattr(self.comm, name)

    def _count(self, buffer):
        self.sums, self.most = self.sums + 1, max(self.most, buffer.nbytes)

    def Iallreduce(self, sent, buffer, op):
        self._count(buffer)
        return self.comm.Iallreduce(sent, buffer, op)

    def Ireduce(self, sent, into, op, root):
        self._count(sent if into is None else into)
        return self.comm.Ireduce(sent, into, op, root)


def sums(mine, whole, op, every, share):
    """The three reductions of many bytes: what comes of what the ranks bring, and of one more for each of them."""
    kind = getattr(dist.ReduceOp, op)
    t = mine.clone()
    dist.all_reduce(t, kind)
    assert rl.equal(t, every), ("all_reduce", mine.dtype, op)
    t = mine.clone()
    dist.reduce(t, N - 1, kind)
    assert rl.equal(t, every if ME == N - 1 else mine), ("reduce", mine.dtype, op)
    out = rl.empty_like(mine)
    dist.reduce_scatter_tensor(out, whole.clone(), kind)
    assert rl.equal(out, share), ("reduce_scatter", mine.dtype, op)


def large():
    """Sums of many bytes: made in the ranks' memory, in pieces by MPI, or some so and some so; they are what they are in one."""
    engine = dist.group.WORLD.engine("cpu")
    comm = engine.comm
    ones = rl.ones((1 << 20) + 1)  # 4 MB and more, as of each dtype below
    dist.all_reduce(ones.clone())
    near = engine._neighbours
    assert near.all_reached or sys.platform != "linux"
    engine.comm = watched = Watched(comm)
    read, seen, reached = near._read, [], near.all_reached

    def reads(rank, here, there, size):
        seen.append(there)
        return ME != 0 and read(rank, here, there, size)  # rank 0 reaches nobody

    for dtype, op in (("float32", "SUM"), ("float32", "AVG"), ("bfloat16", "AVG"), ("int64", "MAX"), ("complex64", "SUM")):  # fmt: skip
        shape = ((4 << 20) // getattr(rl, dtype).itemsize + 1,)
        every, share = reduced(op, dtype, shape), reduced(op, dtype, shape, range(ME, N * N, N))
        mine, whole = given(ME, dtype, shape), rl.stack([given(ME * N + to, dtype, shape) for to in range(N)])
        for who in ("all", "one cannot", "none"):
            near._read = reads if who == "one cannot" else read
            near.all_reached = reached and who != "none"
            watched.sums = 0
            sums(mine, whole, op, every, share)
            t = ones.clone()
            dist.reduce(t, 0, dist._make_nccl_premul_sum(0.5))
            assert (t == (1.0 if ME else N / 2)).all()
            by_mpi = (who != "all" or not near.all_reached) and BY_MPI
            assert (watched.sums > 0) == by_mpi, (who, watched.sums)
    assert watched.most <= 4 << 20 and len(seen) > 0
    engine.comm, engine._neighbours = comm, None


def moves():
    for dtype in [*FLOATS, *INTS, *COMPLEX, "bool"]:
        everyone = [given(r, dtype) for r in range(N)]
        t = given(ME, dtype)
        dist.broadcast(t, 1)
        same(t, everyone[1], "broadcast")
        out = [rl.empty_like(t) for _ in range(N)]
        dist.all_gather(out, given(ME, dtype))
        for a, b in zip(out, everyone):
            same(a, b, "all_gather")
        whole = rl.empty((3 * N, 5), dtype=t.dtype)
        dist.all_gather_into_tensor(whole, given(ME, dtype))
        same(whole, rl.cat(everyone), "all_gather_into_tensor")
        room = [rl.empty_like(t) for _ in range(N)] if ME == 0 else None
        dist.gather(given(ME, dtype), room, dst=0)
        for a, b in zip(room or [], everyone):
            same(a, b, "gather")
        t = rl.empty_like(t)
        dist.scatter(t, [given(10 + r, dtype) for r in range(N)] if ME == 1 else None, src=1)
        same(t, given(10 + ME, dtype), "scatter")
        rows = [given(100 * ME + r, dtype) for r in range(N)]
        out = [rl.empty_like(t) for _ in range(N)]
        dist.all_to_all(out, rows)
        for r, a in enumerate(out):
            same(a, given(100 * r + ME, dtype), "all_to_all")
    # different sizes, memory with gaps, nothing at all
    out = [rl.zeros(r + 1) for r in range(N)]
    dist.all_gather(out, rl.full((ME + 1,), float(ME)))
    assert [o.tolist() for o in out] == [[float(r)] * (r + 1) for r in range(N)]
    sizes = [ME + r for r in range(N)]
    out = rl.zeros(sum(sizes), 2)
    dist.all_to_all_single(out, rl.full((sum(sizes), 2), float(ME)), sizes, sizes)
    assert out[:, 0].tolist() == [float(r) for r in range(N) for _ in range(ME + r)]
    t = rl.arange(12.0).reshape(3, 4).t()
    dist.all_reduce(t)
    assert not t.is_contiguous() and t.tolist() == (rl.arange(12.0).reshape(3, 4).t() * N).tolist()
    dist.all_reduce(rl.empty(0))
    one = rl.tensor(2.0)
    dist.all_reduce(one)
    assert one.item() == 2 * N and one.dim() == 0


def works():
    """Started together, waited for in another order, with a plain one in between."""
    tensors = [rl.full((1000,), float(ME + i)) for i in range(6)]
    started = [dist.all_reduce(t, async_op=True) for t in tensors]
    between = rl.ones(2)
    dist.all_reduce(between)
    assert between.tolist() == [N, N]
    for i in (3, 0, 5, 1, 4, 2):
        assert started[i].wait() and started[i].is_completed() and started[i].is_success()
        assert tensors[i][0] == sum(r + i for r in range(N))
    seen = []
    t = rl.ones(3)
    future = dist.all_reduce(t, async_op=True).get_future().then(lambda f: seen.append(f.value()[0].sum().item()))
    future.wait()
    assert seen == [3.0 * N]
    rows = [rl.empty(2) for _ in range(N)]
    dist.all_gather(rows, rl.full((2,), float(ME)), async_op=True).wait()
    assert [r[0].item() for r in rows] == [float(r) for r in range(N)]
    version = t._version
    dist.all_reduce(t)
    assert t._version > version


def pairs():
    after, before = (ME + 1) % N, (ME - 1) % N
    out = rl.zeros(5, dtype=rl.bfloat16)
    ops = [
        dist.P2POp(dist.isend, rl.full((5,), float(ME), dtype=rl.bfloat16), after),
        dist.P2POp(dist.irecv, out, before),
    ]
    for work in dist.batch_isend_irecv(ops):
        work.wait()
    assert out.tolist() == [float(before)] * 5
    if ME == 0:
        found = set()
        for _ in range(N - 1):
            t = rl.zeros(2)
            found.add((dist.recv(t, tag=3), t[0].item()))
        assert found == {(r, float(r)) for r in range(1, N)}
    else:
        dist.send(rl.full((2,), float(ME)), 0, tag=3)
    if ME == 1:
        dist.send_object_list([{"a": 1}, "two"], 0)
    elif ME == 0:
        got = [None, None]
        assert dist.recv_object_list(got, 1) == 1 and got == [{"a": 1}, "two"]


def objects():
    found = [None] * N
    dist.all_gather_object(found, {"rank": ME, "text": "x" * ME * 100})
    assert [f["rank"] for f in found] == list(range(N)) and len(found[1]["text"]) == 100
    told = ["yes", {"n": 3}, rl.ones(2)] if ME == 1 else [None] * 3
    dist.broadcast_object_list(told, 1)
    assert told[:2] == ["yes", {"n": 3}] and told[2].tolist() == [1.0, 1.0]
    room = [None] * N if ME == 1 else None
    dist.gather_object((ME, "x"), room, dst=1)
    assert room is None or room == [(r, "x") for r in range(N)]
    mine = [None]
    dist.scatter_object_list(mine, [f"for {r}" for r in range(N)] if ME == 0 else None, src=0)
    assert mine == [f"for {ME}"]


def groups():
    odd = dist.new_group(range(1, N, 2))
    if ME % 2:
        t = rl.ones(1)
        dist.all_reduce(t, group=odd)
        assert t.item() == N // 2 and dist.get_rank(odd) == ME // 2
        dist.broadcast(t, 1, group=odd)
        assert dist.get_global_rank(odd, 0) == 1 and dist.get_process_group_ranks(odd) == list(range(1, N, 2))
    else:
        assert odd == dist.GroupMember.NON_GROUP_MEMBER and dist.get_rank(odd) == -1
    mine, all_of_them = dist.new_subgroups(2)
    assert len(all_of_them) == N // 2 and mine.size() == 2
    mesh = dist.init_device_mesh("cpu", (N // 2, 2), mesh_dim_names=("far", "near"))
    t = rl.tensor([float(ME)])
    dist.all_reduce(t, group=mesh.get_group("near"))
    assert t.item() == 2 * (ME // 2 * 2) + 1 and mesh.get_local_rank("near") == ME % 2
    assert mesh["far"].get_group().size() == N // 2 and mesh.get_coordinate() == (ME // 2, ME % 2)
    dist.barrier()
    dist.monitored_barrier()


def derivatives():
    x = rl.full((2,), float(ME + 1), requires_grad=True)
    (differentiable.all_reduce(x) * (ME + 1)).sum().backward()
    assert x.grad.tolist() == [float(sum(range(1, N + 1)))] * 2
    x.grad = None
    rows = differentiable.all_gather(x)
    sum((r * (i + 1)).sum() for i, r in enumerate(rows)).backward()
    assert x.grad.tolist() == [float((ME + 1) * N)] * 2


for check in (reductions, large, moves, works, pairs, objects, groups, derivatives):
    check()
    print("passed", check.__name__)
dist.destroy_process_group()
