"""Run by two ranks, with PyTorch and with rushlight: `join()`, samplers, hooks and what DDP says of mistakes."""

import sys
import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from torch.distributed.algorithms.ddp_comm_hooks.debugging_hooks import noop_hook
from torch.distributed.algorithms.ddp_comm_hooks.post_localSGD_hook import PostLocalSGDState, post_localSGD_hook
from torch.distributed.algorithms.join import Join
from torch.distributed.algorithms.model_averaging import averagers
from torch.distributed.algorithms.model_averaging.hierarchical_model_averager import HierarchicalModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer, ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

warnings.simplefilter("ignore")
dist.init_process_group("gloo")
ME, N = dist.get_rank(), dist.get_world_size()
LINES = []


def told(value):
    if isinstance(value, torch.Tensor):
        return f"{tuple(value.shape)} {[round(v, 4) + 0.0 for v in value.detach().double().flatten().tolist()]}"
    return repr(value)


def tell(name, make):
    try:
        LINES.append(f"{name}: {told(make())}")
    except Exception as error:
        LINES.append(f"{name}: {type(error).__name__} {str(error)[:60] if 'says' in name else ''}")


def network(norm=False):
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6) if norm else nn.Tanh(), nn.Linear(6, 2))


def batch(i):
    g = torch.Generator().manual_seed(10 * i + ME)
    return torch.randn(6, 4, generator=g)


def weights(model):
    return torch.cat([p.detach().reshape(-1) for p in model.parameters()])


def run(model, optimizer, count):
    for i in range(count):
        optimizer.zero_grad()
        (model(batch(i)) ** 2).mean().backward()
        optimizer.step()


def joins():
    for options in ({}, {"divide_by_initial_world_size": False}, {"enable": False}):
        for norm in (False, True):
            model = DDP(network(norm))
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
            with model.join(**options):
                run(model, optimizer, 3 + 2 * ME if options.get("enable", True) else 3)
            tell(f"join {options} {norm}", lambda: weights(model))
            tell("buffers", lambda: [told(b) for b in model.module.buffers()])
    model = DDP(network(), find_unused_parameters=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with model.join():
        run(model, optimizer, 4 - 2 * ME)
    tell("join unused", lambda: weights(model))
    model = DDP(network(), gradient_as_bucket_view=True, bucket_cap_mb=0.0001)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with model.join():
        run(model, optimizer, 1 + 3 * ME)
    tell("join views", lambda: weights(model))
    run(model, optimizer, 2)  # and as always after it
    tell("after join", lambda: weights(model))
    model = DDP(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def thrown():
        with model.join(throw_on_early_termination=True):
            run(model, optimizer, 2 + 2 * ME)

    tell("join throws", thrown)
    dist.barrier()
    model = DDP(network())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with model.join():
        for i in range(2 + 2 * ME):
            optimizer.zero_grad()
            with model.no_sync():
                (model(batch(i)) ** 2).mean().backward()
            (model(batch(i + 20)) ** 2).mean().backward()
            optimizer.step()
    tell("join no_sync", lambda: weights(model))
    model = DDP(network())
    optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.Adam, lr=0.05)
    with Join([model, optimizer]):
        run(model, optimizer, 2 + 2 * ME)
    tell("join both", lambda: weights(model))


def buffers():
    """Which passes take rank 0's buffers: also evaluation, and the first of several that exchange no gradients."""
    model = DDP(network(True))

    def step(i, mode):
        model.train(mode != "eval")
        if mode == "train":
            model(batch(i)).sum().backward()
        elif mode == "no_sync":
            with model.no_sync():
                model(batch(i)).sum().backward()
        else:
            with torch.no_grad():
                model(batch(i))
        tell(f"buffers {i} {mode}", lambda: [told(b) for b in model.module.buffers()])

    for i, mode in enumerate("train train eval eval train no_sync no_sync train no_grad no_grad train train".split()):
        step(i, mode)
    with model.join():
        for i in range(2 + 2 * ME):
            step(i, "no_sync")
            step(i, "train")


def samplers():
    data = TensorDataset(torch.arange(11))
    for shuffle in (False, True):
        for drop in (False, True):
            sampler = DistributedSampler(data, shuffle=shuffle, seed=3, drop_last=drop)
            for epoch in range(2):
                sampler.set_epoch(epoch)
                tell(f"sampler {shuffle} {drop} {epoch}", lambda: list(sampler))
            loader = DataLoader(data, batch_size=4, sampler=sampler, drop_last=drop)
            tell("loader", lambda: [b[0].tolist() for b in loader])
            tell("lengths", lambda: (len(sampler), len(loader), sampler.num_samples, sampler.total_size, sampler.epoch))
    tell("bad rank says", lambda: DistributedSampler(data, num_replicas=2, rank=2))
    tell("negative rank says", lambda: DistributedSampler(data, num_replicas=2, rank=-1))
    few = DistributedSampler(TensorDataset(torch.arange(1)), num_replicas=4, rank=ME)
    tell("few", lambda: list(few))


def hooks():
    for name in ("allreduce_hook", "fp16_compress_hook"):
        model = DDP(network())
        model.register_comm_hook(None, getattr(default_hooks, name))
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        run(model, optimizer, 3)
        tell(name, lambda: weights(model))
        tell("second hook", lambda: model.register_comm_hook(None, default_hooks.allreduce_hook))
    model = DDP(network())
    wrapped = default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)
    model.register_comm_hook(dist.group.WORLD, wrapped)
    run(model, torch.optim.SGD(model.parameters(), lr=0.1), 2)
    tell("wrapper", lambda: weights(model))

    kinds = {"": {}, "cold": {"warm_start": False, "use_error_feedback": False}, "wide": {"matrix_approximation_rank": 3},
             "stacked": {"batch_tensors_with_same_shape": True, "matrix_approximation_rank": 2}}  # fmt: skip
    for kind, options in kinds.items():
        torch.manual_seed(3)
        model = DDP(nn.Sequential(nn.Linear(4, 16), *(nn.Linear(16, 16) for _ in range(3))))
        state = powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=2, random_seed=5, **options)
        model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
        run(model, torch.optim.SGD(model.parameters(), lr=0.1), 6)
        tell(f"powerSGD {kind}", lambda: weights(model))
        tell("how much", lambda: (state.iter, state.compression_stats()))
    tell("too early says", lambda: powerSGD_hook.PowerSGDState(None, start_powerSGD_iter=1))

    def own(state, bucket):
        state.append((bucket.index(), bucket.is_last(), len(bucket.parameters()), bucket.buffer().numel()))
        work = dist.all_reduce(bucket.buffer().div_(N), async_op=True)
        return work.get_future().then(lambda f: f.value()[0])

    seen = []
    model = DDP(network())
    model.register_comm_hook(seen, own)
    run(model, torch.optim.SGD(model.parameters(), lr=0.1), 2)
    tell("own hook", lambda: weights(model))
    tell("what it saw", lambda: seen)


def averages():
    """Post-local SGD: gradients of all, then of few ranks; parameters now and then."""
    few, _ = dist.new_subgroups(group_size=N // 2)
    for local in (True, False):
        model = DDP(network())
        model.register_comm_hook(PostLocalSGDState(None, few, 2, local), post_localSGD_hook)
        sgd = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        optimizer = PostLocalSGDOptimizer(sgd, averagers.PeriodicModelAverager(period=2, warmup_steps=2))
        for i in range(6):
            run(model, optimizer, 1)
            tell(f"averaged {local} {i}", lambda: weights(model))
    state = optimizer.state_dict()
    tell("averager's step", lambda: (state["step"], optimizer.load_state_dict(state), optimizer.averager.step))
    tell("period says", lambda: averagers.PeriodicModelAverager(0))
    tell("sizes say", lambda: HierarchicalModelAverager({2: 1}))
    parameter, levels = nn.Linear(2, 1).weight, HierarchicalModelAverager({2: 1, 4: N}, warmup_steps=1)
    parameter.grad = torch.zeros(1, 2)
    for i in range(6):
        with torch.no_grad():
            parameter.fill_(ME + 10.0 * i)
        tell(f"levels {i}", lambda: (levels.average_parameters([parameter]), parameter.tolist()))
    model = DDP(network())
    model.register_comm_hook(None, noop_hook)
    model(batch(0)).sum().backward()
    tell("own gradients", lambda: model.module[0].weight.grad)


def mistakes():
    tell("nothing to train says", lambda: DDP(nn.ReLU()))
    tell("two devices says", lambda: DDP(network(), device_ids=[0, 1]))
    model = DDP(nn.ModuleDict({"a": nn.Linear(4, 2), "b": nn.Linear(4, 2)}))
    model.module.forward = lambda x: model.module["a"](x)
    model(batch(0)).sum().backward()
    tell("unused says", lambda: model(batch(0)))


for part in sys.argv[1].split(","):
    globals()[part]()
dist.barrier()
with open(f"{sys.argv[2]}.{ME}", "w") as f:
    f.write("\n".join(LINES) + "\n")
dist.destroy_process_group()
