"""Run by two ranks: DDP, ZeRO and fully_shard learn what one process learns from the whole batch."""

import sys
import weakref

import numpy as np

import rushlight as rl
import rushlight.distributed as dist
import rushlight.distributed.checkpoint as dcp
from rushlight import nn
from rushlight.distributed.algorithms.ddp_comm_hooks import default_hooks
from rushlight.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_model_state_dict,
    get_optimizer_state_dict,
    get_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
    set_state_dict,
)
from rushlight.distributed.fsdp import FullyShardedDataParallel, MixedPrecisionPolicy, fully_shard
from rushlight.distributed.fsdp.wrap import ModuleWrapPolicy
from rushlight.distributed.optim import ZeroRedundancyOptimizer
from rushlight.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group("gloo")
ME, N = dist.get_rank(), dist.get_world_size()
FOLDER = sys.argv[2] if len(sys.argv) > 2 else ""


def network(norm=False):
    rl.manual_seed(3 + 0 * ME)
    middle = nn.BatchNorm1d(32) if norm else nn.Identity()
    return nn.Sequential(nn.Linear(8, 32), middle, nn.ReLU(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 1))


def batch(i, rows=16):
    x = np.random.RandomState(i).randn(rows, 8).astype("f")
    return rl.from_numpy(x), rl.from_numpy(np.sin(x.sum(1, keepdims=True)))


def sgd(params):
    return rl.optim.SGD(params, lr=0.05, momentum=0.9)


def adam(params):
    return rl.optim.AdamW(params, lr=0.01)


def train(model, optimizer, steps, whole=False, compiled=False, parts=1):
    losses = []

    def step(x, y):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        return loss

    def in_parts(x, y):
        optimizer.zero_grad()
        with model.no_sync():
            first = ((model(x[::2]) - y[::2]) ** 2).mean() / 2
            first.backward()
        second = ((model(x[1::2]) - y[1::2]) ** 2).mean() / 2
        second.backward()
        optimizer.step()
        return first + second

    run = in_parts if parts == 2 else rl.compile(step, fullgraph=True) if compiled else step
    for i in range(steps):
        x, y = batch(i)
        loss = run(x, y) if whole else run(x[ME::N], y[ME::N])
        loss = loss.detach().clone()
        if not whole:
            dist.all_reduce(loss, dist.ReduceOp.AVG)
        losses.append(loss.item())
    return np.array(losses)


def near(got, expected, limit, what):
    assert np.abs(got - expected).max() < limit, (what, np.abs(got - expected).max())


def ddp():
    model = network()
    alone = train(model, sgd(model.parameters()), 200, whole=True)
    wrapped = DDP(network())
    near(train(wrapped, sgd(wrapped.parameters()), 200), alone, 1e-6, "DDP")
    options = [{"bucket_cap_mb": 0.0001}, {"bucket_cap_mb": 0.0001, "gradient_as_bucket_view": True},
               {"find_unused_parameters": True}, {"static_graph": True}]  # fmt: skip
    for option in options:
        wrapped = DDP(network(), **option)
        near(train(wrapped, sgd(wrapped.parameters()), 30), alone[:30], 1e-6, option)
        if "bucket_cap_mb" in option:
            assert len(wrapped.reducer.buckets) > 2
    wrapped = DDP(network())
    near(train(wrapped, sgd(wrapped.parameters()), 30, parts=2), alone[:30], 1e-6, "no_sync")
    wrapped = DDP(network(), bucket_cap_mb=0.001)
    near(train(wrapped, sgd(wrapped.parameters()), 30, compiled=True), alone[:30], 1e-6, "compiled")
    wrapped = DDP(network())
    wrapped.register_comm_hook(None, default_hooks.bf16_compress_hook)
    got = train(wrapped, sgd(wrapped.parameters()), 30)
    near(got, alone[:30], 0.02, "bf16")
    assert np.abs(got - alone[:30]).max() > 1e-6  # it was rounded on its way
    model = network(norm=True)
    alone = train(model, sgd(model.parameters()), 40, whole=True)
    wrapped = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(network(norm=True)))
    near(train(wrapped, sgd(wrapped.parameters()), 40), alone, 2e-6, "SyncBatchNorm")
    near(wrapped.module[1].running_var.numpy(), model[1].running_var.numpy(), 1e-5, "running_var")


def overlap():
    """Buckets are under way before backward ends: begun between gradients, ended after the last."""
    seen = []
    from rushlight.runtime.door import listening

    def listener(kernel, arrays, attrs, call):
        seen.append(kernel.name)
        return call()

    wrapped = DDP(network(), bucket_cap_mb=0.0001)
    for _ in range(3):
        x, y = batch(0)
        loss = ((wrapped(x) - y) ** 2).mean()
        with listening(listener):
            seen.clear()
            loss.backward()
    first_end, begun = (seen.index("collective_end"), [i for i, n in enumerate(seen) if n == "collective_begin"])
    assert len(begun) > 2 and begun[0] < first_end
    assert any("linear" in n or "matmul" in n or "mm" in n for n in seen[begun[0] : begun[-1]]), seen
    # a profiler sees the exchanges in their own thread, with as many bytes as there are gradients
    with rl.profiler.profile() as p:
        ((wrapped(x) - y) ** 2).mean().backward()
    told = [e for e in p.events() if e.name == "mpi:all_reduce"]
    assert len(told) == len(wrapped.reducer.buckets)
    assert sum(e.self_cpu_memory_usage for e in told) == sum(q.nbytes for q in wrapped.parameters())
    assert {e.thread for e in told}.isdisjoint(e.thread for e in p.events() if e not in told)


def uneven():
    wrapped = DDP(network())
    optimizer = sgd(wrapped.parameters())
    with wrapped.join():
        for i in range(2 + 3 * ME):
            x, y = batch(i)
            optimizer.zero_grad()
            ((wrapped(x) - y) ** 2).mean().backward()
            optimizer.step()
    sums = [None] * N
    dist.all_gather_object(sums, [p.sum().item() for p in wrapped.parameters()])
    assert all(s == sums[0] for s in sums)


def zero():
    model = network()
    alone = train(model, adam(model.parameters()), 30, whole=True)
    wrapped = DDP(network())
    optimizer = ZeroRedundancyOptimizer(wrapped.parameters(), rl.optim.AdamW, lr=0.01)
    near(train(wrapped, optimizer, 30), alone, 1e-5, "ZeRO")
    assert 0 < len(optimizer.optim.state) < 6
    optimizer.consolidate_state_dict(to=0)
    if ME == 0:
        assert sorted(optimizer.state_dict()["state"]) == list(range(6))


def sharded_model(**options):
    model = network()
    for part in (model[0], model[3]):
        fully_shard(part, **options)
    return fully_shard(model, **options)


def fsdp():
    model = network()
    alone = train(model, adam(model.parameters()), 30, whole=True)
    model = sharded_model()
    optimizer = adam(model.parameters())
    near(train(model, optimizer, 30), alone, 1e-5, "fully_shard")
    # memory per rank: of parameters, gradients and both moments the rows that this rank has
    rows = [-(-p.shape[0] // N) for p in model.parameters()]
    own = [max(min(n, p.shape[0] - ME * n), 0) for n, p in zip(rows, model.parameters())]
    wanted = 4 * sum(n * p[0].numel() for n, p in zip(own, network().parameters()))
    state = optimizer.state.values()
    for kept in (model.parameters(), [p.grad for p in model.parameters()],
                 *([s[name] for s in state] for name in ("exp_avg", "exp_avg_sq"))):  # fmt: skip
        assert sum(t.to_local().nbytes for t in kept) == wanted
    model.zero_grad()
    alone_model = network()
    x, y = batch(1)
    ((alone_model(x) - y) ** 2).mean().backward()
    fresh = sharded_model()
    ((fresh(x[ME::N]) - y[ME::N]) ** 2).mean().backward()
    norms = [nn.utils.clip_grad_norm_(m.parameters(), 0.1).item() for m in (alone_model, fresh)]
    assert abs(norms[0] - norms[1]) < 1e-5, norms
    # between forward and backward a sharded part is freed: neither module nor tape holds it whole
    seen = []
    shards = model[3]._fsdp.shards
    handle = model[3].register_forward_pre_hook(lambda m, a: seen.append(weakref.ref(shards.places[0].full._a)))
    loss = model(batch(0)[0]).sum()
    handle.remove()
    assert seen[0]() is None, "the whole weight outlives its forward pass"
    assert model[3]._fsdp.shards.gathered is False and model[3].weight.to_local().numel() == 32 * 32 // N
    loss.backward()
    assert model[3].weight.grad.shape == model[3].weight.shape
    half = sharded_model(mp_policy=MixedPrecisionPolicy(param_dtype=rl.bfloat16, reduce_dtype=rl.float32))
    assert half(batch(0)[0]).dtype == rl.bfloat16
    whole = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True))
    assert whole["3.weight"].shape == (32, 32)
    other = sharded_model()
    set_model_state_dict(other, whole, options=StateDictOptions(full_state_dict=True))
    assert rl.equal(other.state_dict()["3.weight"].full_tensor(), whole["3.weight"])


def optimizers():
    """Every optimiser steps sharded parameters as it steps whole ones, or says that it cannot."""
    names = "SGD Adam AdamW RMSprop Adagrad Adadelta Adamax NAdam RAdam ASGD Rprop".split()
    for name in names:
        make = getattr(rl.optim, name)
        model, other = network(), sharded_model()
        alone = train(model, make(model.parameters(), lr=0.01), 5, whole=True)
        near(train(other, make(other.parameters(), lr=0.01), 5), alone, 1e-5, name)
    model, other = network(), sharded_model()
    pairs = [m[3].weight for m in (model, other)]
    muons = [rl.optim.Muon([w], lr=0.05) for w in pairs]
    alone = train(model, muons[0], 3, whole=True)
    near(train(other, muons[1], 3), alone, 1e-4, "Muon")  # a product of the whole matrix
    other = sharded_model()
    try:
        train(other, rl.optim.Adafactor(other.parameters()), 1)
        raise SystemExit("Adafactor saw parts of matrices")
    except NotImplementedError:
        pass


def scaler():
    """An overflow on one rank leaves the step out on all."""
    model = sharded_model()
    optimizer = sgd(model.parameters())
    scale = rl.amp.GradScaler("cpu", init_scale=4.0)
    before = model[3].weight.full_tensor()
    scale.scale(model(batch(0)[0]).sum()).backward()
    if ME == 0:
        model[3].weight._grad[0, 0] = float("inf")
    scale.step(optimizer)
    scale.update()
    assert rl.equal(model[3].weight.full_tensor(), before) and scale.get_scale() == 2.0
    optimizer.zero_grad()
    scale.scale(model(batch(0)[0]).sum()).backward()
    scale.step(optimizer)
    assert not rl.equal(model[3].weight.full_tensor(), before)


def sync_norm():
    """SyncBatchNorm with more rows on one rank than on the other is that of the whole batch."""
    x = batch(0, 9)[0]
    one, two = network(norm=True), nn.SyncBatchNorm.convert_sync_batchnorm(network(norm=True))
    whole = one(x)
    mine = x[:5] if ME == 0 else x[5:]
    part = two(mine)
    near(part.detach().numpy(), (whole[:5] if ME == 0 else whole[5:]).detach().numpy(), 1e-5, "rows")
    (whole**2).sum().backward()
    (part**2).sum().backward()
    total = two[0].weight.grad.clone()
    dist.all_reduce(total)
    near(total.numpy(), one[0].weight.grad.numpy(), 1e-4, "gradient")
    near(two[1].running_var.numpy(), one[1].running_var.numpy(), 1e-5, "running_var")


def _steps(model, optimizer, first, last):
    for i in range(first, last):
        x, y = batch(100 + i, 8)
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
    return loss.item()


def save():
    model = sharded_model()
    optimizer = adam(model.parameters())
    _steps(model, optimizer, 0, 3)
    state = {"model": model.state_dict(), "optim": get_optimizer_state_dict(model, optimizer), "step": 3}
    for _ in range(2):  # the second time over the first
        dcp.save(state, checkpoint_id=FOLDER)
    print("loss", repr(_steps(model, optimizer, 3, 6)))


def load():
    model = sharded_model()
    optimizer = adam(model.parameters())
    _steps(model, optimizer, 0, 1)
    state = {"model": model.state_dict(), "optim": get_optimizer_state_dict(model, optimizer), "step": 0}
    dcp.load(state, checkpoint_id=FOLDER)
    set_model_state_dict(model, state["model"])
    set_optimizer_state_dict(model, optimizer, state["optim"])
    assert state["step"] == 3
    print("loss", repr(_steps(model, optimizer, 3, 6)))


def wrapped_model():
    return FullyShardedDataParallel(network(), auto_wrap_policy=ModuleWrapPolicy({nn.Linear}))


def copies():
    """Write what a mesh of two dims holds: every part once, though two ranks have it."""
    mesh = dist.init_device_mesh("cpu", (2, N // 2), mesh_dim_names=("copies", "parts"))
    model = sharded_model(mesh=mesh)
    optimizer = adam(model.parameters())
    _steps(model, optimizer, 0, 3)
    model_state, optim_state = get_state_dict(model, optimizer)
    dcp.save({"model": model_state, "optim": optim_state, "step": 3}, checkpoint_id=FOLDER)
    print("loss", repr(_steps(model, optimizer, 3, 6)))


def wrapped():
    """FullyShardedDataParallel goes on with a checkpoint that others wrote."""
    model = wrapped_model()
    optimizer = adam(model.parameters())
    _steps(model, optimizer, 0, 1)
    model_state, optim_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optim": optim_state, "step": 0}
    dcp.load(state, checkpoint_id=FOLDER)
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"])
    print("loss", repr(_steps(model, optimizer, 3, 6)))


for name in sys.argv[1].split(","):
    globals()[name]()
    print("passed", name)
dist.destroy_process_group()
