"""Run by several ranks, with PyTorch and with rushlight: fully_shard and FullyShardedDataParallel, step by step."""

import copy
import functools
import sys
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import (
    CPUOffload,
    CPUOffloadPolicy,
    FullOptimStateDictConfig,
    FullStateDictConfig,
    FullyShardedDataParallel,
    MixedPrecision,
    MixedPrecisionPolicy,
    OptimStateKeyType,
    ShardingStrategy,
    StateDictType,
    fully_shard,
)
from torch.distributed.fsdp.wrap import (
    CustomPolicy,
    ModuleWrapPolicy,
    enable_wrap,
    lambda_auto_wrap_policy,
    size_based_auto_wrap_policy,
    transformer_auto_wrap_policy,
    wrap,
)
from torch.distributed.tensor import DTensor, Shard
from torch.utils.checkpoint import checkpoint


class FSDP(FullyShardedDataParallel):
    """PyTorch's looks for a GPU unless it is told not to."""

    def __init__(self, module, *args, **options):
        super().__init__(module, *args, **{"device_id": torch.device("cpu"), **options})


warnings.simplefilter("ignore")
dist.init_process_group("gloo")
ME, N = dist.get_rank(), dist.get_world_size()
LINES = []


def told(t):
    if isinstance(t, torch.Tensor):
        t = t.full_tensor() if isinstance(t, DTensor) else t
        return f"{str(t.dtype).split('.')[-1]} {tuple(t.shape)} {[round(v, 4) + 0.0 for v in t.detach().double().flatten().tolist()]}"
    return repr(t)


def tell(name, make):
    try:
        LINES.append(f"{name}: {told(make())}")
    except Exception as error:
        LINES.append(f"{name}: {type(error).__name__}")


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 10), nn.Linear(10, 6, bias=False)
        self.norm = nn.LayerNorm(6)

    def forward(self, x):
        return self.norm(x + self.b(torch.tanh(self.a(x))))


class Net(nn.Module):
    twice = False  # whether layers compute their inside again in backward

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(5, 6)
        self.layers = nn.ModuleList([Layer(), Layer()])
        self.last = nn.Linear(6, 3)
        self.register_buffer("scale", torch.ones(3))

    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.twice else layer(x)
        return self.last(x) * self.scale


def network():
    torch.manual_seed(4)
    return Net()


def batch(i):
    g = torch.Generator().manual_seed(i)
    x = torch.randn(8, 5, generator=g)
    return x[ME * 8 // N : (ME + 1) * 8 // N], x.sum()


def steps(model, optimizer, count=3, first=0, clip=None, parts=1, hold=None):
    losses = []
    for i in range(first, first + count):
        x, _ = batch(i)
        optimizer.zero_grad()
        for k in range(parts):
            piece = x[k::parts]
            if hold is not None:
                hold(k == parts - 1)
            loss = (model(piece) ** 2).mean() / parts
            loss.backward()
        if clip:
            total = clip()
            losses.append(total.full_tensor().item() if isinstance(total, DTensor) else total.item())
        optimizer.step()
        losses.append(loss.item())
    return [round(v, 4) for v in losses]


def sharded(mesh=None, **options):
    model = network()
    for layer in model.layers:
        fully_shard(layer, mesh=mesh or init_device_mesh("cpu", (N,)), **options)
    return fully_shard(model, mesh=mesh or init_device_mesh("cpu", (N,)), **options)


def whole(name, model):
    for key, value in model.state_dict().items():
        tell(f"{name} {key}", lambda: value)


def adam(model):
    return torch.optim.AdamW(model.parameters(), lr=0.05)


def second():
    """`fully_shard`."""
    options = {
        "plain": {}, "kept": {"reshard_after_forward": False}, "always freed": {"reshard_after_forward": True},
        "bf16": {"mp_policy": MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)},
        "bf16 out": {"mp_policy": MixedPrecisionPolicy(param_dtype=torch.bfloat16, output_dtype=torch.float32)},
        "host": {"offload_policy": CPUOffloadPolicy(pin_memory=False)},
    }  # fmt: skip
    for name, option in options.items():
        model = sharded(**option)
        tell(f"{name} losses", lambda: steps(model, adam(model)))
        whole(name, model) if "bf16" not in name else None
    model = sharded()
    model.twice = True
    tell("twice", lambda: steps(model, adam(model)))
    whole("twice", model)
    model = sharded()
    p = model.layers[0].a.weight
    tell("shape", lambda: (tuple(p.shape), p.numel(), p.placements, tuple(p.to_local().shape), type(p).__name__, isinstance(p, nn.Parameter)))  # fmt: skip
    tell("count", lambda: sum(p.numel() for p in model.parameters()))
    tell("clipped", lambda: steps(model, adam(model), clip=lambda: nn.utils.clip_grad_norm_(model.parameters(), 0.1)))
    g = model.layers[0].a.weight.grad
    tell("gradient", lambda: (tuple(g.shape), g.placements, type(g).__name__))
    for kind in (1.0, float("inf")):
        tell(f"norm {kind}", lambda: nn.utils.get_total_norm([p.grad for p in model.parameters()], kind).full_tensor())
    model = sharded()
    tell("in parts", lambda: steps(model, adam(model), parts=2, hold=model.set_requires_gradient_sync))
    whole("in parts", model)
    model = network()
    for q in model.first.parameters():
        q.requires_grad_(False)
    fully_shard(model, mesh=init_device_mesh("cpu", (N,)))
    tell("frozen", lambda: steps(model, adam(model)))
    model = network()
    fully_shard(model, mesh=init_device_mesh("cpu", (N,)), ignored_params={model.last.weight})
    tell("ignored", lambda: (type(model.last.weight).__name__, type(model.last.bias).__name__))
    scalar = nn.Linear(2, 2)
    scalar.alone = nn.Parameter(torch.tensor(1.0))
    tell("scalar", lambda: fully_shard(scalar, mesh=init_device_mesh("cpu", (N,))))
    by_columns = nn.Linear(2 * N, 3)
    fully_shard(by_columns, mesh=init_device_mesh("cpu", (N,)), shard_placement_fn=lambda p: Shard(1) if p.dim() == 2 else None)  # fmt: skip
    by_columns(torch.ones(2, 2 * N)).sum().backward()
    tell("columns", lambda: (by_columns.weight.placements, tuple(by_columns.weight.to_local().shape)))
    tell("columns gradient", lambda: by_columns.weight.grad)
    model = sharded()
    before = copy.deepcopy(dict(model.state_dict()))
    steps(model, adam(model))
    model.load_state_dict(before)
    whole("loaded", model)
    with torch.device("meta"):
        empty = Net()
    for layer in empty.layers:
        fully_shard(layer, mesh=init_device_mesh("cpu", (N,)))
    fully_shard(empty, mesh=init_device_mesh("cpu", (N,)))
    empty.to_empty(device="cpu")
    with torch.no_grad():
        for q in empty.parameters():
            q.fill_(0.1)
        empty.scale.fill_(1.0)
    tell("from meta", lambda: steps(empty, adam(empty)))
    handle = model.layers[0].unshard(async_op=True)
    handle.wait()
    tell("unsharded", lambda: (type(model.layers[0].a.weight).__name__, tuple(model.layers[0].a.weight.shape)))
    model.layers[0].reshard()
    tell("resharded", lambda: type(model.layers[0].a.weight).__name__)


def grid():
    """Two dims of a mesh: copies of shards."""
    mesh = init_device_mesh("cpu", (2, N // 2), mesh_dim_names=("copies", "parts"))
    model = sharded(mesh)
    tell("grid losses", lambda: steps(model, adam(model)))
    p = model.layers[0].a.weight
    tell("grid shape", lambda: (tuple(p.shape), p.placements, tuple(p.to_local().shape)))
    whole("grid", model)
    tell("grid clipped", lambda: steps(model, adam(model), clip=lambda: nn.utils.clip_grad_norm_(model.parameters(), 0.1)))  # fmt: skip
    model = sharded(mesh)

    def hold(last):
        model.set_requires_all_reduce(last)

    tell("grid in parts", lambda: steps(model, adam(model), parts=2, hold=hold))
    line = sharded(mesh["parts"])
    tell("one line", lambda: steps(line, adam(line)))


def wrapped():
    """Which parts the policies of FullyShardedDataParallel choose."""
    for name, policy in POLICIES.items():
        model = FSDP(network(), auto_wrap_policy=policy, use_orig_params=True)
        tell(f"{name} modules", lambda: [type(m.module).__name__.removeprefix("FSDP") for m in FSDP.fsdp_modules(model)])  # fmt: skip
        tell(f"{name} names", lambda: [n for n, _ in model.named_parameters()])
    tell("kind", lambda: FSDP.get_state_dict_type(model).state_dict_type.name)
    tell("twice", lambda: FSDP(model, process_group=dist.group.WORLD, device_mesh=init_device_mesh("cpu", (N,))))
    tell("no hybrid", lambda: FSDP(network(), process_group=dist.group.WORLD, sharding_strategy=ShardingStrategy.HYBRID_SHARD))  # fmt: skip
    tell("both ignored", lambda: FSDP(network(), ignored_modules=[], ignored_states=[]))
    with enable_wrap(wrapper_cls=FSDP, use_orig_params=True):
        model = nn.Sequential(wrap(nn.Linear(5, 4)), nn.ReLU(), wrap(nn.Linear(4, 3)))
    tell("by hand", lambda: [type(m).__name__ for m in model])


POLICIES = {
    "none": None, "class": ModuleWrapPolicy({Layer}), "transformer": functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Layer}),
    "size": functools.partial(size_based_auto_wrap_policy, min_num_params=60), "large": functools.partial(size_based_auto_wrap_policy, min_num_params=130),
    "function": functools.partial(lambda_auto_wrap_policy, lambda_fn=lambda m: isinstance(m, nn.Linear)), "custom": CustomPolicy(lambda m: isinstance(m, Layer)),
}  # fmt: skip


def alone(count=3):
    """What one process learns from the whole batch."""
    model = network()
    optimizer = adam(model)
    for i in range(count):
        x = torch.randn(8, 5, generator=torch.Generator().manual_seed(i))
        optimizer.zero_grad()
        (model(x) ** 2).mean().backward()
        optimizer.step()
    return model.state_dict()


def same(name, model, expected=None):
    """PyTorch's needs a GPU to run: here the oracle is one process with the same steps."""
    for (a, x), (b, y) in zip(model.state_dict().items(), (expected or alone()).items()):
        assert a == b and x.shape == y.shape and (x - y).abs().max() < 1e-4, (name, a, x, y)


def first():
    """`FullyShardedDataParallel`, with rushlight only."""
    for name, policy in POLICIES.items():
        model = FSDP(network(), auto_wrap_policy=policy, use_orig_params=True)
        steps(model, adam(model))
        same(name, model)
    for strategy in ("SHARD_GRAD_OP", "NO_SHARD", "FULL_SHARD"):
        model = FSDP(network(), sharding_strategy=ShardingStrategy[strategy], use_orig_params=True)
        steps(model, adam(model))
        same(strategy, model)
        cut = model.first.weight.to_local().numel() < model.first.weight.numel()
        assert cut == (strategy != "NO_SHARD")
    if N == 4:
        mesh = init_device_mesh("cpu", (2, 2))
        for strategy in ("HYBRID_SHARD", "_HYBRID_SHARD_ZERO2"):
            model = FSDP(network(), device_mesh=mesh, sharding_strategy=ShardingStrategy[strategy], auto_wrap_policy=ModuleWrapPolicy({Layer}))  # fmt: skip
            steps(model, adam(model))
            same(strategy, model)
    precision()
    methods()


def precision():
    half = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32, buffer_dtype=torch.bfloat16)
    model = FSDP(network(), mixed_precision=half, auto_wrap_policy=ModuleWrapPolicy({Layer}), use_orig_params=True)
    out = model(batch(0)[0])
    assert out.dtype == torch.bfloat16 and model.scale.dtype == torch.bfloat16
    out.float().sum().backward()
    assert model.first.weight.grad.dtype == torch.float32
    normed = nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4))
    model = FSDP(normed, mixed_precision=half, auto_wrap_policy=ModuleWrapPolicy({nn.Linear}))
    assert model(batch(0)[0]).dtype == torch.bfloat16
    assert model.module[1].running_var.dtype == torch.float32  # it keeps all its digits
    model = FSDP(network(), cpu_offload=CPUOffload(offload_params=True), use_orig_params=True)
    steps(model, adam(model))
    same("offload", model)


def methods():
    policy = ModuleWrapPolicy({Layer})
    model = FSDP(network(), auto_wrap_policy=policy, use_orig_params=True)
    twin = network()
    x = torch.randn(8, 5, generator=torch.Generator().manual_seed(0))
    (twin(x) ** 2).mean().backward()
    (model(batch(0)[0]) ** 2).mean().backward()
    norms = [nn.utils.clip_grad_norm_(twin.parameters(), 0.1).item(), model.clip_grad_norm_(0.1).item()]
    assert abs(norms[0] - norms[1]) < 1e-4, norms
    for (_, p), q in zip(model.named_parameters(), twin.parameters()):
        assert (p.grad.full_tensor() - q.grad).abs().max() < 1e-5
    with FSDP.summon_full_params(model, with_grads=True):
        assert (model.last.weight.grad - twin.last.weight.grad).abs().max() < 1e-5
    model = FSDP(network(), auto_wrap_policy=policy, use_orig_params=True)
    optimizer = adam(model)
    for i in range(3):
        x = batch(i)[0]
        optimizer.zero_grad()
        with model.no_sync():
            (model(x[::2]) ** 2).mean().div(2).backward()
        (model(x[1::2]) ** 2).mean().div(2).backward()
        optimizer.step()
    same("no_sync", model)
    summoned(model)
    states(model, optimizer)
    torch.manual_seed(ME)
    model = FSDP(Net(), sync_module_states=True, use_orig_params=True)
    torch.manual_seed(0)
    expected = Net().state_dict()
    same("sync_module_states", model, expected)
    with torch.device("meta"):
        model = Net()
    model = FSDP(model, param_init_fn=lambda m: fill(m.to_empty(device="cpu", recurse=False)))
    assert (model.state_dict()["layers.1.a.weight"] == 0.25).all()
    kept = FSDP(network(), ignored_states=list(network().parameters()))
    assert isinstance(kept.first.weight, DTensor)  # those of another model
    net = network()
    kept = FSDP(net, ignored_states=[net.first.weight])
    assert not isinstance(kept.first.weight, DTensor) and isinstance(kept.first.bias, DTensor)


def fill(module):
    with torch.no_grad():
        for t in (*module.parameters(recurse=False), *module.buffers(recurse=False)):
            t.fill_(0.25)


def summoned(model):
    with FSDP.summon_full_params(model):
        named = {n: tuple(p.shape) for n, p in model.named_parameters()}
        assert named == {n: tuple(p.shape) for n, p in network().named_parameters()}
        with torch.no_grad():
            model.last.weight.fill_(0.5)
    assert (model.state_dict()["last.weight"] == 0.5).all()
    with FSDP.summon_full_params(model, writeback=False), torch.no_grad():
        model.last.weight.fill_(9.0)
    assert (model.state_dict()["last.weight"] == 0.5).all()
    with FSDP.summon_full_params(model, rank0_only=True, writeback=False):
        assert isinstance(model.last.weight, DTensor) == (ME != 0)
    assert isinstance(model.last.weight, DTensor)


def states(model, optimizer):
    """Whole and sharded state dicts go on where they were made."""
    only = FullStateDictConfig(offload_to_cpu=True, rank0_only=True), FullOptimStateDictConfig(rank0_only=True)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, *only):
        assert len(model.state_dict()) == (0 if ME else len(network().state_dict()))
        assert bool(FSDP.optim_state_dict(model, optimizer)) == (ME == 0)
    full = copy.deepcopy(model.state_dict())
    kept = copy.deepcopy(FSDP.optim_state_dict(model, optimizer))
    assert kept["state"]["layers.1.a.weight"]["exp_avg"].shape == (10, 6)
    expected = steps(model, optimizer, first=3)
    model.load_state_dict(full)
    optimizer.load_state_dict(FSDP.optim_state_dict_to_load(model, optimizer, kept))
    assert steps(model, optimizer, first=3) == expected
    for kind in (StateDictType.SHARDED_STATE_DICT, StateDictType.LOCAL_STATE_DICT):
        with FSDP.state_dict_type(model, kind):
            mine = copy.deepcopy(dict(model.state_dict()))
            weight = mine["layers.0.a.weight"]
            assert isinstance(weight, DTensor) == (kind is StateDictType.SHARDED_STATE_DICT)
            before = model.first.weight.full_tensor()
            with torch.no_grad():
                model.first.weight.zero_()
            model.load_state_dict(mine)
            assert torch.equal(model.first.weight.full_tensor(), before)
    try:
        model.load_state_dict({"first.weight": torch.ones(6, 5)})
        raise SystemExit("keys are missing, and nobody said so")
    except RuntimeError as error:
        assert "Missing key(s)" in str(error)
    named = FSDP.rekey_optim_state_dict(FSDP.full_optim_state_dict(model, optimizer, rank0_only=False), OptimStateKeyType.PARAM_ID, model, optim=optimizer)  # fmt: skip
    assert set(named["state"]) == set(range(len(list(model.parameters()))))


for part in sys.argv[1].split(","):
    globals()[part]()
dist.barrier()
with open(f"{sys.argv[2]}.{ME}", "w") as f:
    f.write("\n".join(LINES) + "\n")
dist.destroy_process_group()
