"""Run by several ranks, with PyTorch and with rushlight: a transformer as published training code shards, cuts, recomputes and saves it."""

import copy
import sys
import warnings

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch.distributed._tensor.device_mesh import init_device_mesh
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import (
    CheckpointImpl,
    apply_activation_checkpointing,
    checkpoint_wrapper,
    offload_wrapper,
)
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    _init_optim_state,
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    RowwiseParallel,
    SequenceParallel,
    loss_parallel,
    parallelize_module,
)

warnings.simplefilter("ignore")
dist.init_process_group("gloo")
ME, N = dist.get_rank(), dist.get_world_size()
OURS = hasattr(torch, "as_torch") or torch.__name__ == "rushlight"
LINES = []
WORDS, WIDTH, HEADS, LENGTH = 24, 16, 4, 8


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


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-5)).type_as(x) * self.weight

    def reset_parameters(self):
        nn.init.ones_(self.weight)


def turns(length):
    angles = torch.outer(torch.arange(length).float(), 1.0 / (100.0 ** (torch.arange(0, WIDTH // HEADS, 2).float() / (WIDTH // HEADS))))  # fmt: skip
    return torch.polar(torch.ones_like(angles), angles)


def turned(x, by):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * by.view(1, x.shape[1], 1, -1)).flatten(3).type_as(x)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(4))

    def forward(self, x, by):
        b, t, _ = x.shape
        q, k, v = (f(x).view(b, t, -1, WIDTH // HEADS) for f in (self.wq, self.wk, self.wv))
        q, k = turned(q, by), turned(k, by)
        q, k, v = (a.transpose(1, 2) for a in (q, k, v))
        if isinstance(q, DTensor) and not OURS:  # PyTorch has no rule for its kernel of the CPU
            far = DTensor.from_local(torch.full((t, t), float("-inf")).triu(1), q.device_mesh, [Replicate()])
            out = (q @ k.transpose(2, 3) / (WIDTH // HEADS) ** 0.5 + far).softmax(-1) @ v
        else:
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            assert not isinstance(q, DTensor) or out.placements == q.placements == (Shard(1),)
        return self.wo(out.transpose(1, 2).contiguous().view(b, t, -1))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w3 = nn.Linear(WIDTH, 20, bias=False), nn.Linear(WIDTH, 20, bias=False)
        self.w2 = nn.Linear(20, WIDTH, bias=False)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention, self.feed_forward = Attention(), FeedForward()
        self.attention_norm, self.ffn_norm = RMSNorm(WIDTH), RMSNorm(WIDTH)

    def forward(self, x, by):
        x = x + self.attention(self.attention_norm(x), by)
        return x + self.feed_forward(self.ffn_norm(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_embeddings = nn.Embedding(WORDS, WIDTH)
        self.register_buffer("by", turns(LENGTH), persistent=False)
        self.layers = nn.ModuleList(Block() for _ in range(2))
        self.norm, self.output = RMSNorm(WIDTH), nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words):
        x = self.tok_embeddings(words)
        for layer in self.layers:
            x = layer(x, self.by)
        return self.output(self.norm(x))


def network():
    torch.manual_seed(1)
    return Net()


def batch(i, part=0):
    torch.manual_seed(100 + i + 1000 * part)
    return torch.randint(WORDS, (4, LENGTH + 1))


def trained(name, net, steps=3, part=0, **options):
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01, **options)
    for i in range(steps):
        words = batch(i, part)
        loss = F.cross_entropy(net(words[:, :-1]).flatten(0, 1).float(), words[:, 1:].flatten())
        loss.backward()
        tell(f"{name} loss {i}", lambda: loss)
        tell(f"{name} norm {i}", lambda: nn.utils.clip_grad_norm_(net.parameters(), 1.0))
        optimizer.step()
        optimizer.zero_grad()
    for key, value in list(net.named_parameters())[:4]:
        tell(f"{name} {key}", lambda: value)
    return optimizer


def held(net):
    """Bytes of parameters that this rank has."""
    local = [p.to_local() if isinstance(p, DTensor) else p for p in net.parameters()]
    return sum(p.numel() * p.element_size() for p in local)


def sharded(net=None, **options):
    net = net or network()
    for layer in net.layers:
        fully_shard(layer, **options)
    return fully_shard(net, **options)


def forward():
    """fully_shard as the examples call it: explicit prefetches, mixed precision, clipping."""
    trained("plain", network())
    net = sharded()
    tell("bytes", lambda: held(net))
    assert held(net) == sum(4 * -(-p.shape[0] // N if ME < p.shape[0] % N or not p.shape[0] % N else p.shape[0] // N) * (p.numel() // p.shape[0]) for p in network().parameters()) or N > 2  # fmt: skip
    net.layers[0].set_modules_to_forward_prefetch([net.layers[1]])
    net.layers[1].set_modules_to_backward_prefetch([net.layers[0]])
    net.unshard()
    trained("sharded", net, part=ME)
    net = sharded(mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32))
    words = batch(0, ME)[:, :-1]
    out = net(words)
    tell("half", lambda: (out.dtype, tuple(out.shape)))
    out.float().sum().backward()
    tell("half gradients", lambda: {str(p.grad.dtype) for p in net.parameters()})
    net = sharded(reshard_after_forward=False)
    trained("kept", net, part=ME)


def recomputed():
    """Activation checkpointing by wrappers, alone and under fully_shard."""
    for name, wrap in {"twice": checkpoint_wrapper, "host": offload_wrapper}.items():
        net = network()
        for i, layer in enumerate(net.layers):
            net.layers[i] = wrap(layer)
        tell(f"{name} names", lambda: [n for n, _ in net.named_parameters()] == [n for n, _ in network().named_parameters()])  # fmt: skip
        tell(f"{name} keys", lambda: list(net.state_dict()) == list(network().state_dict()))
        tell(f"{name} load", lambda: net.load_state_dict(network().state_dict()))
        trained(name, net)
        sharded_too = network()
        sharded_too.layers = nn.ModuleList(wrap(layer) for layer in sharded_too.layers)
        trained(f"{name} sharded", sharded(sharded_too), part=ME)
    net = network()
    apply_activation_checkpointing(net, checkpoint_wrapper_fn=lambda m: checkpoint_wrapper(m, CheckpointImpl.NO_REENTRANT, preserve_rng_state=False), check_fn=lambda m: isinstance(m, Block))  # fmt: skip
    tell("applied", lambda: [type(m).__name__ for m in net.layers])
    tell("through", lambda: type(net.layers[0].attention).__name__)
    trained("applied", net)
    net = network()
    apply_activation_checkpointing(net, auto_wrap_policy=ModuleWrapPolicy({FeedForward}))
    tell("policy", lambda: type(net.layers[1].feed_forward).__name__)
    tell("model state", lambda: list(get_model_state_dict(net)) == list(network().state_dict()))
    trained("policy", net)


PLAN = {
    "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
    "norm": SequenceParallel(),
}
INSIDE = {
    "attention_norm": SequenceParallel(),
    "attention": PrepareModuleInput(input_layouts=(Shard(1), Replicate()), desired_input_layouts=(Replicate(), Replicate())),
    "attention.wq": ColwiseParallel(use_local_output=False),
    "attention.wk": ColwiseParallel(use_local_output=False),
    "attention.wv": ColwiseParallel(use_local_output=False),
    "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
    "ffn_norm": SequenceParallel(),
    "feed_forward": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
    "feed_forward.w1": ColwiseParallel(),
    "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1)),
    "feed_forward.w3": ColwiseParallel(),
}  # fmt: skip


def cut(mesh, last):
    net = parallelize_module(network(), mesh, {**PLAN, "output": last})
    for layer in net.layers:
        parallelize_module(layer, mesh, INSIDE)
    return net


def plan():
    """Tensor and sequence parallelism by the published plan; over it, where there are ranks, fully_shard."""
    mesh = init_device_mesh("cpu", (N // 2, 2), mesh_dim_names=("dp", "tp"))
    line, rows = mesh["tp"], mesh["dp"]
    net = cut(line, ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()))
    tell("bytes", lambda: held(net))
    trained("cut", net, foreach=True)
    net = cut(line, ColwiseParallel(input_layouts=Shard(1), use_local_output=False))
    optimizer = torch.optim.AdamW(net.parameters(), lr=0.01)
    for i in range(2):
        words = batch(i)
        with loss_parallel():
            scores = net(words[:, :-1])
            loss = F.cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten())
            loss.backward()
        tell(f"loss parallel {i}", lambda: loss)
        optimizer.step()
        optimizer.zero_grad()
    net = cut(line, ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()))
    net = fully_shard(net, mesh=rows)
    tell("both bytes", lambda: held(net))
    trained("both", net, part=rows.get_local_rank())
    tell("places", lambda: net.layers[0].attention.wo.weight.placements)


def kept():
    """State dicts as the examples save them, and read on the meta device."""
    options = {
        "whole": StateDictOptions(full_state_dict=True, cpu_offload=True),
        "parts": StateDictOptions(), "all": StateDictOptions(full_state_dict=True),
        "flat": StateDictOptions(flatten_optimizer_state_dict=True),
    }  # fmt: skip
    net = sharded()
    optimizer = trained("first", net, part=ME)
    for name, chosen in options.items():
        tell(f"{name} keys", lambda: list(get_model_state_dict(net, options=chosen)))
        state = get_optimizer_state_dict(net, optimizer, options=chosen)
        tell(f"{name} states", lambda: sorted(state))
        tell(f"{name} states inside", lambda: sorted(state.get("state", {})))
        for key in ("state.norm.weight.exp_avg", "state.output.weight.step", "param_groups.norm.weight.lr"):
            tell(f"{name} {key}", lambda: state.get(key))
    told_model = copy.deepcopy(get_model_state_dict(net, options=options["all"]))
    told_states = copy.deepcopy(get_optimizer_state_dict(net, optimizer, options=options["all"]))
    expected = [loss_of(net, optimizer, i) for i in (3, 4)]
    for name, first in {"all": False, "first": True}.items():
        if first and not OURS:
            break  # PyTorch asks for a GPU
        with torch.device("meta"):
            empty = Net()
        again = sharded(empty)
        chosen = StateDictOptions(full_state_dict=True, broadcast_from_rank0=first)
        mine = (told_model, told_states) if ME == 0 or not first else ({}, {})
        set_model_state_dict(again, mine[0], options=chosen)
        again.by = turns(LENGTH)
        fresh = torch.optim.AdamW(again.parameters(), lr=0.5)
        set_optimizer_state_dict(again, fresh, copy.deepcopy(mine[1]), options=chosen)
        assert fresh.param_groups[0]["lr"] == 0.01
        got = [loss_of(again, fresh, i) for i in (3, 4)]
        assert got == expected, (name, got, expected)
    flat = copy.deepcopy(get_optimizer_state_dict(net, optimizer, options=options["flat"]))
    other = sharded()
    fresh = torch.optim.AdamW(other.parameters(), lr=0.5)
    set_optimizer_state_dict(other, fresh, flat, options=options["flat"])
    tell("flat read", lambda: fresh.state[other.norm.weight]["exp_avg"])
    by_hand()


def loss_of(net, optimizer, i):
    words = batch(i, ME)
    loss = F.cross_entropy(net(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return round(loss.item(), 6)


def by_hand():
    """An optimiser's whole state, distributed tensor by tensor into one that was just made."""
    net = sharded()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    _init_optim_state(optimizer)
    tell("step of no length", lambda: net.norm.weight)
    held = optimizer.state_dict()
    for i, states in held["state"].items():
        for key, value in states.items():
            if isinstance(value, DTensor):
                whole = torch.full(value.shape, float(i))
                states[key] = distribute_tensor(whole, value.device_mesh, value.placements)
    optimizer.load_state_dict(held)
    tell("by hand", lambda: optimizer.state[net.norm.weight]["exp_avg"])
    sgd = torch.optim.SGD(net.parameters(), lr=0.1)
    _init_optim_state(sgd)
    tell("stateless", lambda: len(sgd.state))
    with torch.device("meta"):
        empty = Net()
    again = sharded(empty)
    own = again.state_dict()
    parts = {k: nn.Parameter(distribute_tensor(v, own[k].device_mesh, own[k].placements)) for k, v in network().state_dict().items()}  # fmt: skip
    tell("assigned", lambda: again.load_state_dict(parts, strict=False, assign=True))
    again.by = turns(LENGTH)
    trained("assigned", again, part=ME)


for part in sys.argv[1].split(","):
    globals()[part]()
dist.barrier()
with open(f"{sys.argv[2]}.{ME}", "w") as f:
    f.write("\n".join(LINES) + "\n")
dist.destroy_process_group()
