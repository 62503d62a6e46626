"""Run on a machine with a GPU: NCCL at one rank inside a captured step, and ranks that share the GPU through the host."""

import os
import sys

import numpy as np

import rushlight as rl
import rushlight.distributed as dist
from rushlight import nn
from rushlight.nn.parallel import DistributedDataParallel as DDP

MODE = sys.argv[1]
if "RANK" in os.environ:
    dist.init_process_group("nccl")
else:
    dist.init_process_group("nccl", rank=0, world_size=1)
ME, N = dist.get_rank(), dist.get_world_size()
rl.cuda.set_device(0)


def train(wrap, compiled, steps=20):
    rl.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)).cuda()
    net = DDP(net, device_ids=[0], bucket_cap_mb=0.01) if wrap else net
    optimizer = rl.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

    def step(x, y):
        optimizer.zero_grad()
        loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    run = rl.compile(step, fullgraph=N == 1) if compiled else step
    losses = []
    for i in range(steps):
        x = np.random.RandomState(i).randn(16, 8).astype("f")
        y = np.sin(x.sum(1, keepdims=True))
        part = slice(ME, None, N) if wrap else slice(None)
        loss = run(rl.from_numpy(x[part].copy()).cuda(), rl.from_numpy(y[part].copy()).cuda()).detach().clone()
        if wrap:
            dist.all_reduce(loss, dist.ReduceOp.AVG)
        losses.append(loss.item())
    return np.array(losses)


def captured():
    """NCCL's calls are part of the CUDA graph, alone and under DDP."""
    total = rl.ones(1000, device="cuda")

    def step(x):
        dist.all_reduce(total)
        return (x * total).sum()

    run = rl.compile(step, fullgraph=True)
    got = [run(rl.ones(1000, device="cuda")).item() for _ in range(6)]
    assert dist.group.WORLD.engine("cuda").kind == "nccl" and got == [1000.0] * 6, got
    alone = train(False, False)
    DDP.reduces_alone = True
    for compiled in (False, True):
        got = train(True, compiled)
        assert np.abs(got - alone).max() < 1e-5, (compiled, np.abs(got - alone).max())


def shared():
    """Two ranks on one GPU go through pinned host memory, and agree with one."""
    for dtype in (rl.float32, rl.bfloat16, rl.int64, rl.bool):
        t = rl.ones(1000, device="cuda").to(dtype)
        dist.all_reduce(t)
        assert t.is_cuda and t[0].item() == (True if dtype == rl.bool else N), dtype
    rows = [rl.empty(3, device="cuda") for _ in range(N)]
    dist.all_gather(rows, rl.full((3,), float(ME), device="cuda"))
    assert [r[0].item() for r in rows] == [float(r) for r in range(N)]
    work = dist.all_reduce(x := rl.ones(1 << 20, device="cuda"), async_op=True)
    work.wait()
    assert x.mean().item() == N
    assert dist.group.WORLD.engine("cuda").kind == "mpi"
    alone = train(False, False)
    for compiled in (False, True):
        got = train(True, compiled)
        assert np.abs(got - alone).max() < 1e-5, (compiled, np.abs(got - alone).max())


def sharded():
    """Two ranks on one GPU keep half of the parameters each, there or on the host, and agree with one."""
    from rushlight.distributed.fsdp import CPUOffloadPolicy, OffloadPolicy, fully_shard

    alone = train(False, False)
    for policy in (OffloadPolicy(), CPUOffloadPolicy()):
        rl.manual_seed(0)
        net = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1))
        fully_shard(net[2], offload_policy=policy)
        fully_shard(net, offload_policy=policy)
        assert net[2].weight.to_local().shape == (64 // N, 64)
        assert net[2].weight.is_cuda == (not isinstance(policy, CPUOffloadPolicy))
        optimizer = rl.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
        for i in range(20):
            x = np.random.RandomState(i).randn(16, 8).astype("f")
            y = np.sin(x.sum(1, keepdims=True))
            mine = [rl.from_numpy(a[ME::N].copy()).cuda() for a in (x, y)]
            optimizer.zero_grad()
            loss = ((net(mine[0]) - mine[1]) ** 2).mean()
            loss.backward()
            optimizer.step()
            loss = loss.detach().clone()
            dist.all_reduce(loss, dist.ReduceOp.AVG)
            assert abs(loss.item() - alone[i]) < 1e-5, (policy, i, loss.item(), alone[i])


globals()[MODE]()
print("passed", MODE)
dist.destroy_process_group()
